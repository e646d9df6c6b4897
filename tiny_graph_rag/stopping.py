"""Ctrl-C and SIGTERM end the process: in order where it can, and within two seconds wherever it hangs.

In order is an exception in the main thread, so that temporary files go and calls under way are noted. But a
thread that reads a pipe, a name server that doesn't answer or compiled code may hold that up for minutes;
then the process ends all the same, as after a kill: files are whole and journals hold what was acknowledged.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

SECONDS = 1.6  # that an end in order may take
INTERRUPTED = 130  # 128 + SIGINT, as shells count
WORDS = "interrupted; nothing was overwritten"

_listens = threading.Event()  # not in a notebook or a test: there the process is somebody else's
_ending = threading.Lock()  # taken by the first signal
_signals: list[int] = []  # those that came


def listen() -> None:
    """From here on both signals end this process. In the main thread, once."""
    signal.signal(signal.SIGINT, _end)
    signal.signal(signal.SIGTERM, _end)
    _listens.set()
    if os.name != "posix":
        return
    # Python runs `_end` in the main thread between two of its own steps. Compiled code in that thread may
    # be minutes from its next one; the system writes to this pipe at once.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True, name="stopping").start()


def end_soon(number: int) -> None:
    """End the process within SECONDS of the first such call, unless it has ended by then; nothing where
    `listen` was never called. number: the signal's."""
    if _listens.is_set() and _ending.acquire(blocking=False):
        _signals.append(number)
        threading.Thread(target=_end_hard, args=(number,), daemon=True, name="ending").start()


def leave(code: object) -> None:
    """End the process at once after a signal, its streams flushed; nothing where none came.

    The interpreter's own end would wait for threads that nobody can stop, and take `_end_hard` its turn.
    """
    if not _signals:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Whatever a command made of the exception, it was a signal that ended it, unless it ended well.
    os._exit(0 if code in (0, None) else 128 + _signals[0])


def _end(number: int, frame: FrameType | None) -> None:
    end_soon(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _watch(reader: int) -> None:
    while True:
        for number in os.read(reader, 64):
            if number in (signal.SIGINT, signal.SIGTERM):
                end_soon(number)


def _end_hard(number: int) -> None:
    time.sleep(SECONDS)
    if number == signal.SIGINT:
        with contextlib.suppress(OSError):
            os.write(2, f"{WORDS}\n".encode())
    os._exit(128 + number)
