"""Ctrl-C at any moment, also while the program starts: one line, exit code 130, nothing half written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT
from tests.tools.kills import interrupts, kills

pytestmark = pytest.mark.slow

DATASET, GRAPH = "conan-doyle-speckled-band-hardset.jsonl", "conan-doyle-speckled-band-KG.json"
CALL = ("main.py", "eval", "--dataset", DATASET, "-g", GRAPH, "--skip-generation", "--limit", "90")
SAID = "interrupted; nothing was overwritten"


def interrupted(after: float, out: Path) -> tuple[int, str]:
    """(exit code, standard error) of a run that gets SIGINT so many seconds after its entry was reached."""
    # The pipe tells when the entry is called: what comes before is Python's own start.
    ready, told = os.pipe()
    code = (
        "import os, sys; from tiny_graph_rag.__main__ import main; sys.argv = sys.argv[1:]; "
        f"os.write({told}, b'x'); main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *CALL, "-o", str(out / "r.json")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(told,),
    )
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANGS)
    return process.returncode, errors


def test_an_interruption_is_one_line_at_any_moment(tmp_path: Path) -> None:
    codes = []
    for step in range(5):
        out = tmp_path / str(step)
        out.mkdir()
        code, errors = interrupted(0.03 + step * 0.17, out)
        codes.append(code)
        assert code in (0, 130), errors
        assert errors.splitlines() == ([SAID] if code == 130 else []), (step, errors)
        assert [path.name for path in out.iterdir() if path.name.endswith(".tmp")] == []
        if code == 130 and (out / "r.json").exists():
            assert (out / "r.json").read_text("utf-8").endswith("}\n")
    assert codes[0] == 130


def test_a_few_kills_of_every_kind_leave_nothing_half_written() -> None:
    """tests/tools/kills.py runs any number."""
    assert [found for found in kills(8, 3) if found[2]] == []


def test_ctrl_c_soon_after_the_start_of_any_command_is_one_line() -> None:
    well = ("130", "done", "in Python's own start")
    assert [found for found in interrupts(5, 3) if found[2] not in well] == []
