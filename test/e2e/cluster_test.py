"""Pservers and trainers train one model together: the same bits, however the job is cut, started or ordered."""
import itertools
import os
import re
import unittest

from cluster import Cluster, Process, free_ports, same_model, write_job
from support import PADDLE, PSERVER, TRAINER, EndToEnd, main

# Every rule with a falling rate, a regulariser and a clip: the whole of what pservers compute.
RULES = {rule: f"""{{"type": "{rule}", "learning_rate": {rate}, "l2": 0.001,
                    "schedule": {{"type": "exponential_decay", "decay_steps": 20, "decay_rate": 0.8}},
                    "gradient_clip": {{"type": "value", "max": 0.05}}}}"""
         for rule, rate in (("sgd", 0.2), ("momentum", 0.05), ("adagrad", 0.1), ("adam", 0.01))}
SMALL = ["--num_passes=3", "--min_block_size=64", "--log_period=0"]
DONE = ["--exit_when_done"]


class ClusterTest(EndToEnd):
    def cluster(self, job, servers=1, trainers=1, ports_num=1, flags=(), server_flags=(), name=None):
        name = name if name is not None else f"{trainers}x{servers}x{ports_num}-{len(os.listdir(self.dir))}-"
        return Cluster(self, job, servers, trainers, server_flags=[*DONE, *server_flags], trainer_flags=[*SMALL, *flags],
                       ports_num=ports_num, name=name)

    def local(self, job, *flags, name="local"):
        self.train(job, *SMALL, f"--save_dir={name}", *flags)
        passes = sorted(os.listdir(self.path(name)))
        return self.files(self.path(name, passes[-1]))


class SameBits(ClusterTest):
    def test_one_trainer_equals_a_local_run(self):
        """All rules but sgd: a local run fuses sgd into the backward op, which rounds otherwise."""
        for rule in ("momentum", "adagrad", "adam"):
            with self.subTest(rule):
                job = write_job(self, RULES[rule], name=f"{rule}.json")
                local = self.local(job, name=f"local-{rule}")
                found = self.cluster(job, servers=2, name=f"{rule}-").run()
                same_model(self, local, found)

    def test_sgd_equals_a_local_run_but_for_rounding(self):
        job = write_job(self, RULES["sgd"])
        local, found = self.local(job), self.cluster(job).run()
        self.assertEqual(sorted(local), sorted(found))
        for name in ("h.w_0", "p.w_0"):
            a, b = (memoryview(m[name][-32 * 4:]).cast("f") for m in (local, found))
            for x, y in zip(a, b):
                self.assertAlmostEqual(x, y, delta=1e-4)

    def layouts(self, trainers, layouts, rule="adam"):
        job = write_job(self, RULES[rule], records=190)
        first = None
        for servers, ports, split in layouts:
            with self.subTest(f"{trainers} trainers, {servers} pservers of {ports} ports, {split}"):
                found = self.cluster(job, servers, trainers, ports, [f"--split_method={split}"]).run()
                first = first or found
                same_model(self, first, found)
        return job, first

    def test_one_trainer_over_any_cut(self):
        self.layouts(1, [(1, 1, "bytes"), (1, 4, "round_robin"), (3, 1, "hash")])

    def test_two_trainers_over_any_cut(self):
        job, first = self.layouts(2, [(1, 1, "bytes"), (2, 2, "round_robin"), (2, 1, "hash"), (1, 3, "bytes")])
        whole = self.cluster(job, 2, 2, flags=["--slice_var_up=false"], name="whole-").run()
        same_model(self, first, whole)
        other = self.cluster(job, 2, 2, flags=["--seed=7"], name="seed-").run()
        self.assertNotEqual(first["h.w_0"], other["h.w_0"])

    def test_three_trainers_over_any_cut(self):
        self.layouts(3, [(2, 1, "bytes"), (1, 4, "hash"), (2, 1, "bytes")], "momentum")

    def test_trainer_programs_and_threads_do_not_matter(self):
        job = write_job(self, RULES["adagrad"])
        first = self.cluster(job, 1, 2).run()
        other = self.cluster(job, 2, 2, flags=["--trainer_count=2"], server_flags=["--spin_microseconds=20"], name="threads-").run()
        same_model(self, first, other)


