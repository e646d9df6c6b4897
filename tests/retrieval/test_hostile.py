"""docs/hostile-retrievers.md says what becomes of each of `tests.tools.hostile_callables`; it is so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.hostile_callables import ENDLESS

PAGE = (ROOT / "docs" / "hostile-retrievers.md").read_text(encoding="utf-8")
SOME = ("ends_the_process", "stops_the_loop", "lying_text", "closes_everything")  # in the quick suite


def page_of(folder: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.hostile", *options],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def test_some_end_as_the_page_says(tmp_path: Path) -> None:
    lines = page_of(tmp_path, "--only", ",".join(SOME)).splitlines()
    assert len([line for line in lines if line not in PAGE.splitlines()]) == 0
    assert len(lines) > len(SOME)


@pytest.mark.slow
def test_all_end_as_the_page_says(tmp_path: Path) -> None:
    assert page_of(tmp_path) == PAGE


def test_the_command_never_ends_well_without_results_nor_hangs() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ") and line[2] != "t"]
    assert len(rows) >= 51 + 10
    for about, command, *_ in rows:
        code, _, text = command.partition(": ")
        assert (code, text != "nothing") in (("0", True), ("3", True)), about
    timeouts = [about for about, command, *_ in rows if "no reply within" in command]
    assert sum(about.endswith("*") for about in timeouts) == len(timeouts) <= len(ENDLESS)
