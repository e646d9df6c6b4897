"""No command writes over what it reads: every command and option that writes, against each of its inputs.

The commands come from the program itself, so that a new one is missed here until it has its line below; an
option whose help speaks of a file to write is missed until it is named in WRITES or NO_FILE.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.cli import app
from tiny_graph_rag.gold.curation import digest
from tiny_graph_rag.retrieval.own import JOURNAL_ENDING

QUESTIONS = (
    {"id": "q1", "query": "Where does Anna live?", "reference_entities": ["Dover"]},
    {"id": "q2", "query": "Who is Ben?", "reference_entities": ["Ben"]},
)

# Options that take the name of a file to write.
WRITES = {"--output", "--save-run", "--junit", "--fix-suggestions"}
# Options that speak of writing and take no name of a file.
NO_FILE = {"--report", "--format", "--names", "--refresh", "--export"}

FILES = {
    "story-eval.jsonl": "",
    "other-eval.jsonl": "",
    "parts-dev.jsonl": "",
    "story-KG.json": "",
    "older-KG.json": "",
    "one.json": "",
    "two.json": "",
    "run.trec": "q1 Q0 Dover 1 1.0 me\nq2 Q0 Ben 1 1.0 me\n",
    "rag.py": "def retrieve(question):\n    return ['Dover']\n",
    "questions.txt": "Where does Anna live?\n",
    "prompt.txt": "{facts}\n{question}\n",
    "words.yaml": "LIVES_IN: [lives]\n",
    "config.yaml": "storage: {kg_dir: ., dataset_dir: ., results_dir: .}\ngeneration: {prompt: prompt.txt}\n",
}
# A call of each command that writes; it reads the files that it names.
CALLS: dict[str, str | None] = {
    "init": None,  # writes where nothing is
    "settings": None,
    "mcp": None,  # each tool runs a command of its own
    "measures": None,
    "dataset version": None,  # writes beside the set, under the set's name
    "eval": "eval --dataset story-eval.jsonl -g story-KG.json --skip-generation"
    " --set retrieval.vocabulary=words.yaml",
    "score": "score --run run.trec --gold story-eval.jsonl -g story-KG.json",
    "sweep": "sweep --dataset story-eval.jsonl -g story-KG.json --hops 1 --retriever bfs,run:run.trec",
    "retrieve": "retrieve questions.txt -g story-KG.json --retriever rag.py:retrieve --format jsonl",
    "fix": "fix --dataset story-eval.jsonl -g story-KG.json --was older-KG.json --holdout other-eval.jsonl",
    "compare": "compare one.json two.json",
    "history": "history .",
    "query": "query Anna? -g story-KG.json --skip-generation",
    "report": "report one.json --report md",
    "stats": "stats -g story-KG.json",
    "convert": "convert -g story-KG.json --format kg-json",
    "visualize": "visualize -g story-KG.json",
    "validate": "validate --dataset story-eval.jsonl -g story-KG.json",
    "generate": "generate -g story-KG.json --n 2",
    "recommend": "recommend --dataset questions.txt -g story-KG.json --retrievers bfs,run:run.trec",
    "curate": "curate --dataset questions.txt -g story-KG.json --export",
    "dataset merge": "dataset merge story-eval.jsonl other-eval.jsonl --format jsonl",
    "dataset split": "dataset split parts-dev.jsonl --share 50/50",
    "dataset convert": "dataset convert story-eval.jsonl --format jsonl",
    "dataset from": "dataset from questions.txt -g story-KG.json",
}
# What a command reads that its call does not name.
READS = {"eval": ["prompt.txt"], "history": ["one.json", "two.json"], "validate": ["story-eval.meta.json"]}
NO_SETTINGS = {"report", "dataset split"}


def inputs(name: str) -> list[str]:
    call = CALLS.get(name)
    if call is None:
        return []
    named = [word for word in re.split("[ =,:]", call) if word in FILES]
    return [*named, *READS.get(name, ()), *(() if name in NO_SETTINGS else ("config.yaml",))]


def commands() -> Iterator[tuple[str, Any]]:
    def below(group: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from below(command, (*path, name))
            else:
                yield " ".join((*path, name)), command

    return below(typer.main.get_command(app), ())


def options_that_write(command: Any) -> list[str]:
    longest = [max(option.opts, key=len) for option in command.params]
    return [option for option in longest if option in WRITES]


CASES = [
    (name, option, given)
    for name, command in commands()
    for option in options_that_write(command)
    for given in inputs(name)
]


MADE: dict[str, bytes] = {}  # what the first test made


@pytest.fixture
def folder(own_folder: Path, run_cli: Callable[..., Any]) -> Path:
    """All inputs in one folder, which is that of graphs, gold sets and results too."""
    for name, content in MADE.items():
        (own_folder / name).write_bytes(content)
    if MADE:
        return own_folder
    for name, text in FILES.items():
        (own_folder / name).write_text(text, encoding="utf-8")
    for name in ("story-KG.json", "older-KG.json"):
        write_kg(
            own_folder / name,
            ["Anna", "Ben", "Dover", "Mary", "Kent"],
            [("Anna", "LIVES_IN", "Dover"), ("Ben", "KNOWS", "Mary"), ("Dover", "LIES_IN", "Kent")],
        )
    for name in ("story-eval", "parts-dev"):
        write_gold(own_folder / f"{name}.jsonl", *QUESTIONS)
    write_gold(own_folder / "other-eval.jsonl", {**QUESTIONS[0], "id": "q3", "query": "Whose is Dover?"})
    for name in ("one", "two"):
        run_cli("eval --dataset story-eval.jsonl --skip-generation -o", f"./{name}.json", code=0)
    run_cli("validate --dataset story-eval.jsonl --pin", code=0)
    MADE.update(contents(own_folder))
    return own_folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the caches."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".cache" not in path.parts
    }


def test_every_command_is_here() -> None:
    assert {name for name, _ in commands()} == set(CALLS)
    writing = {name for name, command in commands() if options_that_write(command)}
    assert {name for name, call in CALLS.items() if call is not None} == writing


def test_every_option_that_speaks_of_writing_is_known() -> None:
    unknown = [
        f"{name} {option.opts}"
        for name, command in commands()
        for option in command.params
        if re.search(r"\b[Ww]rit|\bfile;|[Ff]ile to\b|\b[Ss]ave", getattr(option, "help", None) or "")
        and not {*option.opts} & (WRITES | NO_FILE)
        and option.param_type_name == "option"
    ]
    assert unknown == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option", "given"), CASES)
def test_no_output_replaces_an_input(
    folder: Path, run_cli: Callable[..., Any], name: str, option: str, given: str
) -> None:
    """By its own name, through `..`, by a symbolic and by a hard link."""
    call = CALLS[name]
    assert call is not None
    if not (folder / given).exists():
        pytest.fail(f"{given} is no file of this test")
    (folder / "inner").mkdir()
    (folder / "soft.json").symlink_to(folder / given)
    os.link(folder / given, folder / "hard.json")
    before = contents(folder)
    for target in (f"./{given}", f"./inner/../{given}", "./soft.json", "./hard.json"):
        path = target.replace("-dev.jsonl", ".jsonl") if name == "dataset split" else target
        if name == "dataset split" and not target.startswith(f"./{given}"):
            continue  # its parts have names of their own
        done = run_cli(call, option, path)
        assert contents(folder) == before, f"{name} {option} {path}\n{done.output}"
        assert done.exit_code == 2, f"{name} {option} {path}\n{done.output}"
        assert "Traceback" not in done.output


TO_STDOUT = [(name, option) for name, command in commands() for option in options_that_write(command)]


@pytest.mark.parametrize(("name", "option"), TO_STDOUT)
def test_a_lone_dash_is_standard_output_and_never_a_file(
    folder: Path, run_cli: Callable[..., Any], name: str, option: str
) -> None:
    before = contents(folder).keys()
    done = run_cli(CALLS[name], option, "-")
    written = {path for path in contents(folder).keys() - before if Path(path).name.startswith("-")}
    assert not written
    assert done.stdout.strip() if done.exit_code == 0 else done.exit_code == 2, done.output


GRAPH_FOLDER = [
    (name, option)
    for name, command in commands()
    for option in options_that_write(command)
    if " -g " in (CALLS.get(name) or "")
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), GRAPH_FOLDER)
def test_no_output_replaces_a_part_of_a_folder_that_is_read(
    folder: Path, run_cli: Callable[..., Any], name: str, option: str
) -> None:
    graph = folder / "graph"
    graph.mkdir()
    (graph / "nodes.csv").write_text("id,name\na,Anna\nb,Ben\nd,Dover\n", encoding="utf-8")
    (graph / "edges.csv").write_text("source,target,type\na,d,LIVES_IN\n", encoding="utf-8")
    (graph / "notes.csv").write_text("what somebody noted\n", encoding="utf-8")
    before = contents(folder)
    for part in ("nodes.csv", "notes.csv"):
        done = run_cli(CALLS[name].replace("story-KG.json", "graph"), option, f"./graph/{part}", code=2)
        assert contents(folder) == before, done.output


def test_a_derived_name_replaces_no_gold_set_that_somebody_made(
    folder: Path, run_cli: Callable[..., Any]
) -> None:
    mine = json.dumps({"id": "mine", "query": "By hand?", "reference_entities": ["Anna"]}) + "\n"
    derived = {
        "story-generated.jsonl": "generate -g story-KG.json --n 2",
        "questions-draft.jsonl": "recommend --dataset questions.txt -g story-KG.json",
        "story-eval-merged.jsonl": "dataset merge story-eval.jsonl other-eval.jsonl",
        "story-eval-dev.jsonl": "dataset split story-eval.jsonl --share 50/50",
    }
    for name, call in derived.items():
        (folder / name).write_text(mine, encoding="utf-8")
        done = run_cli(call)
        assert (done.exit_code, (folder / name).read_text(encoding="utf-8")) == (2, mine), done.output
        assert f"{name} already exists" in done.stderr


@pytest.mark.slow
def test_what_the_program_made_itself_is_made_again(folder: Path, run_cli: Callable[..., Any]) -> None:
    for call in (
        "generate -g story-KG.json --n 2",
        "recommend --dataset questions.txt -g story-KG.json",
        "eval --dataset story-eval.jsonl --skip-generation --save-run saved.trec --report md,csv",
        "history . -o past.json",
        "compare one.json two.json --report md",
        "dataset version story-eval.jsonl --note first",
        "validate --dataset story-eval.jsonl --pin -o checked.json",
    ):
        for _ in range(2):
            done = run_cli(call)
            if "still version" not in done.output:
                assert done.exit_code == 0, f"{call}\n{done.output}"


def test_a_draft_is_made_again_but_never_over_judgments(folder: Path, run_cli: Callable[..., Any]) -> None:
    (folder / "asked.txt").write_text("Who is Anna?\nWho is Ben?\n", encoding="utf-8")
    call = ["recommend", "--dataset", "asked.txt", "-g", "story-KG.json"]
    journal, draft = folder / "asked-draft.journal.jsonl", folder / "asked-draft.jsonl"
    assert run_cli(*call).exit_code == 0
    event = {"by": "anna", "question": "q001", "what": "done", "done": True, "no_answer": True}
    event |= {"asked": digest("Who is Anna?")}
    journal.write_text(json.dumps({"n": 1, "at": "", **event}) + "\n", encoding="utf-8")
    assert run_cli(*call).exit_code == 0  # the same questions
    kept = draft.read_bytes()
    (folder / "asked.txt").write_text("Who came first?\nWho is Anna?\nWho is Ben?\n", encoding="utf-8")
    done = run_cli(*call)
    assert (done.exit_code, draft.read_bytes()) == (2, kept), done.output
    assert "asked-draft.journal.jsonl: holds decisions on q001, which would stand for other" in done.stderr
    assert run_cli(*call, "-o", "other-draft.jsonl").exit_code == 0
    journal.unlink()
    rows = [json.loads(line) for line in kept.splitlines()]
    rows[1]["irrelevant_entities"] = ["Anna"]  # by hand
    draft.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    kept = draft.read_bytes()
    done = run_cli(*call)
    assert (done.exit_code, draft.read_bytes()) == (2, kept), done.output
    assert "holds judgments of q002 that would be lost" in done.stderr


def test_a_generated_set_that_was_changed_by_hand_stays(folder: Path, run_cli: Callable[..., Any]) -> None:
    call = ("generate", "-g", "story-KG.json", "--n", "2")
    assert run_cli(*call).exit_code in (0, 1)
    path = folder / "story-generated.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("?", "??"), encoding="utf-8")
    changed = path.read_bytes()
    done = run_cli(*call)
    assert (done.exit_code, path.read_bytes()) == (2, changed), done.output
    assert run_cli(*call, "-o", path.name).exit_code == 0
    assert path.read_bytes() != changed


def test_a_journal_is_no_place_for_another_output(folder: Path, run_cli: Callable[..., Any]) -> None:
    call = "eval --dataset story-eval.jsonl --skip-generation --retriever rag.py:retrieve -o ./r.json"
    done = run_cli(call, "--save-run", f"./r{JOURNAL_ENDING}", code=2)
    assert "two outputs would be written to this file" in done.stderr
