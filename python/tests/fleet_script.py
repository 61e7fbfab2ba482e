"""Fleet by UserDefinedRoleMaker, roles in the guide's variables. Arguments: name=value."""
import os
import sys

import numpy as np

import paddle.fluid as fluid
from paddle.fluid.communicator import Communicator
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import StrategyFactory, fleet

options = dict(mode="sync", steps="10", load="", save="")
options.update(a.split("=", 1) for a in sys.argv[1:])

x = fluid.layers.data("x", [6])
y = fluid.layers.data("y", [1])
predict = fluid.layers.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5)))
loss = fluid.layers.mean(fluid.layers.square_error_cost(predict, y))
role = role_maker.UserDefinedRoleMaker(
    current_id=int(os.getenv("CURRENT_ID")),
    role=role_maker.Role.WORKER if bool(int(os.getenv("IS_WORKER"))) else role_maker.Role.SERVER,
    worker_num=int(os.getenv("WORKER_NUM")), server_endpoints=os.getenv("ENDPOINTS").split(","))
fleet.init(role)
strategy = {"sync": StrategyFactory.create_sync_strategy, "async": StrategyFactory.create_async_strategy,
            "half_async": StrategyFactory.create_half_async_strategy,
            "geo": lambda: StrategyFactory.create_geo_strategy(2)}[options["mode"]]()
fleet.distributed_optimizer(fluid.optimizer.Adagrad(0.1), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server(options["load"] or None)
    fleet.run_server()
else:
    fleet.init_worker()
    exchange = Communicator(fleet.main_program)
    exchange.start()
    assert exchange.is_running()
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    rng = np.random.RandomState(fleet.worker_index())
    for i in range(int(options["steps"])):
        batch = rng.randn(8, 6).astype("float32")
        value, = exe.run(fleet.main_program, feed={"x": batch, "y": batch.sum(1, keepdims=True)}, fetch_list=[loss])
        print("loss", value[0], flush=True)
    exchange.stop()
    if fleet.is_first_worker() and options["save"]:
        fleet.save_persistable(exe, options["save"])
        fleet.save_inference_model(exe, options["save"] + ".inference", ["x"], [predict])
    print("w", " ".join(map(str, np.array(fluid.global_scope().find_var("w").get_tensor()).ravel())), flush=True)
    fleet.stop_worker()
