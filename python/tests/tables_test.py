"""Sparse tables in one process: embedding(is_distributed=True) trains, tests, saves and loads."""
import os
import shutil
import struct
import tempfile
import unittest

import numpy as np
from support import Case, fresh

import paddle.fluid as fluid
from paddle.fluid import core

IDS = np.array([[3], [2**62], [-5], [3]], "int64")


def build(embedding, size, shape):
    ids = fluid.data("ids", shape, dtype="int64")
    rows = embedding(ids, size=size, is_distributed=True, param_attr=fluid.ParamAttr(name="emb"))
    score = fluid.layers.fc(fluid.layers.reshape(rows, [-1, size[1]]), 1)
    loss = fluid.layers.mean(fluid.layers.square(score - 1.0))
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(0.1, lazy_mode=True).minimize(loss)
    return score, loss, test


class Tables(Case):
    def train(self, net, loss, steps, ids=IDS):
        return [float(net.run({"ids": ids}, [loss])[0][0]) for _ in range(steps)]

    def test_any_id_trains(self):
        for embedding, shape in ((fluid.layers.embedding, [None, 1]), (fluid.embedding, [None, 1])):
            for size, ids in (([-1, 4], IDS), ([2**40, 4], IDS % 2**40)):
                with fresh() as net:
                    _, loss, test = build(embedding, size, shape)
                    net.start()
                    costs = self.train(net, loss, 20, ids)
                    self.assertLess(costs[-1], costs[0] / 2)
                    before = net.run({"ids": ids}, [loss], program=test)
                    self.assertEqual(before, net.run({"ids": ids}, [loss], program=test))

    def test_saved_and_loaded(self):
        with tempfile.TemporaryDirectory() as where:
            with fresh() as net:
                _, loss, _ = build(fluid.layers.embedding, [-1, 4], [None, 1])
                net.start()
                self.train(net, loss, 5)
                fluid.io.save_persistables(net.exe, where)
                self.assertIn("emb.table", os.listdir(where))
                self.assertNotIn("emb", os.listdir(where))
                expected = self.train(net, loss, 5)
            with fresh(seed=9) as net:
                _, loss, _ = build(fluid.layers.embedding, [-1, 4], [None, 1])
                net.start()
                fluid.io.load_persistables(net.exe, where)
                self.assertEqual(self.train(net, loss, 5), expected)
                os.remove(os.path.join(where, "emb.table"))
                with self.assertRaisesRegex(core.EnforceNotMet, "emb.table"):
                    fluid.io.load_persistables(net.exe, where)

    def test_inference_model(self):
        with tempfile.TemporaryDirectory() as where:
            with fresh() as net:
                score, loss, test = build(fluid.layers.embedding, [-1, 4], [None, 1])
                net.start()
                self.train(net, loss, 5)
                expected = net.run({"ids": IDS}, [score], program=test)[0]
                fluid.io.save_inference_model(where, ["ids"], [score], net.exe)
            with fresh(seed=9) as net:
                program, feeds, fetches = fluid.io.load_inference_model(where, net.exe)
                found = net.run({feeds[0]: IDS}, fetches, program=program)[0]
                np.testing.assert_array_equal(found, expected)

    def test_fluids_streams(self):
        """Beside the tables; what has them alone, as PaddlePaddle's pservers write them, is loaded as well."""
        ids = IDS[:2] % 2**40
        with tempfile.TemporaryDirectory() as where:
            streams, model = os.path.join(where, "__lookup_table__"), os.path.join(where, "model")
            with fresh() as net:
                score, loss, test = build(fluid.layers.embedding, [2**40, 4], [None, 1])
                net.start()
                self.train(net, loss, 5, ids)
                fluid.io.save_persistables(net.exe, where)
                expected = net.run({"ids": ids}, [score], program=test)[0]
                fluid.io.save_inference_model(model, ["ids"], [score], net.exe)
            self.assertEqual(os.listdir(streams), ["emb_0"])
            with open(os.path.join(streams, "emb_0"), "rb") as f:
                stream = f.read()
            version, count = struct.unpack_from("<IQ", stream)
            found = struct.unpack_from(f"<{count}qq", stream, 12)
            self.assertEqual((version, sorted(found)), (0, sorted([*ids.flatten(), 2**40])))
            for name in (where, model):
                os.remove(os.path.join(name, "emb.table"))
            with fresh() as net:
                score, loss, test = build(fluid.layers.embedding, [2**40, 4], [None, 1])
                net.start()
                fluid.io.load_persistables(net.exe, where)
                np.testing.assert_array_equal(net.run({"ids": ids}, [score], program=test)[0], expected)
                self.train(net, loss, 1, ids)
            with fresh() as net:
                program, feeds, fetches = fluid.io.load_inference_model(model, net.exe)
                np.testing.assert_array_equal(net.run({feeds[0]: ids}, fetches, program=program)[0], expected)
            os.link(os.path.join(streams, "emb_0"), os.path.join(streams, "emb_1"))
            for size, said in (([2**40, 4], "belongs to another one of 2 streams"), ([2**40, 3], "rows of 4 values"),
                               ([2, 4], "the table 'emb' has 2 rows")):
                with fresh() as net:
                    build(fluid.layers.embedding, size, [None, 1])
                    net.start()
                    if size != [2**40, 4]:
                        shutil.rmtree(streams)
                        os.mkdir(streams)
                        with open(os.path.join(streams, "emb_0"), "wb") as f:
                            f.write(stream)
                    with self.assertRaisesRegex(core.EnforceNotMet, said):
                        fluid.io.load_vars(net.exe, where, vars=["emb"])

    def test_ids_that_fluid_cannot_hold(self):
        with tempfile.TemporaryDirectory() as where, fresh() as net:
            _, loss, _ = build(fluid.layers.embedding, [-1, 4], [None, 1])
            net.start()
            self.train(net, loss, 1, IDS[:2])
            fluid.io.save_persistables(net.exe, where)
            self.assertEqual(os.listdir(os.path.join(where, "__lookup_table__")), ["emb_0"])
            self.train(net, loss, 1)
            fluid.io.save_persistables(net.exe, where)
            self.assertEqual(os.listdir(os.path.join(where, "__lookup_table__")), [])
            self.assertIn("emb.table", os.listdir(where))

    def test_mistakes(self):
        with fresh() as net:
            _, loss, _ = build(fluid.layers.embedding, [10, 4], [None, 1])
            with self.assertRaisesRegex(core.EnforceNotMet, "startup program"):
                net.run({"ids": abs(IDS) % 10}, [loss])
            net.start()
            with self.assertRaisesRegex(core.EnforceNotMet, "outside of the table 'emb'"):
                net.run({"ids": IDS}, [loss])
            with self.assertRaisesRegex(core.EnforceNotMet, "rows by id"):
                net.run({"ids": abs(IDS) % 10}, ["emb"])


if __name__ == "__main__":
    unittest.main()
