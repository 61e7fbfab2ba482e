"""paddle.v2 in one process: layers, sums as gradients, events, tar files, inference."""
import io
import os
import random
import struct
import tarfile
import unittest
from unittest import mock

import numpy as np

import paddle.fluid as fluid
import paddle.v2 as paddle
from paddle.v2 import config, topology


def linear(name="x", inputs=3, act=None):
    x = paddle.layer.data(name=name, type=paddle.data_type.dense_vector(inputs))
    y = paddle.layer.data(name="y", type=paddle.data_type.dense_vector(1))
    guess = paddle.layer.fc(input=x, size=1, act=act or paddle.activation.Linear())
    return guess, paddle.layer.square_error_cost(input=guess, label=y)


def samples(n=12, inputs=3, seed=1):
    r = np.random.RandomState(seed)
    w = np.arange(1, inputs + 1)
    return [(x, x @ w + 0.5) for x in r.uniform(-1, 1, (n, inputs)).astype("float32")]


class V2(unittest.TestCase):
    def setUp(self):
        topology._counts.clear()

    def test_names(self):
        guess, cost = linear()
        parameters = paddle.parameters.create(cost)
        self.assertEqual(guess.name, "__fc_layer_0__")
        self.assertEqual(parameters.names(), ["___fc_layer_0__.w0", "___fc_layer_0__.wbias"])
        self.assertEqual(parameters.get_shape("___fc_layer_0__.w0"), (3, 1))
        self.assertFalse(parameters["___fc_layer_0__.wbias"].any())
        self.assertTrue(parameters["___fc_layer_0__.w0"].any())
        with self.assertRaisesRegex(ValueError, "there is no parameter 'w'"):
            parameters["w"]
        with self.assertRaisesRegex(ValueError, r"has the shape \(3, 1\)"):
            parameters["___fc_layer_0__.w0"] = np.zeros(3)

    def test_gradients_are_sums_over_samples(self):
        _, cost = linear()
        parameters = paddle.parameters.create(cost)
        w = parameters["___fc_layer_0__.w0"].astype("float64")
        b = parameters["___fc_layer_0__.wbias"].astype("float64")
        trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(momentum=0, learning_rate=0.01))
        data, costs = samples(), []

        def on_event(e):
            if isinstance(e, paddle.event.EndIteration):
                costs.append(e.cost)

        trainer.train(paddle.batch(lambda: iter(data), 5), num_passes=2, event_handler=on_event)
        want = []
        for _ in range(2):
            for i in range(0, len(data), 5):
                x = np.array([s[0] for s in data[i:i + 5]], dtype="float64")
                y = np.array([[s[1]] for s in data[i:i + 5]], dtype="float64")
                d = x @ w + b - y
                want.append(float((d**2).sum() / len(x)))  # the cost of an event is a mean
                w -= 0.01 * 2 * x.T @ d  # the gradient is a sum
                b -= 0.01 * 2 * d.sum(0)
        np.testing.assert_allclose(costs, want, rtol=1e-5)
        np.testing.assert_allclose(parameters["___fc_layer_0__.w0"], w, rtol=1e-5)
        result = trainer.test(paddle.batch(lambda: iter(data), 5))
        x, y = np.array([s[0] for s in data]), np.array([[s[1]] for s in data])
        self.assertAlmostEqual(result.cost, float(((x @ w + b - y)**2).mean()), places=5)

    def test_regularization_and_clipping(self):
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(1))
        own = paddle.attr.Param(name="own", initial_mean=2.0, initial_std=0.0, l2_rate=0)
        shared = paddle.attr.Param(name="decayed", initial_mean=2.0, initial_std=0.0)
        static = paddle.attr.Param(name="static", initial_max=1.0, initial_min=1.0, is_static=True)
        parts = [paddle.layer.fc(x, size=1, act=paddle.activation.Linear(), param_attr=a, bias_attr=False)
                 for a in (own, shared, static)]
        cost = paddle.layer.sum_cost(paddle.layer.addto(parts))
        parameters = paddle.parameters.create(cost)
        optimizer = paddle.optimizer.Momentum(learning_rate=0.1, regularization=paddle.optimizer.L2Regularization(0.5),
                                              gradient_clipping_threshold=3.0)
        paddle.trainer.SGD(cost, parameters, optimizer).train(lambda: iter([[(np.array([1.0]),)] * 10]))
        self.assertAlmostEqual(float(parameters["own"][0, 0]), 2 - 0.1 * 3, places=5)  # of 10, clipped to 3
        self.assertAlmostEqual(float(parameters["decayed"][0, 0]), 2 - 0.1 * (3 + 0.5 * 2), places=5)
        self.assertEqual(float(parameters["static"][0, 0]), 1.0)

    def word_network(self, sparse=True):
        words = [paddle.layer.data(name=n, type=paddle.data_type.integer_value(20)) for n in "ab"]
        table = paddle.attr.Param(name="_proj", initial_std=0.1, l2_rate=0, sparse_update=sparse)
        context = paddle.layer.concat(input=[paddle.layer.embedding(input=w, size=8, param_attr=table) for w in words])
        hidden = paddle.layer.fc(input=context, size=16, act=paddle.activation.Sigmoid(),
                                 layer_attr=paddle.attr.Extra(drop_rate=0.1))
        guess = paddle.layer.fc(input=hidden, size=20, act=paddle.activation.Softmax())
        return guess, paddle.layer.classification_cost(
            input=guess, label=paddle.layer.data(name="next", type=paddle.data_type.integer_value(20)))

    def test_words_are_learnt(self):
        guess, cost = self.word_network()
        parameters = paddle.parameters.create(cost)
        self.assertEqual(parameters.names()[0], "_proj")
        trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.AdaGrad(learning_rate=0.2))
        data = [(a, b, (a + 2 * b) % 20) for a in range(20) for b in range(3)]
        events = []
        random.seed(1)  # of the shuffle: one order in a few hundred is not learnt in 100 passes
        trainer.train(paddle.batch(paddle.reader.shuffle(lambda: iter(data), 60), 10), num_passes=100,
                      event_handler=events.append, feeding={"a": 0, "b": 1, "next": 2})
        kinds = [type(e).__name__ for e in events[:5]]
        self.assertEqual(kinds, ["BeginPass", "BeginIteration", "EndForwardBackward", "EndIteration", "BeginIteration"])
        self.assertIsInstance(events[-1], paddle.event.EndPass)
        result = trainer.test(paddle.batch(lambda: iter(data), 25))
        self.assertLess(result.metrics["classification_error_evaluator"], 0.1)
        errors = paddle.infer(output_layer=guess, parameters=parameters, input=[d[:2] for d in data])
        self.assertEqual(errors.shape, (60, 20))
        ids = paddle.infer(output_layer=guess, parameters=parameters, input=[d[:2] for d in data], field="id")
        self.assertGreater((ids == [d[2] for d in data]).mean(), 0.9)
        once = paddle.infer(output_layer=guess, parameters=parameters, input=[d[:2] for d in data])
        np.testing.assert_array_equal(once, errors)  # dropout does nothing outside of training

    def test_sequences_and_sparse_vectors(self):
        words = paddle.layer.data(name="words", type=paddle.data_type.integer_value_sequence(10))
        flags = paddle.layer.data(name="flags", type=paddle.data_type.sparse_binary_vector(4))
        emb = paddle.layer.embedding(words, size=2, param_attr=paddle.attr.Param(
            name="t", initializer=lambda name: np.arange(20).reshape(10, 2)))
        pooled = [paddle.layer.pooling(emb, pooling_type=p) for p in (paddle.pooling.Max(), paddle.pooling.Sum(),
                                                                      paddle.pooling.Avg())]
        outs = [*pooled, paddle.layer.first_seq(emb), paddle.layer.last_seq(emb),
                paddle.layer.fc(flags, size=1, act=paddle.activation.Linear(), bias_attr=False,
                                param_attr=paddle.attr.Param(
                    name="f", initializer=lambda name: np.array([[1.0], [10], [100], [1000]])))]
        parameters = paddle.parameters.create(outs)
        got = paddle.infer(outs, parameters, [([1, 3, 2], [0, 2]), ([4], [1])])
        self.assertEqual([g.tolist() for g in got],
                         [[[6, 7], [8, 9]], [[12, 15], [8, 9]], [[4, 5], [8, 9]], [[2, 3], [8, 9]], [[4, 5], [8, 9]],
                          [[101], [10]]])
        with self.assertRaisesRegex(ValueError, "needs sequences"):
            paddle.layer.pooling(flags)

    def test_images(self):
        image = paddle.layer.data(name="image", type=paddle.data_type.dense_vector(64))
        conv = paddle.layer.img_conv(image, filter_size=3, num_filters=4, num_channels=1, padding=1)
        pool = paddle.layer.img_pool(conv, pool_size=2, stride=2)
        norm = paddle.layer.batch_norm(pool)
        guess = paddle.layer.fc(norm, size=2, act=paddle.activation.Softmax())
        self.assertEqual((conv.shape, pool.shape, guess.size), ((4, 8, 8), (4, 4, 4), 2))
        cost = paddle.layer.classification_cost(guess, paddle.layer.data(name="label",
                                                                         type=paddle.data_type.integer_value(2)))
        r = np.random.RandomState(1)
        data = [(r.normal(d, 1, 64).astype("float32"), d) for d in [0, 1] * 20]
        parameters = paddle.parameters.create(cost)
        trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(momentum=0.9, learning_rate=0.01))
        trainer.train(paddle.batch(lambda: iter(data), 20), num_passes=20)
        self.assertLess(trainer.test(paddle.batch(lambda: iter(data), 40)).metrics["classification_error_evaluator"],
                        0.2)

    def test_all_optimizers_step(self):
        o = paddle.optimizer
        for update in (o.Momentum(momentum=0.9), o.Adam(), o.Adamax(), o.AdaGrad(), o.DecayedAdaGrad(), o.AdaDelta(),
                       o.RMSProp()):
            _, cost = linear()
            parameters = paddle.parameters.create(cost)
            before = parameters[parameters.names()[0]]
            paddle.trainer.SGD(cost, parameters, update).train(paddle.batch(lambda: iter(samples()), 4))
            self.assertTrue((parameters[parameters.names()[0]] != before).all(), type(update).__name__)
        with self.assertRaisesRegex(ValueError, "stay constant"):
            o.AdaGrad(learning_rate_schedule="poly", learning_rate_decay_a=0.1)


