"""`curate` as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import HANGS, ROOT


def curate(draft: Path, graph: Path, *more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tiny_graph_rag", "curate", "--dataset", draft, "-g", graph, *more]
    return subprocess.Popen(
        [str(argument) for argument in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )


class Running:
    """A `curate` that answers. address: as it prints it."""

    def __init__(self, draft: Path, graph: Path, *more: object) -> None:
        self.process = curate(draft, graph, *more)
        self.address = ""
        for line in self.process.stdout or ():
            found = re.search(r"(http://\S+)", line)
            if found:
                self.address = found[1]
            if "Ctrl-C" in line:
                return
        raise AssertionError((self.process.stderr or sys.stderr).read())

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def token(self) -> str:
        return self.address.split("token=")[1]

    def stop(self, how: int = signal.SIGINT) -> str:
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=HANGS)
        return out + err


@contextmanager
def serving(draft: Path, graph: Path, *more: object) -> Iterator[Running]:
    running = Running(draft, graph, *more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.communicate()
