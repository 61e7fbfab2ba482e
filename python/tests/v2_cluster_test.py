"""paddle.v2 with pservers: gradients are sums over the trainers too."""
import os

import numpy as np

from processes import Job

SCRIPT = """
import sys
import numpy as np
import paddle.v2 as paddle

trainer_id, trainers, local = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "local"
paddle.init()
x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(6))
y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
hidden = paddle.layer.fc(x, size=4)
cost = paddle.layer.square_error_cost(paddle.layer.fc(hidden, size=1, act=paddle.activation.Linear()), y)
parameters = paddle.parameters.create(cost)
update = paddle.optimizer.Momentum(momentum=0.9, learning_rate=0.002,
regularization=paddle.optimizer.L2Regularization(0.1))
trainer = paddle.trainer.SGD(cost, parameters, update, is_local=local)
r = np.random.RandomState(7)
xs = r.uniform(-1, 1, (80, 6)).astype("float32")
data = [(a, a.sum()) for a in xs]
mine = [b[trainer_id::trainers] for b in (data[i:i + 8] for i in range(0, 80, 8))]
trainer.train(lambda: iter(mine), num_passes=3)
with open(f"out{trainer_id}.tar", "wb") as f:
    trainer.save_parameter_to_tar(f)
"""


class Cluster(Job):
    def values(self, name):
        import paddle.v2 as paddle
        with open(os.path.join(self.dir, name), "rb") as f:
            p = paddle.parameters.Parameters.from_tar(f)
        return {n: p[n] for n in p}

    def test_two_trainers_are_one_with_the_whole_batch(self):
        script = self.write("job.py", SCRIPT)
        self.start("alone", script, "0", "1", "local").wait()
        want = self.values("out0.tar")
        ports = [self.daemon(f"pserver{i}", "--num_gradient_servers=2") for i in range(2)]
        env = {"PADDLE_INIT_PSERVERS": ",".join(f"127.0.0.1:{p}" for p in ports),
               "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2"}
        trainers = [self.start(f"trainer{i}", script, str(i), "2", "cluster", PADDLE_INIT_TRAINER_ID=str(i), **env)
                    for i in range(2)]
        for t in trainers:
            t.wait()
        for i in range(2):
            got = self.values(f"out{i}.tar")
            self.assertEqual(list(got), list(want))
            for name in want:
                np.testing.assert_allclose(got[name], want[name], rtol=2e-4, atol=1e-5,
                                           err_msg=f"{name} of trainer {i}")

    def test_arguments_of_init_win_over_variables(self):
        """All eight of the guide, against variables that would lead nowhere."""
        script = self.write("job.py", SCRIPT)
        self.start("alone", script, "0", "1", "local").wait()
        want = self.values("out0.tar")
        port = self.daemon("pserver", "--num_gradient_servers=1", "--exit_when_done")
        arguments = ("use_gpu=False, trainer_count=1, port=%d, ports_num=1, ports_num_for_sparse=0, "
                     "num_gradient_servers=1, trainer_id=0, pservers='127.0.0.1'" % port)
        given = self.write("given.py", SCRIPT.replace("paddle.init()", "paddle.init(%s)" % arguments))
        wrong = {"USE_GPU": "True", "TRAINER_COUNT": "3", "PORT": "1", "PORTS_NUM": "2", "PORTS_NUM_FOR_SPARSE": "1",
                 "NUM_GRADIENT_SERVERS": "9", "TRAINER_ID": "7", "PSERVERS": "192.0.2.1"}
        self.start("trainer", given, "0", "1", "cluster", **{"PADDLE_INIT_" + k: v for k, v in wrong.items()}).wait()
        got = self.values("out0.tar")
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=2e-4, atol=1e-5, err_msg=name)
        self.processes[-2].wait()  # the pserver: its job is done


if __name__ == "__main__":
    import unittest

    unittest.main()
