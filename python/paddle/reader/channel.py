"""A bounded queue between a thread that makes samples and the one that uses them."""
import threading
from collections import deque
from typing import Any


class Channel:
    """Ends cleanly from both sides: close() stops the makers; an error of a maker is raised in the user.

    (With queue.Queue a maker whose user has left would wait in put() for ever.)

    Threads are woken rarely, for each time the interpreter changes hands twice and the user, who is training, waits:
    makers that found the queue full sleep until a quarter of it is used, and an item that is there is taken without a
    lock. (More than a quarter would take longer than a step, and at its end the user would wait for the interpreter.)
    For the same reason a maker pauses after the first item and after every quarter until the queue was full once: the
    pause ends with the next item that is taken, or after some milliseconds.
    """

    def __init__(self, size: int):
        self._size = max(1, size)
        self._quarter = max(1, self._size // 4)
        self._refill = self._size - self._quarter  # so few items wake the makers
        self._items: deque = deque()
        self._lock = threading.Lock()
        self._space = threading.Condition(self._lock)
        self._more = threading.Condition(self._lock)
        self._full = False  # makers may wait for space
        self._pausing = False
        self._made = 0
        self._makers = 0
        self._closed = False
        self._error: BaseException | None = None

    def start(self, target, *args) -> None:
        """Runs target(*args) in a thread. When all have ended, iteration ends; an exception goes to the user."""
        with self._lock:
            self._makers += 1
        threading.Thread(target=self._make, args=(target, args), daemon=True).start()

    def _make(self, target, args) -> None:
        try:
            target(*args)
        except BaseException as error:  # whatever it is, the user must see it
            with self._lock:
                self._error = self._error or error
        finally:
            with self._lock:
                self._makers -= 1
                self._more.notify_all()

    def put(self, item: Any) -> bool:
        """False once the channel is closed: the maker can stop."""
        with self._lock:
            while len(self._items) >= self._size and not self._closed:
                self._wait_for_space()
            if not self._closed:
                self._items.append(item)
                self._more.notify()
                self._made += 1
                if self._made < self._size and self._made % self._quarter == 1 % self._quarter:
                    self._pause()
            return not self._closed

    def _pause(self) -> None:
        """Lets the user have the interpreter, which this thread would keep while it makes the next items."""
        self._pausing = True
        self._space.wait(0.003)
        self._pausing = False

    def _wait_for_space(self) -> None:
        """Waits in the second call: items are taken without the lock, so the maker looks again once _full is set."""
        if self._full:
            self._space.wait()
        self._full = True

    def get(self) -> Any:
        """The next item. StopIteration after the last one; an error of a maker comes at its place."""
        try:
            item = self._items.popleft()
        except IndexError:
            item = self._wait_for_item()
        if self._pausing or (self._full and len(self._items) <= self._refill):
            with self._lock:
                self._full = False
                self._space.notify_all()
        return item

    def _wait_for_item(self) -> Any:
        with self._lock:
            self._space.notify_all()  # a maker that pauses goes on
            while not self._items and self._makers and not self._error and not self._closed:
                self._more.wait(0.2)  # Ctrl-C just before it would not end a wait for ever
            if self._items:
                return self._items.popleft()
            if self._error:
                raise self._error
            raise StopIteration

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._items.clear()
            self._space.notify_all()
            self._more.notify_all()

    def __iter__(self):
        try:
            while True:
                try:
                    item = self.get()
                except StopIteration:
                    return
                yield item
        finally:
            self.close()
