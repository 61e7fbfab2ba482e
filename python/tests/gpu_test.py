"""CUDAPlace on the emulated GPU: the numbers of the CPU, wherever values are read and written in between."""
import os
import shutil
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np
from support import Case, fresh, layer, minimize

import paddle.fluid as fluid
import paddle.v2 as paddle
from paddle.fluid import core
from paddle.v2 import config, topology

REAL = os.environ.get("PADDLE_TEST_DEVICE") == "real"  # scripts/gpu_check
TWO = unittest.skipIf(REAL and core.get_cuda_device_count() < 2, "this machine has one GPU")


class GpuCase(Case):
    def setUp(self):
        env = mock.patch.dict(os.environ, {} if REAL else {"PADDLE_CUDA_DEVICE": "emulated"})
        env.start()
        self.addCleanup(env.stop)


def small_net(optimizer="momentum", **options):
    x, y = layer("data", name="x", shape=[4]), layer("data", name="y", shape=[1])
    hidden = fluid.layers.dropout(layer("fc", input=x, size=8, act="tanh"), 0.2, seed=5)
    loss = layer("mean", input=layer("square_error_cost", input=layer("fc", input=hidden, size=1), label=y))
    minimize(loss, optimizer, **options)
    return loss


def batches(count=6, seed=2):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        x = rng.uniform(-1, 1, (10, 4)).astype("float32")
        yield {"x": x, "y": x.sum(1, keepdims=True)}


@unittest.skipIf(REAL, "these are the numbers of the emulated device")
class Places(GpuCase):
    def test_what_there_is(self):
        self.assertTrue(fluid.is_compiled_with_cuda())
        self.assertEqual(core.get_cuda_device_count(), 2)
        self.assertEqual(fluid.cuda_places(), [fluid.CUDAPlace(0), fluid.CUDAPlace(1)])
        self.assertEqual(fluid.cuda_places([1]), [fluid.CUDAPlace(1)])
        self.assertEqual(fluid.cuda_places(0), [fluid.CUDAPlace(0)])
        with mock.patch.dict(os.environ, {"FLAGS_selected_gpus": "1"}):
            self.assertEqual(fluid.cuda_places(), [fluid.CUDAPlace(1)])
        self.assertEqual(fluid.cuda_pinned_places(3), [fluid.CUDAPinnedPlace()] * 3)

    def test_mistakes(self):
        with self.says(core.ConfigError, "there is no emulated GPU 7", "0 to 1"):
            fluid.Executor(fluid.CUDAPlace(7))
        with self.says(core.ConfigError, "there is no GPU 2", "0 to 1"):
            fluid.cuda_places([0, 2])
        with self.says(core.ConfigError, "CUDAPinnedPlace() is memory", "CUDAPlace(0)"):
            fluid.Executor(fluid.CUDAPinnedPlace())
        with mock.patch.dict(os.environ, {"PADDLE_CUDA_DEVICE": "fast"}):
            with self.says(core.ConfigError, "PADDLE_CUDA_DEVICE is 'fast'"):
                fluid.is_compiled_with_cuda()

    def test_where_there_is_none(self):
        os.environ["PADDLE_CUDA_DEVICE"] = ""
        if core.get_cuda_device_count() > 0:
            self.skipTest("this machine has a GPU")
        self.assertFalse(fluid.is_compiled_with_cuda())
        for refused in (lambda: fluid.Executor(fluid.CUDAPlace(0)), fluid.cuda_places, fluid.cuda_pinned_places,
                        lambda: fluid.ParallelExecutor(True), lambda: paddle.init(use_gpu=True)):
            with self.says(core.ConfigError, "cannot compute on a GPU: ", "fluid.CPUPlace() or use_gpu=False"):
                refused()


