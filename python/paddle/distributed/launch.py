"""Starts a training with parameter servers, with the names of PaddlePaddle 2.x:

    python -m paddle.distributed.launch --run_mode=ps --server_num=2 --trainer_num=2 script.py [arguments of the script]

On several machines the same command runs on each, with lists of all servers and workers. A machine starts those whose
address is its own (or ``--host``):

    python -m paddle.distributed.launch --run_mode=ps --servers=10.0.0.5:6170,10.0.0.6:6170 \\
        --workers=10.0.0.5,10.0.0.6 script.py

Logs, exit codes and signals are those of ``paddle.distributed.launch_ps``. Collective training is not supported.
"""
import argparse
import os
import socket
import sys
from typing import List, Optional

from paddle.distributed import launch_ps

__all__ = ["launch", "main"]

_COLLECTIVE = ("paddle.distributed.launch: collective training is not supported; --run_mode=ps, with --server_num and "
               "--trainer_num or with --servers and --workers, starts a training with parameter servers")


def _parse(arguments: Optional[List[str]]):
    parser = argparse.ArgumentParser(prog="python -m paddle.distributed.launch",
                                     description="Starts parameter servers and workers that run one script.")
    parser.add_argument("--run_mode", default="", help="ps")
    parser.add_argument("--server_num", type=int, help="servers, on this machine alone")
    parser.add_argument("--worker_num", "--trainer_num", type=int, help="workers, on this machine alone")
    parser.add_argument("--servers", default="", help="host:port of all servers of the job, separated by commas")
    parser.add_argument("--workers", "--trainers", default="", help="hosts of all workers, separated by commas; a port "
                                                                    "may follow each")
    parser.add_argument("--host", "--node_ip", default="", help="which address of the lists is this machine's")
    parser.add_argument("--start_port", type=int, default=6170, help="port of the first server, with --server_num")
    parser.add_argument("--log_dir", default="log", help="where the output of the processes goes")
    parser.add_argument("training_script", help="what every process runs")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    args = parser.parse_args(arguments)
    if args.run_mode not in ("", "ps") or not (args.run_mode or args.server_num or args.servers):
        sys.exit(_COLLECTIVE)
    if not os.path.isfile(args.training_script):
        parser.error("there is no script %r" % args.training_script)
    if bool(args.servers) != bool(args.workers):
        parser.error("--servers and --workers belong together: name all processes of the job in both")
    if args.servers and (args.server_num or args.worker_num):
        parser.error("--servers and --workers name the processes, and --server_num or --worker_num counts them; give "
                     "one of the two")
    args.print_config = True
    return args


def _words(joined: str) -> List[str]:
    return [w.strip() for w in joined.split(",") if w.strip()]


def _host_of(place: str) -> str:
    host, colon, port = place.rpartition(":")
    return host.strip("[]") if colon and port.isdigit() and not host.endswith(":") else place.strip("[]")


def _is_local(host: str) -> bool:
    """Whether a server could listen on this address here."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as s:
            s.bind(address)
        return True
    except OSError:
        return False


class _ListedJob(launch_ps._Job):
    """The part of this machine in a job whose processes are all listed."""

    def __init__(self, args):
        servers, workers = _words(args.servers), _words(args.workers)
        hosts = {_host_of(p) for p in servers + workers}
        own = {args.host} if args.host else {h for h in hosts if _is_local(h)}
        if not own & hosts:
            raise SystemExit("paddle.distributed.launch: no address of --servers=%s and --workers=%s is one of this "
                             "machine; --host=ADDRESS says which" % (args.servers, args.workers))
        numbers = [i for i, w in enumerate(workers) if _host_of(w) in own]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers)) if numbers else []):
            raise SystemExit("paddle.distributed.launch: list the workers of a machine one after the other")
        own_servers = [s for s in servers if _host_of(s) in own]
        node = _host_of(own_servers[0]) if own_servers else _host_of(workers[numbers[0]])
        values = dict(vars(args), cluster_node_ips=node, node_ip=node, endpoints=",".join(servers),
                      worker_num=len(numbers), server_num=len(own_servers))
        super().__init__(argparse.Namespace(**values))
        self.node = list(dict.fromkeys(_host_of(p) for p in servers + workers)).index(node)
        self.own_endpoints = own_servers
        self.workers = len(workers)
        self.first_worker = numbers[0] if numbers else 0
        self.worker_endpoints = workers
        self.alone = hosts <= own


class _CountedJob(launch_ps._Job):
    """A job of this machine."""

    def __init__(self, args):
        values = dict(vars(args), cluster_node_ips="127.0.0.1", node_ip="127.0.0.1", endpoints="",
                      worker_num=args.worker_num or 1, server_num=args.server_num or 1)
        super().__init__(argparse.Namespace(**values))
        self.worker_endpoints = ["127.0.0.1"] * self.workers


def launch(arguments: Optional[List[str]] = None) -> int:
    """Starts the job that the command line (or ``arguments``) describes, waits for it, and returns its exit code."""
    args = _parse(arguments)
    return launch_ps._run(args, _ListedJob(args) if args.servers else _CountedJob(args))


def main() -> None:
    sys.exit(launch())


if __name__ == "__main__":
    main()
