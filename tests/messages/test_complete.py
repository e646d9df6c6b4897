"""Every text that is shown has its words in every language, none is left over, the names in braces agree.

Every text for readers goes through messages/, so that it can be shown in every language: `said` and `t` make
a text of an English template and its values; errors and a session make theirs themselves.
"""

from __future__ import annotations

import ast
import builtins
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import ROOT, parsed
from tiny_graph_rag import inputs
from tiny_graph_rag.cli import drafts
from tiny_graph_rag.cli import help as help_
from tiny_graph_rag.cli.command import app, load
from tiny_graph_rag.config import all_settings, section_comment, section_names
from tiny_graph_rag.errors import InputError, UsageError, at, unknown
from tiny_graph_rag.fixing import fixes
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.gold import curation, validate
from tiny_graph_rag.graph import building
from tiny_graph_rag.graph.name_forms import Difference
from tiny_graph_rag.graph.tables import DANGLING, UNDIRECTED, LoadNotes
from tiny_graph_rag.llm.chat import HOW_TO_TURN_ON
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.messages import (
    ENGLISH,
    LANGUAGES,
    Said,
    catalogue,
    of_locale,
    said,
    shown,
    speak,
    speaking,
    t,
    verbatim,
)
from tiny_graph_rag.report import fix_words, tables
from tiny_graph_rag.report.plain import VERDICT_WORDS
from tiny_graph_rag.report.terminal import question
from tiny_graph_rag.retrieval import reasons
from tiny_graph_rag.scoring import stretches
from tiny_graph_rag.study import advice, compare, settings, waterfall
from tiny_graph_rag.study.bridge import ACCEPTED


def registry_kinds() -> set[str]:
    """What `unknown …` may be about."""
    return {help_.registry_of(option).kind for option in help_.CHOOSING}


PACKAGE = ROOT / "tiny_graph_rag"
PAGE = PACKAGE / "report" / "page"
CURATION = PACKAGE / "report" / "curation"
# Texts that reach `t` by a name, not as they stand.
BY_NAME = {
    *(step for step, _ in waterfall._STEPS),
    *("entities", "relations", "passages"),
    *VERDICT_WORDS.values(),
    *(question.COST_LEGEND, *tables.COSTS, "seed", "path", "hop", "score", "rank", "entity"),
    *("exact", "alias", "folded", "particle", "variant"),  # rules that link a seed
    *("fuzzy", "coreference", "ellipsis", "gold"),
    *advice.REMEDY.values(),
    *("tried", "FAILED"),
    *("names not recognised", "largest loss", "better linking", "seeds by text"),
    *("results", "sweep", "table", "comparison", "json", "patch"),
    *(
        value
        for module in (reasons, advice, settings, stretches, validate, compare)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    ),
    *ACCEPTED.values(),
    *(compare.CUTOFFS, *compare.SHARED),
    *("error", "warning"),
    *(*inputs.MADE_BY, *inputs.MADE_BY.values(), "questions", "vocabulary"),
    *registry_kinds(),
    *(
        *("linking", "rewriting", "answering", "judging", "judging by embeddings"),
        *("retrieving", "retrievers", "sweeping", "evaluations"),
        *(HOW_TO_TURN_ON, drafts.TO_JUDGE, drafts.FAVOURS, drafts.LEAVES_THE_MEANS),
        drafts.EMPTY,
    ),
    *(text for one, many, _ in drafts.REMARKS for text in (one, many)),
    *(fix_words.PROVEN, fix_words.TO_JUDGE, fix_words.TO_ASK, fix_words.NOT_KEPT),
    *fix_words.KIND_WORDS.values(),
    *(fixes.TOO_FEW, fixes.NOT_HELD, fixes.NOT_FINISHED),
    *(fixes.INTERRUPTED, fixes.USED_UP, "kind of fix", "patch file"),
    *map(str, Difference),
    *("gain", "control", "evidence", "change", "settings", "before", "after"),
    "references that no longer match an entity ({n}): {names}",
    "references that now match another entity ({n}): {names}",
}
# The same in the page: tables' heads, verdicts, changes, levels at which a name resolved.
_JS_LISTS = re.compile(r"const (?:STEPS|CHANGES|SPEEDS) = \{(.*?)\};", re.S)
_JS_HEADS = re.compile(r"\[((?:\"[^\"]+\"|measure)(?:, (?:\"[^\"]*\"|measure))+)\]\.map\(\(head")
_JS_PLURAL = re.compile(r"plural\((?:[^(),]|\([^()]*\))*, \"([a-z ]+)\"(?:, \"([a-z ]+)\")?\)")
# Words that not every command or every Python says: defaults of an option, JSON's trailing comma.
DEFAULTS = {
    *("everything", "both", "required"),
    *(f"Illegal trailing comma before end of {kind}" for kind in ("array", "object")),
}
IN_PAGE = {"the server doesn't respond", "won", "lost", "mixed", "alias", "folded", "form"}


