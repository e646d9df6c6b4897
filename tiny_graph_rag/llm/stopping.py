"""Why a run begins no new call: its cap, an error that no call survives, or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator


class Stopped(Exception):  # noqa: N818 - no error: the run ends, and this call failed in passing
    """A call that would have been tried again."""


class Stop:
    """Why no new call begins any more. Ctrl-C lets the calls under way finish; a second one does not."""

    def __init__(self) -> None:
        self.reason: BaseException | None = None

    @contextlib.contextmanager
    def at_ctrl_c(self) -> Iterator[None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.reason is not None and task is not None:
                task.cancel()
            self.reason = self.reason or KeyboardInterrupt()

        try:
            loop.add_signal_handler(signal.SIGINT, stop)
        except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
            yield
            return
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)
