"""Who may connect to a job, and what strangers get: tokens, TLS, addresses, and secrets that must not be seen."""
import http.client
import os
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from cluster import Cluster, Process, same_model, until, write_job
from faults import SAMPLES, FaultTest
from support import PADDLE, PSERVER, EndToEnd, main

CONFIG = 2  # exit codes
PEER = 7


class SecurityTest(EndToEnd):
    def token(self, name="job.token", **derived):
        words = [f"--{k}={v}" for k, v in derived.items()]
        self.paddle("token", *words, *([f"--out={self.path(name)}"] if derived else ["--new", self.path(name)]))
        return f"--token_file={self.path(name)}"

    def small_cluster(self, *server_flags, flags=(), servers=1, trainers=1, name=""):
        job = write_job(self, records=100)
        return Cluster(self, job, servers, trainers, server_flags=["--exit_when_done", *server_flags], name=name,
                       trainer_flags=["--num_passes=2", "--peer_timeout=20", *flags])

    def pserver(self, *flags):
        """A pserver that listens; its port."""
        cluster = self.small_cluster(*flags)
        cluster.start_server(0)
        cluster.await_server(0)
        return cluster


class Tokens(SecurityTest):
    def test_a_job_with_a_token_trains_as_one_without(self):
        plain = self.small_cluster(servers=2, trainers=2, name="plain-").run()
        token = self.token()
        cluster = self.small_cluster(token, flags=[token], servers=2, trainers=2, name="token-")
        same_model(self, plain, cluster.run())

    def test_whoever_lacks_the_token_is_refused_at_once_and_learns_nothing(self):
        token = self.token()
        other = self.token("other.token")
        observer = self.token("observer.token", token_file=self.path("job.token"), role="observer")
        cluster = self.pserver(token, "--job_name=secret-name")
        for flags, words in (([], "--token_file"), ([other], "does not know the token"), ([observer], "is for 'observer'")):
            begin = time.monotonic()
            done = self.paddle("train", f"--config={cluster.job}", "--job_name=secret-name", *cluster.cluster_flags(0), *flags, check=CONFIG)
            self.assertIn(words, done.stderr)
            self.assertLess(time.monotonic() - begin, 18)  # --peer_timeout is 20
        endpoint = f"--pservers={cluster.endpoints()}"
        for flags in ([], [other]):
            done = self.paddle("status", endpoint, "--json", *flags, check=PEER)
            self.assertNotIn("secret-name", done.stdout + done.stderr)
        for flags in ([token], [observer]):
            self.assertIn('"state"', self.paddle("status", endpoint, "--json", *flags).stdout)
        # The environment names the file, too.
        self.paddle("status", endpoint, env={"PADDLE_TOKEN_FILE": self.path("observer.token")})
        self.paddle("status", endpoint, env={"PADDLE_INIT_TOKEN_FILE": self.path("job.token")})

    def test_a_trainer_has_the_id_that_it_proved(self):
        token = self.token()
        one = self.token("one.token", token_file=self.path("job.token"), role="trainer-1")
        any_of_them = self.token("any.token", token_file=self.path("job.token"), role="trainer")
        cluster = self.small_cluster(token, trainers=2)
        cluster.start_server(0)
        cluster.await_server(0)
        done = self.paddle("train", f"--config={cluster.job}", *cluster.cluster_flags(0), one, check=CONFIG)
        self.assertIn("is for 'trainer-1', and it wants to be trainer 0", done.stderr)
        cluster.trainer_flags = lambda i: ["--num_passes=2", [any_of_them, one][i]]
        cluster.start_trainer(0)
        cluster.start_trainer(1)
        cluster.finish()
        cluster.servers[0].wait(0)

    def test_a_recorded_handshake_cannot_be_played_back(self):
        token = self.token()
        cluster = self.pserver(token)
        port = cluster.ports[0][0]
        said = bytearray()

        def relay(listener):
            a, _ = listener.accept()
            with a, socket.create_connection(("127.0.0.1", port)) as b:
                while True:
                    for s in select.select([a, b], [], [], 10)[0]:
                        data = s.recv(1 << 16)
                        if not data:
                            return
                        if s is a:
                            said.extend(data)
                        (b if s is a else a).sendall(data)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=relay, args=(listener,))
            thread.start()
            self.paddle("status", f"--pservers=127.0.0.1:{listener.getsockname()[1]}", "--json", token)
            thread.join(30)
        self.assertEqual(bytes(said[:4]), b"PSA1")
        self.assertGreater(len(said), 88 + 100)  # handshake, Hello, StatusAsk
        with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
            s.sendall(said)
            self.assertEqual(len(self.all_of(s)), 64)  # its own proof with a new nonce, and then the end
        # What the pserver said itself is no answer to it either.
        with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
            s.sendall(said[:56])
            proof = s.recv(64, socket.MSG_WAITALL)
            s.sendall(proof[32:])
            self.assertEqual(self.all_of(s), b"")

    @staticmethod
    def all_of(s):
        out = b""
        try:
            while part := s.recv(1 << 16):
                out += part
        except ConnectionResetError:
            pass
        return out

    def test_a_silent_connection_is_closed_after_ten_seconds(self):
        cluster = self.pserver(self.token())
        begin = time.monotonic()
        with socket.create_connection(("127.0.0.1", cluster.ports[0][0]), timeout=40) as silent:
            self.assertEqual(silent.recv(100), b"")
        took = time.monotonic() - begin
        self.assertGreater(took, 9)
        self.assertLess(took, 30)

    def test_files_that_others_can_read_are_refused(self):
        token = self.token()
        os.chmod(self.path("job.token"), 0o644)
        self.refused(self.run_program(PSERVER, "--port=0", token), CONFIG, "can be read or written by other users", "chmod 600")
        self.refused(self.paddle("status", "--pservers=127.0.0.1:1", token, check=None), CONFIG, "chmod 600")
        done = self.paddle("token", "--new", self.path("job.token"), check=CONFIG)
        self.assertIn("is there already", done.stderr)
        observer = self.path("o")
        os.chmod(self.path("job.token"), 0o600)
        self.token("o", token_file=self.path("job.token"), role="observer")
        self.refused(self.run_program(PSERVER, "--port=0", f"--token_file={observer}"), CONFIG, "needs the job's own token")
        self.refused(self.paddle("token", f"--token_file={observer}", "--role=trainer", "--out=x", check=None), CONFIG, "the job's own token only")


