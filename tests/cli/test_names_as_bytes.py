"""File names that are no UTF-8, as another system's disk brings them: every command reads and writes them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg

BAD = os.fsdecode(b"\xe9")  # é in Latin-1
GRAPH, GOLD = f"caf{BAD}-KG.json", f"caf{BAD}-eval.jsonl"
BOTH = ("--dataset", f"./{GOLD}", "-g", f"./{GRAPH}")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("eval", *BOTH, "--skip-generation", "-o", f"./r{BAD}.json", "--report", "html,md,csv,paper",
     "--save-run", f"./run{BAD}.jsonl", "--label", f"x{BAD}", "--set", "evaluation.save_reasons=true"),
    ("eval", *BOTH, "--skip-generation", "-o", "-"),
    ("eval", *BOTH, "--skip-generation", "--set", f"retrieval.vocabulary=./words{BAD}.yaml",
     "-o", "./r.json"),
    ("eval", "--dataset", GOLD, "--kg-dir", ".", "--dataset-dir", ".", "--results-dir", f"./out{BAD}",
     "--skip-generation"),
    ("sweep", *BOTH, "--hops", "1", "-o", f"./s{BAD}.json"),
    ("score", "--run", f"./run{BAD}.jsonl", "--gold", f"./{GOLD}", "-o", f"./scored{BAD}.json"),
    ("score", "--run", f"./run{BAD}.jsonl", "--gold", f"./{GOLD}", "-g", f"./{GRAPH}", "-o",
     f"./scored2{BAD}.json"),
    ("compare", f"./r{BAD}.json", "./r.json", "-o", f"./c{BAD}.json", "--report", "md"),
    ("history", ".", "-o", f"./h{BAD}.json"),
    ("report", f"./r{BAD}.json", "--report", "html"),
    ("query", "Who is Anna?", "-g", f"./{GRAPH}", "--skip-generation", "--explain", "-o", f"./q{BAD}.json"),
    ("stats", "-g", f"./{GRAPH}", "-o", f"./st{BAD}.json"),
    ("validate", *BOTH, "--pin", "-o", f"./v{BAD}.json", "--fix-suggestions", f"./fixed{BAD}.jsonl"),
    ("convert", "-g", f"./{GRAPH}", "-o", f"./made{BAD}.graphml"),
    ("visualize", "-g", f"./{GRAPH}", "-o", f"./page{BAD}.html"),
    ("generate", "-g", f"./{GRAPH}", "--n", "2", "--shapes", "single", "-o", f"./gen{BAD}.jsonl"),
    ("recommend", "--dataset", f"./questions{BAD}.txt", "-g", f"./{GRAPH}", "-o", f"./d{BAD}-draft.jsonl"),
    ("curate", "--dataset", f"./d{BAD}-draft.jsonl", "-g", f"./{GRAPH}", "--export"),
    ("dataset", "convert", f"./{GOLD}", "-o", f"./sheet{BAD}.csv"),
)  # fmt: skip


@pytest.mark.slow
def test_every_command_takes_names_as_bytes(own_folder: Path, run_cli: Callable[..., Result]) -> None:
    try:
        (own_folder / BAD).touch()
    except (OSError, UnicodeError):
        pytest.skip("this file system holds UTF-8 names alone")
    people = ["Anna", *(f"Person {number}" for number in range(12))]
    write_kg(
        own_folder / GRAPH,
        people,
        [(one, "KNOWS", two) for one, two in pairwise(people)],
    )
    write_gold(
        own_folder / GOLD, {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Person 0"]}
    )
    (own_folder / f"words{BAD}.yaml").write_text("KNOWS: [know]\n")
    (own_folder / f"questions{BAD}.txt").write_text("Whom does Anna know?\n")
    for command in COMMANDS:
        done = run_cli(*command)
        assert done.exit_code == 0, (command, done.output)
    for path in own_folder.rglob("*.json"):  # whatever was written is UTF-8 and sound
        json.loads(path.read_bytes().decode())
    for name in (f"r{BAD}.html", f"r{BAD}.md", f"c{BAD}.md", f"gen{BAD}.jsonl", f"page{BAD}.html"):
        (own_folder / name).read_bytes().decode()
