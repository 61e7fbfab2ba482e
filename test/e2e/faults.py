"""What the tests of faults share: one sync job that runs long enough to be disturbed, and the bits it must end with."""
import os
import re

from cluster import Cluster, same_model, until, write_job
from runner import shared
from support import EndToEnd

FULL = os.environ.get("PADDLE_TEST_FULL") == "1"
SEEDS = range(20) if FULL else range(1)
RULE = """{"type": "momentum", "learning_rate": 0.02, "l2": 0.001,
           "schedule": {"type": "exponential_decay", "decay_steps": 100, "decay_rate": 0.9}}"""
RECORDS, PASSES = 2000, 30
SAMPLES = RECORDS // 2 * PASSES  # of one of two trainers


class FaultTest(EndToEnd):
    """Two trainers and two pservers of a job of some thousand steps."""

    def cluster(self, name="", servers=2, trainers=2, snapshots=True, server_flags=(), flags=(), min_block_size=64,
                saving_period=1000, **more):
        job = write_job(self, RULE, records=RECORDS, batch=5)
        def server(i):
            keep = [f"--snapshot_dir={self.path(f'{name}snapshots{i}')}", "--snapshot_period=200"] if snapshots else []
            return ["--exit_when_done", *keep, *(server_flags(i) if callable(server_flags) else server_flags)]
        return Cluster(self, job, servers, trainers, server_flags=server, name=name,
                       trainer_flags=[f"--num_passes={PASSES}", f"--saving_period={saving_period}", f"--min_block_size={min_block_size}",
                                      "--log_period=1", *flags], **more)

    def undisturbed(self, trainers=2):
        return shared(f"undisturbed-{trainers}", lambda: self.cluster("calm-", 1, trainers, snapshots=False).run())

    def wait_progress(self, cluster, samples, trainer=0):
        """Until the trainer has done so many samples; it must not have ended before."""
        process = cluster.trainers[trainer]
        def look():
            ended = not process.running()
            done = progress_of(process)
            if done >= samples:
                return True
            if ended:
                raise AssertionError(f"{process.name} ended at {done} of {samples} samples\n{cluster.logs()}")
            return False
        until(look, lambda: f"{process.name} has done {samples} samples\n{cluster.logs()}")

    def check_bits(self, cluster, trainers=2):
        expected = self.undisturbed(trainers)
        try:
            same_model(self, expected, cluster.finish())
            for s in cluster.servers:
                s.wait(0)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{cluster.logs()}") from None


def progress_of(process):
    """Samples of all passes that the last line of the log shows."""
    if not os.path.exists(process.log_path):
        return 0
    with open(process.log_path, "rb") as f:
        size = f.seek(0, os.SEEK_END)
        f.seek(max(process.mark, size - 4000))
        found = re.findall(rb"Batch=\d+ samples=(\d+) AvgCost", f.read())
    return int(found[-1]) if found else 0