class Addresses(SecurityTest):
    def test_beyond_this_machine_only_with_protection(self):
        for host in ("0.0.0.0", "::", socket.gethostname()):
            if host == socket.gethostname():
                try:
                    if socket.gethostbyname(host).startswith("127."):
                        continue
                except OSError:
                    continue
            done = self.run_program(PSERVER, f"--host={host}", "--port=0")
            self.refused(done, CONFIG, "--token_file", "--cert_file", "--insecure")
        for i, (flags, warns) in enumerate(((["--host=0.0.0.0", "--insecure"], True), (["--insecure"], True), ([self.token()], False), ([], False))):
            ready = self.path("ready")
            process = Process(self.dir, f"server{i}").start(PSERVER, "--port=0", f"--ready_file={ready}", *flags)
            self.addCleanup(process.kill)
            until(lambda: os.path.exists(ready) or not process.running(), "it listens")
            with open(ready) as f:
                self.assertIn("dense 0.0.0.0:" if flags else "dense 127.0.0.1:", f.read())
            self.assertEqual("can read and change the model" in process.log(whole=True), warns)
            process.kill()
            os.remove(ready)


class Tls(SecurityTest):
    def certificates(self, *more):
        self.paddle("certs", f"--dir={self.path('certs')}", "--hosts=127.0.0.1", "--trainers=2", *more)

    def of(self, role):
        d = self.path("certs")
        return [f"--cert_file={d}/{role}.pem", f"--key_file={d}/{role}.key", f"--ca_file={d}/ca.pem"]

    def test_a_job_with_certificates_trains_as_one_without(self):
        self.certificates()
        plain = self.small_cluster(servers=2, trainers=2, name="plain-").run()
        cluster = self.small_cluster(*self.of("pserver"), flags=self.of("trainer"), servers=2, trainers=2, name="tls-")
        same_model(self, plain, cluster.run())
        token = self.token()
        cluster = self.small_cluster(*self.of("pserver"), token, flags=[*self.of("trainer"), token], servers=2, trainers=2, name="both-")
        same_model(self, plain, cluster.run())

    def test_roles_and_plain_connections(self):
        self.certificates()
        cluster = self.pserver(*self.of("pserver"))
        endpoint = f"--pservers={cluster.endpoints()}"
        self.paddle("status", endpoint, *self.of("observer"))
        train = ["train", f"--config={cluster.job}", "--peer_timeout=20", *cluster.cluster_flags(0)]
        self.assertIn("the certificate of this process is for 'observer'", self.paddle(*train, *self.of("observer"), check=CONFIG).stderr)
        self.assertIn("is for 'trainer-1', and it wants to be trainer 0", self.paddle(*train, *self.of("trainer-1"), check=CONFIG).stderr)
        self.assertIn("--cert_file", self.paddle(*train, check=CONFIG).stderr)
        # Somebody with the same CA who is no pserver, and a pserver without TLS.
        os.remove(self.path("certs", "pserver.key"))
        os.rename(self.path("certs", "trainer.key"), self.path("certs", "pserver.key"))
        self.refused(self.run_program(PSERVER, "--port=0", *self.of("pserver")), CONFIG, "does not belong to the certificate")
        self.certificates()
        plain = self.pserver()
        done = self.paddle("train", f"--config={plain.job}", "--peer_timeout=3", *plain.cluster_flags(0), *self.of("trainer"), check=PEER)
        self.assertIn("closed the connection", done.stderr)

    def test_new_certificates_are_used_without_a_restart(self):
        self.certificates()
        cluster = self.pserver(*self.of("pserver"))
        endpoint = f"--pservers={cluster.endpoints()}"
        self.paddle("status", endpoint, *self.of("observer"))
        # Another CA: nobody of the old one is let in any more.
        os.rename(self.path("certs"), self.path("old"))
        self.certificates()
        until(lambda: self.paddle("status", endpoint, *self.of("observer"), check=None).returncode == 0, "the new CA counts")
        old = [w.replace(self.path("certs"), self.path("old")) for w in self.of("observer")]
        self.paddle("status", endpoint, *old, check=PEER)
        cluster.servers[0].wait_line("read the certificates anew")


    @unittest.skipUnless(shutil.which("openssl"), "needs openssl")
    def test_a_certificate_of_a_pserver_lets_nobody_in(self):
        """Also where the CA allows it for clients, as that of a company may."""
        self.certificates()
        ca = [f"-CA{key}={self.path('certs', 'ca')}.{end}" for key, end in (("", "pem"), ("key", "key"))]
        self.run_program("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "k.pem", check=0)
        self.run_program("openssl", "req", "-new", "-key", "k.pem", "-subj", "/CN=x", "-out", "r.pem", check=0)
        port = self.pserver(*self.of("pserver")).ports[0][0]
        for role, answer in (("trainer", b"PSOK"), ("pserver", b"")):
            self.write("e.cnf", f"extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=URI:urn:paddle:{role}\n")
            self.run_program("openssl", "x509", "-req", "-in", "r.pem", *" ".join(ca).replace("=", " ").split(), "-set_serial", "77", "-days", "5",
                             "-extfile", "e.cnf", "-out", "c.pem", check=0)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(self.path("certs", "ca.pem"))
            context.load_cert_chain(self.path("c.pem"), self.path("k.pem"))
            with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30)) as s:
                self.assertEqual(s.recv(4), answer, role)

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl")
    def test_certificates_of_a_company(self):
        """RSA keys, and one CA between: they fit in the 4 KiB that a stranger may send. A chain that is twice as long does not."""
        self.certificates()
        openssl = lambda words: self.run_program("openssl", *words.split(), check=0)  # noqa: E731
        self.write("ca.cnf", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        self.write("leaf.cnf", "extendedKeyUsage=clientAuth\nsubjectAltName=URI:urn:paddle:trainer,DNS:node-17.example.com\nsubjectKeyIdentifier=hash\n"
                               "authorityKeyIdentifier=keyid\n")
        for name, of, extensions in (("root", "root", "ca"), ("between", "root", "ca"), ("leaf", "between", "leaf")):
            openssl(f"req -newkey rsa:2048 -nodes -keyout {name}.key -subj /C=DE/O=Example/OU=Machines/CN={name}.example.com -out {name}.csr")
            signs = f"-signkey {name}.key" if name == of else f"-CA {of}.pem -CAkey {of}.key -CAcreateserial"
            openssl(f"x509 -req -in {name}.csr {signs} -days 9 -extfile {extensions}.cnf -out {name}.pem")
        pem = {}
        for name in ("root", "between", "leaf"):
            with open(self.path(name + ".pem"), encoding="ascii") as f:
                pem[name] = f.read()
        with open(self.path("certs", "ca.pem"), "a", encoding="ascii") as f:
            f.write(pem["root"])
        port = self.pserver(*self.of("pserver")).ports[0][0]
        for chain, answer in ((("leaf", "between"), b"PSOK"), (("leaf", "between", "between", "between"), b"")):
            self.write("chain.pem", "".join(pem[c] for c in chain))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self.path("certs", "ca.pem"))
            context.load_cert_chain(self.path("chain.pem"), self.path("leaf.key"))
            got = b""
            try:
                with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="127.0.0.1") as s:
                    got = s.recv(4)
            except OSError:  # the connection is cut
                pass
            self.assertEqual(got, answer, chain)

    def test_a_certificate_is_taken_back(self):
        self.certificates()
        cluster = self.pserver(*self.of("pserver"))
        endpoint = f"--pservers={cluster.endpoints()}"
        for role in ("observer", "admin"):
            self.paddle("status", endpoint, *self.of(role))
        done = self.paddle("certs", f"--dir={self.path('certs')}", "--revoke=observer")
        self.assertIn("observer.pem", done.stdout)
        until(lambda: self.paddle("status", endpoint, *self.of("observer"), check=None).returncode == PEER, "it counts without a restart")
        self.paddle("status", endpoint, *self.of("admin"))
        self.certificates()  # a new one, of the same CA
        until(lambda: self.paddle("status", endpoint, *self.of("observer"), check=None).returncode == 0, "the new one counts")
        done = self.paddle("certs", f"--dir={self.path('certs')}", "--revoke=nobody", check=None)
        self.assertIn("nobody.pem", done.stderr)


