"""Lines of what a command prints."""
import codecs
import subprocess
import zlib
from typing import Iterator


class PipeReader:
    """Reads the output of a command while it runs: `hadoop fs -cat …`, `cat …`, `curl …`.

    command: its words, separated by blanks; no shell is involved.
    file_type: "plain", or "gzip" where the output is compressed.
    """

    def __init__(self, command: str, bufsize: int = 8192, file_type: str = "plain"):
        if not isinstance(command, str):
            raise TypeError(f"left command must be a string, got {type(command).__name__}")
        if file_type not in ("plain", "gzip"):
            raise TypeError(f"file_type {file_type!r} is not allowed, expected 'plain' or 'gzip'")
        self.command, self.bufsize, self.file_type = command, bufsize, file_type
        self.process = subprocess.Popen(command.split(), stdout=subprocess.PIPE, bufsize=bufsize)

    def _text(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")()  # a character may stand across two reads
        unzip = zlib.decompressobj(32 + zlib.MAX_WBITS) if self.file_type == "gzip" else None
        with self.process.stdout as output:
            while data := output.read(self.bufsize):
                yield decode.decode(unzip.decompress(data) if unzip else data)
        yield decode.decode(unzip.flush() if unzip else b"", final=True)
        if code := self.process.wait():
            raise RuntimeError(f"the command {self.command!r} ended with exit code {code}; what it printed is "
                               f"incomplete")

    def get_line(self, cut_lines: bool = True, line_break: str = "\n") -> Iterator[str]:
        """Lines without their ends; with cut_lines False pieces of text as they arrive."""
        rest = ""
        for piece in self._text():
            if not cut_lines:
                if piece:
                    yield piece
                continue
            *lines, rest = (rest + piece).split(line_break)
            yield from lines
        if rest:
            yield rest
