"""A whole training over _core: layers, minimize, startup, 200 steps."""
import unittest

import numpy as np

import paddle.fluid as fluid
from paddle import _core
from paddle.fluid.layer_helper import call, layer


class FitALine(unittest.TestCase):
    def test_trains(self):
        main, startup = fluid.Program(), fluid.Program()
        main.random_seed = startup.random_seed = 1
        with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
            x = layer("data", name="x", shape=[13])
            y = layer("data", name="y", shape=[1])
            predicted = layer("fc", input=x, size=1)
            cost = layer("square_error_cost", input=predicted, label=y)
            loss = layer("mean", input=cost)
            _, pairs = call(_core.minimize, loss.name, {"type": "sgd", "learning_rate": 0.05})
            self.assertEqual(sorted(pairs), [("fc_0.b_0", "fc_0.b_0@GRAD"), ("fc_0.w_0", "fc_0.w_0@GRAD")])
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            rng = np.random.RandomState(0)
            weight = rng.randn(13, 1).astype("float32")
            losses = []
            for _ in range(200):
                batch = rng.randn(20, 13).astype("float32")
                out, = exe.run(main, feed={"x": batch, "y": batch @ weight + 2}, fetch_list=[loss])
                losses.append(out[0])
            self.assertLess(losses[-1], losses[0] * 1e-3)
            learned = np.array(fluid.global_scope().find_var("fc_0.w_0").get_tensor())
            np.testing.assert_allclose(learned, weight, atol=0.05)


if __name__ == "__main__":
    unittest.main()
