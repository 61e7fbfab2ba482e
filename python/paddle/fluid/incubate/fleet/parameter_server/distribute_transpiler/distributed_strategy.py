"""Ways to train, as objects: what later scripts give ``fleet.distributed_optimizer`` in place of a config."""
from paddle.fluid.transpiler import DistributeTranspilerConfig

__all__ = ["StrategyFactory", "DistributedStrategy", "SyncStrategy", "AsyncStrategy", "HalfAsyncStrategy",
           "GeoStrategy",
           "TrainerRuntimeConfig"]


class TrainerRuntimeConfig:
    """Settings of old communicators. Queues and threads are chosen by the trainer itself;
    FLAGS_communicator_send_queue_size
    counts."""

    def __init__(self):
        self.runtime_configs = {}

    def get_communicator_flags(self) -> dict:
        return dict(self.runtime_configs)


class DistributedStrategy:
    """Base of the ways to train."""

    def __init__(self):
        self._program_config = DistributeTranspilerConfig()
        self._trainer_runtime_config = TrainerRuntimeConfig()

    def get_program_config(self) -> DistributeTranspilerConfig:
        return self._program_config

    def set_program_config(self, config) -> None:
        """Takes the fields of a DistributeTranspilerConfig or a dict; the way to train stays what it is."""
        fields = config if isinstance(config, dict) else vars(config)
        kept = ("sync_mode", "half_async", "geo_sgd_mode", "runtime_split_send_recv", "completely_not_async")
        for name, value in fields.items():
            if name not in kept:
                setattr(self._program_config, name, value)

    def get_trainer_runtime_config(self) -> TrainerRuntimeConfig:
        return self._trainer_runtime_config


class SyncStrategy(DistributedStrategy):
    """All trainers step together."""

    def __init__(self):
        super().__init__()
        self._program_config.sync_mode = True


class AsyncStrategy(DistributedStrategy):
    """No trainer waits: gradients are applied as they arrive."""

    def __init__(self):
        super().__init__()
        self._program_config.sync_mode = False
        self._program_config.runtime_split_send_recv = True


class HalfAsyncStrategy(DistributedStrategy):
    """A trainer waits for its own gradients only."""

    def __init__(self):
        super().__init__()
        self._program_config.sync_mode = False
        self._program_config.half_async = True


class GeoStrategy(DistributedStrategy):
    """Trainers update by themselves and exchange differences after ``update_frequency`` steps."""

    def __init__(self, update_frequency: int = 100):
        super().__init__()
        self._program_config.sync_mode = False
        self._program_config.geo_sgd_mode = True
        self._program_config.geo_sgd_need_push_nums = update_frequency


class StrategyFactory:
    """Makes strategies by name."""

    @staticmethod
    def create_sync_strategy() -> SyncStrategy:
        return SyncStrategy()

    @staticmethod
    def create_async_strategy() -> AsyncStrategy:
        return AsyncStrategy()

    @staticmethod
    def create_half_async_strategy() -> HalfAsyncStrategy:
        return HalfAsyncStrategy()

    @staticmethod
    def create_geo_strategy(update_frequency: int = 100) -> GeoStrategy:
        return GeoStrategy(update_frequency)
