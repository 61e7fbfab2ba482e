"""The cut as scripts see it: signatures of three versions, op lists, names, mistakes; and role makers."""
import os
import sys
import unittest
from unittest import mock

import paddle.fluid as fluid
from paddle.fluid.incubate.fleet.base import role_maker
from paddle.fluid.incubate.fleet.base.fleet_base import Fleet
from paddle.fluid.incubate.fleet.parameter_server import mode as fleet_mode
from paddle.fluid.transpiler import HashName, RoundRobin, distribute_transpiler

TWO = "127.0.0.1:6174,127.0.0.1:6175"
FORWARD = ["mul", "elementwise_add", "elementwise_sub", "square", "mean", "fill_constant", "mean_grad", "square_grad",
           "elementwise_sub_grad", "elementwise_add_grad"]


def types(program, block=0):
    return [op.type for op in program.block(block).ops]


class Cut(unittest.TestCase):
    def setUp(self):
        self.main, self.startup = fluid.Program(), fluid.Program()
        guards = [fluid.program_guard(self.main, self.startup), fluid.unique_name.guard()]
        for g in guards:
            g.__enter__()
            self.addCleanup(g.__exit__, None, None, None)

    def net(self, optimizer=None, width=1000, **attrs):
        x = fluid.layers.data("x", [width])
        y = fluid.layers.data("y", [1])
        predict = fluid.layers.fc(x, width, param_attr=fluid.ParamAttr(name="fc_w", **attrs),
                                  bias_attr=fluid.ParamAttr(name="fc_b"))
        loss = fluid.layers.mean(fluid.layers.square_error_cost(predict, y))
        return (optimizer or fluid.optimizer.SGD(0.1)).minimize(loss)

    def transpiler(self, *args, config=None, **kwargs):
        t = fluid.DistributeTranspiler(config)
        kwargs.setdefault("pservers", TWO)
        t.transpile(*args, **kwargs)
        return t

    def test_sliced(self):
        self.net()
        t = self.transpiler(0, trainers=2)
        self.assertIs(t.get_trainer_program(wait_port=False), self.main)
        self.assertEqual(types(self.main), FORWARD + ["send", "mul_grad", "split_byref", "send", "send_barrier",
                                                      "recv", "recv",
                                                      "fetch_barrier", "concat"])
        self.assertEqual(sorted(types(self.startup)[:-4]), ["fill_constant", "fill_constant", "uniform_random"])
        self.assertEqual(types(self.startup)[-4:], ["recv", "recv", "fetch_barrier", "concat"])
        sends = [op for op in self.main.global_block().ops if op.type == "send"]
        self.assertEqual(sends[0].input("X"), ["fc_b@GRAD.trainer_0"])
        self.assertEqual(sends[1].attr("epmap"), ["127.0.0.1:6175", "127.0.0.1:6174"])  # one after the other
        pserver, startup = t.get_pserver_programs("127.0.0.1:6175")
        self.assertEqual(types(pserver), ["listen_and_serv"])
        self.assertEqual(types(pserver, 1), ["sum", "scale", "sgd"])
        self.assertEqual(pserver.global_block().var("fc_w.block0").shape, (500, 1000))
        self.assertTrue(set(types(startup)) <= {"fill_constant", "uniform_random"})

    def test_whole(self):
        self.net()
        config = fluid.DistributeTranspilerConfig()
        config.slice_var_up = False
        self.transpiler(1, trainers=2, config=config)
        self.assertEqual(types(self.main), FORWARD + ["send", "mul_grad", "send", "send_barrier", "recv", "recv",
                                                      "fetch_barrier"])

    def test_without_barriers(self):
        self.net()
        t = self.transpiler(1, trainers=2, sync_mode=False)
        self.assertEqual(types(self.main), FORWARD + ["send", "mul_grad", "split_byref", "send", "recv", "recv",
                                                      "concat"])
        self.assertEqual(types(t.get_pserver_program("127.0.0.1:6174"), 1), ["sgd"])

    def test_schedule(self):
        self.net(fluid.optimizer.SGD(fluid.layers.exponential_decay(0.1, 100, 0.5, staircase=True)))
        t = self.transpiler(0, trainers=2)
        pserver = t.get_pserver_program("127.0.0.1:6174")
        self.assertEqual(types(pserver, 1), ["increment", "cast", "fill_constant", "elementwise_div", "floor",
                                             "fill_constant",
                                             "elementwise_pow", "fill_constant", "elementwise_mul"])

    def test_regularizer_and_adam(self):
        self.net(fluid.optimizer.Adam(0.1), regularizer=fluid.regularizer.L2Decay(0.1))
        t = self.transpiler(0, trainers=2)
        lists = [types(t.get_pserver_program(e), b) for e in TWO.split(",")
                 for b in range(1, t.get_pserver_program(e).num_blocks)]
        self.assertIn(["sum", "scale", "adam", "scale", "scale"], lists)
        self.assertEqual(lists.count(["sum", "scale", "scale", "sum", "adam", "scale", "scale"]), 2)

    def test_three_eras(self):
        for arguments, keywords, suffix in [
                ((1,), dict(trainers=2), ".trainer_1"),
                ((), dict(trainer_id=1, trainers=2), ".trainer_1"),
                ((), dict(trianers=2), ".trainer_0"),
                (("ops", "pairs"), dict(trainers=2), ".trainer_0"),
                (("ops", "pairs", 1), dict(trainers=2), ".trainer_1"),
                (("ops", "pairs"), dict(trainer_id=1, trainers=2), ".trainer_1")]:
            with self.subTest(arguments=arguments, keywords=keywords):
                main, startup = fluid.Program(), fluid.Program()
                with fluid.program_guard(main, startup), fluid.unique_name.guard():
                    ops, pairs = self.net(width=4)
                    given = [{"ops": ops, "pairs": pairs}.get(a, a) for a in arguments]
                    t = self.transpiler(*given, **keywords)
                    self.assertEqual(t.trainer_num, 2)
                    self.assertTrue(main.global_block().has_var("fc_b@GRAD" + suffix))

    def test_arguments_of_the_old_interface(self):
        """The table of the Fleet guide: a startup program of one's own, and the endpoint of this process."""
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            self.net(width=4)
        t = fluid.DistributeTranspiler()
        t.transpile(1, program=main, pservers=TWO, trainers=4, sync_mode=False, startup_program=startup,
                    current_endpoint="127.0.0.1:6174")
        self.assertEqual((t.trainer_num, t.sync_mode), (4, False))
        self.assertFalse(t.get_pserver_program("127.0.0.1:6174").global_block().ops[-1].attr("sync_mode"))
        self.assertIn("recv", types(startup))
        self.assertEqual(types(self.startup), [])

    def test_lists_of_pservers_as_the_guides_write_them(self):
        for written, want in [("ps0.x.com:7164, ps1.x.com", ["ps0.x.com:7164", "ps1.x.com:7164"]),
                              (" 10.0.0.5 ,10.0.0.6:6174,", ["10.0.0.5:7164", "10.0.0.6:6174"]),
                              ("[::1],[fe80::1]:9", ["[::1]:7164", "[fe80::1]:9"])]:
            with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
                self.net(width=4)
                t = fluid.DistributeTranspiler()
                t.transpile(0, pservers=written, trainers=2)
                self.assertEqual(t.pserver_endpoints, want)
                t.get_pserver_program(want[1])

    def test_a_second_cut_starts_from_the_whole_program(self):
        self.net()
        self.transpiler(0, trainers=2)
        first = types(self.main)
        self.transpiler(1, trainers=2)
        self.assertEqual(types(self.main), first)
        self.assertTrue(self.main.global_block().has_var("fc_b@GRAD.trainer_1"))

    def test_mistakes(self):
        self.net()
        with self.assertRaisesRegex(AttributeError, "no field 'min_blok_size'.*did you mean 'min_block_size'"):
            fluid.DistributeTranspilerConfig().min_blok_size = 3
        with self.assertRaisesRegex(AttributeError, "did you mean 'sync_mode'"):
            fluid.DistributeTranspilerConfig().synch_mode
        t = fluid.DistributeTranspiler()
        with self.assertRaisesRegex(ValueError, "transpile.. must be called first"):
            t.get_trainer_program()
        with self.assertRaisesRegex(TypeError, "no argument 'pserver'.*did you mean 'pservers'"):
            t.transpile(0, pserver=TWO)
        with self.assertRaisesRegex(ValueError, "entry of pservers 'localhost:x' has no port"):
            t.transpile(0, pservers="localhost:x")
        with self.assertRaisesRegex(ValueError, "listed twice"):
            t.transpile(0, pservers="a:1,a:1")
        with self.assertRaisesRegex(ValueError, "trainer id 2 does not fit"):
            t.transpile(2, pservers=TWO, trainers=2)
        config = fluid.DistributeTranspilerConfig()
        config.mode = "nccl2"
        with self.assertRaisesRegex(ValueError, "mode 'nccl2' is not supported"):
            self.transpiler(0, config=config)
        t.transpile(0, pservers=TWO, trainers=2)
        with self.assertRaisesRegex(ValueError, "no pserver '127.0.0.1:6176'.*did you mean"):
            t.get_pserver_program("127.0.0.1:6176")
        with self.assertRaisesRegex(ValueError, "no optimizer|does not train"):
            fluid.DistributeTranspiler().transpile(0, program=fluid.Program(), pservers=TWO)

    def test_modes(self):
        mode = distribute_transpiler.DistributedMode
        self.assertEqual([mode.SYNC, mode.ASYNC, mode.HALF_ASYNC, mode.GEO], [0, 1, 2, 3])
        self.assertIs(fleet_mode.DistributedMode, mode)
        config = fluid.DistributeTranspilerConfig()
        self.assertEqual(config._core_mode(None), "sync")
        self.assertEqual(config._core_mode(False), "half_async")
        config.runtime_split_send_recv = True
        self.assertEqual(config._core_mode(False), "async")
        config.sync_mode = False
        self.assertEqual(config._core_mode(None), "async")
        self.assertEqual(config._core_mode(True), "sync")
        config.half_async = True
        self.assertEqual(config._core_mode(None), "half_async")
        config.geo_sgd_mode = True
        self.assertEqual(config._core_mode(None), "geo")

    def test_dispatchers(self):
        r = RoundRobin(["a:1", "b:1"])
        self.assertEqual(r.dispatch(["w", "b", "c"]), ["a:1", "b:1", "a:1"])
        r.reset()
        self.assertEqual(r.dispatch(["w"]), ["a:1"])
        h = HashName(["a:1", "b:1"])
        self.assertEqual(h.dispatch(["w", "w"]), h.dispatch(["w"]) * 2)
        self.net(width=4)
        config = fluid.DistributeTranspilerConfig()
        config.split_method = HashName
        t = self.transpiler(0, config=config, pservers="a:1,b:1")
        self.assertEqual({s["name"]: s["endpoint"] for s in t.cut.slices}["fc_w"], h.dispatch(["fc_w"])[0])