class Programs(GpuCase):
    def losses(self, place, run):
        """Of a network that begins with the same values in every call."""
        with fresh(seed=3) as net:
            loss = small_net()
            net.exe = fluid.Executor(place)
            net.start()
            return run(net, loss)

    def same_on_both(self, run):
        cpu, gpu = (self.losses(place, run) for place in (fluid.CPUPlace(), fluid.CUDAPlace(0)))
        self.assertEqual(len(cpu), len(gpu))
        np.testing.assert_allclose(gpu, cpu, rtol=1e-5)
        return cpu

    def test_training(self):
        cpu = self.same_on_both(lambda net, loss: [net.run(b, [loss])[0][0] for b in batches()])
        self.assertGreater(len(set(cpu)), 1)

    def test_values_are_read_and_set_between_steps(self):
        def run(net, loss):
            out = []
            test = net.main.clone(for_test=True)
            for i, batch in enumerate(batches()):
                out += [net.run(batch, [loss])[0][0], net.run(batch, [loss], program=test)[0][0]]
                out.append(float(np.abs(net.value("fc_0.w_0")).sum()))
                if i == 2:
                    tensor = net.scope.find_var("fc_1.w_0").get_tensor()
                    tensor.set(np.array(tensor) * 0.5, net.exe.place)
            return out

        self.same_on_both(run)

    @TWO
    def test_a_model_goes_from_one_place_to_the_other(self):
        def run(net, loss):
            first = [net.run(b, [loss])[0][0] for b in batches(3)]
            with self.subTest("saved"), tempfile.TemporaryDirectory() as directory:
                fluid.io.save_persistables(net.exe, directory, net.main)
                net.start()
                other = fluid.Executor(fluid.CPUPlace() if isinstance(net.exe.place, fluid.CUDAPlace) else
                                       fluid.CUDAPlace(1))
                fluid.io.load_persistables(other, directory, net.main)
                return first + [other.run(net.main, b, [loss], scope=net.scope)[0][0] for b in batches(3, seed=4)]

        self.same_on_both(run)

    def test_other_ways_to_run(self):
        def compiled(net, loss):
            places = None if isinstance(net.exe.place, fluid.CPUPlace) else fluid.cuda_places()
            program = fluid.CompiledProgram(net.main).with_data_parallel(loss.name, places=places)
            return [net.run(b, [loss], program=program)[0][0] for b in batches()]

        def parallel(net, loss):
            gpu = isinstance(net.exe.place, fluid.CUDAPlace)
            exe = fluid.ParallelExecutor(gpu, loss.name, net.main, scope=net.scope)
            return [exe.run([loss], b)[0][0] for b in batches()]

        def measured(net, loss):
            with mock.patch("sys.stdout"), fluid.profiler.profiler("GPU", "total", ""):
                return [net.run(b, [loss])[0][0] for b in batches()]

        for run in (compiled, parallel, measured):
            with self.subTest(run.__name__):
                self.same_on_both(run)

    def test_threads_share_a_gpu(self):
        def train(place, out):
            net, program, startup, loss = out["net"]
            exe = fluid.Executor(place)
            exe.run(startup, scope=net)
            out["losses"] = [exe.run(program, b, [loss], scope=net)[0][0] for b in batches(40)]

        def job():
            with fresh(seed=3) as net:
                loss = small_net("sgd")
            return {"net": (net.scope, net.main, net.startup, loss)}

        alone = job()
        train(fluid.CPUPlace(), alone)
        jobs = [job() for _ in range(3)]
        threads = [threading.Thread(target=train, args=(fluid.CUDAPlace(0), own)) for own in jobs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for own in jobs:
            np.testing.assert_allclose(own["losses"], alone["losses"], rtol=1e-5)

    def test_train_from_dataset(self):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, "part-0")
        with open(path, "w") as f:
            for batch in batches():
                for x, y in zip(batch["x"], batch["y"]):
                    f.write("4 " + " ".join(map(str, x)) + " 1 %r\n" % float(y[0]))

        def run(net, loss):
            dataset = fluid.DatasetFactory().create_dataset()
            dataset.set_use_var([net.main.global_block().var(n) for n in ("x", "y")])
            dataset.set_batch_size(10)
            dataset.set_thread(1)
            dataset.set_filelist([path])
            for _ in range(2):
                net.exe.train_from_dataset(net.main, dataset, net.scope)
            return [float(np.abs(net.value(n)).sum()) for n in ("fc_0.w_0", "fc_1.w_0")]

        with mock.patch("sys.stdout"):
            self.same_on_both(run)

    @TWO
    def test_a_gpu_is_named_once(self):
        """Executors of a process share it: its memory is taken once."""
        self.assertIs(fluid.Executor(fluid.CUDAPlace(0))._gpu, fluid.Executor(fluid.CUDAPlace(0))._gpu)
        self.assertIsNot(fluid.Executor(fluid.CUDAPlace(0))._gpu, fluid.Executor(fluid.CUDAPlace(1))._gpu)


@TWO
class V2(GpuCase):
    def setUp(self):
        super().setUp()
        topology._counts.clear()
        self.addCleanup(config._flags.clear)

    def costs(self):
        topology._counts.clear()
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(4))
        y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
        cost = paddle.layer.square_error_cost(paddle.layer.fc(paddle.layer.fc(x, size=6), size=1), y)
        update = paddle.optimizer.Momentum(learning_rate=0.01)
        trainer = paddle.trainer.SGD(cost, paddle.parameters.create(cost), update)
        out = []
        rows = [(r["x"][i], r["y"][i]) for r in batches(2) for i in range(10)]
        trainer.train(paddle.batch(lambda: iter(rows), 5), num_passes=2,
                      event_handler=lambda e: out.append(e.cost) if isinstance(e, paddle.event.EndIteration) else None)
        self.place = trainer._executor.place
        return out

    def test_use_gpu(self):
        paddle.init(use_gpu=False)
        want = self.costs()
        self.assertEqual(self.place, fluid.CPUPlace())
        third_of_four = {"num_gradient_servers": 4, "trainer_id": 3}
        for arguments, env, number in (({"use_gpu": True}, {}, 0), ({"use_gpu": True, "gpu_id": 1}, {}, 1),
                                       ({}, {"PADDLE_INIT_USE_GPU": "True"}, 0),
                                       (third_of_four, {"PADDLE_INIT_USE_GPU": "1"}, 1)):
            with self.subTest(arguments=arguments, env=env), mock.patch.dict(os.environ, env):
                config._flags.clear()
                paddle.init(**arguments)
                np.testing.assert_allclose(self.costs(), want, rtol=1e-5)
                self.assertEqual(self.place, fluid.CUDAPlace(number))

    @unittest.skipIf(REAL, "of the emulated device")
    def test_mistakes(self):
        with self.says(core.ConfigError, "there is no emulated GPU 2"):
            paddle.init(use_gpu=True, gpu_id=2)


if __name__ == "__main__":
    unittest.main()
