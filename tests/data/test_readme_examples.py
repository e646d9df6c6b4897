"""Every command of every page runs from a clone, in the page's order, or says here why it does not; what the
guides show of ours is what is printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT
from tests.tools.chat_server import ChatServer, answer
from tiny_graph_rag.cli import app

WRITERS = ROOT / "tests" / "fixtures" / "graphs"
# Pages with a test of their own, which runs their commands.
ELSEWHERE = {
    "docs/extending.md": "tests/test_extending.py",
    "docs/guides/fixing.md": "tests/data/test_readme_examples.py",
    "docs/python.md": "tests/test_python.py",
}
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
SHOWN = (" generate ", " dataset ", " curate ")  # of other commands a guide describes what is printed
GENERATED = {"docs/commands.md", "docs/measures.md"}
PAGES = [
    path
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")])
    if str(path.relative_to(ROOT)) not in ELSEWHERE.keys() | GENERATED | {"CHANGELOG.md"}
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SHELLS = {"", "bash", "console", "sh", "shell"}
COMMAND = re.compile(
    r"^(?:[A-Z_]+=\S+ )*(?:\$ )?(?:uv run (?:--no-dev |--with \S+ )*python main\.py|tiny-graph-rag) "
)
# A command that no test runs, and why.
LEFT_OUT = {
    r"^python3 -m pip install": "the gate (.ci/run) runs both in a fresh clone with an empty cache",
    r" curate (?!.*--(patch|export))": "it serves a page, which tests/gold/test_curate_browser.py uses",
    r"^graphify update": "the package graphify is not installed; the folder that it writes is a fixture",
    r"^uv sync": "it changes the environment that the tests run in; the extras are installed there",
    r"-g neo4j://": "there is no Neo4j here; tests/formats/test_databases.py reads one over loopback",
    r"--with fast-graphrag": "the package is not installed; the file that it writes is a fixture",
    r"^export FAST_GRAPHRAG": "the folder of that package",
    r"^export NEO4J": "the password of that database",
    r"^curl ": "there is no SPARQL endpoint here; the file that it writes is made below",
    r"^dask ": "tests/retrieval/test_cluster.py starts a scheduler and workers on free ports",
    r"running.cluster=tcp://HOST": "tests/retrieval/test_cluster.py runs the command against its own cluster",
    r'-g "\$GRAPH"': "tests/cli/test_eval.py runs the workflow's command with its variables",
    r"-g new-KG.json": "two versions of the reader's own graph; tests/cli/test_fix.py has some",
}
# The other package is asked by tests/examples, where it is installed; here this function stands in for it.
STAND_IN = "def retrieve(question):\n    return ['Ben Gunn', 'Captain Smollett']\n"
# The price of a model is known at OpenAI's own address only; here it is given.
PRICES = "openai: {prices: {gpt-4.1-mini: {input: 0.4, output: 1.6}}}\n"
NO_SHELL = re.compile(r"^(?:cost = |#|$)")


def blocks(text: str) -> list[list[str]]:
    """The commands of each block."""
    return [steps(block) for kind, block in BLOCK.findall(text) if kind in SHELLS]


def steps(block: str) -> list[str]:
    """The commands of a block: continued lines and here-documents belong to one command."""
    commands: list[str] = []
    ends, goes_on = "", False
    for line in block.splitlines():
        if ends:
            commands[-1] += f"\n{line}"
            ends = "" if line == ends else ends
        elif goes_on:
            commands[-1] = commands[-1].removesuffix("\\") + line.strip()
            goes_on = line.endswith("\\")
        elif not NO_SHELL.search(line):
            commands.append(line)
            ends = line.partition("<<'")[2].rstrip("'")
            goes_on = line.endswith("\\")
    return commands


def left_out(command: str) -> list[str]:
    return [reason for pattern, reason in LEFT_OUT.items() if re.search(pattern, command)]


def test_every_reason_is_that_of_a_command() -> None:
    commands = [
        command
        for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
        for block in blocks(path.read_text("utf-8"))
        for command in block
    ]
    unused = [pattern for pattern in LEFT_OUT if not any(re.search(pattern, command) for command in commands)]
    assert unused == []
    assert [test for test in ELSEWHERE.values() if not (ROOT / test).is_file()] == []
    assert [page for page in ELSEWHERE if not (ROOT / page).is_file()] == []


def test_continued_lines_and_here_documents_are_one_command() -> None:
    block = "A=b uv run python main.py eval \\\n  -o x  # why\ncat > f <<'END'\n# a\nEND\n"
    assert steps(block) == ["A=b uv run python main.py eval -o x  # why", "cat > f <<'END'\n# a\nEND"]


def prepared(clone: Path) -> None:
    """A clone's folders, and next to it what the pages take from other programs."""
    shutil.copytree(ROOT / "data", clone / "data", ignore=shutil.ignore_patterns("results"))
    for name in ("examples", "benchmarks"):
        (clone / name).symlink_to(ROOT / name)
    beside = clone.parent
    shutil.copytree(WRITERS / "lightrag", beside / "rag_storage")
    shutil.copytree(WRITERS / "ms-graphrag-3", beside / "my-project" / "output")
    shutil.copytree(WRITERS / "graphify", beside / "my-code" / "graphify-out")
    shutil.copy(WRITERS / "fast-graphrag" / "graph.graphml", beside)
    shutil.copytree(WRITERS / "llama-index", beside / "storage")
    passage = {"idx": "c1", "passage": "Ben Gunn\nBen Gunn moved the treasure."}
    passage |= {"extracted_entities": ["Ben Gunn"], "extracted_triples": [["Ben Gunn", "moved", "treasure"]]}
    (beside / "outputs").mkdir()
    (beside / "outputs" / "openie_results_ner_gpt-4o-mini.json").write_text(json.dumps({"docs": [passage]}))
    question = "Who commands the Hispaniola?"
    (clone / "hipporag-run.jsonl").write_text(json.dumps({"question": question, "retrieved": ["Ben Gunn"]}))
    asked = {"example_id": "q", "query": "점순이는 누구야?", "reference_entities": ["점순"]}
    rows = [asked | {"retrieved_entities": ["점순"], "tags": []}]
    (clone / "upstream-results.json").write_text(json.dumps({"summary": {"avg_recall": 1}, "results": rows}))
    (clone / "town.nt").write_text("<http://e.org/Ann> <http://e.org/knows> <http://e.org/Bob> .\n")
    for folder in (clone, beside):
        shutil.copy(ROOT / "data/kg/conan-doyle-speckled-band-KG.json", folder / "my-KG.json")
    (clone / "stand_in.py").write_text(STAND_IN)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_commands_of_a_page_run(path: Path, own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    if all(left_out(command) for block in blocks(text) for command in block):
        pytest.skip("no command on this page")
    clone = own_folder / "clone"
    clone.mkdir()
    monkeypatch.chdir(clone)
    prepared(clone)
    printed, commands = "", [""]
    with ChatServer(lambda request: answer("[no answer]")) as server:
        if "generation-and-cost" in path.name:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            Path("config.yaml").write_text(PRICES)
        for kind, block in BLOCK.findall(text):
            if kind == "text" and path in GUIDES and any(name in commands[-1] for name in SHOWN):
                assert [line for line in block.splitlines() if line.strip() and line not in printed] == []
            if kind not in SHELLS:
                continue
            printed, commands = "", steps(block)
            with monkeypatch.context() as shell:  # what a block exports is for this block
                for command in commands:
                    printed += "" if left_out(command) else run(command, server, shell)


def run(command: str, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints, run in this process where it is ours; an API's address is the loopback's."""
    if command.startswith("export "):
        for name, value in (word.split("=", 1) for word in shlex.split(command, comments=True)[1:]):
            monkeypatch.setenv(
                name, {"OPENAI_BASE_URL": server.url}.get(name, value.replace("…", "test-key"))
            )
        return ""
    if not COMMAND.match(command):
        subprocess.run(command, shell=True, check=True, executable="/bin/bash", env={**os.environ})
        return ""
    words = shlex.split(COMMAND.sub("", command), comments=True)
    words = [re.sub(r"^examples/\w+\.py:", "stand_in.py:", word) for word in words]
    monkeypatch.setattr(sys, "argv", ["tiny-graph-rag", *words])
    done = CliRunner().invoke(app, words, input="n\ny\n")
    assert done.exit_code == 0, (command, done.output)
    return done.stdout


def test_every_guide_is_there_in_both_languages() -> None:
    names = {guide.name for guide in GUIDES}
    assert len(names) == 8
    assert {name.replace(".md", ".ko.md") for name in names if ".ko." not in name} <= names


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