class Names(unittest.TestCase):
    """Names of the loss and of the optimizer differ from those of the layers: all are one program."""

    def setUp(self):
        topology._counts.clear()
        guard = fluid.unique_name.guard()  # as in a process that has built nothing yet
        guard.__enter__()
        self.addCleanup(guard.__exit__, None, None, None)

    def train(self, coeff):
        """Three steps with a bias that learns twice as fast; one of four samples is classified wrongly."""
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(1))
        guess = paddle.layer.fc(x, size=2, act=paddle.activation.Softmax(),
                                param_attr=paddle.attr.Param(name="w", initializer=lambda name: np.array([[1.0, 0]])),
                                bias_attr=paddle.attr.Param(name="b", learning_rate=2.0))
        label = paddle.layer.data(name="label", type=paddle.data_type.integer_value(2))
        cost = paddle.layer.classification_cost(guess, label, coeff=coeff)
        parameters, events = paddle.parameters.create(cost), []
        trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(learning_rate=0.003))
        batch = [([v], int(v < 2)) for v in (1.0, 2.0, 3.0, 4.0)]
        trainer.train(lambda: iter([batch] * 3), event_handler=events.append)
        return parameters, [e for e in events if isinstance(e, paddle.event.EndIteration)]

    def test_metrics_are_those_of_the_evaluator(self):
        _, events = self.train(coeff=1.0)
        self.assertEqual([e.metrics["classification_error_evaluator"] for e in events], [0.25] * 3)

    def test_a_coefficient_and_a_bias_with_a_rate_of_its_own(self):
        parameters, events = self.train(coeff=0.5)
        x, label = np.array([1.0, 2, 3, 4])[:, None], np.array([1, 0, 0, 0])
        w, b, want = np.array([[1.0, 0]]), np.zeros(2), []
        for _ in range(3):
            p = np.exp(x @ w + b)
            p /= p.sum(1, keepdims=True)
            want.append(0.5 * -np.log(p[range(4), label]).mean())
            p[range(4), label] -= 1
            w, b = w - 0.003 * 0.5 * x.T @ p, b - 0.003 * 2 * 0.5 * p.sum(0)
        np.testing.assert_allclose([e.cost for e in events], want, rtol=1e-5)
        np.testing.assert_allclose(parameters["w"], w, rtol=1e-5)
        np.testing.assert_allclose(parameters["b"], b, rtol=1e-4)

    def test_two_trainers_of_the_same_parameters_keep_their_own_state(self):
        def train(rates):
            topology._counts.clear()
            _, cost = linear()
            parameters = paddle.parameters.create(cost)
            parameters["___fc_layer_0__.w0"] = np.ones((3, 1))
            both = [paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(momentum=0.0, learning_rate=r))
                    for r in rates]
            both[0].train(paddle.batch(lambda: iter(samples()), 4))
            return parameters["___fc_layer_0__.w0"]

        np.testing.assert_array_equal(train([0.01, 0.5]), train([0.01]))


