"""Data sets of files: MultiSlot text, as a pipe command prints it, for `Executor.train_from_dataset`.

    dataset = fluid.DatasetFactory().create_dataset("QueueDataset")
    dataset.set_use_var([ids, label])
    dataset.set_pipe_command("python my_generator.py")
    dataset.set_batch_size(100)
    dataset.set_thread(2)
    dataset.set_filelist(["part-0", "part-1"])
    exe.train_from_dataset(program=fluid.default_main_program(), dataset=dataset)
"""
import atexit
import random
import sys
import threading
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from .. import _core
from . import core
from .framework import Variable

__all__ = ["DatasetBase", "DatasetFactory", "FileInstantDataset", "InMemoryDataset", "QueueDataset"]


class Task:
    """A function that runs in a thread; wait() ends with what it raised. Ctrl-C while this thread starts it or waits
    for it calls `stop` first, and so does the end of the script: commands must not outlive it."""

    _running: set = set()

    def __init__(self, function: Callable[[], None], stop: Callable[[], None]):
        self._function, self._stop = function, stop
        self._done, self._error = threading.Event(), None

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
            Task._running.discard(self)

    def start(self) -> "Task":
        atexit.unregister(Task.end_all)  # registered once, however many there are
        atexit.register(Task.end_all)
        Task._running.add(self)
        self._or_stop(threading.Thread(target=self._run, daemon=True).start)
        return self

    def wait(self) -> None:
        self._or_stop(self._wait)
        if self._error:
            raise self._error

    def _wait(self) -> None:
        """A signal that comes just before the wait does not end it: look again now and then."""
        while not self._done.wait(0.2):
            pass

    def _or_stop(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except BaseException:
            self._stop()
            self.join(1)  # readers end their commands; a step that waits for pservers may take longer
            raise

    def join(self, seconds: float) -> None:
        """Waits for its end, whatever that is, but not for ever."""
        self._done.wait(max(0.0, seconds))

    @classmethod
    def end_all(cls) -> None:
        """Stops those that run, and gives them a second."""
        running = list(cls._running)
        for task in running:
            task._stop()
        for task in running:
            task.join(1)



class DatasetFactory:
    """Makes data sets by the name of their class."""

    def create_dataset(self, datafeed_class: str = "QueueDataset") -> "DatasetBase":
        """A `QueueDataset` (files are read while training goes on) or an `InMemoryDataset`."""
        kinds = {"QueueDataset": QueueDataset, "InMemoryDataset": InMemoryDataset,
                 "FileInstantDataset": FileInstantDataset}
        if datafeed_class not in kinds:
            raise ValueError(f"datafeed class {datafeed_class} does not exist; there are {', '.join(kinds)}")
        return kinds[datafeed_class]()


class DatasetBase:
    """What both kinds of data sets share: files, the command that reads them, slots, batch size and threads."""

    _feed_name = ""

    def __init__(self):
        self.pipe_command = "cat"
        self.batch_size = 32
        self.thread_num = 0
        self.filelist: List[str] = []
        self.use_var: List[Variable] = []
        self._hdfs = ("", "")
        self._download = ""
        self._record_ids = False
        self._merge_size: Optional[int] = None  # records of one id that become one

    def set_pipe_command(self, pipe_command: str) -> None:
        """The shell command that turns a file on its stdin into MultiSlot text on its stdout. By default "cat"."""
        self.pipe_command = pipe_command

    def set_batch_size(self, batch_size: int) -> None:
        """Samples per batch, 32 unless set."""
        if batch_size <= 0:
            raise ValueError(f"batch_size must be positive, got {batch_size}")
        self.batch_size = batch_size

    def set_thread(self, thread_num: int) -> None:
        """Threads that read and train."""
        self.thread_num = thread_num

    def set_filelist(self, filelist: Sequence[str]) -> None:
        """The files of the next pass; may be set again before each."""
        if isinstance(filelist, str):
            raise TypeError(f"set_filelist takes a list of files: [{filelist!r}]")
        self.filelist = list(filelist)

    def set_use_var(self, var_list: Sequence[Variable]) -> None:
        """Adds slots: variables in the order of the line. float32 and int64, dense or with lod_level 1."""
        for var in var_list:
            if core.dtype_name(var.dtype) not in ("float32", "int64"):
                raise ValueError(f"Currently, fluid.dataset only supports dtype=float32 and dtype=int64; '{var.name}' "
                                 f"is {core.dtype_name(var.dtype)}")
            self.use_var.append(var)

    def set_hdfs_config(self, fs_name: str, fs_ugi: str) -> None:
        """How `hadoop fs` reaches files whose names begin with hdfs: or afs:."""
        self._hdfs = (fs_name, fs_ugi)

    def set_download_cmd(self, download_cmd: str) -> None:
        """The command that prints a file whose name begins with hdfs: or afs:, in place of `hadoop fs`; it gets the
        name as its last argument."""
        self._download = download_cmd

    def desc(self) -> str:
        """The data set as text, in the form of Fluid's DataFeedDesc."""
        lines = [f'name: "{self._feed_name}"', f"batch_size: {self.batch_size}", "multi_slot_desc {"]
        for var in self.use_var:
            dense = var.lod_level == 0
            lines += ["  slots {", f'    name: "{var.name}"',
                      f'    type: "{"float" if core.dtype_name(var.dtype) == "float32" else "uint64"}"',
                      f"    is_dense: {str(dense).lower()}", "    is_used: true"]
            lines += [f"    shape: {d}" for d in var.shape] if dense else []
            lines.append("  }")
        lines += ["}", f'pipe_command: "{self.pipe_command}"', f"thread_num: {max(1, self.thread_num)}"]
        return "\n".join(lines) + "\n"

    def _spec(self) -> "_core.SlotSpec":
        if not self.use_var:
            raise ValueError("the data set has no slots; name the variables of a line with set_use_var([...])")
        slots = [(v.name, core.dtype_name(v.dtype), tuple(v.shape[1:]) or (1,), v.lod_level) for v in self.use_var]
        return _core.SlotSpec(slots, self.pipe_command, self.batch_size, *self._hdfs, record_ids=self._record_ids,
                              keeps_ids=self._merge_size is not None, download_command=self._download)

    def _files(self) -> List[str]:
        if not self.filelist:
            raise ValueError("the data set has no files; name them with set_filelist([...])")
        return self.filelist

    def _source(self):
        """What a pass reads: SlotFiles or SlotMemory."""
        raise NotImplementedError

    def _batches(self) -> Iterator[Tuple[int, Dict[str, "core.LoDTensor"]]]:
        """One pass in this thread: how many samples a batch has, and the batch as a feed."""
        source = self._source()
        stream = source.open() if isinstance(source, _core.SlotFiles) else source
        names = [v.name for v in self.use_var]
        fields = stream.next()
        while fields is not None:
            lod = fields[0].lod()
            yield len(lod[0]) - 1 if lod else fields[0].shape()[0], dict(zip(names, fields))
            fields = stream.next()


class QueueDataset(DatasetBase):
    """Files are read while training goes on, each by one thread. Cannot be shuffled."""

    _feed_name = "MultiSlotDataFeed"

    def local_shuffle(self) -> None:
        raise NotImplementedError("QueueDataset does not support local shuffle, please use InMemoryDataset for "
                                  "local_shuffle")

    def global_shuffle(self, fleet=None) -> None:
        raise NotImplementedError("QueueDataset does not support global shuffle, please use InMemoryDataset for "
                                  "global_shuffle")

    def _source(self):
        return _core.SlotFiles(self._spec(), self._files())


class FileInstantDataset(DatasetBase):
    """Files are read while training goes on, as in a QueueDataset. Cannot be shuffled."""

    _feed_name = "MultiSlotFileInstantDataFeed"

    def local_shuffle(self) -> None:
        raise NotImplementedError("FileInstantDataset does not support local shuffle, please use InMemoryDataset for "
                                  "local_shuffle")

    def global_shuffle(self, fleet=None) -> None:
        raise NotImplementedError("FileInstantDataset does not support global shuffle, please use InMemoryDataset for "
                                  "global_shuffle")

    def _source(self):
        return _core.SlotFiles(self._spec(), self._files())


class InMemoryDataset(DatasetBase):
    """All records are loaded first and may be shuffled."""

    _feed_name = "MultiSlotInMemoryDataFeed"

    def __init__(self):
        super().__init__()
        self._memory: Optional["_core.SlotMemory"] = None
        self._records_of_all: Optional[int] = None  # of all workers, where a global shuffle has counted them
        self._global_shuffles = 0
        self._loading: Optional[Task] = None

    def load_into_memory(self) -> None:
        """Reads all files, `thread_num` of them at a time."""
        self.preload_into_memory()
        self.wait_preload_done()

    def preload_into_memory(self, thread_num: Optional[int] = None) -> None:
        """Begins to load while the script goes on; `wait_preload_done` ends it."""
        if thread_num is not None:
            self.thread_num = thread_num
        memory, files, threads = _core.SlotMemory(self._spec()), self._files(), max(1, self.thread_num)

        def load():
            memory.load(files, threads)
            self._memory, self._records_of_all = memory, None

        self._loading = Task(load, memory.stop).start()

    def wait_preload_done(self) -> None:
        """Waits for `preload_into_memory`; raises what it met."""
        if self._loading is None:
            raise RuntimeError("wait_preload_done: call preload_into_memory first")
        loading, self._loading = self._loading, None
        loading.wait()

    def set_queue_num(self, queue_num: int) -> None:
        """Accepted for Fluid's scripts: threads take batches from one queue."""

    def set_fleet_send_batch_size(self, fleet_send_batch_size: int = 1024) -> None:
        """Accepted for Fluid's scripts: workers read the records that they exchange from the files."""

    def set_fleet_send_sleep_seconds(self, fleet_send_sleep_seconds: int = 0) -> None:
        """Accepted for Fluid's scripts: workers read the records that they exchange from the files."""

    def set_parse_ins_id(self, parse_ins_id: bool) -> None:
        """Whether lines begin with "1 <id of the record>", which is passed over."""
        self._record_ids = bool(parse_ins_id)

    def set_merge_by_lineid(self, merge_size: int = 2) -> None:
        """Records with the same id become one when `global_shuffle` is called; lines begin with "1 <id of the record>".

        Each slot is taken from the record that has something else than zeros there. Records are dropped, with a
        warning, where two of an id have the same slot, or where it has not merge_size of them (0: any number).
        Workers that divide the records anew (`global_shuffle(fleet)`) send those of one id to one worker; else one
        worker must read them. Call it before the files are loaded.
        """
        if isinstance(merge_size, bool) or not isinstance(merge_size, int) or merge_size < 0:
            raise ValueError(f"set_merge_by_lineid: merge_size must be a whole number from 0 on, found {merge_size!r}")
        if self._memory is not None or self._loading is not None:
            raise RuntimeError("set_merge_by_lineid: call it before the files are loaded, as their ids must be kept")
        self._merge_size, self._record_ids = merge_size, True

    def _loaded(self) -> "_core.SlotMemory":
        if self._memory is None:
            raise RuntimeError("the InMemoryDataset holds no records; call load_into_memory() first")
        return self._memory

    def local_shuffle(self) -> None:
        """Shuffles the records of this process. random.seed(n) before makes the order repeatable."""
        self._loaded().shuffle(random.getrandbits(64))

    def global_shuffle(self, fleet: Any = None, thread_num: int = 12) -> None:
        """Shuffles the records of all workers: afterwards each has an equal share of all files, every record once.
        Where `set_merge_by_lineid` was called, each worker merges its records first.

        Workers have no way to each other, so each reads all files again, `thread_num` at a time, and keeps the
        records that a hash gives to it; the k-th call divides them in the same way on every worker. For that the
        data set needs the list of all files: give it what `fleet.split_files(all_files)` returns. With another list
        each worker shuffles its own records, and says so. Without `fleet` it is `local_shuffle`.
        """
        workers = 1 if fleet is None else fleet.worker_num()
        if workers > 1:
            fleet.barrier_worker()
            files = fleet._files_of_all(self.filelist)
            if files is None:
                print(f"InMemoryDataset.global_shuffle: records stay with the worker that read them, and each of the "
                      f"{workers} workers shuffles its own: set_filelist(fleet.split_files(all_files)) names the files "
                      f"of all.", file=sys.stderr)
            else:
                self._take_share(files, thread_num, fleet.worker_index(), workers)
        if self._merge_size is not None:
            self._loaded().merge_by_id(self._merge_size)
            self._records_of_all = None  # others have merged theirs, too
        self.local_shuffle()

    def _take_share(self, files: List[str], thread_num: int, worker: int, workers: int) -> None:
        """Loads this worker's part of all records, in place of what is loaded."""
        self._loaded().clear()  # there is memory for one of them only
        self._global_shuffles += 1
        seed = zlib.crc32("\n".join(files).encode()) << 32 | self._global_shuffles
        memory = _core.SlotMemory(self._spec())

        def load():
            self._records_of_all = memory.load(files, max(1, thread_num), seed, worker, workers)

        self._memory, self._records_of_all = None, None
        Task(load, memory.stop).start().wait()
        self._memory = memory

    def set_fea_eval(self, record_candidate_size: int, fea_eval: bool = True) -> None:
        """Accepted for Fluid's scripts: `slots_shuffle` needs no preparation."""

    def slots_shuffle(self, slots: Sequence[str]) -> None:
        """Exchanges the values of these slots among the records, each slot by itself.

        What the AUC loses by that is what a slot is worth to a model. random.seed(n) before makes it repeatable.
        """
        if isinstance(slots, str):
            raise TypeError(f"slots_shuffle takes a list of slots: [{slots!r}]")
        self._loaded().shuffle_slots(list(slots), random.getrandbits(64))

    def release_memory(self) -> None:
        """Forgets the records."""
        if self._memory is not None:
            self._memory.clear()
            self._memory = None
        self._records_of_all = None

    def get_memory_data_size(self, fleet: Any = None) -> int:
        """Records held by this process; with `fleet` those of all workers, where this one can know."""
        return self._size(fleet, "get_memory_data_size")

    def get_shuffle_data_size(self, fleet: Any = None) -> int:
        """Records after a shuffle: of this process, or with `fleet` of all workers."""
        return self._size(fleet, "get_shuffle_data_size")

    def _size(self, fleet: Any, call: str) -> int:
        own = self._loaded().size()
        if fleet is None or fleet.worker_num() == 1:
            return own
        if self._records_of_all is not None:
            return self._records_of_all
        total = [0]
        if fleet._role_maker.all_reduce_worker([own], total):
            return total[0]
        print(f"InMemoryDataset.{call}: the workers have no way to each other, so this is the number of worker "
              f"{fleet.worker_index()} alone; after global_shuffle(fleet) it is that of all.", file=sys.stderr)
        return own

    def _source(self):
        memory = self._loaded()
        memory.rewind()
        return memory
