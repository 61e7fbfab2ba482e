"""File systems: one interface, and the file system of this machine."""
import abc
import os
import shutil
from typing import List, Tuple

__all__ = ["ExecuteError", "FS", "FSFileExistsError", "FSFileNotExistsError", "FSShellCmdAborted", "FSTimeOut",
           "LocalFS"]


class ExecuteError(Exception):
    """A command of a file system failed."""


class FSFileExistsError(Exception):
    """There is a file already where one was to be made."""


class FSFileNotExistsError(Exception):
    """There is no such file or directory."""


class FSTimeOut(Exception):
    """A command of a file system did not end in time."""


class FSShellCmdAborted(ExecuteError):
    """A command of a file system was ended by a signal."""


class FS(abc.ABC):
    """What every file system can do. Paths are strings."""

    @abc.abstractmethod
    def ls_dir(self, fs_path: str) -> Tuple[List[str], List[str]]:
        """Names of the directories and names of the files in a directory; both empty where it does not exist."""

    @abc.abstractmethod
    def is_file(self, fs_path: str) -> bool:
        """Whether it is a file."""

    @abc.abstractmethod
    def is_dir(self, fs_path: str) -> bool:
        """Whether it is a directory."""

    @abc.abstractmethod
    def is_exist(self, fs_path: str) -> bool:
        """Whether it is there."""

    @abc.abstractmethod
    def upload(self, local_path: str, fs_path: str) -> None:
        """Copies a file or directory of this machine there."""

    @abc.abstractmethod
    def download(self, fs_path: str, local_path: str) -> None:
        """Copies a file or directory from there to this machine."""

    @abc.abstractmethod
    def mkdirs(self, fs_path: str) -> None:
        """Makes a directory and those above it; one that is there is left as it is."""

    @abc.abstractmethod
    def delete(self, fs_path: str) -> None:
        """Removes a file, or a directory with all in it; nothing happens where there is none."""

    @abc.abstractmethod
    def mv(self, fs_src_path: str, fs_dst_path: str, overwrite: bool = False) -> None:
        """Moves. FSFileNotExistsError without a source, FSFileExistsError where the target exists."""

    @abc.abstractmethod
    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        """Makes an empty file; one that is there is an FSFileExistsError unless exist_ok."""

    @abc.abstractmethod
    def need_upload_download(self) -> bool:
        """Whether files must be copied to this machine to be read."""

    def list_dirs(self, fs_path: str) -> List[str]:
        """Names of the directories in a directory."""
        return self.ls_dir(fs_path)[0]

    def rename(self, fs_src_path: str, fs_dst_path: str) -> None:
        """Moves, where the target does not exist."""
        self.mv(fs_src_path, fs_dst_path)

    def _check_move(self, source: str, target: str, overwrite: bool) -> None:
        if not self.is_exist(source):
            raise FSFileNotExistsError(f"cannot move {source}: there is no such file or directory")
        if self.is_exist(target):
            if not overwrite:
                raise FSFileExistsError(f"cannot move {source} to {target}, which exists: give overwrite=True")
            self.delete(target)


class LocalFS(FS):
    """The file system of this machine."""

    def ls_dir(self, fs_path: str) -> Tuple[List[str], List[str]]:
        if not self.is_exist(fs_path):
            return [], []
        names = sorted(os.listdir(fs_path))
        dirs = [name for name in names if os.path.isdir(os.path.join(fs_path, name))]
        return dirs, [name for name in names if name not in dirs]

    def is_file(self, fs_path: str) -> bool:
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path: str) -> bool:
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path: str) -> bool:
        return os.path.exists(fs_path)

    def upload(self, local_path: str, fs_path: str) -> None:
        if os.path.isdir(local_path):
            shutil.copytree(local_path, fs_path)
        else:
            shutil.copy(local_path, fs_path)

    def download(self, fs_path: str, local_path: str) -> None:
        self.upload(fs_path, local_path)

    def mkdirs(self, fs_path: str) -> None:
        if os.path.isfile(fs_path):
            raise FSFileExistsError(f"cannot make the directory {fs_path}: there is a file of that name")
        os.makedirs(fs_path, exist_ok=True)

    def delete(self, fs_path: str) -> None:
        if os.path.isdir(fs_path) and not os.path.islink(fs_path):
            shutil.rmtree(fs_path)
        elif os.path.lexists(fs_path):
            os.remove(fs_path)

    def mv(self, fs_src_path: str, fs_dst_path: str, overwrite: bool = False) -> None:
        self._check_move(fs_src_path, fs_dst_path, overwrite)
        shutil.move(fs_src_path, fs_dst_path)

    def touch(self, fs_path: str, exist_ok: bool = True) -> None:
        if os.path.exists(fs_path) and not exist_ok:
            raise FSFileExistsError(f"{fs_path} exists")
        with open(fs_path, "a", encoding="utf-8"):
            pass

    def need_upload_download(self) -> bool:
        return False
