"""A journal: a file of lines that one process at a time appends to, each on disk before what it says counts.

A killed process loses no line that was acknowledged. What it left half written ends without a newline and is
no line.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from tiny_graph_rag.errors import InputError, UsageError
from tiny_graph_rag.messages import said

T = TypeVar("T")


class JournalFile:
    """Open for reading and appending by this process alone, until `close` or the process's end."""

    def __init__(self, path: Path, busy: str, mode: int = 0o666) -> None:
        """busy: what to tell where another process has it. mode: of a new file, before the umask.

        Raises UsageError where another process has it, InputError where it can't be opened.
        """
        self.path = path
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise InputError("{path}: not a journal but a pipe or a device. Remove or rename it", path=path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, mode), "r+b", 0)
        except OSError as error:
            raise InputError(
                "{path}: the journal can't be opened: {why}", path=path, why=said(error.strerror or "")
            ) from error
        if not lock_file(self._stream.fileno()):
            self._stream.close()
            raise UsageError("{path}: {busy}", path=path, busy=busy)

    @property
    def size(self) -> int:
        """Bytes, half a line at the end included."""
        return os.fstat(self._stream.fileno()).st_size

    @property
    def ends_whole(self) -> bool:
        """Whether nothing is left half written."""
        return sum(len(line) for _, line in self.lines()) == self.size

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(number from 1, line with its newline) of each whole line."""
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if line.endswith(b"\n"):
                    yield number, line

    def entries(self, head: bytes, read: Callable[[bytes], T]) -> list[T]:
        """What `read` makes of each whole line; half a line at the end is cut off the file.

        head: how the file begins, where it isn't empty. Raises InputError for a file that is no journal, with
        the line where `read` raises or the head is missing: such a one is closed and never changed.
        """
        found: list[T] = []
        self._stream.seek(0)
        is_journal = head.startswith(self._stream.read(len(head)))
        lines = [line for _, line in self.lines()]
        try:
            for line in lines if is_journal else ():
                found.append(read(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_journal = False
        if not is_journal:
            self.close()
            raise InputError(
                "{path}:{line}: not a line of a journal. Move or rename the file, or choose another "
                "results file with -o",
                path=self.path,
                line=len(found) + 1,
            )
        self.cut(sum(map(len, lines)))
        return found

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes."""
        if size != self.size:
            os.ftruncate(self._stream.fileno(), size)

    def append(self, line: bytes) -> None:
        """Hand a line to the system, which a killed process does not take back. Raises OSError."""
        view = memoryview(line)
        try:
            while view:
                view = view[self._stream.write(view) or 0 :]
        except OSError as error:
            error.filename = str(self.path)
            raise

    def sync(self) -> None:
        """Have on disk what was appended: it outlives the machine too. Raises OSError."""
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """With everything on disk: it outlives the machine too. Raises OSError."""
        if not self._stream.closed:
            try:
                self.sync()
            finally:
                self._stream.close()


def lock_file(descriptor: int, *, wait: bool = False) -> bool:
    """Whether this process has the file for itself now, until it closes it or ends. wait: for another that
    has it. A file system without locks guards nothing."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
