#!/usr/bin/python3
"""Runs a job on the nodes of conf.py: a pserver and a trainer on each, started by ssh, watched and stopped from here.

    paddle.py --job_dispatch_package=DIR --config=job.json [--any_flag=value …]   # copies DIR to all nodes first
    paddle.py --job_workspace=DIR --config=job.json [--any_flag=value …]          # DIR is on all nodes already

Every other flag goes to the trainers. A --config that ends in .py is run by Python; it gets the flags as variables
PADDLE_INIT_<NAME>. Ctrl-C stops the job on all nodes. --conf=FILE takes another conf.py.

Fabric reaches the nodes; what runs on them is `paddle launch --nodes`, as with `paddle launch --hosts`.
"""
import ctypes
import logging
import os
import re
import runpy
import secrets
import shlex
import signal
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from fabric import Connection

# Stands in the command line of every process of a job, of Python scripts in their environment; leftovers are found by it.
MARK = "paddle_process_by_paddle"
OWN_FLAGS = ("job_dispatch_package", "job_workspace", "conf", "port", "ports_num", "ports_num_for_sparse", "local")
# What conf.py may leave out; it explains each.
DEFAULTS = {"HOSTS": [], "ROOT_DIR": "$HOME/paddle", "PADDLE_PORT": 7164, "PADDLE_PORTS_NUM": 1, "PADDLE": "paddle", "PYTHON": "python3",
            "PADDLE_USE_GPU": "False", "ENVIRONMENT": {}, "SSH_KEY": ""}
# Of PaddlePaddle's conf.py, and why nothing comes of them.
NOT_USED = {"PADDLE_NIC": "a host that HOSTS has as an address listens on that address",
            "PADDLE_PORTS_NUM_FOR_SPARSE": "sparse tables are on the same ports"}
SHORT_FLAGS = {"-p": "job_dispatch_package", "-j": "job_workspace"}
STOP_SECONDS = 30  # for a clean stop, before the connections are closed; the processes see that, too
BEAT_SECONDS = 1   # the nodes stop where they hear nothing for 15 s
LOOK_SECONDS = 0.1
SSH_SECONDS = 20   # for a connection to a node
NOT_FOUND = 127    # a shell's exit code


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
    for name in NOT_USED.keys() & conf.keys():
        say(f"{name} in {path} is not used: {NOT_USED[name]}")
    if conf.get("LD_LIBRARY_PATH"):  # PaddlePaddle's has it by itself
        conf["ENVIRONMENT"] = {"LD_LIBRARY_PATH": conf["LD_LIBRARY_PATH"], **conf["ENVIRONMENT"]}
    return conf


class Node:
    """One node: its number, its connection, and the launch that runs there."""

    def __init__(self, index, host, conf):
        self.index, self.host = index, host
        user, _, place = host.rpartition("@")
        self.name, _, port = place.partition(":")
        key = {"key_filename": os.path.expanduser(conf["SSH_KEY"])} if conf["SSH_KEY"] else {}
        self.ssh = Connection(self.name, user=user or None, port=int(port) if port else None, connect_timeout=SSH_SECONDS,
                              connect_kwargs=key)
        self.channel, self.code, self.rest, self.last = None, None, b"", []

    def __str__(self):
        return f"node {self.index} ({self.host})"

    def failure(self, problem):
        return Failed(f"{self}: ssh does not work: {problem}; try `ssh {self.host}` by hand", 7)

    def run(self, command):
        """The output of a shell command on the node."""
        try:
            result = self.ssh.run(command, hide=True, warn=True, in_stream=False)
        except Exception as e:  # of paramiko and of the socket, in many kinds
            raise self.failure(e) from e
        if result.exited != 0:
            raise Failed(f"{self}: `{command}` ended with {result.exited}: {(result.stderr or result.stdout).strip()}", 4)
        return result.stdout

    def put(self, path, target):
        try:
            self.ssh.put(path, target)
        except Exception as e:
            raise Failed(f"{self}: cannot copy to {target}: {e}", 4) from e

    # ---- the launch

    def start(self, command):
        try:
            self.channel = self.ssh.create_session()
            self.channel.exec_command(command)
        except Exception as e:
            raise self.failure(e) from e

    def running(self):
        return self.channel is not None and self.code is None

    def write(self, data):
        try:
            if self.running():
                self.channel.sendall(data)
        except OSError:  # it has ended: take() sees that
            pass

    def take(self):
        """Lines that came since the last look; sets `code` once the launch has ended and all of it was read."""
        ended = self.channel.exit_status_ready() or self.channel.closed
        while self.channel.recv_ready():  # events, which nobody reads here
            self.channel.recv(1 << 16)
        while self.channel.recv_stderr_ready():
            self.rest += self.channel.recv_stderr(1 << 16)
        *lines, self.rest = self.rest.split(b"\n")
        if ended:
            lines, self.rest = [*lines, *([self.rest] if self.rest else [])], b""
            self.code = self.channel.recv_exit_status() if self.channel.exit_status_ready() else -1
        lines = [line.decode(errors="replace") for line in lines]
        self.last = (self.last + lines)[-8:]
        return lines

    def stop(self):
        """The end of its input stops the launch cleanly."""
        try:
            if self.running():
                self.channel.shutdown_write()
        except OSError:
            pass


