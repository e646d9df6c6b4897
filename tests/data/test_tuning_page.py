"""docs/tuning-hops.md shows what its commands print, line by line."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import ROOT

PAGE = (ROOT / "docs/tuning-hops.md").read_text(encoding="utf-8")
TIME = re.compile(r"\s+[\d.]+$")  # the last column of a sweep: seconds or milliseconds of this machine
BLOCK = re.compile(r"^```\n(.*?)^```$", re.M | re.S)


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print(run_cli: Callable[..., Result], own_folder: Path) -> None:
    shutil.copytree(ROOT / "data/kg", own_folder / "data/kg")
    shutil.copytree(ROOT / "data/eval", own_folder / "data/eval")
    printed, compared = "", 0
    for block in BLOCK.findall(PAGE):
        if block.startswith("uv run "):
            for line in block.splitlines():
                done = run_cli(*shlex.split(line)[4:])
                assert done.exit_code == 0, done.output
                printed += "\n".join(line.rstrip() for line in done.stdout.splitlines())
            continue
        for line in block.splitlines():
            if line.strip() != "…":
                shown = TIME.sub("", line.strip()) if "█" in line else line.strip()
                assert shown in printed, line
                compared += 1
    assert compared > 40
