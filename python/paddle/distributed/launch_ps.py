"""Starts a training with parameter servers on this machine:

    python -m paddle.distributed.launch_ps --worker_num 2 --server_num 2 script.py [arguments of the script]

Every process runs the script; environment variables give its role, by the names of all versions of Fluid. Its output
goes to ``logs/serverlog.N`` or ``logs/workerlog.N``; beside ``logs`` are the other files of a workspace, as every
launcher leaves them: ``log``, ``job`` and ``nodefile``. When all workers have ended the servers are stopped. When a
process fails, all are stopped, and the end of its log is shown.

A job of several machines is started on each of them, with the same ``--cluster_node_ips`` and its own ``--node_ip``.
The servers of a machine then stay until the workers of all machines have left the job. The processes of such a job
prove a token to each other: make it once (``paddle token --new FILE``), copy it to all machines, and set
``PADDLE_TOKEN_FILE`` to its path. On one machine every job gets a token of its own.
"""
import argparse
import ctypes
import os
import queue
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Dict, List, Optional

__all__ = ["launch", "main"]

_STOP_SECONDS = 10.0  # seconds that processes have to end after SIGTERM
_SHOWN_LINES = 20  # of the log of a process that failed


def _flag(word: str) -> bool:
    if word.lower() in ("true", "1", "yes", "t", "y"):
        return True
    if word.lower() in ("false", "0", "no", "f", "n"):
        return False
    raise argparse.ArgumentTypeError("must be True or False, not %r" % word)


def _parse(arguments: Optional[List[str]]):
    parser = argparse.ArgumentParser(prog="python -m paddle.distributed.launch_ps",
                                     description="Starts parameter servers and workers that run one script.")
    parser.add_argument("--cluster_node_ips", default="127.0.0.1", help="the machines of the job, separated by commas")
    parser.add_argument("--node_ip", default="127.0.0.1", help="which of them this one is")
    parser.add_argument("--start_port", type=int, default=6170, help="port of the first server; 0 takes free ones")
    parser.add_argument("--print_config", type=_flag, default=True, help="say on stderr what is started")
    parser.add_argument("--endpoints", default="", help="host:port of each server of this machine, instead of "
                                                        "start_port")
    parser.add_argument("--worker_num", type=int, default=2, help="workers of this machine")
    parser.add_argument("--server_num", type=int, default=2, help="servers of this machine")
    parser.add_argument("--log_dir", default="logs", help="where the output of the processes goes")
    parser.add_argument("training_script", help="what every process runs")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    args = parser.parse_args(arguments)
    if args.worker_num < 1 or args.server_num < 1:
        parser.error("a job needs at least one worker and one server")
    if not os.path.isfile(args.training_script):
        parser.error("there is no script %r" % args.training_script)
    return args


def _free_ports(host: str, count: int):
    """Free ports, and the sockets that keep them free until the servers have bound them too."""
    held = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((host, 0))
        held.append(s)
    return [s.getsockname()[1] for s in held], held