class Admins(SecurityTest):
    """paddle admin: a snapshot of one step on all pservers, and a clean stop; nobody else may."""

    def training(self, server_flags, flags, mode=()):
        job = write_job(self, records=400)
        cluster = Cluster(self, job, 2, 2, trainer_flags=["--num_passes=100000", "--log_period=1", "--min_block_size=64", *flags, *mode],
                          server_flags=lambda i: [f"--snapshot_dir={self.path(f'snapshots{i}')}", "--snapshot_period=1000000", *server_flags])
        cluster.start()
        for t in cluster.trainers:
            t.wait_line("Pass=1 ")
        return cluster

    def steps(self, i):
        return {int(n[5:]) for n in os.listdir(self.path(f"snapshots{i}", "shard-0")) if re.fullmatch(r"step-\d+", n)} - {0}

    def commands(self, cluster, right, wrong):
        endpoint = f"--pservers={cluster.endpoints()}"
        for flags in wrong:
            for order in ("snapshot", "stop"):
                done = self.paddle("admin", order, endpoint, *flags, check=PEER)
                self.assertRegex(done.stderr, "only an admin may|token|certificate")
        self.assertEqual([self.steps(i) for i in (0, 1)], [set(), set()])
        self.assertTrue(all(p.running() for p in cluster.servers + cluster.trainers))
        done = self.paddle("admin", "snapshot", endpoint, *right)
        said = re.findall(r": the snapshot of step (\d+) is on the disk", done.stdout)
        self.assertEqual(len(said), 2, done.stdout)
        self.assertEqual(said[0], said[1])
        for i in (0, 1):
            self.assertIn(int(said[i]), self.steps(i))
        # The job goes back to it, with the same command, after both pservers were killed.
        for s in cluster.servers:
            s.kill()
        for i in (0, 1):
            cluster.start_server(i)
            cluster.servers[i].wait_line(rf"restored the snapshot of step {said[0]} ")
        for s in cluster.servers:
            s.wait_line(rf"trainer \d \(\S+\) joined at step {said[0]}\b", times=2)
        done = self.paddle("admin", "stop", endpoint, *right)
        self.assertEqual(len(re.findall(r"(?m)^127\S+ stops$", done.stdout)), 2, done.stdout)
        for s in cluster.servers:
            s.wait(0)
            self.assertRegex(s.log(), r"asked this pserver to stop")

    def test_tokens(self):
        token = self.token()
        roles = [self.token(f"{role}.token", token_file=self.path("job.token"), role=role) for role in ("observer", "trainer", "trainer-1")]
        admin = self.token("admin.token", token_file=self.path("job.token"), role="admin")
        cluster = self.training([token], [token])
        self.commands(cluster, [admin], [[], *([role] for role in roles)])

    def test_certificates(self):
        self.paddle("certs", f"--dir={self.path('certs')}", "--hosts=127.0.0.1")
        d = self.path("certs")
        of = lambda role: [f"--cert_file={d}/{role}.pem", f"--key_file={d}/{role}.key", f"--ca_file={d}/ca.pem"]
        cluster = self.training(of("pserver"), of("trainer"))
        self.commands(cluster, of("admin"), [of("observer"), of("trainer")])

    def test_the_jobs_own_token_and_async(self):
        token = self.token()
        cluster = self.training([token], [token], ["--async"])
        done = self.paddle("admin", "snapshot", f"--pservers={cluster.endpoints()}", token)
        said = re.findall(r": the snapshot of step (\d+) is on the disk", done.stdout)
        for i in (0, 1):
            self.assertIn(int(said[i]), self.steps(i))
        cluster.close()

    def test_mistakes(self):
        cluster = self.pserver()
        endpoint = f"--pservers={cluster.endpoints()}"
        self.refused(self.paddle("admin", endpoint, check=None), CONFIG, "paddle admin snapshot")
        self.refused(self.paddle("admin", "halt", endpoint, check=None), CONFIG, "'halt' is no command")
        self.refused(self.paddle("admin", "snapshot", endpoint, check=None), PEER, "no pserver has values yet")
        self.refused(self.paddle("admin", "stop", "--pservers=127.0.0.1:1", check=None), PEER, "127.0.0.1:1")
        self.paddle("admin", "stop", endpoint)  # without a token whoever is on this machine may
        cluster.servers[0].wait(0)