class Tar(unittest.TestCase):
    def test_layout_and_back(self):
        _, cost = linear(inputs=5)
        parameters = paddle.parameters.create(cost)
        file = io.BytesIO()
        parameters.to_tar(file)
        w, b = parameters.names()
        with tarfile.TarFile(fileobj=io.BytesIO(file.getvalue())) as tar:
            self.assertEqual(tar.getnames(), [w, w + ".protobuf", b, b + ".protobuf"])
            body = tar.extractfile(w).read()
            self.assertEqual(body[:16], struct.pack("<IIQ", 0, 4, 5))
            np.testing.assert_array_equal(np.frombuffer(body[16:], "<f4").reshape(5, 1), parameters[w])
            self.assertEqual(tar.extractfile(w + ".protobuf").read(),
                             b"\x0a" + bytes([len(w)]) + w.encode() + b"\x10\x05\x48\x05\x48\x01")
            self.assertEqual((tar.getmember(w).mode, tar.getmember(w).mtime), (0o644, 0))
        again = paddle.parameters.Parameters.from_tar(io.BytesIO(file.getvalue()))
        self.assertEqual(again.names(), [w, b])
        for name in (w, b):
            self.assertEqual(again[name].shape, parameters[name].shape)
            np.testing.assert_array_equal(again[name], parameters[name])
        parameters[w] = np.zeros((5, 1))
        parameters.init_from_tar(io.BytesIO(file.getvalue()))
        np.testing.assert_array_equal(parameters[w], again[w])

    def test_damaged_files_are_reported(self):
        def tar(*members):
            file = io.BytesIO()
            with tarfile.TarFile(fileobj=file, mode="w") as t:
                for name, body in members:
                    info = tarfile.TarInfo(name)
                    info.size = len(body)
                    t.addfile(info, io.BytesIO(body))
            return io.BytesIO(file.getvalue())

        config_of_w = b"\x0a\x01w\x10\x02\x48\x02\x48\x01"
        head = struct.pack("<IIQ", 0, 4, 2)
        for members, words in (([("w.protobuf", config_of_w)], "does not hold it"),
                               ([("w.protobuf", b"\xff"), ("w", b"")], "no description"),
                               ([("w.protobuf", config_of_w), ("w", head[:5])], "a v2 parameter's head"),
                               ([("w.protobuf", config_of_w), ("w", head + b"1234")],
                                "expected 2 elements of 4 bytes, found 4 bytes"),
                               ([("w.protobuf", config_of_w), ("w", struct.pack("<IIQ", 0, 8, 2))],
                                "expected 2 elements of 8 bytes, found 0 bytes")):
            with self.assertRaisesRegex(ValueError, words):
                paddle.parameters.Parameters.from_tar(tar(*members))


