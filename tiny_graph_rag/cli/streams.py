"""Standard output and error of a whole run, when whoever reads them goes away before it is done."""

from __future__ import annotations

import codecs
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _Channel(io.FileIO):
    """A pipe or file that takes what nobody reads any more, and tells once what it could not write.

    `eval … | head` must still write its results, hold its gates and end with their exit code: a reader that
    has seen enough is no reason to stop. A full disk is: the first write that fails raises OSError; what is
    left in the buffers then goes nowhere, so that the interpreter doesn't fail over it again at its end.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self._go_quiet()
            return len(memoryview(data).cast("B"))
        except BlockingIOError:
            raise
        except OSError:
            self._go_quiet()
            raise

    def _go_quiet(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


class _ErrorChannel(_Channel):
    """Standard error; what was written to standard output before goes out first: both may end in one log."""

    def write(self, data: ReadableBuffer, /) -> int:
        sys.stdout.flush()
        return super().write(data)


def outlive_readers() -> None:
    """Let the program go on where `sys.stdout` or `sys.stderr` is a pipe that closes. Terminals stay as they
    are. What the stream's encoding lacks is written in plain signs, else as an escape: no name ends a run."""
    sys.stdout = _outliving(sys.stdout) if sys.stdout is not None else _nowhere()
    sys.stderr = _outliving(sys.stderr, line_by_line=True) if sys.stderr is not None else _nowhere()


def _nowhere() -> TextIO:
    """For a stream that was closed from the start (`>&-`): takes everything and keeps nothing."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _outliving(stream: TextIO, *, line_by_line: bool = False) -> TextIO:
    try:
        if stream.isatty():
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="tiny-graph-rag-plain")
            return stream
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):  # closed from the start, or none at all
        return stream
    stream.flush()
    kind = _ErrorChannel if line_by_line else _Channel
    channel = io.BufferedWriter(kind(number, "wb", closefd=False))
    errors = (
        "tiny-graph-rag-plain"
        if stream.errors in (None, "strict", "backslashreplace", "surrogateescape")
        else stream.errors
    )
    return io.TextIOWrapper(channel, stream.encoding, errors, line_buffering=line_by_line)


# What narrow encodings lack, in signs that they all have; one for one where a table could stand on it.
_PLAIN = {
    "─": "-", "█": "#", "░": ".", "–": "-", "—": "-", "−": "-", "·": "|", "…": "...", "→": "->", "←": "<-",
    "≈": "~", "✓": "*", "◀": "<", "×": "x", "κ": "kappa", "’": "'", "“": '"', "”": '"', "△": "+", "▽": "-",
    **dict(zip("▁▂▃▄▅▆▇", "1234567", strict=True)),
}  # fmt: skip


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """For a sign that the encoding lacks: a plain one where it has a like, else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    shown = [_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking]
    return "".join(shown), error.end


codecs.register_error("tiny-graph-rag-plain", _plainly)


def is_unicode(stream: TextIO) -> bool:
    return codecs.lookup(stream.encoding or "ascii").name.startswith("utf")
