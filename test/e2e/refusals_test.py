"""Who does not belong to a job is refused with one sentence that names both sides, and the job goes on."""
import os

from cluster import Cluster, Process, free_ports, until, write_job
from support import PADDLE, PSERVER, EndToEnd, main

CONFIG = 2
FLAGS = ["--num_passes=2", "--min_block_size=64", "--log_period=0"]


class Refusals(EndToEnd):
    def setUp(self):
        super().setUp()
        self.job = write_job(self)
        self.extra = 0

    def waiting_job(self, servers=2, **more):
        """Two trainers are needed and one is there: the job waits in its first step."""
        cluster = Cluster(self, self.job, servers, 2, trainer_flags=FLAGS, name="job-", **more)
        for i in range(servers):
            cluster.start_server(i)
        cluster.start_trainer(0).wait_line("joined as trainer 0 of 2")
        return cluster

    def try_trainer(self, cluster, *flags, job=None, code=CONFIG):
        """The log of a trainer that must be refused."""
        self.extra += 1
        process = Process(self.dir, f"other{self.extra}")
        self.addCleanup(process.kill)
        process.start(PADDLE, "train", f"--config={job or self.job}", "--dot_period=0", f"--pservers={cluster.endpoints()}", "--trainers=2",
                      "--trainer_id=1", "--save_dir=other", *FLAGS, *flags)
        self.assertEqual(process.wait(), code, process.log())
        last = process.log().strip().split("\n")[-3:]
        for bad in ("terminate called", "Segmentation", "std::", "core dumped"):
            self.assertNotIn(bad, process.log())
        return " ".join(last)

    def goes_on(self, cluster):
        """The trainer that belongs to the job comes, and all is well."""
        cluster.start_trainer(1)
        cluster.finish()
        self.assertFalse(os.path.exists(self.path("other")))

    def test_same_id_twice(self):
        cluster = self.waiting_job()
        said = self.try_trainer(cluster, "--trainer_id=0")
        self.assertRegex(said, rf"refused: there is a trainer with this id already: trainer 0 is \S+:{cluster.trainers[0].pid}, connected \d+ s ago")
        self.assertIn("--trainer_id", said)
        self.goes_on(cluster)

    def test_other_program(self):
        cluster = self.waiting_job()
        said = self.try_trainer(cluster, job=write_job(self, hidden=31, name="other.json"))
        self.assertRegex(said, r"refused: the program differs: this pserver has digest \w+ \(from \S+\), the trainer has digest \w+; "
                         r"the first difference: here 'param h\.w_0: float32 \[20, 32\].*', there 'param h\.w_0: float32 \[20, 31\].*'; all ")
        said = self.try_trainer(cluster, job=write_job(self, '{"type": "momentum", "learning_rate": 0.06}', name="rate.json"))
        self.assertRegex(said, r"the first difference: here 'op fill_constant: Out=\[learning_rate_0\] \{value=0\.05.*', "
                         r"there 'op fill_constant: Out=\[learning_rate_0\] \{value=0\.06")
        said = self.try_trainer(cluster, "--seed=7")
        self.assertIn("the first difference: here 'random seed 1', there 'random seed 7'", said)
        self.goes_on(cluster)

    def test_a_job_that_nobody_stands_for(self):
        """Its trainers have gone: the refusal says how to get rid of it."""
        cluster = self.waiting_job()
        other = write_job(self, hidden=31, name="other.json")
        self.assertNotIn("nobody of that job", self.try_trainer(cluster, job=other))
        cluster.trainers[0].kill()
        for s in cluster.servers:
            s.wait_line(r"the connection of trainer 0 \(.* ended|trainer 0 \(.* disconnected before it joined", times=2)
        self.assertIn("nobody of that job is connected: if it is over, start this pserver again", self.try_trainer(cluster, job=other))

    def test_a_sparse_port(self):
        ready = self.path("ready")
        server = Process(self.dir, "sparse")
        self.addCleanup(server.kill)
        port = free_ports(2)
        server.start(PSERVER, "--host=127.0.0.1", f"--port={port}", "--ports_num_for_sparse=1", f"--ready_file={ready}")
        until(lambda: os.path.exists(ready), server.log)
        done = self.train(self.job, "--pservers=127.0.0.1", f"--port={port}", "--ports_num=2", check=None)
        self.refused(done, CONFIG, f"port {port + 1} serves sparse tables", "--ports_num_for_sparse")

    def test_ready_file_of_an_earlier_process(self):
        """It is gone before the port is tried."""
        old = self.write("ready", "dense 127.0.0.1:1\n")
        self.refused(self.run_program(PSERVER, "--host=192.0.2.7", "--port=0", f"--ready_file={old}"), CONFIG, "192.0.2.7")
        self.assertFalse(os.path.exists(old))

    def test_other_number_of_trainers(self):
        cluster = self.waiting_job()
        self.assertRegex(self.try_trainer(cluster, "--trainers=3"), r"the number of trainers differs: this pserver has 2 .*, the trainer has 3")
        self.goes_on(cluster)

    def test_other_mode(self):
        cluster = self.waiting_job()
        for flag, name in (("--async", "async"), ("--half_async", "half_async"), ("--geo_steps=5", "geo")):
            self.assertRegex(self.try_trainer(cluster, flag), rf"the mode differs: this pserver has sync .*, the trainer has {name}")
        self.goes_on(cluster)

    def test_other_job(self):
        cluster = self.waiting_job()
        self.assertRegex(self.try_trainer(cluster, "--job_name=night"), r"the job name differs: this pserver has 'default'.*, the trainer has 'night'")
        self.goes_on(cluster)

    def test_other_order_of_pservers(self):
        cluster = self.waiting_job()
        turned = ",".join(reversed(cluster.endpoints().split(",")))
        self.assertRegex(self.try_trainer(cluster, f"--pservers={turned}"), r"the place in the list of pservers differs|the program differs")
        self.goes_on(cluster)

    def test_pserver_that_was_told(self):
        """--num_gradient_servers and --job_name of a pserver hold before anybody is there."""
        cluster = Cluster(self, self.job, 1, 2, server_flags=["--num_gradient_servers=2", "--job_name=day"],
                          trainer_flags=[*FLAGS, "--job_name=day"], name="named-")
        cluster.start_server(0)
        self.assertRegex(self.try_trainer(cluster, "--trainers=4", "--job_name=day"), r"the number of trainers differs: this pserver has 2, the trainer has 4")
        self.assertRegex(self.try_trainer(cluster), r"the job name differs: this pserver has 'day', the trainer has 'default'")
        cluster.start_trainer(0)
        self.goes_on(cluster)

    def test_one_too_many_without_ids(self):
        """Both ids are held: a third trainer without one gets an error that names who holds the first."""
        cluster = self.waiting_job(1)
        cluster.trainers[0].kill()
        # The one that was killed may have contributed to step 0 already: its successor then joins when the other has.
        both = [cluster.start_trainer(i, "--num_passes=100000") for i in range(2)]
        for i, trainer in enumerate(both):
            trainer.wait_line(f"joined as trainer {i} of 2")
        late = Process(self.dir, "late")
        self.addCleanup(late.kill)
        late.start(PADDLE, "train", f"--config={self.job}", f"--pservers={cluster.endpoints()}", "--trainers=2", *FLAGS)
        self.assertEqual(late.wait(), CONFIG, late.log())
        self.assertRegex(late.log(), rf"all 2 trainer ids are taken \(trainer 0 is \S+:{cluster.trainers[0].pid}")
        self.assertTrue(all(t.running() for t in cluster.trainers))

    def test_ids_out_of_range(self):
        done = self.train(self.job, "--pservers=127.0.0.1:1", "--trainers=2", "--trainer_id=2", check=None)
        self.refused(done, CONFIG, "trainer_id is 2", "ids go from 0 to 1")

    def test_port_taken(self):
        cluster = self.waiting_job(1)
        port = cluster.ports[0][0]
        done = self.run_program(PSERVER, "--host=127.0.0.1", f"--port={port}", "--ports_num_for_sparse=0")
        self.refused(done, CONFIG, f"cannot listen on 127.0.0.1:{port}", "--port=0", str(port))
        self.goes_on(cluster)

    def test_addresses_that_are_not_here(self):
        self.refused(self.run_program(PSERVER, "--host=192.0.2.7", "--port=0"), CONFIG, "192.0.2.7", "--host must be an address of this machine")
        self.refused(self.run_program(PSERVER, "--port=65535", "--ports_num=2"), CONFIG, "65535", "lower")

    def test_one_directory_for_two_pservers(self):
        cluster = self.waiting_job(1, server_flags=["--snapshot_dir=snapshots"])
        done = self.run_program(PSERVER, "--host=127.0.0.1", "--port=0", "--snapshot_dir=snapshots")
        self.refused(done, CONFIG, "snapshots/shard-0", "in use by another pserver")
        self.goes_on(cluster)

    def test_snapshot_of_another_job(self):
        """A pserver that restored a snapshot refuses another program, and says what to do."""
        cluster = Cluster(self, self.job, 1, 1, trainer_flags=[*FLAGS, "--num_passes=100000"],
                          server_flags=["--snapshot_dir=snapshots", "--snapshot_period=10"], name="old-")
        cluster.start()
        cluster.trainers[0].wait_line(" Pass=3 ")
        cluster.close()
        cluster.start_server(0).wait_line(r"restored the snapshot of step \d+ of the job 'default'")
        said = self.try_trainer(cluster, "--trainers=1", "--trainer_id=0", job=write_job(self, hidden=31, name="other.json"))
        self.assertRegex(said, r"the program differs: .*--snapshot_dir")


if __name__ == "__main__":
    main()
