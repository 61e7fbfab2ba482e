"""The manifests of configs/kubernetes: checked as a whole, and played through with a process per pod.

A pod is a network namespace with its own address. Names are those that the headless service gives. The entry command
gets the variables, arguments and volumes of the manifest.
"""
import base64
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from cluster import Process, free_ports, same_model, until, write_job
from faults import RULE, progress_of
from net_hosts import NetHosts
from net_hosts import missing as missing_namespaces
from nodes import missing_ssh
from support import PADDLE, SOURCE, EndToEnd, main

try:
    import yaml

    from manifests import find, find_container, load_all, pod_environment, render
except ImportError:
    yaml = None

DIRECTORY = os.path.join(SOURCE, "configs", "kubernetes")
VERSIONS = ("1.29", "1.31", "1.34", "1.37")  # the schemas before ask for onPodConditions in every rule, which the servers do not


def overlay(test):
    """The overlay with a token, as the page makes it."""
    shutil.copytree(DIRECTORY, test.path("kubernetes"))
    where = test.path("kubernetes", "overlays", "2x2")
    test.paddle("token", f"--new={where}/token", "--replace")
    return where


needs_yaml = unittest.skipIf(yaml is None, "needs the package python3-yaml")


@needs_yaml
class Structure(EndToEnd):
    def setUp(self):
        super().setUp()
        self.overlay = overlay(self)
        self.objects = render(self.overlay)

    def workloads(self):
        return [find(self.objects, "StatefulSet", "pserver"), find(self.objects, "Job", "trainer")]

    def test_kustomize_makes_the_same(self):
        if not shutil.which("kubectl"):
            self.skipTest("needs kubectl")
        done = self.run_program("kubectl", "kustomize", self.overlay, check=0)
        theirs = {(o["kind"], re.sub(r"-[a-z0-9]{10}$", "", o["metadata"]["name"])): o for o in yaml.safe_load_all(done.stdout)}
        self.assertEqual(sorted(theirs), sorted((o["kind"], o["metadata"]["name"]) for o in self.objects))
        for o in self.objects:
            their = theirs[o["kind"], o["metadata"]["name"]]
            self.assertEqual(o["metadata"]["labels"], their["metadata"]["labels"])
            if o["kind"] == "ConfigMap":
                self.assertEqual(o["data"], their["data"])
            if o["kind"] == "Secret":
                self.assertEqual(o["data"], {k: base64.b64decode(v).decode() for k, v in their["data"].items()})
            if o["kind"] in ("StatefulSet", "Job"):
                for key in ("replicas", "completions", "parallelism", "selector"):
                    self.assertEqual(o["spec"].get(key), their["spec"].get(key), key)
                self.assertEqual(find_container(o)["args"], find_container(their)["args"])
                self.assertEqual(find_container(their)["image"], "registry.example/paddle:0.1.0")

    def test_names_selectors_and_ports_agree(self):
        service = find(self.objects, "Service", "pserver")
        pserver, trainer = self.workloads()
        self.assertEqual(pserver["spec"]["serviceName"], service["metadata"]["name"])
        self.assertEqual(service["spec"]["clusterIP"], "None")
        container = find_container(pserver)
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        self.assertEqual(service["spec"]["ports"][0]["port"], ports[service["spec"]["ports"][0]["targetPort"]])
        environment = find(self.objects, "ConfigMap", "paddle-environment")["data"]
        self.assertEqual(environment["PADDLE_INIT_PORT"], str(ports["paddle"]))
        self.assertEqual(environment["PADDLE_PSERVER_SERVICE"], service["metadata"]["name"])
        self.assertEqual(environment["PADDLE_PSERVERS_NUM"], str(pserver["spec"]["replicas"]))
        self.assertEqual(environment["PADDLE_TRAINERS_NUM"], str(trainer["spec"]["completions"]))
        self.assertEqual(trainer["spec"]["completions"], trainer["spec"]["parallelism"])
        labels = {w["metadata"]["name"]: w["spec"]["template"]["metadata"]["labels"] for w in self.workloads()}
        selectors = [(service["spec"]["selector"], "pserver"), (pserver["spec"]["selector"]["matchLabels"], "pserver"),
                     (find(self.objects, "PodDisruptionBudget", "pserver")["spec"]["selector"]["matchLabels"], "pserver"),
                     (find(self.objects, "NetworkPolicy", "pserver")["spec"]["podSelector"]["matchLabels"], "pserver"),
                     (find(self.objects, "NetworkPolicy", "trainer")["spec"]["podSelector"]["matchLabels"], "trainer")]
        for selector, chosen in selectors:
            for name, have in labels.items():
                self.assertEqual(selector.items() <= have.items(), name == chosen, (selector, name))
        policy = find(self.objects, "NetworkPolicy", "pserver")["spec"]["ingress"][0]
        allowed = [f["podSelector"]["matchLabels"] for f in policy["from"]]
        for name, have in labels.items():
            self.assertTrue(any(a.items() <= have.items() for a in allowed), name)
        self.assertIn(policy["ports"][0]["port"], ports)

    def test_volumes_agree(self):
        maps = {o["metadata"]["name"]: o for o in self.objects if o["kind"] in ("ConfigMap", "Secret")}
        for workload in self.workloads():
            spec = workload["spec"]["template"]["spec"]
            volumes = {v["name"]: v for v in spec.get("volumes", [])}
            claims = {c["metadata"]["name"] for c in workload["spec"].get("volumeClaimTemplates", [])}
            for mount in find_container(workload)["volumeMounts"]:
                self.assertIn(mount["name"], volumes.keys() | claims)
            for volume in volumes.values():
                if "configMap" in volume:
                    for item in volume["configMap"]["items"]:
                        self.assertIn(item["key"], maps[volume["configMap"]["name"]]["data"])
                if "secret" in volume:
                    self.assertRegex(maps[volume["secret"]["secretName"]]["data"]["token"], r"^[0-9a-f]{64}\n$")
            self.assertIn("memory", find_container(workload)["resources"]["limits"])
            self.assertTrue(find_container(workload)["securityContext"]["readOnlyRootFilesystem"])

    def test_commands_are_real(self):
        """Arguments and probes are accepted by the program: nothing in them is unknown or wrong."""
        for workload in self.workloads():
            container = find_container(workload)
            env = pod_environment(self.objects, workload, workload["metadata"]["name"] + "-0")
            env.pop("PADDLE_TOKEN_FILE")
            if workload["kind"] == "Job":
                env["JOB_COMPLETION_INDEX"] = "0"
            job = self.write("job.json", find(self.objects, "ConfigMap", "paddle-job")["data"]["job.json"])
            args = [a.replace("/job/job.json", job).replace("/workspace", self.path("ws")) for a in container["args"]]
            self.paddle(*args, "--print_config", env=env)
        pserver = find_container(self.workloads()[0])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            command = pserver[probe]["exec"]["command"]
            self.assertEqual(command[0], "paddle")
            done = self.paddle(*command[1:], check=None, env={"PADDLE_INIT_PORT": "1"})
            self.assertEqual(done.returncode, 7, done.stderr)

    def test_exit_codes_are_those_of_the_page(self):
        with open(os.path.join(SOURCE, "docs", "exit-codes.md"), encoding="utf-8") as f:
            page = f.read()
        known = {int(c) for c in re.findall(r"(?m)^\| (\d+) \|", page)}
        rules = find(self.objects, "Job", "trainer")["spec"]["podFailurePolicy"]["rules"]
        fail = next(r for r in rules if r["action"] == "FailJob")["onExitCodes"]
        self.assertIn(f"{', '.join(map(str, fail['values'][:-1]))} and {fail['values'][-1]} will happen again", page)
        self.assertLessEqual(set(fail["values"]), known)
        for rule in rules:
            if "onExitCodes" in rule:
                self.assertEqual(rule["onExitCodes"]["containerName"], "trainer")

    def test_the_schemas_of_kubernetes(self):
        """Against the published schemas of several versions, by PyPI's kubernetes-validate."""
        python = os.path.join(SOURCE, "build-checkers", "bin", "python")
        if not os.path.exists(python):
            self.skipTest("needs kubernetes-validate: scripts/setup checkers")
        for path in glob.glob(os.path.join(SOURCE, "scripts", "cluster", "*", "docker_cluster", "*.yaml")):
            self.objects += load_all(path)
        for path in glob.glob(os.path.join(DIRECTORY, "operators", "*.yaml")):  # what they make pods of
            spec = load_all(path)[0]["spec"]
            for replica in (spec.get("paddleReplicaSpecs") or {k: spec[k] for k in ("ps", "worker")}).values():
                self.objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **replica["template"]})
        self.write("objects.json", json.dumps(self.objects))
        check = ("import json, kubernetes_validate as k\n"
                 "for o in json.load(open('objects.json')):\n"
                 f"    for v in {VERSIONS!r}: k.validate(o, v, strict=True)\n")
        self.run_program(python, "-c", check, check=0)

    def test_demo_clusters(self):
        """Of the guides for Fabric and Open MPI: names and numbers as they are there, selectors and volumes that agree."""
        found = {}
        for path in glob.glob(os.path.join(SOURCE, "scripts", "cluster", "*", "docker_cluster", "*.yaml")):
            (o,) = load_all(path)
            spec = o["spec"]["template"]["spec"]
            self.assertEqual(o["spec"]["selector"]["matchLabels"], o["spec"]["template"]["metadata"]["labels"])
            self.assertEqual([m["name"] for m in spec["containers"][0]["volumeMounts"]], [v["name"] for v in spec["volumes"]])
            self.assertEqual(spec["containers"][0]["ports"][0]["containerPort"], 22)
            self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), "Containerfile")))
            self.assertEqual(spec["containers"][0]["volumeMounts"][0]["mountPath"], "/run/ssh-keys")  # as start_sshd.sh expects
            found[os.path.basename(path)] = (o["metadata"]["name"], o["spec"]["replicas"])
            self.objects.append(o)
        self.assertEqual(found, {"ssh_servers.yaml": ("ssh-servers", 3), "head.yaml": ("mpi-header", 1), "mpi-nodes.yaml": ("mpi-nodes", 3)})

    def test_operators_name_real_commands(self):
        for path in glob.glob(os.path.join(DIRECTORY, "operators", "*.yaml")):
            spec = load_all(path)[0]["spec"]
            roles = spec.get("paddleReplicaSpecs") or {"ps": spec["ps"], "worker": spec["worker"]}
            for role, replica in roles.items():
                args = replica["template"]["spec"]["containers"][0]["args"]
                server = role in ("ps", "Master")
                self.check_token(replica["template"]["spec"])
                job = write_job(self)
                args = [a.replace("/job/job.json", job).replace("/workspace", self.path("ws")) for a in args]
                self.paddle(*args, "--print_config", env=operator_environment(server, 0))


    def check_token(self, spec):
        """A pserver that others reach has one, in a file that the image's user can read and others cannot."""
        container = spec["containers"][0]
        path = {e["name"]: e["value"] for e in container["env"]}["PADDLE_TOKEN_FILE"]
        (mount,) = [m for m in container["volumeMounts"] if m["mountPath"] == os.path.dirname(path)]
        (volume,) = [v for v in spec["volumes"] if v["name"] == mount["name"]]
        self.assertEqual(volume["secret"]["defaultMode"], 0o440)
        with open(os.path.join(DIRECTORY, "Containerfile"), encoding="utf-8") as f:
            self.assertIn(f"USER 10001:{spec['securityContext']['fsGroup']}\n", f.read())


