"""Shared by all tests: small graphs and gold sets as files, and the command line in this process."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from typer import testing
from typer.testing import CliRunner, Result

from tiny_graph_rag.cli.command import app, load
from tiny_graph_rag.messages import ENGLISH, speak

load()
# The parser is made once: to make it takes longer than most commands of a test.
testing._get_command = cache(testing._get_command)
ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = ROOT.parent / "shared" / "data"


@cache
def script(path: str) -> ModuleType:
    """A script of the repository that stands in no package."""
    spec = importlib.util.spec_from_file_location(path, ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def parsed(path: Path) -> ast.Module:
    """A Python file as a tree, which several tests look through."""
    return ast.parse(path.read_text(encoding="utf-8"))


PAGES = "docs/pages.py"
HANGS = 600  # seconds after which a process is taken to hang; no test measures the clock

# What every process would make anew, which takes most of its start: bytecode, where none is written else, and
# the dictionary of lemmas.
SHARED = tempfile.TemporaryDirectory(prefix="shared-")
LEMMAS = Path(SHARED.name, "lemmas")
LEMMAS.mkdir()
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(SHARED.name, "bytecode"))
    sys.dont_write_bytecode = False

# A shell's job in the background ignores Ctrl-C, and so would every process that is to be stopped by it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a busy machine is no defect. In the gate the same cases run every time; elsewhere new ones do.
settings.register_profile("shared", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("shared")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test runs in an empty folder of its own, with no setting from outside."""
    for name in ("KG_DIR", "DATASET_DIR", "RESULTS_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    cache_home = tmp_path.with_name(f"{tmp_path.name}-cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    cache_home.joinpath("tiny-graph-rag").mkdir(parents=True)
    cache_home.joinpath("tiny-graph-rag", "lemmas").symlink_to(LEMMAS, target_is_directory=True)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(sys, "argv", ["tiny-graph-rag"])  # however the tests themselves were started
    speak(ENGLISH)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`run_cli("eval --dataset a.jsonl -o", path, …)` → exit_code, stdout, stderr. The first one is split
    into words. code: what the exit code must be."""

    def run(command: object, *arguments: object, code: int | None = None) -> Result:
        words = [*str(command).split(), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", ["tiny-graph-rag", *words])
        done = CliRunner().invoke(app, words)
        assert code in (None, done.exit_code), done.output
        return done

    return run


@pytest.fixture
def evaluate(
    own_folder: Path, run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """`evaluate(server, "--flag", …)`: `eval`, or another command, of story-eval.jsonl with a server's model.

    Returns what was printed, and the results file if there is one.
    """
    monkeypatch.setenv("OPENAI_MODEL", "test-model")

    def run(server: Any, *flags: str, command: str = "eval", exit_code: int = 0) -> tuple[Result, Any]:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = run_cli(f"{command} --dataset story-eval.jsonl", *flags, code=exit_code)
        path = own_folder / "data/results/story-eval-results.json"
        return done, read_json(path) if path.exists() else None

    return run


def kg(entities: Sequence[Any], relations: Sequence[tuple[str, ...]] = ()) -> dict[str, Any]:
    """KG JSON from names (ids are the names too) or (name, aliases), and (source, type, target) triples."""
    pairs = [(entity, ()) if isinstance(entity, str) else entity for entity in entities]
    return {
        "entities": {name: {"name": name, "aliases": list(aliases)} for name, aliases in pairs},
        "relationships": [
            {"source_entity_id": source, "relationship_type": kind, "target_entity_id": target}
            for source, kind, target in relations
        ],
    }


def write_kg(path: Path, entities: Sequence[Any], relations: Sequence[tuple[str, ...]] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kg(entities, relations), ensure_ascii=False), encoding="utf-8")
    return path


def write_gold(path: Path, *questions: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions), encoding="utf-8"
    )
    return path


def write_set(
    folder: Path, name: str, entities: Sequence[Any], relations: Sequence[tuple[str, ...]], *questions: Any
) -> Path:
    """A graph and its gold set where a command finds them by name; returns the folder."""
    write_kg(folder / f"data/kg/{name}-KG.json", entities, relations)
    write_gold(folder / f"data/eval/{name}-eval.jsonl", *questions)
    return folder


def read_json(path: Path | str) -> Any:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def real(*parts: str) -> Path:
    """A file of the shared real data; the test is skipped where it is missing."""
    path = REAL_DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs the real data ({'/'.join(parts)})")
    return path
