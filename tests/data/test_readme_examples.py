"""Every command that the READMEs and the pages for beginners show runs from a clone, in the page's order."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import ROOT

PAGES = ("README", "docs/setup", "docs/first-hour", "docs/generated-sets")
FILES = [path for page in PAGES for path in sorted(ROOT.glob(f"{page}*.md"))]
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(?:uv run (?:--no-dev )?python main\.py|tiny-graph-rag) ")
# The gate runs the first command and the tests in a fresh clone; a browser judges what `curate` shows.
LEFT_OUT = re.compile(r"^python3 -m pip|^#|^$| curate ")


def steps(text: str) -> list[str]:
    """The commands of all blocks, one each; a here-document is one with its lines."""
    found: list[str] = []
    ends = ""
    for line in "".join(BLOCK.findall(text)).splitlines():
        if ends:
            found[-1] += f"\n{line}"
            ends = "" if line == ends else ends
            continue
        found.append(line)
        ends = line.partition("<<'")[2].rstrip("'")
    return [step for step in found if not LEFT_OUT.search(step)]


def test_the_pages_are_there_in_both_languages() -> None:
    names = {str(path.relative_to(ROOT)) for path in FILES}
    assert {f"{page}{ending}" for page in PAGES[:3] for ending in (".md", ".ko.md")} <= names


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_page_run(path: Path, run_cli: Callable[..., Result], own_folder: Path) -> None:
    if "first-hour" not in path.name:  # there `init` makes the data
        shutil.copytree(ROOT / "data", own_folder / "data", ignore=shutil.ignore_patterns("results"))
    for step in steps(path.read_text(encoding="utf-8")):
        if not COMMAND.match(step):
            subprocess.run(step, shell=True, check=True, executable="/bin/bash")
            continue
        done = run_cli(*shlex.split(COMMAND.sub("", step)))
        assert done.exit_code == 0, (step, done.output)