class Saved(ClusterTest):
    def test_a_local_run_takes_it_up(self):
        """The directory is a local run's: same files, and both kinds of run go on from it with the same bits."""
        job = write_job(self, RULES["momentum"])
        two = self.cluster(job, 2, 1, name="two-")
        self.assertEqual(sorted(two.run()), sorted(self.local(job, name="names")))
        start = os.path.join(two.save_dir, "pass-00002")
        local = self.local(job, "--num_passes=5", f"--init_model_path={start}", name="more")
        again = self.cluster(job, 2, 1, flags=["--num_passes=5", f"--init_model_path={start}"], name="again-")
        same_model(self, local, again.run())
        self.assertEqual(sorted(os.listdir(again.save_dir)), ["pass-00003", "pass-00004"])

    def test_two_trainers_go_on_where_they_stopped(self):
        job = write_job(self, RULES["adam"], records=210)
        whole = self.cluster(job, 2, 2, flags=["--num_passes=5"], name="whole-").run()
        parts = self.cluster(job, 2, 2, name="parts-")
        parts.run()
        more = self.cluster(job, 1, 2, flags=["--num_passes=5", "--start_pass=3", f"--save_dir={parts.save_dir}"], name="more-")
        more.start()
        more.all_end()
        same_model(self, whole, parts.model())

    def test_only_the_first_trainer_writes(self):
        job = write_job(self)
        cluster = self.cluster(job, 1, 2, name="writers-")
        cluster.run()
        saved = re.findall("saved ", cluster.trainers[1].log())
        self.assertEqual(saved, [])
        self.assertEqual(len(re.findall("saved ", cluster.trainers[0].log())), 3)


class Order(ClusterTest):
    def test_any_order_of_starting(self):
        """Pservers and trainers in every order: ports are fixed first, as a user's script has them."""
        job = write_job(self, RULES["adam"])
        first = None
        for order in itertools.permutations(("s0", "s1", "t0", "t1")):
            if order.index("s0") > order.index("s1") and first:
                continue  # the two pservers are alike: half of the orders are enough
            with self.subTest(order):
                cluster = self.cluster(job, 2, 2, name="-".join(order) + "-", flags=["--num_passes=1"])
                cluster.ports = [[free_ports(1)], [free_ports(1)]]
                for who in order:
                    (cluster.start_server if who[0] == "s" else cluster.start_trainer)(int(who[1]))
                found = cluster.finish()
                first = first or found
                same_model(self, first, found)
                cluster.close()

    def test_a_late_trainer_is_waited_for_by_name(self):
        job = write_job(self)
        expected = self.cluster(job, 2, 2, name="prompt-").run()
        late = self.cluster(job, 2, 2, name="late-")
        for i in range(2):
            late.start_server(i)
        late.start_trainer(0).wait_line(r"waiting for .*trainer 1")
        late.servers[0].wait_line(r"waiting for .*trainer 1")
        late.start_trainer(1)
        same_model(self, expected, late.finish())

    def test_a_trainer_waits_for_pservers_by_name(self):
        job = write_job(self)
        cluster = self.cluster(job, 2, 1, name="early-")
        cluster.start_server(0)
        cluster.ports[1] = [free_ports(1)]
        cluster.start_trainer(0).wait_line(rf"waiting for pserver 127.0.0.1:{cluster.ports[1][0]}")
        cluster.start_server(1)
        cluster.finish()

    def test_a_trainer_gives_up_after_peer_timeout(self):
        job = write_job(self)
        cluster = self.cluster(job, 1, 1, flags=["--peer_timeout=2"])
        cluster.ports = [[free_ports(1)]]
        self.assertEqual(cluster.start_trainer(0).wait(), 7)
        self.assertIn("gave up waiting for pserver", cluster.trainers[0].log())
        self.assertIn(str(cluster.ports[0][0]), cluster.trainers[0].log())

    def test_unequal_data(self):
        """33 records in batches of 8: 3 batches a pass for trainer 0, 2 for trainer 1, who is done early."""
        job = write_job(self, RULES["adam"], records=33, batch=8)
        runs = [self.cluster(job, servers, 2, name=f"unequal{servers}-", flags=["--num_passes=4"]) for servers in (1, 2)]
        models = [c.run() for c in runs]
        same_model(self, models[0], models[1])
        for c in runs:
            self.assertRegex(c.trainers[0].log(), r"Pass=3 Batch=3 ")
            self.assertRegex(c.trainers[1].log(), r"Pass=3 Batch=2 ")

    def test_a_pserver_serves_job_after_job(self):
        """Without --exit_when_done the same pservers train the next job, also another program."""
        job, other = write_job(self, RULES["adam"]), write_job(self, RULES["sgd"], hidden=16, name="other.json")
        cluster = self.cluster(job, 2, 2, name="stays-")
        cluster.server_flags = []
        cluster.start()
        first = cluster.finish()
        for again in (job, other):
            cluster.job, cluster.save_dir = again, cluster.save_dir + "-"
            for i in range(2):
                cluster.start_trainer(i)
            model = cluster.finish()
            if again == job:
                same_model(self, first, model)
        self.assertTrue(all(s.running() for s in cluster.servers))


def commands():
    """The words that `paddle` knows."""
    with os.popen(f"{PADDLE} --help") as out:
        return re.findall(r"(?m)^    (\w+)", out.read())