def in_python() -> Iterator[str]:
    """What is given to the functions of messages/, as it stands or by the name of a constant."""
    for path in PACKAGE.rglob("*.py"):
        names = _names_in(path)
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", "") or getattr(node.func, "attr", "")
            if is_of_session(node.func) and isinstance(node.args[0], ast.Constant):
                yield from filter(_has_words, _texts(node.args[0], names))
            calls = dict.fromkeys(("t", "said", "wrong_value"), node.args[:1]) | {"counted": node.args[1:3]}
            # A place, and what is wrong there.
            calls |= dict.fromkeys(("at", "add", "problem"), node.args[1:2])
            if makes_its_text(name):
                calls[name] = [part for part in node.args if isinstance(part, ast.Constant)]
            for argument in calls.get(name, []):
                if not isinstance(argument, ast.Call):  # made by `said` already
                    yield from filter(_has_words, _texts(argument, names))
            if name == "amount":
                yield from _amounts([text for part in node.args[1:3] for text in _texts(part, names)])


def _names_in(path: Path) -> dict[str, Any]:
    """The names of a module; none of one that needs a package which isn't installed."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    try:
        return vars(import_module(module)) if path.name != "__main__.py" else {}
    except ImportError:
        return {}


def _texts(node: ast.expr, names: dict[str, Any]) -> Iterator[str]:
    """The texts that an expression can be: of a choice all, of a constant by name its value or values."""
    if isinstance(node, ast.IfExp | ast.BoolOp):
        for part in (node.body, node.orelse) if isinstance(node, ast.IfExp) else node.values:
            yield from _texts(part, names)
        return
    if isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
        return
    whole = node.value if isinstance(node, ast.Subscript) else node
    try:
        value = eval(compile(ast.Expression(whole), "<text>", "eval"), dict(names))
    except Exception:  # a local, of which only running tells: BY_NAME has its texts
        return
    values = value.values() if isinstance(value, dict) else [value]
    yield from (text for text in values if isinstance(text, str))


def in_graph_notes() -> Iterator[str]:
    """What was not sound in a graph's file: a kind of flaw with its number, and one of it."""
    kinds = {DANGLING, building.TWICE, building.KEYS, building.SHARED, building.ID_NAMES, building.ID_TYPES}
    kinds |= {building.WEIGHTS, building.LOOPS, building.DUPLICATES}
    for path in (PACKAGE / "formats" / "graphs").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "flaw":
                kinds.update(_texts(node.args[0], _names_in(path)))
    for kind in kinds:
        for count in (1, 2):
            (line,) = LoadNotes(((kind, count, ("x",)),)).lines()
            yield line.template


def in_graph_columns() -> Iterator[str]:
    """How the columns of a graph's file were read, and what was left out of it."""
    yield from (role for name, role in vars(Role).items() if name.isupper())
    yield UNDIRECTED
    yield from ("file", f"{Role.NAME} of an entity", f"{Role.ID} of an entity")
    for path in (PACKAGE / "formats" / "graphs").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "dropped":
                if isinstance(node.args[0], ast.JoinedStr):
                    continue  # names a type of the file
                yield from _texts(node.args[0], _names_in(path))


def in_measures() -> Iterator[str]:
    """What the measures mean."""
    for kind in map(KINDS.__getitem__, KINDS):
        yield kind.definition


def in_system() -> Iterator[str]:
    """What the machine or Python's own JSON reader says, in words that stand in the message."""
    full = ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS")
    named = ("EACCES", "EPERM", "ENAMETOOLONG", "ELOOP", "ENOENT", "ENOTDIR", "EISDIR", "EINVAL", "EEXIST")
    yield from (os.strerror(getattr(errno, name)) for name in (*full, *named))
    broken_texts = ("", "{1", '{"a"', '{"a":1 2', "1 2", '"a', '"\t"', '"\\q"', '"\\u12"', "[1,]", "{,}")
    for broken in broken_texts:
        try:
            json.loads(broken)
        except json.JSONDecodeError as error:
            yield error.msg


