"""docs/guides/fixing.md: every command runs, and prints what the guide shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT
from tiny_graph_rag.cli import app

GUIDE = ROOT / "docs" / "guides" / "fixing.md"

SECONDS = re.compile(r" in [0-9.]+ s")


def plain(text: str) -> str:
    return " ".join(SECONDS.sub("", text).split())


@pytest.mark.slow
def test_the_guide_shows_what_its_commands_print(own_folder: Path) -> None:
    (own_folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    blocks = re.findall(
        r"```console\n\$ tiny-graph-rag (.*?)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S
    )
    assert len(blocks) == 3
    for command, lines in blocks:
        done = CliRunner().invoke(app, shlex.split(command))
        assert done.exit_code == 0, done.output
        printed = plain(done.stdout)
        if command.startswith("fix"):  # what the guide decides in an editor
            rejected, confirmed = "status: rejected", "status: confirmed"
            text = Path("fixes.yaml").read_text(encoding="utf-8").replace("status: draft", confirmed, 1)
            Path("fixes.yaml").write_text(text.replace("status: draft", rejected, 1), encoding="utf-8")
        missing = [line for line in lines.splitlines() if plain(line) not in printed]
        assert missing == [], printed