class Job:
    def __init__(self, conf, flags):
        package, workspace = flags.get("job_dispatch_package"), flags.get("job_workspace")
        if bool(package) == bool(workspace):
            raise Failed("--job_workspace or --job_dispatch_package should be set, "
                         + ("and not both of them" if package else "one of them"))
        if package and not os.path.isdir(package):
            raise Failed(f"--job_dispatch_package={package} is not a directory: name the directory with the job and its files", 4)
        if "config" not in flags:
            raise Failed("--config is missing: name the job file or the Python script, as it lies in the package")
        self.package, self.conf = package, conf
        self.port = flags.get("port", conf["PADDLE_PORT"])
        self.flags = {"python": conf["PYTHON"], "ports_num": flags.get("ports_num", conf["PADDLE_PORTS_NUM"]), "port": self.port,
                      "use_gpu": conf["PADDLE_USE_GPU"].lower(), "save_dir": "output",
                      **{k: v for k, v in flags.items() if k not in OWN_FLAGS}}
        ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: a core dump would hold the token
        self.token = "" if {"token_file", "certs_dir"} & flags.keys() or "insecure" in flags else secrets.token_hex(32)
        self.nodes = [Node(i, host, conf) for i, host in enumerate(conf["HOSTS"])]
        self.pool = ThreadPoolExecutor(len(self.nodes))
        self.name = time.strftime("JOB%Y%m%d%H%M%S") if package else os.path.basename(workspace.rstrip("/"))
        self.directory = f"{conf['ROOT_DIR']}/{self.name}" if package else workspace
        self.stopping = False

    def on_all(self, step):
        """step(node) for all nodes at once; the results in their order. All are waited for before one fails."""
        running = [self.pool.submit(step, node) for node in self.nodes]
        problems = [f.exception() for f in running if f.exception()]
        if problems:
            raise problems[0]
        return [f.result() for f in running]

    # ---- steps

    def prepare(self):
        self.on_all(lambda node: node.run("true"))
        self.stop_leftovers()
        if self.package:
            self.dispatch()
        there = f"test -d {self.remote()} && echo yes || echo no"
        for node, answer in zip(self.nodes, self.on_all(lambda n: n.run(there))):
            if answer.strip() != "yes":
                raise Failed(f"{node} has no directory {self.directory}: copy the workspace there, or use --job_dispatch_package", 4)

    def dispatch(self):
        with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
            with tarfile.open(archive.name, "w:gz") as tar:
                for entry in sorted(os.listdir(self.package)):
                    tar.add(os.path.join(self.package, entry), arcname=entry)
            size = os.path.getsize(archive.name)
            say(f"copying {self.package} ({size / 1e6:.1f} MB packed) to {len(self.nodes)} nodes")

            def copy(node):
                target = node.run("mktemp").strip()
                node.put(archive.name, target)
                node.run(f"mkdir -p {self.remote()} && tar xzf {target} -C {self.remote()} && rm -f {target}")

            self.on_all(copy)

    def start(self):
        say(f"starting {len(self.nodes)} pservers and {len(self.nodes)} trainers in {self.directory}")
        self.on_all(lambda node: node.start(self.command(node)))
        for node in self.nodes:
            node.write(self.token + "\n")

    def watch(self):
        """Until the job has ended on all nodes, or failed on one. Returns the nodes that failed, the first one first."""
        failed, beat = [], 0.0
        while any(node.running() for node in self.nodes):
            failed += self.look()
            if failed and not self.stopping:
                self.stop()
                break
            if time.monotonic() > beat:
                beat = time.monotonic() + BEAT_SECONDS
                for node in self.nodes:
                    node.write("\n")
            time.sleep(LOOK_SECONDS)
        return failed

    def look(self):
        """Shows what the nodes have said; those that have failed."""
        failed = []
        for node in filter(Node.running, self.nodes):
            for line in node.take():
                # Of the first node everything, of the others what somebody has to know.
                if node.index == 0 or re.match(r"(\S+ \| )?[WEF]\d{4} |launch: process", line):
                    say(f"node.{node.index} | {line}")
            if node.code:
                failed.append(node)
        return failed

    def stop(self):
        """Trainers finish their batch, pservers write a snapshot. What has not ended by then sees that the connection has."""
        self.stopping = True
        for node in self.nodes:
            node.stop()
        end = time.monotonic() + STOP_SECONDS
        while any(node.running() for node in self.nodes) and time.monotonic() < end:
            self.look()
            time.sleep(LOOK_SECONDS)
        for node in self.nodes:
            node.ssh.close()

    # ---- what an earlier run left

    def stop_leftovers(self):
        """Processes of a run that was cut off keep its port. They stop by themselves within some seconds; else they are killed."""
        mine = f"={MARK}:{self.port} "
        for node, found in zip(self.nodes, self.on_all(self.processes)):
            for pid, command in found:
                what = "still runs and is stopped" if mine in command + " " else "with another port runs there"
                say(f"{node}: process {pid} of an earlier job {what}: {command[:120]}")

        def left(node):
            return [str(pid) for pid, command in self.processes(node) if mine in command + " "]

        end = time.monotonic() + STOP_SECONDS
        while any(self.on_all(left)) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        self.on_all(lambda node: node.run(f"kill -KILL {' '.join(left(node))} 2>/dev/null; true"))
        end = time.monotonic() + STOP_SECONDS
        while any(found := self.on_all(left)):
            if time.monotonic() > end:
                node, pids = next((n, p) for n, p in zip(self.nodes, found) if p)
                raise Failed(f"{node}: process {pids[0]} of an earlier job cannot be ended: end it by hand, or choose another --port", 7)
            time.sleep(LOOK_SECONDS)

    @staticmethod
    def processes(node):
        """(pid, command line) of all processes of jobs on the node; of scripts with the mark of their environment behind it."""
        pattern = shlex.quote(f"=[{MARK[0]}]{MARK[1:]}:")  # does not find itself
        out = node.run(f"for p in $(grep -las -e {pattern} /proc/[0-9]*/cmdline /proc/[0-9]*/environ | cut -d / -f 3 | sort -un); do "
                       "echo \"$p $(tr '\\0' ' ' 2>/dev/null < /proc/$p/cmdline) "
                       f"$(tr '\\0' '\\n' 2>/dev/null < /proc/$p/environ | grep -a -m 1 -e {pattern})\"; done 2>/dev/null; true")
        return [(int(line.split(" ", 1)[0]), line.split(" ", 1)[1].strip()) for line in out.splitlines() if " " in line]

    # ---- commands

    def remote(self):
        """The directory, for the node's shell; $HOME is the node's."""
        path = self.directory
        return '"$HOME"' + shlex.quote(path[5:]) if path.startswith("$HOME") else shlex.quote(path)

    def command(self, node):
        words = ["env", *(f"{k}={v}" for k, v in self.conf["ENVIRONMENT"].items()), self.conf["PADDLE"], "launch",
                 *(f"--{k}={v}" for k, v in self.flags.items()), f"--comment={MARK}:{self.port}",
                 "--nodes=" + ",".join(n.name for n in self.nodes), f"--node_rank={node.index}", "--stop_with_input=true",
                 "--event_file=/dev/fd/3", *(["--token_with_input=true"] if self.token else [])]
        return f"cd {self.remote()} && exec 3>&1 1>&2 && exec {shlex.join(words)}"


def run(job):
    """Returns the exit code."""
    try:
        job.prepare()
        job.start()
        failed = job.watch()
    except KeyboardInterrupt:
        say("stopping the job on all nodes")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        job.stop()
        return 130
    except Failed:
        job.stop()
        raise
    for node in failed:
        if node.code < 0:
            say(f"paddle.py: {node}: the connection has ended")
        elif node.code == NOT_FOUND:
            say(f"paddle.py: {node}: there is no '{job.conf['PADDLE']}': install the package there, or name the program as PADDLE in conf.py "
                f"({' '.join(node.last[-1:])})")
        else:
            said = "\n".join(node.last)
            say(f"paddle.py: {node} ended with code {node.code}; its logs are in {job.directory}/log, and the last lines were:\n{said}")
    if failed:
        return {-1: 7, NOT_FOUND: 4}.get(failed[0].code, failed[0].code)
    say("the job is done")
    print(f"{job.nodes[0].host}:{job.directory}/{job.flags['save_dir'].removeprefix('./')}")
    return 0


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
    except Failed as e:
        say(f"paddle.py: {e}")
        return e.code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
