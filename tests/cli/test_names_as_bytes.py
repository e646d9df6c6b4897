"""Every command over names that mean harm: files whose names are no UTF-8, as another system's disk brings
them, and entities, questions, tags and labels that would command a terminal.
"""

from __future__ import annotations

import json
import os
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import write_gold, write_kg

BAD = os.fsdecode(b"\xe9")  # é in Latin-1
GRAPH, GOLD = f"caf{BAD}-KG.json", f"caf{BAD}-eval.jsonl"
# A title set, colours, a screen cleared, an 8-bit command, a link, a bell, a line overwritten, text turned.
EVIL = [
    "\x1b]0;owned\x07Zoe",
    "\x1b[31mRed\x1b[0m",
    "\x1b[2J\x1b[HTop",
    "\x9b2JEight",
    "\x1b]8;;http://x\x1b\\Link\x1b]8;;\x1b\\",
    "a\rOver",
    "\u202egnp.exe\u2066",
]
BOTH = ("--dataset", f"./{GOLD}", "-g", f"./{GRAPH}")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("eval", *BOTH, "--skip-generation", "-o", f"./r{BAD}.json", "--report", "html,md,csv",
     "--save-run", f"./run{BAD}.jsonl", "--label", f"{EVIL[1]}{BAD}", "--details", "--set",
     "evaluation.save_reasons=true"),
    ("eval", *BOTH, "--skip-generation", "-o", "-"),
    ("eval", *BOTH, "--skip-generation", "--set", f"retrieval.vocabulary=./words{BAD}.yaml",
     "-o", "./r.json"),
    ("eval", "--dataset", GOLD, "--kg-dir", ".", "--dataset-dir", ".", "--results-dir", f"./out{BAD}",
     "--skip-generation"),
    ("sweep", *BOTH, "--hops", "0-1", "--details", "-o", f"./s{BAD}.json"),
    ("fix", *BOTH, "--details", "-o", f"./f{BAD}.yaml"),
    ("score", "--run", f"./run{BAD}.jsonl", "--gold", f"./{GOLD}", "-o", f"./scored{BAD}.json"),
    ("score", "--run", f"./run{BAD}.jsonl", "--gold", f"./{GOLD}", "-g", f"./{GRAPH}", "--details",
     "-o", f"./scored2{BAD}.json"),
    ("compare", f"./r{BAD}.json", "./r.json", "--details", "-o", f"./c{BAD}.json", "--report", "md"),
    ("history", ".", "-o", f"./h{BAD}.json"),
    ("report", f"./r{BAD}.json", "--report", "html"),
    ("query", "Who is Zoe? \x1b[31m", "-g", f"./{GRAPH}", "--skip-generation", "--explain",
     "-o", f"./q{BAD}.json"),
    ("stats", "-g", f"./{GRAPH}", "--details", "-o", f"./st{BAD}.json"),
    ("validate", *BOTH, "--details", "-o", f"./v{BAD}.json", "--fix-suggestions", f"./fixed{BAD}.jsonl"),
    ("convert", "-g", f"./{GRAPH}", "-o", f"./made{BAD}.graphml"),
    ("visualize", "-g", f"./{GRAPH}", "-o", f"./page{BAD}.html"),
    ("generate", "-g", f"./{GRAPH}", "--n", "2", "--shapes", "single", "-o", f"./gen{BAD}.jsonl"),
    ("recommend", "--dataset", f"./questions{BAD}.txt", "-g", f"./{GRAPH}", "-o", f"./d{BAD}-draft.jsonl"),
    ("curate", "--dataset", f"./d{BAD}-draft.jsonl", "-g", f"./{GRAPH}", "--export"),
    ("dataset", "convert", f"./{GOLD}", "-o", f"./sheet{BAD}.csv"),
)  # fmt: skip


@pytest.fixture
def folder(own_folder: Path) -> Path:
    try:
        (own_folder / BAD).touch()
    except (OSError, UnicodeError):
        pytest.skip("this file system holds UTF-8 names alone")
    names = [*EVIL, *(f"Person {number}" for number in range(12))]
    kinds = dict.fromkeys(EVIL, "\x1b[1mKNOWS")
    write_kg(own_folder / GRAPH, names, [(one, kinds.get(one, "KNOWS"), two) for one, two in pairwise(names)])
    rows = [
        {"id": f"q\x1b[3{n}m", "query": f"Whom does {name} know?", "reference_entities": [other, "\x1b[5mNo"],
         "tags": ["\x1b[31mtag"]}
        for n, (name, other) in enumerate(pairwise(EVIL))
    ]  # fmt: skip
    write_gold(own_folder / GOLD, *rows)
    (own_folder / f"words{BAD}.yaml").write_text("KNOWS: [know]\n")
    (own_folder / f"questions{BAD}.txt").write_text("Whom does Person 1 know?\n")
    return own_folder


@pytest.mark.slow
def test_every_command_takes_such_names_and_no_terminal_obeys_them(folder: Path, run_cli) -> None:
    for command in COMMANDS:
        done = run_cli(*command)
        assert done.exit_code == int(command[0] == "validate"), (command, done.output)  # "No" is nobody
        if "-" not in command:  # JSON on standard output
            obeyed = {sign for sign in done.stdout + done.stderr if sign not in "\n\t"}
            assert not {sign for sign in obeyed if unicodedata.category(sign) in ("Cc", "Cf")}, done.output
    for path in folder.rglob("*.json"):  # whatever was written is UTF-8 and sound
        json.loads(path.read_bytes().decode())
    for name in (f"r{BAD}.html", f"r{BAD}.md", f"c{BAD}.md", f"gen{BAD}.jsonl", f"page{BAD}.html"):
        (folder / name).read_bytes().decode()
