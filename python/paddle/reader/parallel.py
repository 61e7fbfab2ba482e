"""Readers whose work is done by several threads or processes."""
import multiprocessing
import multiprocessing.connection
import pickle
import queue as queues
import traceback
from typing import Any, Callable, Sequence

from .channel import Channel
from .decorator import Reader


class _Ordered(Channel):
    """A channel whose items have numbers and leave in their order; `size` is how far a maker may be ahead."""

    def __init__(self, size: int):
        super().__init__(size)
        self._next = 0
        self._waiting: dict = {}

    def put_at(self, index: int, item: Any) -> bool:
        with self._lock:
            while index >= self._next - len(self._items) + self._size and not self._closed:
                self._wait_for_space()
            self._waiting[index] = item
            while self._next in self._waiting:
                self._items.append(self._waiting.pop(self._next))
                self._next += 1
            self._more.notify_all()
            return not self._closed


def xmap_readers(mapper: Callable, reader: Reader, process_num: int, buffer_size: int, order: bool = False) -> Reader:
    """A reader of mapper(sample), computed by `process_num` threads.

    buffer_size: at most so many samples wait before, and as many after the mapper.
    order: give the results in the order of the samples; otherwise in the order in which they are ready.
    An exception of the mapper or the reader is raised in the thread that reads.
    """
    if process_num <= 0:
        raise ValueError(f"xmap_readers needs at least one worker, got process_num={process_num}")

    def read(samples):
        for numbered in enumerate(reader()):
            if not samples.put(numbered):
                return

    def work(samples, out):
        for index, sample in _each(samples):
            result = mapper(sample)
            if not (out.put_at(index, result) if order else out.put(result)):
                return

    def mapped():
        samples = Channel(buffer_size)
        out = _Ordered(buffer_size) if order else Channel(buffer_size)
        samples.start(read, samples)
        for _ in range(process_num):
            out.start(work, samples, out)
        try:
            yield from out
        finally:
            samples.close()

    return mapped


def _each(channel: Channel):
    """The items for one of several users: leaving does not close the channel."""
    while True:
        try:
            item = channel.get()
        except StopIteration:
            return
        yield item


_SAMPLE, _END, _ERROR = 0, 1, 2


def _send_all(reader: Reader, send: Callable[[Any], None], inherited: Sequence) -> None:
    """The life of a worker process: pickled (what, value) pairs. `inherited` are ends of others' pipes."""
    for end in inherited:
        end.close()
    try:
        for sample in reader():
            send(pickle.dumps((_SAMPLE, sample), protocol=pickle.HIGHEST_PROTOCOL))
        send(pickle.dumps((_END, None)))
    except (BrokenPipeError, ConnectionResetError):
        pass  # the reading process has closed it
    except BaseException:
        send(pickle.dumps((_ERROR, traceback.format_exc())))


def multiprocess_reader(readers: Sequence[Reader], use_pipe: bool = True, queue_size: int = 1000) -> Reader:
    """A reader of the samples of all readers, each read by a process of its own, in the order in which they arrive.

    use_pipe: every process has a pipe; otherwise all share one queue of at most `queue_size` samples. Samples travel
    pickled. A process that fails, or dies, raises a RuntimeError here.
    """
    if not readers:
        raise ValueError("multiprocess_reader needs at least one reader")
    context = multiprocessing.get_context("fork")  # readers are closures: they cannot be sent to another process

    def check(index: int, what: int, value: Any) -> None:
        if what == _ERROR:
            raise RuntimeError(f"reader {index} of multiprocess_reader failed in its process:\n{value}")

    def start(index, send, inherited=()):
        process = context.Process(target=_send_all, args=(readers[index], send, inherited), daemon=True)
        process.start()
        return process

    def from_pipes():
        ends, processes = {}, []
        try:
            for i in range(len(readers)):
                receive, send = context.Pipe(duplex=False)
                ends[receive] = i
                processes.append(start(i, send.send_bytes, list(ends)))
                send.close()
            while ends:
                for ready in multiprocessing.connection.wait(list(ends)):
                    index = ends[ready]
                    try:
                        what, value = pickle.loads(ready.recv_bytes())
                    except EOFError:
                        raise RuntimeError(f"the process of reader {index} of multiprocess_reader died; "
                                           "it was killed or its interpreter crashed") from None
                    check(index, what, value)
                    if what == _END:
                        del ends[ready]
                        ready.close()
                    else:
                        yield value
        finally:
            for end in ends:
                end.close()
            _stop(processes)

    def from_queue():
        queue = context.Queue(queue_size)
        processes = [start(i, lambda b, i=i: queue.put((i, b))) for i in range(len(readers))]
        running = set(range(len(readers)))
        try:
            while running:
                index, data = _take(queue, processes, running)
                what, value = pickle.loads(data)
                check(index, what, value)
                if what == _END:
                    running.discard(index)
                else:
                    yield value
        finally:
            _stop(processes)
            queue.close()
            queue.cancel_join_thread()

    return from_pipes if use_pipe else from_queue


def _take(queue, processes, running):
    """The next item; a RuntimeError when a process has ended without an end mark."""
    dead: set = set()
    while True:
        try:
            return queue.get(timeout=0.2)
        except queues.Empty:
            if dead:  # it was dead before this look into the queue, so nothing of it is under way
                i = min(dead)
                raise RuntimeError(f"the process of reader {i} of multiprocess_reader died with exit code "
                                   f"{processes[i].exitcode}") from None
            dead = {i for i in running if not processes[i].is_alive()}


def _stop(processes) -> None:
    for p in processes:
        if p.is_alive():
            p.terminate()
    for p in processes:
        p.join()
