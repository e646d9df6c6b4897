"""The guides' commands run, in the order of the page, and what the pages show of ours is what is printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.M | re.S)
SHOWN = ("generate", "dataset", "curate")  # of other commands a page describes what is printed


def test_every_guide_is_there_in_both_languages() -> None:
    names = {guide.name for guide in GUIDES}
    assert len(names) == 8
    assert {name.replace(".md", ".ko.md") for name in names if ".ko." not in name} <= names


@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES, ids=lambda item: item.name)
def test_the_commands_of_a_guide_run_and_print_what_it_shows(run_cli, own_folder: Path, guide: Path) -> None:
    shutil.copytree(ROOT / "data", own_folder / "data", ignore=shutil.ignore_patterns("results"))
    printed, name = "", ""
    for kind, block in BLOCK.findall(guide.read_text(encoding="utf-8")):
        if kind == "text":
            if name in SHOWN:
                assert [line for line in block.splitlines() if line.strip() and line not in printed] == []
            continue
        printed = ""
        for line in block.splitlines():
            if not line.startswith("uv run "):
                subprocess.run(line, shell=True, check=True, executable="/bin/bash")
                continue
            arguments = shlex.split(line)[4:]
            name = arguments[0]
            if name == "curate" and "--export" not in arguments:
                continue  # tests/gold/test_curate_browser.py does what a person would
            found = run_cli(*arguments, code=0)
            printed += found.stdout


@pytest.mark.slow
def test_the_guide_of_fixing_shows_what_its_commands_print(run_cli, own_folder: Path) -> None:
    (own_folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    text = (ROOT / "docs/guides/fixing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n\$ tiny-graph-rag (.*?)\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    for command, lines in blocks:
        printed = plain(run_cli(*shlex.split(command), code=0).stdout)
        if command.startswith("fix"):  # what the guide decides in an editor
            fixes = Path("fixes.yaml")
            decided = fixes.read_text(encoding="utf-8").replace("status: draft", "status: confirmed", 1)
            fixes.write_text(decided.replace("status: draft", "status: rejected", 1), encoding="utf-8")
        assert [line for line in lines.splitlines() if plain(line) not in printed] == [], printed


def plain(text: str) -> str:
    """Without how long it took."""
    return " ".join(re.sub(r" in [0-9.]+ s", "", text).split())
