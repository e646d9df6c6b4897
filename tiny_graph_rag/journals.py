"""A journal: a file of lines that one process at a time appends to, each on disk before what it tells counts.

A killed process loses no line that was acknowledged. What it left half written ends without a newline and is
no line. A link, a pipe or a device is refused: a journal is cut and locked, and nothing else may be.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tiny_graph_rag.errors import InputError, UsageError
from tiny_graph_rag.messages import said


class JournalFile:
    """Open for reading and appending by this process alone, until `close` or the process's end."""

    def __init__(self, path: Path, busy: str, mode: int = 0o666) -> None:
        """busy: what to tell where another process has it. mode: of a new file, before the umask.

        Raises UsageError where another process has it, InputError where it can't be opened or is no file.
        Where the platform can't lock, nothing is guarded.
        """
        self.path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        # Not through a link, and not waiting for whoever reads a pipe.
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = os.fdopen(os.open(path, flags, mode), "r+b", buffering=0)
        except OSError as error:
            why = said("it is a link") if path.is_symlink() else said(error.strerror or "")
            raise InputError("{path}: the journal can't be opened: {why}", path=path, why=why) from error
        self.descriptor = self._stream.fileno()
        try:
            if not stat.S_ISREG(os.fstat(self.descriptor).st_mode):
                raise InputError(
                    "{path}: not a journal but a pipe or a device. Remove or rename it", path=path
                )
            if not lock_file(self.descriptor):
                raise UsageError("{path}: {busy}", path=path, busy=busy)
        except BaseException:
            self._stream.close()
            raise

    @property
    def size(self) -> int:
        """Bytes, half a line at the end included."""
        return os.fstat(self.descriptor).st_size

    @property
    def ends_whole(self) -> bool:
        """Whether nothing is left half written."""
        return sum(len(line) for _, line in self.lines()) == self.size

    def begins_with(self, head: bytes) -> bool:
        """Whether the file begins so, or with as much of it as it has: an empty one does."""
        with os.fdopen(os.dup(self.descriptor), "rb") as stream:
            stream.seek(0)
            found = stream.read(len(head))
        return head.startswith(found)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """(number from 1, line with its newline) of each whole line."""
        with os.fdopen(os.dup(self.descriptor), "rb") as stream:
            stream.seek(0)
            for number, line in enumerate(stream, start=1):
                if line.endswith(b"\n"):
                    yield number, line

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes."""
        if size != self.size:
            os.ftruncate(self.descriptor, size)

    def append(self, line: bytes) -> None:
        """Hand a line to the system, which a killed process does not take back. Raises OSError."""
        view = memoryview(line)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def sync(self) -> None:
        """Have on disk what was appended, under the journal's own name: it outlives the machine too.

        Raises OSError, also where the file was moved, replaced or deleted meanwhile: nobody would find there
        what is acknowledged now.
        """
        os.fsync(self.descriptor)
        mine = os.fstat(self.descriptor)
        try:
            there = self.path.stat(follow_symlinks=False)
            is_mine = (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)
        except OSError:
            is_mine = False
        if not is_mine:
            raise OSError(
                errno.ENOENT, "the journal was moved, replaced or deleted; put it back", str(self.path)
            )

    def close(self) -> None:
        self._stream.close()


def lock_file(descriptor: int, *, wait: bool = False) -> bool:
    """Whether this process has the file for itself now, until it closes it or ends. wait: for another that
    has it. Where neither platform nor file system can lock, nothing is guarded."""
    try:
        import fcntl
    except ImportError:
        return _locked_on_windows(descriptor, wait=wait)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        # A file system without locks (some network ones) guards nothing, as a platform without them.
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def _locked_on_windows(descriptor: int, *, wait: bool) -> bool:
    try:
        import msvcrt
    except ImportError:
        return True
    while True:
        try:
            # LK_LOCK itself gives up after ten seconds.
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            if not wait:
                return False
        else:
            return True
