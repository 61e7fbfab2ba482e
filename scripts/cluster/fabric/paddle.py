#!/usr/bin/python3
"""Runs a job on the nodes of conf.py: a pserver and a trainer on each, started by ssh, watched and stopped from here.

    paddle.py --job_dispatch_package=DIR --config=job.json [--any_flag=value …]   # copies DIR to all nodes first
    paddle.py --job_workspace=DIR --config=job.json [--any_flag=value …]          # DIR is on all nodes already

Every other flag goes to the trainers. A --config that ends in .py is run by Python; it gets the flags as variables
PADDLE_INIT_<NAME>. Ctrl-C stops the job on all nodes. --conf=FILE takes another conf.py.
"""
import logging
import os
import re
import runpy
import secrets
import shlex
import signal
import socket
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from fabric import Connection

# Stands in the command line of every process of a job; `ps` finds them by it.
MARK = "paddle_process_by_paddle"
TOKEN = "job/token"  # in the workspace of every node
OWN_FLAGS = ("job_dispatch_package", "job_workspace", "conf")
# What conf.py may leave out; it explains each.
DEFAULTS = {"HOSTS": [], "ROOT_DIR": "$HOME/paddle", "PADDLE_PORT": 7164, "PADDLE_PORTS_NUM": 1, "PADDLE_PORTS_NUM_FOR_SPARSE": 1,
            "PADDLE_BIND": False, "PADDLE": "paddle", "PYTHON": "python3", "PADDLE_USE_GPU": "False", "ENVIRONMENT": {}, "SSH_KEY": ""}
SHORT_FLAGS = {"-p": "job_dispatch_package", "-j": "job_workspace"}
STOP_SECONDS = 30  # for a clean stop, before the processes are killed
LOOK_SECONDS = 1   # between two looks at the nodes
SSH_SECONDS = 20   # for a connection to a node


class Failed(Exception):
    """A sentence for the user, and the exit code."""

    def __init__(self, sentence, code=2):
        super().__init__(sentence)
        self.code = code


def say(sentence):
    print(sentence, file=sys.stderr, flush=True)


def read_flags(words):
    """--name=value or --name value, as a dictionary; -p and -j are short for the two directories."""
    flags, at = {}, 0
    while at < len(words):
        word = words[at]
        at += 1
        match = re.fullmatch(r"--([A-Za-z][\w-]*)(?:=(.*))?", word, re.S)
        if not match and word not in SHORT_FLAGS:
            raise Failed(f"'{word}' is no flag: write --name=value (see {os.path.basename(__file__)} --help)")
        name, value = (match[1].replace("-", "_"), match[2]) if match else (SHORT_FLAGS[word], None)
        if value is None:
            if at == len(words) or words[at].startswith("--"):
                raise Failed(f"--{name} has no value: write --{name}=VALUE")
            value = words[at]
            at += 1
        flags[name] = value
    return flags


def read_conf(path):
    if not os.path.exists(path):
        raise Failed(f"there is no {path}, which names the nodes: copy conf.py from the directory of paddle.py, or name it with --conf=FILE", 4)
    conf = {**DEFAULTS, **runpy.run_path(path)}
    if not conf["HOSTS"]:
        raise Failed(f"HOSTS in {path} is empty: list the nodes, for example HOSTS = [\"root@node-a\", \"root@node-b\"]")
    for host in conf["HOSTS"]:
        if conf["HOSTS"].count(host) > 1:
            raise Failed(f"HOSTS in {path} lists {host} twice: every node has one pserver and one trainer")
    return conf


