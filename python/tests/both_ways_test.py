"""Models that Python saved go on in paddle_trainer, and the other way round, to the bit."""
import os
import re
import subprocess
import tempfile
import unittest
import unittest.mock

import numpy as np
import paddle
import paddle.fluid as fluid
from dist_support import housing_job
from support import Case, fresh

JOB = housing_job({"type": "momentum", "learning_rate": 0.01, "momentum": 0.9}, shuffle=False)
TRAINER = os.path.join(os.environ["PADDLE_TEST_BUILD"], "daemons", "trainer", "paddle_trainer")


class BothWays(Case):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.dir = holder.name
        with open(self.at("job.json"), "w") as f:
            f.write(JOB)
        nowhere = unittest.mock.patch.dict(os.environ, HOME=self.dir, PADDLE_DATA_HOME=self.dir)
        nowhere.start()  # no data there: all take the generated ones
        self.addCleanup(nowhere.stop)

    def at(self, name):
        return os.path.join(self.dir, name)

    def trainer(self, *flags):
        """What a run of paddle_trainer prints."""
        done = subprocess.run([TRAINER, "--config=job.json", "--log_dir=", *flags], cwd=self.dir, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def define(self):
        x = fluid.layers.data(name="x", shape=[13], dtype="float32")
        y = fluid.layers.data(name="y", shape=[1], dtype="float32")
        predicted = fluid.layers.fc(input=x, size=1, name="fc_0")
        self.cost = fluid.layers.mean(fluid.layers.square_error_cost(input=predicted, label=y))
        self.test = fluid.default_main_program().clone(for_test=True)
        fluid.optimizer.Momentum(learning_rate=0.01, momentum=0.9).minimize(self.cost)

    @staticmethod
    def feed(rows):
        return {name: np.array([row[i] for row in rows], "float32") for i, name in enumerate("xy")}

    def one_pass(self, net):
        for rows in paddle.batch(paddle.dataset.uci_housing.train(), 20)():
            net.run(self.feed(rows))

    def cost_of_test_data(self, net):
        return float(net.run(self.feed(list(paddle.dataset.uci_housing.test()())), [self.cost], self.test)[0][0])

    def files(self, directory):
        """Name -> content of the variables' files."""
        out = {}
        for name in os.listdir(self.at(directory)):
            if name not in ("done", "job.json", "path.txt", "train_state"):
                with open(os.path.join(self.at(directory), name), "rb") as f:
                    out[name] = f.read()
        return out

    def test_from_python_to_the_trainer_and_back(self):
        with fresh() as net:
            self.define()
            net.start()
            self.one_pass(net)
            fluid.io.save_persistables(net.exe, self.at("python"), net.main)
            out = self.trainer("--job=test", "--init_model_path=python")
            printed = float(re.search(r"samples=102 AvgCost=(\S+)", out)[1])
            self.assertAlmostEqual(printed, self.cost_of_test_data(net), delta=1e-5 * printed)

            self.trainer("--init_model_path=python", "--num_passes=1", "--save_dir=out")
            self.one_pass(net)
            fluid.io.save_persistables(net.exe, self.at("python2"), net.main)
            self.assertEqual(self.files("out/pass-00000"), self.files("python2"))

            self.one_pass(net)  # away from it, to see the load
            fluid.io.load_persistables(net.exe, self.at("out/pass-00000"), net.main)
            fluid.io.save_persistables(net.exe, self.at("python3"), net.main)
            self.assertEqual(self.files("python2"), self.files("python3"))

    def test_a_checkpoint_that_was_not_finished_is_no_model(self):
        self.trainer("--num_passes=1", "--save_dir=out")
        os.remove(self.at("out/pass-00000/done"))
        done = subprocess.run([TRAINER, "--config=job.json", "--log_dir=", "--init_model_path=out/pass-00000"],
                              cwd=self.dir, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 3)
        self.assertIn("not finished", done.stderr)


if __name__ == "__main__":
    unittest.main()
