"""Whole processes, measured from outside: seconds, processor time and peak memory of a command."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Cost:
    """busy: seconds of processor time, user and system, of all threads. megabytes: peak memory."""

    seconds: float
    busy: float
    megabytes: float
    printed: str


def cost(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> Cost:
    """Of `python …` in this environment. Raises subprocess.CalledProcessError where the command fails."""
    command = [sys.executable, *map(str, arguments)]
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        messages = said.read()
    if process.returncode:
        print(messages, file=sys.stderr)
        raise subprocess.CalledProcessError(process.returncode, command)
    scale = 1 if sys.platform == "darwin" else 1024
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale / 1e6, printed)


def measured(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[float, float, str]:
    """(seconds, peak memory in MB, what it printed) of `cost`."""
    found = cost(*arguments, environment=environment)
    return found.seconds, found.megabytes, found.printed
