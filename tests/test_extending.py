"""docs/extending.md: every example runs as another package's entry point; one file each."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import ROOT, read_json, write_gold, write_kg
from tests.test_registry import EVERY

Run = Callable[..., Result]
TEXT = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
SHOWN = {Path(file): code for file, code in re.findall(r"```python\n# (\S+\.py)\n(.*?)```", TEXT, re.S)}
FILES = {file: code for file, code in SHOWN.items() if file.parts[0] == "tiny_graph_rag"}
STEMS = {file.stem for file in FILES}
REGISTRIES = {registry.decorator: registry for registry in EVERY.values()}
DECORATED = {
    file: [(REGISTRIES[kind], name) for kind, name in re.findall(r'^@(\w+)\(\s*"([^"]+)"', code, re.M)]
    for file, code in FILES.items()
}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    before = set(sys.modules)
    yield
    examples = [name for name in set(sys.modules) - before if name.rpartition(".")[2] in STEMS]
    for registry in REGISTRIES.values():
        for name, entry in list(registry._entries.items()):
            if entry.place.partition(":")[0] in examples:
                del registry._entries[name]
        vars(registry).pop("_plugged_in", None)
    for name in examples:
        del sys.modules[name]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example in another package."""
    folder = tmp_path / "site" / "my_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", encoding="utf-8")
    for file, code in FILES.items():
        (folder / file.name).write_text(code, encoding="utf-8")
    points = EntryPoints(
        EntryPoint(name, f"my_package.{file.stem}", registry.group)
        for file, found in DECORATED.items()
        for registry, name in found
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: points.select(**wanted))
    for registry in REGISTRIES.values():
        vars(registry).pop("_plugged_in", None)


@pytest.fixture
def town(tmp_path: Path) -> Path:
    triples = [("Ann", "KNOWS", "Bob"), ("Bob", "KNOWS", "Cy"), ("Cy", "KNOWS", "Dee"), ("Cy", "KNOWS", "Ed")]
    write_kg(tmp_path / "town-KG.json", ["Ann", "Bob", "Cy", "Dee", "Ed"], triples)
    (tmp_path / "town.arrows").write_text("".join(f"{a} -{b}-> {c}\n" for a, b, c in triples))
    write_gold(
        tmp_path / "town-eval.jsonl",
        {"id": "Q1", "query": 'Whom does "Ann" know? Not Ed.', "reference_entities": ["Cy"]},
    )
    return tmp_path


def evaluated(run_cli: Run, *options: str) -> dict:
    run_cli("eval --dataset town-eval.jsonl -g town-KG.json -o ./out.json", *options, code=0)
    return read_json(Path("out.json"))


def test_the_docs_have_an_example_of_every_kind() -> None:
    assert {registry.decorator for found in DECORATED.values() for registry, _ in found} == set(REGISTRIES)
    rows = dict(re.findall(r"^\| [\w ]+ \| `@(\w+)` \| `[\w/]+/` \| `([\w.]+)` \|$", TEXT, re.M))
    assert rows == {registry.decorator: registry.group for registry in REGISTRIES.values()}