class Node:
    """One node: its number, its connection, and what was started there."""

    def __init__(self, index, host, conf):
        self.index, self.host = index, host
        user, _, place = host.rpartition("@")
        name, _, port = place.partition(":")
        self.name = name
        key = {"key_filename": os.path.expanduser(conf["SSH_KEY"])} if conf["SSH_KEY"] else {}
        self.ssh = Connection(name, user=user or None, port=int(port) if port else None, connect_timeout=SSH_SECONDS,
                              connect_kwargs=key)

    def __str__(self):
        return f"node {self.index} ({self.host})"

    def run(self, command, ok=(0,)):
        """The output of a shell command on the node."""
        try:
            result = self.ssh.run(command, hide=True, warn=True, in_stream=False)
        except Exception as e:  # of paramiko and of the socket, in many kinds
            raise Failed(f"{self}: ssh does not work: {e}; try `ssh {self.host}` by hand", 7) from e
        if result.exited not in ok:
            raise Failed(f"{self}: `{command}` ended with {result.exited}: {(result.stderr or result.stdout).strip()}", 4)
        return result.stdout

    def put(self, path, target):
        try:
            self.ssh.put(path, target)
        except Exception as e:
            raise Failed(f"{self}: cannot copy to {target}: {e}", 4) from e


class Job:
    def __init__(self, conf, flags):
        package, workspace = flags.get("job_dispatch_package"), flags.get("job_workspace")
        if bool(package) == bool(workspace):
            raise Failed("--job_workspace or --job_dispatch_package should be set, "
                         + ("and not both of them" if package else "one of them"))
        if package and not os.path.isdir(package):
            raise Failed(f"--job_dispatch_package={package} is not a directory: name the directory with the job and its files", 4)
        self.package = package
        self.flags = {k: v for k, v in flags.items() if k not in OWN_FLAGS}
        # What both sides must agree on; a flag wins over conf.py.
        self.ports = {name: self.flags.pop(name, conf[f"PADDLE_{name.upper()}"])
                      for name in ("port", "ports_num", "ports_num_for_sparse")}
        if "config" not in self.flags:
            raise Failed("--config is missing: name the job file or the Python script, as it lies in the package")
        self.conf = conf
        self.nodes = [Node(i, host, conf) for i, host in enumerate(conf["HOSTS"])]
        self.pool = ThreadPoolExecutor(len(self.nodes))
        self.name = time.strftime("JOB%Y%m%d%H%M%S") if package else os.path.basename(workspace.rstrip("/"))
        self.directory = f"{conf['ROOT_DIR']}/{self.name}" if package else workspace
        self.started = False

    # ---- steps

    def on_all(self, step):
        """step(node) for all nodes at once; the results in their order. All are waited for before one fails."""
        running = [self.pool.submit(step, node) for node in self.nodes]
        problems = [f.exception() for f in running if f.exception()]
        if problems:
            raise problems[0]
        return [f.result() for f in running]

    def prepare(self):
        self.on_all(lambda node: node.run("true"))
        self.stop_leftovers()
        if self.package:
            self.dispatch()
        quoted = self.remote(self.directory)
        for node, there in zip(self.nodes, self.on_all(lambda n: n.run(f"test -d {quoted} && echo yes || echo no"))):
            if there.strip() != "yes":
                raise Failed(f"{node} has no directory {self.directory}: copy the workspace there, or use --job_dispatch_package", 4)
        self.on_all(lambda node: node.run(
            f"cd {quoted} && mkdir -p log job && rm -rf log/* job/* && echo {node.index} > nodefile"))
        self.give_token()

    def give_token(self):
        """A new token of the job on all nodes, which its processes prove to each other. It stands in no command line."""
        if "token_file" in self.flags:
            return
        with tempfile.NamedTemporaryFile("w") as token:  # readable by this user only
            token.write(secrets.token_hex(32) + "\n")
            token.flush()

            def copy(node):
                target = node.run("mktemp").strip()
                node.put(token.name, target)
                node.run(f"mv {target} {self.remote(self.directory)}/{TOKEN}")

            self.on_all(copy)
        self.flags["token_file"] = TOKEN

    def remove_token(self):
        if self.flags.get("token_file") == TOKEN:
            self.on_all(lambda node: node.run(f"rm -f {self.remote(self.directory)}/{TOKEN}"))

    def dispatch(self):
        with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
            with tarfile.open(archive.name, "w:gz") as tar:
                for entry in sorted(os.listdir(self.package)):
                    tar.add(os.path.join(self.package, entry), arcname=entry)
            size = os.path.getsize(archive.name)
            say(f"copying {self.package} ({size / 1e6:.1f} MB packed) to {len(self.nodes)} nodes")
            quoted = self.remote(self.directory)

            def copy(node):
                target = node.run("mktemp").strip()
                node.put(archive.name, target)
                node.run(f"mkdir -p {quoted} && tar xzf {target} -C {quoted} && rm -f {target}")

            self.on_all(copy)

    def stop_leftovers(self):
        """Processes of a run that was cut off keep its ports: they are named and stopped."""
        port = f"--port={self.ports['port']} "
        for node, found in zip(self.nodes, self.on_all(self.processes)):
            for pid, command in found:
                if port in command + " ":
                    say(f"{node}: process {pid} of an earlier job still runs and is stopped: {command[:120]}")
                else:
                    say(f"{node}: process {pid} of another job runs there: {command[:120]}")
        self.signal_all("KILL", lambda command: port in command + " ")

    def start(self):
        self.started = True
        say(f"starting {len(self.nodes)} pservers and {len(self.nodes)} trainers in {self.directory}")
        self.on_all(lambda node: self.spawn(node, "pserver", "server.log", self.pserver_command(node)))
        self.on_all(lambda node: self.spawn(node, "train", "train.log", self.trainer_command(node)))

    def watch(self):
        """Until all trainers have ended. Returns their exit codes."""
        shown = ""
        while True:
            states = self.on_all(self.state)
            codes = [s["train"] for s in states]
            line = states[0]["line"]
            if line and line != shown:
                shown = line
                say(f"trainer 0: {line}")
            for node, s in zip(self.nodes, states):
                if s["pserver"] not in (None, 0):
                    raise Failed(f"{node}: the pserver ended with code {s['pserver']}:\n{self.tail(node, 'server.log')}", s["pserver"])
            failed = [c for c in codes if c]
            if failed or None not in codes:
                return codes
            time.sleep(LOOK_SECONDS)

    def stop(self):
        """Stops what still runs: cleanly, and after a while by force."""
        mine = f"={MARK}:{self.name} "
        self.signal_all("TERM", lambda command: mine in command + " ")
        end = time.monotonic() + STOP_SECONDS
        while time.monotonic() < end:
            if not any(mine in command + " " for found in self.on_all(self.processes) for _, command in found):
                return
            time.sleep(LOOK_SECONDS / 4)
        self.signal_all("KILL", lambda command: mine in command + " ")

    # ---- commands

    @staticmethod
    def remote(path):
        """For the node's shell; $HOME is the node's."""
        return '"$HOME"' + shlex.quote(path[5:]) if path.startswith("$HOME") else shlex.quote(path)

    def mark(self):
        return f"--comment={MARK}:{self.name}"

    def pserver_command(self, node):
        words = [self.conf["PADDLE"], "pserver", self.mark(), f"--num_gradient_servers={len(self.nodes)}", "--exit_when_done=true",
                 "--record_file=job/pserver.flags"]
        words += [f"--{k}={v}" for k, v in self.ports.items()] + [f"--token_file={self.flags['token_file']}"]
        if self.conf["PADDLE_BIND"]:
            words.append(f"--host={socket.gethostbyname(node.name)}")
        return words, {}

    def trainer_command(self, node):
        cluster = {**self.ports, "num_gradient_servers": len(self.nodes), "trainer_id": node.index,
                   "pservers": ",".join(socket.gethostbyname(n.name) for n in self.nodes)}
        if not self.flags["config"].endswith(".py"):
            given = {"local": "false", "use_gpu": self.conf["PADDLE_USE_GPU"].lower(), "record_file": "job/train.flags",
                     **self.flags, **cluster}
            return [self.conf["PADDLE"], "trainer", self.mark(), *(f"--{k}={v}" for k, v in given.items())], {}
        settings = {"use_gpu": self.conf["PADDLE_USE_GPU"], "trainer_count": 1, "record_file": "job/train.flags", **self.flags, **cluster}
        variables = {f"PADDLE_INIT_{k.upper()}": v for k, v in settings.items() if k != "config"}
        return ([self.conf["PYTHON"], self.flags["config"], self.mark()],
                {**variables, "PADDLE_CLUSTER_TRAIN": "True", "OMPI_COMM_WORLD_RANK": node.index})

    def spawn(self, node, role, log, command):
        """Starts a process that outlives the connection; its exit code will be in job/<role>.exit."""
        words, variables = command
        environment = {**self.conf["ENVIRONMENT"], **variables}
        inner = " ".join([*(f"{k}={shlex.quote(str(v))}" for k, v in environment.items()), *map(shlex.quote, words)])
        script = f"{inner} > log/{log} 2>&1; echo $? > job/{role}.exit.part; mv job/{role}.exit.part job/{role}.exit"
        # The shell that waits carries no mark: a signal to the job reaches the process, and the shell writes its end down.
        node.run(f"cd {self.remote(self.directory)} && {{ nohup setsid sh -c {shlex.quote(self.hidden(script))} "
                 "< /dev/null > /dev/null 2>&1 & }")

    @staticmethod
    def hidden(script):
        return script.replace(MARK, MARK[:6] + "'" + "'" + MARK[6:])

    def processes(self, node):
        """(pid, command line) of all processes with the mark on the node."""
        pattern = MARK[0] + "[" + MARK[1] + "]" + MARK[2:]  # does not find itself
        out = node.run(f"for f in $(grep -las -e {shlex.quote('--comment=' + pattern)} /proc/[0-9]*/cmdline); do "
                       "p=${f%/cmdline}; echo \"${p#/proc/} $(tr '\\0' ' ' < $f 2>/dev/null)\"; done; true")
        return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1].strip()) for line in out.splitlines() if " " in line]

    def signal_all(self, name, chosen):
        def send(node):
            pids = [str(pid) for pid, command in self.processes(node) if chosen(command)]
            if pids:
                node.run(f"kill -{name} {' '.join(pids)} 2>/dev/null; true")

        self.on_all(send)

    def state(self, node):
        out = node.run(f"cd {self.remote(self.directory)} && cat job/pserver.exit 2>/dev/null || echo -; "
                       "cat job/train.exit 2>/dev/null || echo -; "
                       "tail -n 200 log/train.log 2>/dev/null | grep -a 'Pass' | tail -n 1; true").splitlines()
        code = [None if w == "-" else int(w) for w in out[:2]]
        return {"pserver": code[0], "train": code[1], "line": out[2].rpartition("]  ")[2].strip()[:150] if len(out) > 2 else ""}

    def tail(self, node, log):
        return node.run(f"tail -n 8 {self.remote(self.directory)}/log/{log}; true").rstrip()