class Init(unittest.TestCase):
    def tearDown(self):
        config._flags.clear()

    def test_arguments_win_over_the_environment(self):
        env = {"PADDLE_INIT_PSERVERS": "10.0.0.1,10.0.0.2", "PADDLE_INIT_PORT": "7000", "PADDLE_INIT_PORTS_NUM": "2",
               "PADDLE_INIT_NUM_GRADIENT_SERVERS": "3", "PADDLE_INIT_TRAINER_ID": "1", "PADDLE_INIT_USE_GPU": "False"}
        with mock.patch.dict(os.environ, env):
            paddle.init(port=8000, trainer_count=1, use_gpu=False)
            self.assertEqual(config.cluster(), {
                "pservers": ["10.0.0.1:8000", "10.0.0.1:8001", "10.0.0.2:8000", "10.0.0.2:8001"], "trainers": 3,
                "trainer_id": 1, "sync": True})
            self.assertEqual(config.options()["trainer_count"], 1)

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "trainer_count"):
            paddle.init(trainer_cuont=1)
        with self.assertRaisesRegex(ValueError, "port"):
            paddle.init(port="x")
        with self.assertRaisesRegex(ValueError, "cannot compute on a GPU: "):
            paddle.init(use_gpu=True)

    def test_mistakes_in_layers(self):
        x = paddle.layer.data(name="x", type=paddle.data_type.dense_vector(2))
        with self.assertRaisesRegex(TypeError, "with brackets"):
            paddle.parameters.create(paddle.layer.fc(x, size=1, act=paddle.activation.Relu))
        with self.assertRaisesRegex(ValueError, "data layer of integers"):
            paddle.layer.embedding(x, size=3)
        with self.assertRaisesRegex(TypeError, "the input of a layer is a layer"):
            paddle.layer.fc("x", size=1)
        guess = paddle.layer.fc(x, size=1)
        with self.assertRaisesRegex(ValueError, "none of the layers is a cost"):
            paddle.trainer.SGD(guess, paddle.parameters.create(guess), paddle.optimizer.Adam())
        with self.assertRaisesRegex(ValueError, "feeding names no place for the data layers x"):
            paddle.infer(guess, paddle.parameters.create(guess), [([1, 2],)], feeding={"z": 0})


if __name__ == "__main__":
    unittest.main()