@pytest.mark.slow
def test_every_example_and_its_test_keep_the_contracts_and_the_house_style(tmp_path: Path) -> None:
    """In a copy of the repository, where somebody who adds one would put it."""
    ignored = shutil.ignore_patterns("__pycache__", "real", "*.pyc")
    for name in ("tiny_graph_rag", "tests", "data", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, code in SHOWN.items():
        (tmp_path / file).write_text(code, encoding="utf-8")
    points = tmp_path / "examples-1.dist-info" / "entry_points.txt"
    points.parent.mkdir()
    for file, found in DECORATED.items():
        for registry, name in found:
            place = ".".join(file.with_suffix("").parts)
            with points.open("a") as stream:
                stream.write(f"[{registry.group}]\n{name} = {place}\n")
    shown = [str(file) for file in SHOWN]
    tests = [line for line in shown if line.startswith("tests")]
    names = " or ".join(sorted(STEMS))
    for command in (
        ["ruff", "check", "--no-cache", *shown],
        ["ruff", "format", "--no-cache", "--check", *shown],
        ["pytest", "-q", "-p", "no:cacheprovider", *tests],
        ["pytest", "-q", "-p", "no:cacheprovider", "tests/contracts", "-k", names],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("installed", "town")
def test_the_measure(run_cli: Run) -> None:
    found = evaluated(run_cli, "--linker", "quoted", "--measures", "fbeta@{1,4}")
    # The list holds all five with Cy within the first four: 1 relevant found, k = 4, R = 1.
    means = {name: measure["mean"] for name, measure in found["summary"]["measures"].items()}
    assert list(means) == ["fbeta@1", "fbeta@4"]
    assert means["fbeta@4"] == pytest.approx(5 * 1 / (4 * 1 + 4))
    listed = run_cli("measures").stdout
    assert "fbeta@k" in listed
    wrong = run_cli("eval --dataset town-eval.jsonl -g town-KG.json --measures fbetta@4")
    assert "did you mean 'fbeta@4'?" in wrong.output


@pytest.mark.usefixtures("installed", "town")
def test_the_retriever_and_the_linker(run_cli: Run) -> None:
    found = evaluated(run_cli, "--retriever", "hubs", "--linker", "quoted", "--hops", "2")
    (question,) = found["results"]
    assert [seed["name"] for seed in question["linked"]] == ["Ann"]
    # Within two hops: Cy has 3 relations, Bob 2, Ann 1.
    assert [(entity["name"], entity["score"]) for entity in question["ranked"]] == [
        ("Cy", 3),
        ("Bob", 2),
        ("Ann", 1),
    ]
    shown = run_cli("eval --help").output
    assert "hubs" in shown
    assert "quoted" in shown
    assert "hubs: what lies within the hops, most relations first\n" in run_cli("settings retriever").output
    assert "quoted: names in quotation marks and no others\n" in run_cli("settings linker").output


@pytest.mark.usefixtures("installed", "town")
def test_the_graph_format(run_cli: Run) -> None:
    first = evaluated(run_cli)["results"]
    run_cli("eval --dataset town-eval.jsonl -g town.arrows -o ./out.json", code=0)
    second = read_json(Path("out.json"))["results"]
    assert [entity["name"] for entity in first[0]["ranked"]] == [
        entity["name"] for entity in second[0]["ranked"]
    ]
    Path("town.arrows").write_text("Ann -KNOWS-> Bob\nBob knows Cy\n")
    refused = run_cli("stats -g town.arrows", code=2)
    assert "town.arrows:2: wanted 'source -TYPE-> target', got 'Bob knows Cy'" in refused.output


@pytest.mark.usefixtures("installed")
def test_the_gold_format_and_the_run_format(run_cli: Run) -> None:
    Path("a.asks").write_text("? Q1: Cy; Ed\n? Q2: Bob\n")
    Path("a.found").write_text("! Q1: Bob; Cy\n! Q2: Bob\n")
    run_cli("score --run a.found --gold a.asks --measures mrr -o ./s.json", code=0)
    assert read_json(Path("s.json"))["summary"]["measures"]["mrr"]["mean"] == 0.75
    Path("a.asks").write_text("? Q1: Cy; Ed\nQ2 Bob\n")
    refused = run_cli("score --run a.found --gold a.asks")
    assert "a.asks:2: wanted '? id: reference; …', got 'Q2 Bob'" in refused.output


@pytest.mark.usefixtures("installed", "town")
def test_the_report(run_cli: Run) -> None:
    evaluated(run_cli, "--report", "rst,md", "--measures", "mrr,all_hit@5")
    table = Path("out.rst").read_text(encoding="utf-8")
    assert table.startswith(".. list-table::\n   :header-rows: 1\n\n   * - measure\n     - mean\n")
    assert "\n   * - all_hit@5\n     - 1.000\n" in table
    assert Path("out.md").is_file()


@pytest.mark.usefixtures("installed")
def test_the_judge() -> None:
    from tiny_graph_rag.answers.rubrics import parse_judges

    (brevity,) = parse_judges("brevity")
    system, user = brevity.messages(
        {"question": "Who?", "answer": "Ann {question}", "truth": "", "graph": ""}
    )
    assert system.content.startswith("You judge how brief")
    assert user.content == "Question: Who?\nAnswer: Ann {question}"
    assert brevity.value(brevity.read('{"grade": 1}')) == {"brevity": 0.5}
    with pytest.raises(ValueError, match="wanted 0, 1 or 2, got 3"):
        brevity.read('{"grade": 3}')