def stop_quietly(job):
    """The job on all nodes that can be reached."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job.stop()
        job.remove_token()
    except Failed as e:
        say(f"paddle.py: {e}")


def run(job):
    """Returns the exit code."""
    try:
        job.prepare()
        job.start()
        codes = job.watch()
        for node, code in zip(job.nodes, codes):
            if code:
                say(f"paddle.py: {node}: the trainer ended with code {code}:\n{job.tail(node, 'train.log')}")
        first = next((c for c in codes if c), 0)
        if first == 0:
            say("the job is done")
            print(f"{job.nodes[0].host}:{job.directory}/{job.flags.get('save_dir', 'output').removeprefix('./')}")
        return first
    except KeyboardInterrupt:
        say("stopping the job on all nodes")
        return 130
    finally:
        if job.started:
            stop_quietly(job)


def terminated(*_):
    raise KeyboardInterrupt


def main(words):
    if "--help" in words or "-h" in words:
        print(__doc__.strip())
        return 0
    signal.signal(signal.SIGTERM, terminated)
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # its stack traces: failures are told as sentences
    try:
        flags = read_flags(words)
        conf = read_conf(flags.get("conf", os.path.join(os.path.dirname(os.path.abspath(__file__)), "conf.py")))
        return run(Job(conf, flags))
    except KeyboardInterrupt:
        return 130
    except socket.gaierror as e:
        say(f"paddle.py: a host of conf.py cannot be found: {e}")
        return 7
    except Failed as e:
        say(f"paddle.py: {e}")
        return e.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
