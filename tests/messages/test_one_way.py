"""Every text for readers goes through messages/, so that it can be shown in every language.

`said` and `t` make a text of an English template and its values. Errors and a session make theirs themselves.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tiny_graph_rag.errors import InputError, UsageError, at, unknown
from tiny_graph_rag.messages import Said, said, shown, speaking, verbatim

PACKAGE = ROOT / "tiny_graph_rag"
WORDS = re.compile(r"[a-z]{2,}[,;:]? \(?[a-z]{2,}")  # two words of a sentence
# Exceptions that tell a programmer of a mistake, or that are caught before anybody reads them.
FOR_PROGRAMMERS = {
    *("TypeError", "AssertionError", "AttributeError", "OSError", "PermissionError", "KeyError"),
    *("RuntimeError", "NotImplementedError", "ConnectionResetError", "BadArraysError"),
    "tool_error",  # to an assistant, in the language of its protocol
    "Refused",  # to the annotation page, whose own texts stand in its script
}
SHOWING = {"say", "note", "warn", "echo", "print", "problem", "flaw"}
MAKING = {"t", "said", "counted", "amount", "at"}
TEMPLATES = {"at", "add", "problem", "wrong_value"}  # of errors, `Problems` and `Rows`: they take a template
OTHER_ERRORS = {"MissingExtraError"}  # of ours, made of more than their words


def makes_its_text(name: str) -> bool:
    """Whether it is an error of ours, which makes what it says of an English text and values."""
    is_error = name.endswith("Error") or name == "FoundProblems"
    return is_error and not hasattr(builtins, name) and name not in FOR_PROGRAMMERS | OTHER_ERRORS


def is_of_session(function: ast.expr) -> bool:
    """Whether what is called says a template with its values: `session.say("left out: {name}", name=…)`."""
    return isinstance(function, ast.Attribute) and (
        function.attr in ("say", "note", "warn") and ast.unparse(function.value).endswith(("session", "self"))
    )


def unmade(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The literals with words below a node that no function of messages/ makes."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKING:
        return
    if isinstance(node, ast.JoinedStr):
        plain = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if WORDS.search(plain):
            yield node.lineno, plain
        for part in node.values:
            yield from unmade(part) if isinstance(part, ast.FormattedValue) else ()
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORDS.search(node.value):
        yield node.lineno, node.value
    for below in ast.iter_child_nodes(node):
        yield from unmade(below)


def shown_in(source: str) -> Iterator[tuple[int, str]]:
    """What a module raises or shows that is no made text."""
    for node in ast.walk(ast.parse(source)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if not isinstance(call, ast.Call):
            continue
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if isinstance(node, ast.Raise) if name not in SHOWING else True:
            if name in FOR_PROGRAMMERS:
                continue
            for argument in call.args:
                makes = makes_its_text(name) or name in TEMPLATES or is_of_session(call.func)
                if not (makes and isinstance(argument, ast.Constant)):
                    yield from unmade(argument)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_nothing_is_raised_or_shown_past_messages(path: Path) -> None:
    assert list(shown_in(path.read_text(encoding="utf-8"))) == []


def test_the_search_sees_what_it_is_for() -> None:
    for wrong in (
        'raise UsageError(f"{path}: no such file")',
        'raise UsageError("there is " + "nothing")',
        'raise ValueError("there is nothing")',
        'session.warn(f"left out: {names} of them")',
        'console.note("some words")',
        'print("some words")',
        "rows.problem(1, f'wanted a list, got {what}')",
        'raise GraphError.at(path, f"wanted a list, got {what}")',
    ):
        assert list(shown_in(wrong)), wrong
    for right in (
        'raise UsageError(said("no such file: {path}", path=path))',
        'raise UsageError("no such file: {path}", path=path)',
        'self.session.warn("left out: {names} of them", names=names)',
        'raise TypeError("an error is text")',
        'session.say("  " + command)',
        'raise GraphError.at(path, "wanted a list, got {got}", got=what)',
    ):
        assert not list(shown_in(right)), right


def test_an_error_is_shown_with_all_that_it_is_made_of() -> None:
    inner = ValueError(said("wanted an object, got {got}", got=said("null")))
    error = InputError(at("a.json", inner), at("b.json", "the run is empty"))
    assert str(error) == "a.json: wanted an object, got null\nb.json: the run is empty"
    with speaking("ko"):
        assert not re.search("wanted|empty", error.shown)
        assert error.shown.startswith("a.json: ")
        assert "b.json: 검색 결과가 비어 있습니다" in error.shown
        assert shown(verbatim("what others wrote")) == "what others wrote"
        cause = UsageError(said("{path}: can't be read as SQLite: {error}", path="x", error=inner))
        assert "wanted" not in cause.shown
        assert "unknown" not in unknown("retriever", "bfz", ("bfs",)).shown


def test_an_error_makes_its_text_and_takes_a_made_one() -> None:
    """Its template and values stay known, so that it can be shown in every language."""
    template = "--retriever {name}: no such file (looked in {parent})"
    made, taken = UsageError(template, name="bm52", parent="{x}"), UsageError(verbatim("{x} as it stands"))
    assert (made.args[0].template, made.args[0].values) == (template, {"name": "bm52", "parent": "{x}"})
    assert (str(made), str(taken)) == ("--retriever bm52: no such file (looked in {x})", "{x} as it stands")
    assert all(isinstance(error.args[0], Said) for error in (made, taken))
    with speaking("ko"):
        assert made.shown == "--retriever bm52: 파일이 없습니다(찾아본 곳: {x})"


def test_a_language_is_one_file(tmp_path: Path) -> None:
    """In a copy of the package: its texts are shown, what it lacks is English, and `init` runs."""
    shutil.copytree(
        PACKAGE, tmp_path / "copy" / "tiny_graph_rag", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = tmp_path / "copy" / "tiny_graph_rag" / "messages" / "de.toml"
    file.write_text('[help]\n"Usage:" = "Aufruf:"\n"Knowledge graph." = "Wissensgraph."\n', encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "copy"), "LC_ALL": "de_DE.UTF-8"}
        command = [sys.executable, "-m", "tiny_graph_rag", *arguments]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, check=True)
        return done.stdout.decode()

    shown = run("stats", "--help")
    assert shown.startswith("Aufruf: ")
    assert "Wissensgraph." in shown
    shown = run("--help")
    assert "de|en|ko" in shown or "en|de|ko" in shown
    run("init")
    assert (work / "data/kg/my-graph-KG.json").is_file()
