"""Under `--lang ko` there is no English sentence: help of every command, and what is wrong with its use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer
from click.testing import Result

from tests.conftest import PAGES, script
from tiny_graph_rag.cli.command import app, load
from tiny_graph_rag.config import Setting, all_settings
from tiny_graph_rag.config.sources import config_yaml
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.messages import speaking

Run = Callable[..., Result]
HANGUL = re.compile("[가-힣]")
# Three English words in a row that are no names: a term, or what stands in code.
SENTENCE = re.compile(r"(?<![\w`@.{/-])[a-z]{2,}(?: [a-z]{2,}){2,}(?![\w`=])")
TERMS = {"reciprocal rank fusion"}
COMMANDS = [name for name, _ in script(PAGES).commands()]


@pytest.fixture(autouse=True)
def korean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")


def english(text: str) -> list[str]:
    """The English sentences of a text."""
    plain = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\([a-z_, +]*\)|https?://\S+", " ", text)
    return [found for found in SENTENCE.findall(plain) if found not in TERMS]


def test_english_is_recognised() -> None:
    assert english("입력: no such file here")
    assert not english("질문: `no such file`, reciprocal rank fusion, bfs, pagerank")


@pytest.mark.parametrize("command", ["", "dataset", *COMMANDS])
def test_help_is_korean(command: str, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiny_graph_rag.cli.help.NAMES_WIDTH", 60)  # a row a line
    monkeypatch.setattr("tiny_graph_rag.cli.help.wrapped", lambda text, width: [text])
    done = run_cli(*command.split(), "--help", code=0)
    lines = done.stdout.splitlines()
    assert [line for line in lines if english(line)] == []
    assert any("Usage" in line for line in lines) is False
    rows = [line for line in lines if line.startswith("  ") and "  " in line.strip()]
    without = [row for row in rows if not HANGUL.search(row)]
    assert without == []


def options() -> Iterator[tuple[str, Any]]:
    for name, parameters in script(PAGES).commands():
        for parameter in parameters:
            if parameter.param_type_name == "option" and parameter.name != "help":
                yield name, parameter


@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name, option in options()], ids=lambda part: str(part)
)
def test_a_wrong_use_of_an_option_is_told_in_korean(command: str, option: Any, run_cli: Run) -> None:
    """A value that is missing, one too many, and where a number is wanted, a word."""
    name, takes_none = option.opts[-1], getattr(option, "is_flag", False)
    calls = [(f"{name}=x",)] if takes_none else [(name,)]
    if option.type.name in ("integer", "float", "integer range", "float range"):
        calls.append((name, "words"))
    for call in calls:
        done = run_cli(*command.split(), *call, code=2)
        assert done.stderr.startswith("오류: "), done.stderr
        assert english(done.stderr) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_and_what_is_missing_are_told_in_korean(command: str, run_cli: Run) -> None:
    for more in (("--nope",), ("q1", "q2", "q3", "q4"), ()):
        done = run_cli(*command.split(), *more)
        assert english(done.stderr) == [], done.stderr
        if more == ("--nope",):
            assert done.exit_code == 2
            assert done.stderr.startswith("오류: ")


@pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.full_name)
def test_a_wrong_value_of_a_setting_is_told_in_korean(setting: Setting, run_cli: Run) -> None:
    for value in ("words of none", "-7", "1e400", "9" * 30):
        done = run_cli("settings --set", f"{setting.full_name}={value}")
        if done.exit_code:
            assert done.exit_code == 2, done.output
            assert done.stderr.startswith("오류: "), done.stderr
        assert english(done.stderr) == []


def test_definitions_of_measures_are_korean(run_cli: Run) -> None:
    rows = [re.split(r"  +", line, maxsplit=2)[2] for line in run_cli("measures").stdout.splitlines()]
    without_source = [row.rpartition(" [")[0] for row in rows]
    assert len(rows) == len(list(KINDS))
    assert [row for row in without_source if not HANGUL.search(row) or english(row)] == []


def test_settings_and_config_yaml_are_korean(run_cli: Run) -> None:
    done = run_cli("settings")
    assert [line for line in done.stdout.splitlines() if not HANGUL.search(line)] == []
    with speaking("ko"):
        comments = [line.rpartition("# ")[2] for line in config_yaml().splitlines() if "# " in line]
    assert len(comments) > len(all_settings())
    assert [comment for comment in comments if not HANGUL.search(comment)] == []


def test_a_config_file_in_korean_reads_as_the_english_one(own_folder: Any, run_cli: Run) -> None:
    run_cli("init --lang ko", code=0)
    assert HANGUL.search((own_folder / "config.yaml").read_text(encoding="utf-8"))
    listed = run_cli("settings --lang en")
    (own_folder / "config.yaml").unlink()
    assert listed.stdout == run_cli("settings --lang en").stdout


def test_every_command_is_walked() -> None:
    load()
    assert {"eval", "dataset merge", "settings"} <= set(COMMANDS)
    assert len(COMMANDS) > len(getattr(typer.main.get_command(app), "commands", {}))