def operator_environment(server, index):
    """What PaddleFlow's paddle-operator and Kubeflow's PaddleJob set; PADDLE_TRAINERS is a list there."""
    servers, trainers = ["10.77.0.1", "10.77.0.2"], ["10.77.0.3", "10.77.0.4"]
    return {"TRAINER_PORTS_NUM": "20", "PADDLE_PORT": "2379", "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(f"{a}:2379" for a in servers),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(f"{a}:2379" for a in trainers), "PADDLE_TRAINERS": ",".join(trainers),
            "PADDLE_TRAINERS_NUM": "2", "TRAINING_ROLE": "PSERVER" if server else "TRAINER", "PADDLE_TRAINING_ROLE": "PSERVER" if server else
            "TRAINER", "PADDLE_TRAINER_ID": str(index), "POD_IP": (servers if server else trainers)[index]}


@unittest.skipIf(missing_ssh() or missing_namespaces(), f"needs {missing_ssh() or missing_namespaces()}")
class DemoNode(EndToEnd):
    def test_keys_of_a_secret_let_in(self):
        """start_sshd.sh with sshd as it is set up by default, which trusts neither the owner nor the modes of such a volume."""
        script = os.path.join(SOURCE, "scripts", "cluster", "fabric", "docker_cluster", "start_sshd.sh")
        self.run_program("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("key"), check=0)
        keys, port = self.path("keys"), free_ports(1)
        os.mkdir(keys)
        os.chmod(keys, 0o1777)
        shutil.copy(self.path("key.pub"), os.path.join(keys, "authorized_keys"))
        os.chmod(self.dir, 0o755)
        # Of this machine it sees neither keys nor home directories.
        inside = ('cp -a /etc/ssh "$0" && rm -f "$0"/ssh_host_* && mount --bind "$0" /etc/ssh && mount -t tmpfs -o mode=700 none /root && '
                  'mount -t tmpfs -o mode=755 none /home && exec "$@"')
        server = Process(self.dir, "sshd", {"PATH": os.environ["PATH"], "SSH_KEYS": keys, "PYTHONPATH": "/of/the/image"})
        self.addCleanup(server.kill)
        server.start("unshare", "--mount", "sh", "-c", inside, self.path("etc-ssh"), script, "-p", str(port), "-oListenAddress=127.0.0.1")
        server.wait_line("Server listening on")
        ssh = ["ssh", "-F", "none", "-p", str(port), "-i", self.path("key"), "-oBatchMode=yes", "-oStrictHostKeyChecking=no",
               "-oUserKnownHostsFile=/dev/null", "root@127.0.0.1"]
        done = self.run_program(*ssh, "echo $PYTHONPATH; stat -c '%a %U' ~/.ssh ~/.ssh/authorized_keys")
        self.assertEqual(done.stdout, "/of/the/image\n700 root\n600 root\n", done.stderr + server.log())
        os.remove(os.path.join(keys, "authorized_keys"))
        done = self.run_program("sh", script, env={"SSH_KEYS": keys}, check=4)
        self.assertIn("mount the Secret", done.stderr)


@needs_yaml
@unittest.skipIf(missing_namespaces(), f"needs {missing_namespaces()}")
class Pods(EndToEnd):
    PODS = ["pserver-0", "pserver-1", "trainer-0", "trainer-1"]

    def setUp(self):
        super().setUp()
        self.hosts = NetHosts(self, self.PODS)
        self.objects = render(overlay(self))
        self.job = write_job(self, RULE, records=2000, batch=5)
        self.processes = {}
        for name in self.PODS:
            if name.startswith("pserver"):
                self.hosts.set_name(f"{name}.pserver", self.hosts.addresses[name])
            self.processes[name] = Process(self.dir, name)
            self.addCleanup(self.processes[name].kill)

    def environment(self, name):
        kind, index = name.split("-")
        workload = find(self.objects, "StatefulSet" if kind == "pserver" else "Job", kind)
        env = pod_environment(self.objects, workload, name)
        env["HOSTNAME"] = name if kind == "pserver" else f"trainer-{index}-x7k2p"
        if kind == "trainer":
            env["POD_NAME"] = env["HOSTNAME"]
            env["JOB_COMPLETION_INDEX"] = index
        token = self.hosts.token()
        env.pop("PADDLE_TOKEN_FILE")
        if token:
            env["PADDLE_TOKEN_FILE"] = token[0].split("=", 1)[1]
        return env, find_container(workload)["args"]

    def start(self, name, *more):
        env, args = self.environment(name)
        args = [a.replace("/job/job.json", self.job).replace("/workspace", self.path(name.replace("-", ""))) for a in args]
        process = self.processes[name]
        process.env = {"PATH": os.environ["PATH"], "HOME": self.dir, **env}
        return process.start(*self.hosts.inside(name), PADDLE, *args, *more)

    def probe(self, name, which="readinessProbe"):
        command = find_container(find(self.objects, "StatefulSet", "pserver"))[which]["exec"]["command"]
        done = subprocess.run([*self.hosts.inside(name), PADDLE, *command[1:]], env=self.processes[name].env, capture_output=True, check=False)
        return done.returncode

    def model(self, directory):
        return self.files(os.path.join(directory, sorted(os.listdir(directory))[-1]))

    def replace_pod(self, number):
        """As a rolling update does: SIGTERM, a new pod of the same name and volume with another address, until it is ready."""
        name = f"pserver-{number}"
        self.processes[name].signal(signal.SIGTERM)
        self.processes[name].wait(0)
        self.assertEqual(self.probe(name), 7)
        address = f"10.77.0.{50 + number}"
        self.hosts.change_address(name, address)
        self.hosts.set_name(f"{name}.pserver", address)
        self.start(name)
        until(lambda: self.probe(name) == 0, f"{name} is ready")

    def test_a_rolling_restart(self):
        flags = ["--num_passes=15", "--saving_period=1000", "--log_period=1", "--min_block_size=64"]
        for name in ("trainer-0", "pserver-1", "trainer-1", "pserver-0"):
            self.start(name, *(flags if name.startswith("trainer") else ()))
        until(lambda: progress_of(self.processes["trainer-0"]) > 1500, lambda: self.processes["trainer-0"].log()[-3000:])
        for number in (1, 0):  # the last one first, as a StatefulSet does
            self.replace_pod(number)
        for i in (0, 1):
            self.processes[f"trainer-{i}"].wait(0)
        for number in (0, 1):
            self.assertTrue(self.processes[f"pserver-{number}"].running(), "pservers stay for the next job")
            self.assertEqual(self.probe(f"pserver-{number}", "livenessProbe"), 0)
        self.paddle("launch", f"--config={self.job}", "--workspace=calm", "--save_dir=output", *flags)
        same_model(self, self.model(self.path("calm", "output")), self.model(self.path("trainer0", "output")))
        # The workspace of every launcher, in the volume of each pod.
        for kind, log, record, words in (("pserver", "server.log", "pserver.flags", "Server listening on"), ("trainer", "train.log", "train.flags", "Pass=14 ")):
            for number in (0, 1):
                workspace = self.path(f"{kind}{number}")
                self.assertLessEqual({"job", "log", "nodefile"}, set(os.listdir(workspace)))
                for name, wanted in (("nodefile", f"{number}\n"), (os.path.join("log", log), words), (os.path.join("job", record), "# command: ")):
                    with open(os.path.join(workspace, name), encoding="utf-8") as f:
                        self.assertIn(wanted, f.read(), name)

    def test_an_operator(self):
        """The environment of PaddleFlow's and Kubeflow's operators, as it is."""
        with open(os.path.join(DIRECTORY, "operators", "paddle-operator.yaml"), encoding="utf-8") as f:
            spec = yaml.safe_load(f)["spec"]
        for name in self.PODS:
            kind, index = name.split("-")
            server = kind == "pserver"
            container = spec["ps" if server else "worker"]["template"]["spec"]["containers"][0]
            args = [a.replace("/job/job.json", self.job).replace("/workspace", self.path(name)) for a in container["args"]]
            token = self.hosts.token()[0].split("=", 1)[1]
            own = {e["name"]: e["value"].replace("/run/secrets/paddle/token", token) for e in container["env"]}
            process = self.processes[name]
            process.env = {"PATH": os.environ["PATH"], "HOME": self.dir, **operator_environment(server, int(index)), **own}
            process.start(*self.hosts.inside(name), PADDLE, *args, *(() if server else ("--num_passes=1",)))
        for name in reversed(self.PODS):
            self.processes[name].wait(0)
        self.assertEqual(os.listdir(self.path("trainer-0", "output")), ["pass-00000"])


if __name__ == "__main__":
    main()