class CommandLines(ClusterTest):
    """Each form of the guides, as written there."""

    def setUp(self):
        super().setUp()
        self.job = write_job(self, RULES["adam"])
        self.started = []

    def start(self, *command, env=None):
        process = Process(self.dir, f"process{len(self.started)}", env)
        self.addCleanup(process.kill)
        self.started.append(process)
        return process.start(*command)

    def all_end(self, processes):
        for p in processes:
            p.wait(0)

    def test_v2_flags(self):
        expected = self.cluster(self.job, 2, 2).run()
        port = free_ports(6)
        for p in (port, port + 3):
            self.start(PSERVER, f"--port={p}", "--ports_num=2", "--ports_num_for_sparse=1", "--num_gradient_servers=2",
                       "--nics=lo", "--comment=paddle_process_by_paddle", "--exit_when_done")
        trainers = [self.start(PADDLE, "train", f"--config={self.job}", "--local=false", "--use_gpu=false", f"--trainer_id={i}",
                               f"--pservers=127.0.0.1:{port},127.0.0.1:{port + 3}", "--ports_num=2", "--ports_num_for_sparse=1",
                               "--num_gradient_servers=2", "--save_dir=v2", *SMALL) for i in range(2)]
        self.all_end(trainers)
        same_model(self, expected, self.files(self.path("v2", "pass-00002")))
        self.all_end(self.started)

    def test_v2_hosts_with_one_port(self):
        port = free_ports(2)
        self.start(PSERVER, f"--port={port}", "--ports_num=1", "--ports_num_for_sparse=1", "--num_gradient_servers=1",
                   "--exit_when_done")
        self.start(TRAINER, f"--config={self.job}", "--local=0", "--pservers=localhost", f"--port={port}", "--ports_num=1",
                   "--ports_num_for_sparse=1", "--num_gradient_servers=1", "--trainer_id=0", *SMALL)
        self.all_end(self.started)

    def test_environment(self):
        expected = self.cluster(self.job, 2, 2).run()
        ports = [free_ports(1) for _ in range(2)]
        env = {"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(f"127.0.0.1:{p}" for p in ports), "PADDLE_TRAINERS_NUM": "2",
               "PADDLE_INIT_MIN_BLOCK_SIZE": "64"}
        for p in ports:
            self.start(PSERVER, "--exit_when_done", "--ports_num_for_sparse=0",
                       env={"PADDLE_TRAINERS_NUM": "2", "PADDLE_PSERVER_PORT": str(p), "POD_IP": "127.0.0.1"})
        for i in range(2):
            self.start(PADDLE, "train", f"--config={self.job}", "--save_dir=env", *SMALL, env={**env, "PADDLE_TRAINER_ID": str(i)})
        self.all_end(self.started)
        same_model(self, expected, self.files(self.path("env", "pass-00002")))

    def test_no_trainer_id_given(self):
        """Pservers number those who do not say who they are; each gets another part of the data."""
        cluster = self.cluster(self.job, 2, 3, name="nameless-")
        cluster.cluster_flags = lambda i: [f"--pservers={cluster.endpoints()}", "--trainers=3"]
        expected = self.cluster(self.job, 2, 3, name="named-").run()
        same_model(self, expected, cluster.run())
        ids = sorted(re.search(r"joined as trainer (\d) of 3", t.log())[1] for t in cluster.trainers)
        self.assertEqual(ids, ["0", "1", "2"])

    @unittest.skipUnless("pserver" in commands(), "this build has no `paddle pserver`")
    def test_role_by_environment(self):
        """paddle run with the variables of each guide, by their names and forms there."""
        expected = self.cluster(self.job, 2, 2).run()
        ports = [free_ports(1) for _ in range(2)]
        one = [f"127.0.0.{i + 1}" for i in (0, 1)]  # two hosts with one port
        both = [f"127.0.0.1:{p}" for p in ports]
        guides = [  # for all, for a pserver, for a trainer
            ({"PADDLE_PSERVER_ENDPOINTS": ", ".join(both), "TRAINERS": "2"},
             lambda i: {"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": both[i]},
             lambda i: {"PADDLE_TRAINING_ROLE": "TRAINER", "TRAINER_ID": str(i)}),
            ({"PADDLE_PSERVER_IPS": ",".join(one), "PADDLE_PSERVER_PORT": str(free_ports(1)), "PADDLE_TRAINERS": "2"},
             lambda i: {"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": one[i]},
             lambda i: {"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)}),
            ({"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(both), "PADDLE_TRAINERS_NUM": "2"},
             lambda i: {"TRAINING_ROLE": "PSERVER", "POD_IP": "127.0.0.1", "PADDLE_PORT": str(ports[i])},
             lambda i: {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)}),
            ({"PSERVERS": ",".join(both), "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2"},
             lambda i: {"TRAINING_ROLE": "PSERVER", "SERVER_ENDPOINT": both[i]},
             lambda i: {"TRAINING_ROLE": "TRAINER"}),
        ]
        for number, (env, of_server, of_trainer) in enumerate(guides):
            with self.subTest(env=env):
                name = f"role{number}"
                servers = [self.start(PADDLE, "run", "--exit_when_done", env={**env, **of_server(i)}) for i in (0, 1)]
                trainers = [self.start(PADDLE, "run", f"--config={self.job}", f"--save_dir={name}", *SMALL, env={**env, **of_trainer(i)})
                            for i in (0, 1)]
                self.all_end(trainers + servers)
                same_model(self, expected, self.files(self.path(name, "pass-00002")))


if __name__ == "__main__":
    main()
