"""The pictures of the README and the docs show what the command printed in them gives today."""

from __future__ import annotations

import html
import re
from types import ModuleType

import pytest

from tests.conftest import ROOT, read_json, script

PICTURES = ROOT / "docs" / "pictures"
STALE = "a picture is stale; run: uv run python docs/pictures/make.py"


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return script("docs/pictures/make.py")


@pytest.mark.slow
def test_every_figure_in_the_pictures_is_what_the_command_prints(make: ModuleType, tmp_path) -> None:
    results = tmp_path / "results.json"
    text = make.printed(results)
    shown = read_json(PICTURES / "shown.json")
    assert shown["printed"] == text.splitlines(), STALE
    assert {name: shown[name] for name in shown if name != "printed"} == make.figures(results), STALE


def test_the_picture_of_the_terminal_has_the_lines_that_were_noted() -> None:
    drawn = html.unescape((PICTURES / "eval.svg").read_text(encoding="utf-8"))
    texts = "".join(re.findall(r"<text[^>]*>(.*?)</text>", drawn, re.S)).replace("\xa0", " ")
    squeezed = re.sub(r"\s", "", texts)
    shown = read_json(PICTURES / "shown.json")
    lines = [re.sub(r"\s", "", line) for line in shown["printed"]]
    assert sum(map(len, lines)) > 500
    assert [line for line in lines if line not in squeezed] == [], STALE


def test_a_changed_figure_would_be_noticed(make: ModuleType) -> None:
    shown = read_json(PICTURES / "shown.json")
    mean = f"{shown['means']['recall@5']:.3f}"
    assert sum(mean in line for line in shown["printed"]) > 0
    assert mean in (PICTURES / "eval.svg").read_text(encoding="utf-8")


def test_the_command_in_the_picture_is_the_readmes(make: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace('"', "")
    assert " ".join(make.ARGUMENTS) in readme