class Strangers(FaultTest):
    def test_a_thousand_connections_disturb_nothing(self):
        """They connect from one address, say little or nothing, and stay: the job's bits are the same, and memory is bounded."""
        token = f"--token_file={self.path('token')}"
        self.paddle("token", "--new", self.path("token"))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        cluster = self.cluster("flood-", server_flags=[token], flags=[token])
        cluster.start()
        self.wait_progress(cluster, SAMPLES * 0.1)
        before = cluster.servers[0].state()
        strangers, most = [], 0
        words = [b"", b"PSA1", b"PSA1" + bytes(40), b"GET / HTTP/1.1\r\n", os.urandom(50)]
        for i in range(1000):
            s = socket.create_connection(("127.0.0.1", cluster.ports[i % 2][0]), timeout=30)
            strangers.append(s)
            try:
                s.sendall(words[i % len(words)])
            except OSError:
                pass
            if i % 100 == 99 and cluster.servers[0].running():
                most = max(most, cluster.servers[0].state()["descriptors"])
        self.assertLess(most - before["descriptors"], 300)
        if cluster.servers[0].running():
            self.assertLess(cluster.servers[0].state()["bytes"] - before["bytes"], 64 << 20)
        self.check_bits(cluster)
        for s in strangers:
            s.close()
        log = cluster.servers[0].log(whole=True)
        self.assertLess(len(re.findall("refused", log)), 20)  # the log is not theirs to fill


