"""`init`, `stats`, `query`, and what the program's own help says of all commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
import yaml

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.help import command_lines, paragraphs
from tiny_graph_rag.cli.settings import _samples
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.measures import KINDS


def test_init_writes_files_that_the_program_reads_and_never_overwrites(own_folder: Path, run_cli) -> None:
    assert run_cli("init").exit_code == 0
    config = own_folder / "config.yaml"
    assert yaml.safe_load(config.read_text())["retrieval"]["hops"] == 2
    assert len(read_eval_set(own_folder / "data/eval/my-graph-eval.jsonl")) == 8
    config.write_text("retrieval:\n  hops: 4\n")
    again = run_cli("init")
    assert "config.yaml: already exists, left unchanged" in again.stdout
    assert config.read_text() == "retrieval:\n  hops: 4\n"


def test_the_current_folder_is_a_graph(own_folder: Path, run_cli) -> None:
    (own_folder / "nodes.csv").write_text("id,name\n1,Ann\n2,Bea\n")
    (own_folder / "edges.csv").write_text("source,target,relation\n1,2,KNOWS\n")
    (own_folder / f"{own_folder.name}-vocabulary.yaml").write_text("KNOWS: [met]\n")
    assert "KNOWS" in run_cli("stats -g .", code=0).stdout
    assert "met" in run_cli("query", "Who met Ann?", "-g", ".", "--explain", code=0).stdout


def test_query_reruns_one_question_beside_its_references(own_folder: Path, run_cli) -> None:
    write_kg(own_folder / "data/kg/a-KG.json", ["Anna", "Ben"], [("Anna", "KNOWS", "Ben")])
    question = {"id": "Q7", "query": "Whom does Anna know?", "reference_entities": ["Ben", "Ghost"]}
    write_gold(own_folder / "data/eval/a-eval.jsonl", question)
    done = run_cli("query --dataset a-eval.jsonl --id Q7")
    assert "✓ Ben" in done.stdout
    assert "reference Ghost: not in the graph" in done.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["Who?", "--id", "Q7"], ["--id", "Q7"], ["  "], ["--dataset", "a.jsonl"]]
)
def test_query_wants_a_question_or_an_id(own_folder: Path, run_cli, arguments: list[str]) -> None:
    write_kg(own_folder / "data/kg/a-KG.json", ["Anna"])
    assert run_cli("query", *arguments).exit_code == 2


def test_a_question_in_words_is_ranked_like_the_same_one_of_a_gold_set(own_folder: Path, run_cli) -> None:
    write_kg(
        own_folder / "data/kg/a-KG.json",
        ["Anna", "Ben", "Carl", "Dora"],
        [("Anna", "KNOWS", "Ben"), ("Ben", "FEEDS", "Carl"), ("Dora", "KNOWS", "Carl")],
    )
    question = {"id": "Q7", "query": "Whom does Anna know?", "reference_entities": ["Nobody"]}
    write_gold(own_folder / "data/eval/a-eval.jsonl", question)
    for more in ([], ["--explain"], ["--linker", "none"], ["--retriever", "pagerank"]):
        asked = run_cli("query", question["query"], "--hops", "3", *more)
        again = run_cli("query --dataset a-eval.jsonl --id Q7 --hops 3", *more)
        assert asked.exit_code == again.exit_code == 0, asked.output + again.output
        without_reference = [line for line in again.stdout.splitlines() if "reference" not in line]
        assert asked.stdout.splitlines() == without_reference


def test_measures_lists_every_measure_on_a_line_of_its_own(run_cli) -> None:
    lines = run_cli("measures").stdout.splitlines()
    named = [re.match(r"\w+", line)[0] for line in lines]
    assert named == list(KINDS)


def test_help_says_of_each_command_what_its_own_help_begins_with() -> None:
    commands = getattr(typer.main.get_command(app), "commands", {})
    assert {name: paragraphs(its.help)[0] for name, its in commands.items()} == command_lines()


def test_samples_are_copied_without_what_lies_beside_them(own_folder: Path, run_cli, monkeypatch) -> None:
    brought = own_folder / "package" / "samples"
    for name in ("kg/conan-doyle-speckled-band-KG.json", "kg/mine-KG.json", "eval/draft.jsonl"):
        (brought / name).parent.mkdir(parents=True, exist_ok=True)
        (brought / name).write_text("{}")
    monkeypatch.setattr("tiny_graph_rag.cli.settings.resources.files", lambda name: own_folder / "package")
    copied = {path.name for path, _ in _samples(own_folder, own_folder)}
    assert copied == {"conan-doyle-speckled-band-KG.json"}