def in_help() -> Iterator[str]:
    """What `--help` says, the list of settings and config.yaml."""
    load()
    waiting = [typer.main.get_command(app)]
    while waiting:
        command: Any = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        yield from help_.paragraphs(command.help or "")
        for parameter in command.params:
            yield from (parameter.help or "", help_.group_of(parameter))
            yield from [words] if " " in (words := str(getattr(parameter, "show_default", ""))) else []
    for option in help_.CHOOSING:
        registry = help_.registry_of(option)
        yield from (registry.entry(name).line for name in registry.table)
    yield from help_.GROUPS
    yield from (setting.comment for setting in all_settings())
    yield from map(section_comment, section_names())


def _has_words(text: str) -> bool:
    return bool(re.search("[a-z]", re.sub(r"\{\w+\}", "", text)))


def _amounts(words: list[str]) -> Iterator[str]:
    if words:
        yield f"{{n}} {words[0]}"
        yield f"{{n}} {words[1] if len(words) > 1 else words[0] + 's'}"


def in_page() -> Iterator[str]:
    for path in (*PAGE.glob("*.js"), CURATION / "page.js"):
        script = path.read_text(encoding="utf-8")
        yield from re.findall(r"\bt\(\"((?:[^\"\\]|\\.)*)\"", script)
        for group in _JS_LISTS.findall(script):
            yield from re.findall(r": \"([^\"]+)\"", group)
        for heads in (*_JS_HEADS.findall(script), *re.findall(r"const head = \[(.*?)\];", script)):
            yield from re.findall(r"\"([a-z][^\"]*)\"", heads)
        for one, many in _JS_PLURAL.findall(script):
            yield f"{{n}} {one}"
            yield f"{{n}} {many or one + 's'}"


def in_curation() -> Iterator[str]:
    """What the annotation page's own markup says, but for keys, and why its server refuses a decision."""
    markup = re.sub(r"<(kbd|title)>.*?</\1>", "<br>", (CURATION / "page.html").read_text(encoding="utf-8"))
    texts = re.findall(r">([^<]+)<", markup) + re.findall(r"aria-label=\"([^\"]+)\"", markup)
    yield from (text.strip() for text in texts if re.search(r"[a-z]", text))
    yield from (f"somebody else has changed the {part_name}" for part_name in curation.SHARED)


def every_text() -> set[str]:
    searches = (
        in_python,
        in_help,
        in_graph_notes,
        in_graph_columns,
        in_system,
        in_measures,
        in_page,
        in_curation,
    )
    return {*BY_NAME, *IN_PAGE, *filter(None, chain.from_iterable(search() for search in searches))}


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != ENGLISH])
def test_a_language_has_every_text_and_no_other(language: str) -> None:
    known = catalogue(language)
    assert sorted(every_text() - set(known)) == []
    assert sorted(set(known) - every_text() - DEFAULTS) == []


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != ENGLISH])
def test_the_names_in_braces_are_those_of_the_english_text(language: str) -> None:
    def names(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    wrong = {english: said for english, said in catalogue(language).items() if names(english) != names(said)}
    assert wrong == {}


def test_what_is_shown_was_found_at_all() -> None:
    assert len(set(in_python())) > 50
    assert {"Save as CSV", "{n} questions", "path", "found by text"} <= set(in_page())


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LC_MESSAGES": "ko", "LANG": "C"}, "ko"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_chooses_the_language(environment: dict[str, str], language: str) -> None:
    assert of_locale(environment) == language


def test_a_text_without_translation_stays_english() -> None:
    speak("ko")
    assert t("nobody has translated {this}", this="x") == "nobody has translated x"


def test_no_korean_particle_hangs_on_a_value() -> None:
    """Which of 은 and 는, 이 and 가, 을 and 를 fits is known only once the value stands there."""
    hanging = re.compile(r"\{(\w+)\}['\"`]?(?:이|가|은|는|을|를|와|과|으로|로|이면|면)(?![가-힣])")
    ends_alike = {"hops"}  # always "…홉"
    found = [
        said for said in catalogue("ko").values() for name in hanging.findall(said) if name not in ends_alike
    ]
    assert found == []


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


def shown_in(module: ast.Module) -> Iterator[tuple[int, str]]:
    """What a module raises or shows that is no made text."""
    for node in ast.walk(module):
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
    assert list(shown_in(parsed(path))) == []


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
        assert list(shown_in(ast.parse(wrong))), wrong
    for right in (
        'raise UsageError(said("no such file: {path}", path=path))',
        'raise UsageError("no such file: {path}", path=path)',
        'self.session.warn("left out: {names} of them", names=names)',
        'raise TypeError("an error is text")',
        'session.say("  " + command)',
        'raise GraphError.at(path, "wanted a list, got {got}", got=what)',
    ):
        assert not list(shown_in(ast.parse(right))), right


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
