"""train_from_dataset with pservers: threads read side by side, steps go one after the other."""
import os
import random
import re
import signal

import numpy as np

from processes import Job

SCRIPT = """
import os, sys
import numpy as np
import paddle.fluid as fluid

role, endpoint, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
x = fluid.layers.data(name="x", shape=[3], dtype="float32")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
w = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.0))
cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(x, size=1, param_attr=w), y))
fluid.optimizer.SGD(learning_rate=0.1).minimize(cost)
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=number, pservers=endpoint, trainers=2, sync_mode=os.environ["SYNC_MODE"] == "1")
exe = fluid.Executor(fluid.CPUPlace())
if role == "PSERVER":
    main, startup = t.get_pserver_programs(endpoint)
    exe.run(startup)
    exe.run(main)
else:
    main = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    d = fluid.DatasetFactory().create_dataset()
    d.set_use_var([x, y])
    d.set_batch_size(10)
    d.set_pipe_command("cat -")
    for epoch in range(10):
        d.set_filelist([f"part-{i}" for i in range(8) if i % 2 == number])
        exe.train_from_dataset(main, d, thread=int(os.environ["THREADS"]), fetch_list=[cost], fetch_info=["cost"],
                               print_period=10)
    fluid.io.save_params(exe, f"out{number}", main)
    exe.close()
"""

TABLE = """
import os, sys
import paddle.fluid as fluid

role, endpoint = sys.argv[1], sys.argv[2]
ids = fluid.layers.data(name="ids", shape=[1], dtype="int64")
y = fluid.layers.data(name="y", shape=[1], dtype="float32")
rows = fluid.layers.embedding(ids, size=[-1, 4], is_distributed=True, param_attr=fluid.ParamAttr(name="emb"))
cost = fluid.layers.mean(fluid.layers.square_error_cost(fluid.layers.fc(rows, size=1), y))
fluid.optimizer.Adagrad(learning_rate=0.1).minimize(cost)
fluid.default_startup_program().random_seed = 5
t = fluid.DistributeTranspiler()
t.transpile(trainer_id=0, pservers=endpoint, trainers=1, sync_mode=True)
exe = fluid.Executor(fluid.CPUPlace())
if role == "PSERVER":
    main, startup = t.get_pserver_programs(endpoint)
    exe.run(startup)
    exe.run(main)
else:
    main = t.get_trainer_program()
    exe.run(fluid.default_startup_program())
    d = fluid.DatasetFactory().create_dataset("InMemoryDataset")
    d.set_use_var([ids, y])
    d.set_batch_size(10)
    d.set_pipe_command("cat -")
    d.set_filelist(["records"])
    d.load_into_memory()
    for epoch in range(3):
        exe.train_from_dataset(main, d, thread=1)
    fluid.io.save_persistables(exe, "out-" + os.environ["PADDLE_INIT_ROWS_AHEAD"], main)
    exe.close()
"""


class Cluster(Job):
    def test_rows_of_the_next_batch(self):
        """They are asked for while a batch is computed, with the same bits."""
        script = self.write("table.py", TABLE)
        r = random.Random(1)
        lines = [f"1 {r.choice([3, 5, 2**62 + r.randint(0, 50)])} 1 {r.uniform(-1, 1)}\n" for _ in range(400)]
        self.write("records", "".join(lines))
        tables = []
        for ahead in ("true", "false"):
            endpoint = f"127.0.0.1:{self.port()}"
            env = {"PADDLE_INIT_ROWS_AHEAD": ahead, "GLOG_v": "1", "PADDLE_INIT_LOG_DIR": f"log-{ahead}"}
            server = self.start(f"server-{ahead}", script, "PSERVER", endpoint, **env)
            self.start(f"trainer-{ahead}", script, "TRAINER", endpoint, **env).wait()
            self.stop(server)
            with open(os.path.join(self.dir, f"out-{ahead}", "emb.table"), "rb") as f:
                tables.append(f.read())
            with open(os.path.join(self.dir, f"log-{ahead}", "paddle_trainer.INFO"), encoding="utf-8") as f:
                self.assertEqual(ahead == "true", "were asked for before their step" in f.read())
        self.assertEqual(len(tables[0]), len(tables[1]))
        self.assertEqual(tables[0], tables[1])

    def test_two_trainers(self):
        script = self.write("job.py", SCRIPT)
        r = random.Random(1)
        for i in range(8):
            rows = [[r.uniform(-1, 1) for _ in range(3)] for _ in range(50)]
            self.write(f"part-{i}", "".join(f"3 {a} {b} {c} 1 {a - 2 * b + 3 * c}\n" for a, b, c in rows))
        for mode, threads in (("1", 1), ("1", 4), ("0", 2)):
            with self.subTest(sync=mode, threads=threads):
                self.job(script, mode, threads)

    def test_ctrl_c_ends_the_commands_of_a_pass(self):
        script = self.write("job.py", SCRIPT.replace("cat -", "echo $$ >> pids; echo 3 1 2 3 1 4; sleep 1000"))
        for i in range(8):
            self.write(f"part-{i}", "")
        endpoint = f"127.0.0.1:{self.port()}"
        server = self.start("server", script, "PSERVER", endpoint, "0", SYNC_MODE="0")
        pids = os.path.join(self.dir, "pids")
        self.write("pids", "")
        trainer = self.start("trainer", script, "TRAINER", endpoint, "0", SYNC_MODE="0", THREADS="2")
        trainer.until(lambda: len(self.words(pids)) == 2, "the commands")
        trainer.popen.send_signal(signal.SIGINT)
        trainer.wait(-signal.SIGINT)
        for pid in self.words(pids):
            self.assertFalse(os.path.exists(f"/proc/{pid}"), trainer.log())
        self.stop(server)

    @staticmethod
    def words(path):
        with open(path) as f:
            return f.read().split()

    def job(self, script, mode, threads):
        endpoint = f"127.0.0.1:{self.port()}"
        server = self.start("server", script, "PSERVER", endpoint, "0", SYNC_MODE=mode)
        trainers = [self.start(f"trainer{i}", script, "TRAINER", endpoint, str(i), SYNC_MODE=mode, THREADS=str(threads))
                    for i in range(2)]
        for t in trainers:
            costs = [float(c) for c in re.findall(r"data: \[([-0-9.e+]+)\]", t.wait())]
            self.assertEqual(len(costs), 20, t.log())  # 20 batches of 10 in each of 10 passes
            self.assertLess(costs[-1], 0.01)
        self.stop(server)
        with open(os.path.join(self.dir, "out0", "w"), "rb") as f:
            data = f.read()
        np.testing.assert_allclose(np.frombuffer(data[-12:], "<f4"), [1, -2, 3], atol=0.1)


if __name__ == "__main__":
    import unittest

    unittest.main()