class Roles(unittest.TestCase):
    def role(self, maker, **env):
        with mock.patch.dict(os.environ, env, clear=True):
            made = maker()
            made.generate_role()
        return made

    def test_cloud_by_the_names_of_all_eras(self):
        worker = self.role(role_maker.PaddleCloudRoleMaker, PADDLE_PSERVERS_IP_PORT_LIST=TWO, PADDLE_TRAINERS_NUM="3",
                           TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID="2")
        self.assertTrue(worker.is_worker())
        self.assertEqual((worker.worker_index(), worker.worker_num(), worker.server_num()), (2, 3, 2))
        server = self.role(role_maker.PaddleCloudRoleMaker, PADDLE_PSERVERS_IP_PORT_LIST=TWO, PADDLE_TRAINERS_NUM="3",
                           TRAINING_ROLE="PSERVER", POD_IP="127.0.0.1", PADDLE_PORT="6175")
        self.assertEqual((server.is_server(), server.server_index()), (True, 1))
        old = self.role(role_maker.PaddleCloudRoleMaker, PADDLE_PSERVERS="h1,h2", PADDLE_PORT="6174",
                        PADDLE_TRAINERS_NUM="1",
                        TRAINING_ROLE="PSERVER", POD_IP="h2")
        self.assertEqual((old.get_pserver_endpoints(), old.server_index()), (["h1:6174", "h2:6174"], 1))
        middle = self.role(role_maker.PaddleCloudRoleMaker, PADDLE_PSERVERS="127.0.0.1,127.0.0.1",
                           PADDLE_PORT="6170,6171",
                           PADDLE_TRAINING_ROLE="PSERVER", CURRENT_ENDPOINT="127.0.0.1:6171", PADDLE_TRAINERS_NUM="2")
        self.assertEqual((middle.get_pserver_endpoints()[1], middle.server_index()), ("127.0.0.1:6171", 1))
        general = self.role(role_maker.GeneralRoleMaker, PADDLE_PSERVERS_IP_PORT_LIST=TWO, TRAINING_ROLE="PSERVER",
                            PADDLE_TRAINER_ENDPOINTS="a:1,b:1,c:1", PADDLE_PSERVER_ID="1")
        self.assertEqual((general.worker_num(), general.server_index()), (3, 1))
        with self.assertRaisesRegex(ValueError, "PADDLE_PSERVERS_IP_PORT_LIST"):
            self.role(role_maker.PaddleCloudRoleMaker)
        with self.assertRaisesRegex(ValueError, "not among the servers"):
            self.role(role_maker.PaddleCloudRoleMaker, PADDLE_PSERVERS_IP_PORT_LIST=TWO, TRAINING_ROLE="PSERVER",
                      POD_IP="h9")

    @mock.patch.dict(sys.modules, {"mpi4py": None})  # which would miss the rest of what mpirun sets
    def test_mpi(self):
        env = dict(OMPI_COMM_WORLD_SIZE="4", PADDLE_PORT="6000")
        server = self.role(role_maker.MPISymetricRoleMaker, OMPI_COMM_WORLD_RANK="2", **env)
        worker = self.role(role_maker.MPISymetricRoleMaker, OMPI_COMM_WORLD_RANK="3", **env)
        self.assertTrue(server.is_server() and worker.is_worker())
        self.assertEqual((server.server_index(), worker.worker_index(), worker.worker_num()), (1, 1, 2))
        self.assertEqual(worker.get_pserver_endpoints(), ["127.0.0.1:6000", "127.0.0.1:6001"])
        with mock.patch.dict(os.environ, {}, clear=True), self.assertRaisesRegex(ValueError, "not started by mpirun"):
            Fleet().init()

    def test_user_defined(self):
        for kwargs, error in [(dict(server_endpoints=None), TypeError),
                              (dict(server_endpoints=["a:1", "a:1"]), ValueError),
                              (dict(server_endpoints=["a:1"], worker_num=0), ValueError),
                              (dict(server_endpoints=["a:1"], worker_num=1, current_id=1), ValueError)]:
            with self.assertRaises(error):
                role_maker.UserDefinedRoleMaker(**kwargs).generate_role()
        with self.assertRaisesRegex(ValueError, "RoleMakerBase"):
            Fleet().init("worker")

    def test_split_files(self):
        got = []
        for i in range(3):
            fleet = Fleet()
            fleet.init(role_maker.UserDefinedRoleMaker(i, role_maker.Role.WORKER, 3, ["a:1"]))
            got.append(fleet.split_files(list("abcdefg")))
        self.assertEqual(got, [["a", "b", "c"], ["d", "e"], ["f", "g"]])


if __name__ == "__main__":
    unittest.main()