class Secrets(SecurityTest):
    def test_a_token_is_seen_nowhere(self):
        """Not by ps, in no log, no event and no directory of the job, while a job of `paddle launch` runs."""
        job = write_job(self, records=400)
        process = Process(self.dir, "launch").start(
            PADDLE, "launch", f"--config={job}", "--workspace=ws", "--num_passes=200", "--v=10", "--event_file=events", "--save_dir=output")
        self.addCleanup(process.kill)
        tokens = []

        def find():
            tokens[:] = [f for f in (os.listdir(self.path("ws", "log")) if os.path.isdir(self.path("ws", "log")) else []) if f.startswith("token.")]
            return tokens and re.search("look at the job with", process.log(whole=True)) or not process.running()

        until(find, lambda: f"launch makes a token\n{process.log(whole=True)}")
        path = self.path("ws", "log", tokens[0])
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path) as f:
            secret = f.read().strip()
        self.assertEqual(len(bytes.fromhex(secret)), 32)
        line = re.search(r"look at the job with: \S+ (status .*)", process.log(whole=True))[1].split()
        status = self.paddle(*line, "--json").stdout
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{name}", "rb") as f:
                        self.assertNotIn(secret.encode(), f.read(), f"{name} of {pid}")
                except OSError:
                    pass
        self.assertNotIn(secret, status)
        process.wait(0)
        self.assertFalse(os.path.exists(path), "the token is removed with the job")
        for name, contents in self.files(self.dir).items():
            self.assertNotIn(secret.encode(), contents, name)
            self.assertNotIn(bytes.fromhex(secret), contents, name)

    @staticmethod
    def dumped(pid):
        """(name, bytes) of the memory that a core dump of the process would hold."""
        with open(f"/proc/{pid}/smaps", encoding="utf-8") as f:
            parts = re.findall(r"(?m)^([0-9a-f]+)-([0-9a-f]+) r\S+ (.*)\n(?:[A-Z].*\n)*?VmFlags: (.*)$", f.read())
        with open(f"/proc/{pid}/mem", "rb", 0) as f:
            for begin, end, name, flags in parts:
                if "wr" not in flags.split() or "dd" in flags.split():
                    continue
                try:
                    f.seek(int(begin, 16))
                    yield name, f.read(int(end, 16) - int(begin, 16))
                except OSError:  # a device's
                    pass

    def test_a_core_dump_would_not_hold_the_token(self):
        """Neither of a process that proves it and reads it from a file, nor after a scraper has sent it."""
        job = write_job(self, records=400)
        process = Process(self.dir, "launch").start(
            PADDLE, "launch", f"--config={job}", "--workspace=ws", "--num_passes=1000000", "--http_port=0", "--shared_memory=false")
        self.addCleanup(process.kill)
        until(lambda: "look at the job with" in process.log(whole=True) and "Pass=1 " in process.log(whole=True), lambda: process.log(whole=True))
        (name,) = [f for f in os.listdir(self.path("ws", "log")) if f.startswith("token.")]
        with open(self.path("ws", "log", name), encoding="ascii") as f:
            secret = f.read().strip()
        places = set(re.findall(r"metrics and health are at http://(\S+)", process.log(whole=True)))
        self.assertEqual(len(places), 4)
        for place in places:
            connection = http.client.HTTPConnection(place, timeout=60)
            connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {secret}"})
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
        pids = [process.pid, *map(int, subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, check=True).stdout.split())]
        self.assertGreaterEqual(len(pids), 5)
        sign = b"--num_gradient_servers=2"  # stands on the stack of each: that it is found shows that the search works
        found = 0
        for pid in pids:
            for name, memory in self.dumped(pid):
                found += sign in memory
                for form in (secret.encode(), bytes.fromhex(secret)):
                    self.assertFalse(form in memory, f"in {name} of {pid}")  # assertNotIn would print it
        self.assertGreaterEqual(found, 4)
        process.signal(signal.SIGINT)
        process.wait(130)

    def test_a_name_forges_no_line_of_a_log(self):
        cluster = self.pserver("--job_name=ours")
        self.paddle("train", f"--config={cluster.job}", "--job_name=theirs\nI1119 04:00:00.000000     1 shard.cc:1] forged",
                    *cluster.cluster_flags(0), "--peer_timeout=3", check=None)
        cluster.servers[0].wait_line("closed the connection of")
        self.assertNotRegex(cluster.servers[0].log(whole=True), r"(?m)^I1119 04:00:00\.000000     1 shard\.cc:1\] forged")

    def test_a_wrong_file_is_not_quoted(self):
        with open(self.path("t"), "w", opener=lambda p, f: os.open(p, f, 0o600)) as f:
            f.write("my-password-is-hunter2!\n")
        done = self.run_program(PSERVER, "--port=0", f"--token_file={self.path('t')}")
        self.refused(done, CONFIG, "is no token")
        self.assertNotIn("hunter2", done.stderr + done.stdout)


if __name__ == "__main__":
    main(at_once=8)