class _Job:
    """The processes of this machine."""

    def __init__(self, args):
        self.args = args
        nodes = [n.strip() for n in args.cluster_node_ips.split(",") if n.strip()]
        if args.node_ip not in nodes:
            raise SystemExit("launch_ps: --node_ip=%s is not among --cluster_node_ips=%s" %
                             (args.node_ip, args.cluster_node_ips))
        self.node = nodes.index(args.node_ip)
        self.alone = len(nodes) == 1
        self.held: list = []
        if args.endpoints:
            self.endpoints = [e.strip() for e in args.endpoints.split(",") if e.strip()]
            own = self.endpoints
        else:
            ports = [args.start_port + i for i in range(args.server_num)]
            if args.start_port == 0:
                if not self.alone:
                    raise SystemExit("launch_ps: --start_port=0 works on one machine only: others would not know the "
                                     "ports")
                ports, self.held = _free_ports(args.node_ip, args.server_num)
            self.endpoints = ["%s:%d" % (n, p) for n in nodes for p in ports]
            own = ["%s:%d" % (args.node_ip, p) for p in ports]
        self.own_endpoints = own
        self.workers = args.worker_num * len(nodes)
        self.first_worker = self.node * args.worker_num  # of this machine
        self.worker_endpoints: List[str] = []  # as 2.x names them; a worker does not listen
        self.processes: Dict[str, subprocess.Popen] = {}
        self.logs: Dict[str, str] = {}
        self.ended: queue.Queue = queue.Queue()
        self.token = ""
        self.workspace = os.path.dirname(os.path.abspath(args.log_dir))
        given = os.environ.get("PADDLE_INIT_TOKEN_FILE") or os.environ.get("PADDLE_TOKEN_FILE")
        if self.alone and not given:
            self.token = os.path.abspath(os.path.join(args.log_dir, "token.%d" % os.getpid()))

    def _environment(self, **own) -> dict:
        env = {k: v for k, v in os.environ.items() if k.lower() not in ("http_proxy", "https_proxy")}
        hosts = ",".join(e.rpartition(":")[0] for e in self.endpoints)
        joined = ",".join(self.endpoints)
        env.update(PADDLE_PSERVERS_IP_PORT_LIST=joined, PADDLE_PSERVER_ENDPOINTS=joined, PADDLE_PSERVERS=hosts,
                   PADDLE_TRAINERS_NUM=str(self.workers), PADDLE_TRAINERS=str(self.workers), TRAINERS=str(self.workers),
                   POD_IP=self.args.node_ip, PYTHONUNBUFFERED="1", **own)
        if self.worker_endpoints:
            env["PADDLE_TRAINER_ENDPOINTS"] = ",".join(self.worker_endpoints)
        if self.token:
            env["PADDLE_INIT_TOKEN_FILE"] = self.token
        return env

    def _make_workspace(self) -> None:
        """log, job and nodefile beside log_dir, which is log itself by another name (docs/workspace.md)."""
        os.makedirs(self.args.log_dir, mode=0o750, exist_ok=True)
        try:
            log = os.path.join(self.workspace, "log")
            if not os.path.lexists(log):
                os.symlink(os.path.basename(os.path.abspath(self.args.log_dir)), log)
            with open(os.path.join(self.workspace, "nodefile"), "w") as out:
                out.write("%d\n" % self.node)
        except OSError:  # log_dir alone can be written to
            self.workspace = ""

    def start(self) -> None:
        self._make_workspace()
        if self.token:
            _forbid_core_dumps()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(self.token, flags, 0o600), "w") as out:
                out.write(secrets.token_hex(32) + "\n")
        until = {} if self.alone else {"PADDLE_INIT_EXIT_WHEN_DONE": "1"}
        for i, endpoint in enumerate(self.own_endpoints):
            place = self.endpoints.index(endpoint)
            self._start("server", i, len(self.own_endpoints), "pserver.%d" % place,
                        dict(TRAINING_ROLE="PSERVER", PADDLE_TRAINING_ROLE="PSERVER",
                             PADDLE_PORT=endpoint.rpartition(":")[2], PADDLE_CURRENT_ENDPOINT=endpoint,
                             CURRENT_ENDPOINT=endpoint, PADDLE_PSERVER_ID=str(place), **until))
        ports = ",".join(e.rpartition(":")[2] for e in self.endpoints)
        for i in range(self.args.worker_num):
            number = str(self.first_worker + i)
            self._start("worker", i, self.args.worker_num, "trainer." + number,
                        dict(TRAINING_ROLE="TRAINER", PADDLE_TRAINING_ROLE="TRAINER", PADDLE_PORT=ports,
                             PADDLE_TRAINER_ID=number, TRAINER_ID=number))

    def _start(self, kind: str, i: int, siblings: int, place: str, own: dict) -> None:
        log = os.path.join(self.args.log_dir, "%slog.%d" % (kind, i))
        own.update(self._own_files(siblings, place))
        command = [sys.executable, "-u", self.args.training_script] + self.args.training_script_args
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        with os.fdopen(os.open(log, flags, 0o640), "a") as out:
            process = subprocess.Popen(command, env=self._environment(**own), stdout=out, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=_end_with_parent)
        link = ("server" if kind == "server" else "train") + (".log" if siblings == 1 else ".%d.log" % i)
        _point_link(os.path.basename(log), os.path.join(self.args.log_dir, link))
        name = "%s %d" % (kind, i)
        self.processes[name], self.logs[name] = process, log
        threading.Thread(target=lambda: self.ended.put((name, process.wait())), daemon=True).start()

    def _own_files(self, siblings: int, place: str) -> dict:
        """Variables that say where a process keeps its log and its record, unless the user has set such ones."""
        given = [n for n in os.environ if n in ("PADDLE_INIT_WORKSPACE", "PADDLE_INIT_LOG_DIR", "GLOG_log_dir")]
        logs = os.path.abspath(self.args.log_dir)
        mine = {} if given else {"PADDLE_INIT_LOG_DIR": logs if siblings == 1 else os.path.join(logs, place)}
        if self.workspace and not given and "PADDLE_INIT_RECORD_FILE" not in os.environ:
            mine["PADDLE_INIT_RECORD_FILE"] = os.path.join(self.workspace, "job", place + ".flags")
        return mine

    def wait(self) -> int:
        """Until all workers have ended or something has failed; the exit code."""
        workers = {n for n in self.processes if n.startswith("worker")}
        servers = set() if self.alone else set(self.processes) - workers  # these end by themselves
        while workers or servers:
            name, code = self.ended.get()
            if code != 0 or (self.alone and name.startswith("server")):
                self._print_failure(name, code)
                return code if code > 0 else 128 - code if code < 0 else 1
            workers.discard(name)
            servers.discard(name)
            if name.startswith("worker") and not workers:
                _print("all workers exit, going to finish parameter server" if self.alone else
                     "all workers of this machine exit; the servers stay until those of the others have ended")
        return 0

    def _print_failure(self, name: str, code: int) -> None:
        how = "was ended by signal %d" % -code if code < 0 else "ended with code %d" % code
        _print("%s %s%s; the end of %s:" % (name, how, " before the workers" if name.startswith("server") else "",
                                          self.logs[name]))
        with open(self.logs[name], errors="replace") as f:
            for line in f.readlines()[-_SHOWN_LINES:]:
                _print("    " + line.rstrip("\n"))

    def stop(self) -> None:
        """Ends all processes that still run: first with SIGTERM, then with SIGKILL."""
        running = {n: p for n, p in self.processes.items() if p.poll() is None}
        for p in running.values():
            _kill(p, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        for p in running.values():
            try:
                p.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                _kill(p, signal.SIGKILL)
                p.wait()
        for p in self.processes.values():  # what a process itself has started
            _kill(p, signal.SIGKILL)
        for s in self.held:
            s.close()
        if self.token and os.path.exists(self.token):
            os.remove(self.token)


def _point_link(target: str, link: str) -> None:
    if os.path.islink(link):
        os.remove(link)
    if not os.path.lexists(link):
        os.symlink(target, link)


def _kill(process: subprocess.Popen, number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _end_with_parent() -> None:
    """No process outlives a launcher that was killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _forbid_core_dumps() -> None:
    """Of this process, which has had the token in its memory; not of those that it starts."""
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE


def _print(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _stop_by_signal(number, frame):
    raise SystemExit(128 + number)


def launch(arguments: Optional[List[str]] = None) -> int:
    """Starts the job that the command line (or ``arguments``) describes, waits for it, and returns its exit code."""
    args = _parse(arguments)
    return _run(args, _Job(args))


def _run(args, job: _Job) -> int:
    if args.print_config:
        _print("servers: %s; workers: %d; logs in %s" % (",".join(job.endpoints), job.workers, args.log_dir))
    before = signal.signal(signal.SIGTERM, _stop_by_signal)
    try:
        job.start()
        code = job.wait()
    except KeyboardInterrupt:
        _print("stopping all processes")
        code = 130
    finally:
        job.stop()
        signal.signal(signal.SIGTERM, before)
    if code == 0:
        _print("all parameter server are killed")
    return code


def main() -> None:
    sys.exit(launch())


if __name__ == "__main__":
    main()
