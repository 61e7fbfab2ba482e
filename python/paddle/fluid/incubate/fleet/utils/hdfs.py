"""HDFS, by the command `hadoop fs` of an installation of Hadoop on this machine."""
import os
import subprocess
import time
from typing import Any, Dict, List, Optional, Tuple

from .fs import FS, ExecuteError, FSFileExistsError, FSFileNotExistsError, FSShellCmdAborted, FSTimeOut

__all__ = ["HDFSClient"]


class HDFSClient(FS):
    """Files of HDFS, or of AFS by the same command.

    hadoop_home: the directory of Hadoop; its bin/hadoop is run.
    configs: settings of the command, {"fs.default.name": "hdfs://host:port", "hadoop.job.ugi": "user,password"}.
    time_out: milliseconds that a command may take, with its repetitions.
    sleep_inter: milliseconds between two tries of a command that failed.

    >>> client = HDFSClient("/opt/hadoop", {"fs.default.name": "hdfs://host:9000"})
    >>> client.download("/data/part-0", "part-0")
    """

    def __init__(self, hadoop_home: str, configs: Optional[Dict[str, Any]] = None, time_out: int = 5 * 60 * 1000,
                 sleep_inter: int = 1000):
        self._command = [os.path.join(hadoop_home, "bin", "hadoop"), "fs"]
        self._command += [f"-D{key}={value}" for key, value in (configs or {}).items()]
        self._seconds, self._pause = time_out / 1000, sleep_inter / 1000

    def _once(self, seconds: float, *arguments: str) -> subprocess.CompletedProcess:
        try:
            done = subprocess.run([*self._command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=max(0.001, seconds))
        except FileNotFoundError:
            raise ExecuteError(f"{self._command[0]} does not exist: hadoop_home is the directory of an installation of "
                               "Hadoop") from None
        except subprocess.TimeoutExpired:
            raise FSTimeOut(f"hadoop fs {' '.join(arguments)} did not end within {self._seconds:g} s") from None
        if done.returncode < 0:
            raise FSShellCmdAborted(f"hadoop fs {' '.join(arguments)} was ended by signal {-done.returncode}")
        return done

    def _test(self, flag: str, path: str) -> bool:
        return self._once(self._seconds, "-test", flag, path).returncode == 0

    def _run(self, *arguments: str) -> str:
        """Runs a command until it succeeds, or until the time is over; what it printed."""
        end = time.monotonic() + self._seconds
        while True:
            done = self._once(end - time.monotonic(), *arguments)
            if done.returncode == 0:
                return done.stdout
            if time.monotonic() + self._pause >= end:
                raise ExecuteError(f"hadoop fs {' '.join(arguments)} failed with exit code {done.returncode}: "
                                   f"{done.stderr.strip()[-500:]}")
            time.sleep(self._pause)

    def _entries(self, path: str, *flags: str) -> List[Tuple[bool, str]]:
        """(is it a directory, path) of what `-ls` lists: lines of eight fields."""
        rows = (line.split(None, 7) for line in self._run("-ls", *flags, path).splitlines())
        return [(row[0].startswith("d"), row[7]) for row in rows if len(row) == 8]

    def ls_dir(self, fs_path: str) -> Tuple[List[str], List[str]]:
        """Names of the directories and names of the files in a directory; both empty where it does not exist."""
        if not self.is_exist(fs_path):
            return [], []
        entries = [(is_dir, os.path.basename(path)) for is_dir, path in self._entries(fs_path)]
        return [name for is_dir, name in entries if is_dir], [name for is_dir, name in entries if not is_dir]

    def ls(self, fs_path: str) -> List[str]:
        """Paths of what is in a directory."""
        return [path for _, path in self._entries(fs_path)] if self.is_exist(fs_path) else []

    def lsr(self, fs_path: str) -> List[str]:
        """Paths of all files below a directory."""
        return [path for is_dir, path in self._entries(fs_path, "-R") if not is_dir] if self.is_exist(fs_path) else []

    def is_exist(self, fs_path: str) -> bool:
        return self._test("-e", fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return self._test("-d", fs_path)

    def is_file(self, fs_path: str) -> bool:
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def upload(self, local_path: str, fs_path: str) -> None:
        """Copies a file or directory of this machine there; what is there already is an FSFileExistsError."""
        if not os.path.exists(local_path):
            raise FSFileNotExistsError(f"cannot upload {local_path}: there is no such file or directory")
        if self.is_file(fs_path):
            raise FSFileExistsError(f"cannot upload to {fs_path}, which exists")
        self._run("-put", local_path, fs_path)

    def download(self, fs_path: str, local_path: str) -> None:
        """Copies a file or directory from there; what is here already is an FSFileExistsError."""
        if not self.is_exist(fs_path):
            raise FSFileNotExistsError(f"cannot download {fs_path}: there is no such file or directory")
        if os.path.isfile(local_path):
            raise FSFileExistsError(f"cannot download to {local_path}, which exists")
        self._run("-get", fs_path, local_path)

    def mkdirs(self, fs_path: str) -> None:
        self._run("-mkdir", "-p", fs_path)

    makedirs = mkdirs  # its name in 1.6

    def delete(self, fs_path: str) -> None:
        if self.is_exist(fs_path):
            self._run("-rm", "-r", fs_path)

    def mv(self, fs_src_path: str, fs_dst_path: str, overwrite: bool = False) -> None:
        self._check_move(fs_src_path, fs_dst_path, overwrite)
        self._run("-mv", fs_src_path, fs_dst_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if self.is_exist(fs_path):
            if not exist_ok:
                raise FSFileExistsError(f"{fs_path} exists")
            return
        self._run("-touchz", fs_path)

    def cat(self, fs_path: str) -> str:
        """The contents of a text file; "" where there is none."""
        return self._run("-cat", fs_path) if self.is_file(fs_path) else ""

    def need_upload_download(self) -> bool:
        return True
