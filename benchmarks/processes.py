"""Whole processes, measured from outside: seconds and peak memory of a command."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measured(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> tuple[float, float, str]:
    """(seconds, peak memory in MB, what it printed) of `python …` in this environment.

    Raises subprocess.CalledProcessError where the command fails.
    """
    command = [sys.executable, *map(str, arguments)]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **(environment or {})}
    )
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    scale = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * scale / 1e6, printed
