"""A bounded queue between a thread that makes samples and the one that uses them."""
import threading
from collections import deque
from typing import Any


class Channel:
    """Ends cleanly from both sides: close() tells the makers to stop, fail() and finish() tell the user how it ended.

    (queue.Queue has neither: a maker whose user went away would wait in put() for ever.)
    """

    def __init__(self, size: int):
        self._size = max(1, size)
        self._items: deque = deque()
        self._change = threading.Condition()
        self._makers = 0
        self._closed = False
        self._error: BaseException | None = None

    def start(self, target, *args) -> None:
        """Runs target(*args) in a thread. When all have ended, iteration ends; an exception goes to the user."""
        with self._change:
            self._makers += 1
        threading.Thread(target=self._make, args=(target, args), daemon=True).start()

    def _make(self, target, args) -> None:
        try:
            target(*args)
        except BaseException as error:  # whatever it is, the user must see it
            with self._change:
                self._error = self._error or error
        finally:
            with self._change:
                self._makers -= 1
                self._change.notify_all()

    def put(self, item: Any) -> bool:
        """False when nobody wants items any more."""
        with self._change:
            while len(self._items) >= self._size and not self._closed:
                self._change.wait()
            if not self._closed:
                self._items.append(item)
                self._change.notify_all()
            return not self._closed

    def get(self) -> Any:
        """The next item. StopIteration after the last one; an error of a maker comes at its place."""
        with self._change:
            while not self._items and self._makers and not self._error and not self._closed:
                self._change.wait()
            if self._items:
                item = self._items.popleft()
                self._change.notify_all()
                return item
            if self._error:
                raise self._error
            raise StopIteration

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._items.clear()
            self._change.notify_all()

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
