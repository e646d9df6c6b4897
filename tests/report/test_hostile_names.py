"""Names from graphs, gold sets and labels stay text wherever they are shown: no terminal obeys them."""

from __future__ import annotations

import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import write_gold, write_kg

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
KNOWN = ("--dataset", "evil-eval.jsonl", "-g", "evil-KG.json")
COMMANDS = {
    "stats": ("-g", "evil-KG.json", "--details"),
    "validate": (*KNOWN, "--details"),
    "eval": (*KNOWN, "--skip-generation", "--details", "-o", "./a.json", "--label", EVIL[0]),
    "query": ("Who is Zoe? \x1b[31m", "-g", "evil-KG.json", "--explain", "--skip-generation"),
    "sweep": (*KNOWN, "--hops", "0-1", "--details", "-o", "./s.json"),
    "fix": (*KNOWN, "--details", "-o", "./f.yaml"),
    "generate": ("-g", "evil-KG.json", "--n", "3", "-o", "./g.jsonl"),
    "visualize": ("-g", "evil-KG.json", "--max-nodes", "2"),
    "recommend": ("--dataset", "evil-eval.jsonl", "-g", "evil-KG.json", "-o", "./d.jsonl"),
    "compare": ("a.json", "b.json", "--details", "-o", "./c.json"),
    "history": (".",),
    "score": ("--run", "x.trec", "--gold", "evil-eval.jsonl", "-g", "evil-KG.json", "--details"),
}


@pytest.fixture
def evil(tmp_path: Path, run_cli, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = pairwise(EVIL)
    write_kg(tmp_path / "data/kg/evil-KG.json", EVIL, [(one, "\x1b[1mKNOWS", other) for one, other in pairs])
    rows = [
        {"id": f"q\x1b[3{n}m", "query": f"Whom does {name} know?", "reference_entities": [other, "\x1b[5mNo"],
         "tags": ["\x1b[31mtag"]}
        for n, (name, other) in enumerate(pairwise(EVIL))
    ]  # fmt: skip
    write_gold(tmp_path / "data/eval/evil-eval.jsonl", *rows)
    (tmp_path / "x.trec").write_text("q\x1b[30m Q0 \x1b[31mRed 1 0.9 \x1b[2Jme\n", encoding="utf-8")
    for name, retriever in (("a", "bfs"), ("b", "bm25")):
        options = ("--skip-generation", "--retriever", retriever, "--label", EVIL[1], "-o", f"./{name}.json")
        done = run_cli("eval", *KNOWN, *options)
        assert done.exit_code == 0, done.output


@pytest.mark.slow
@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_lets_a_name_command_the_terminal(command: str, run_cli) -> None:
    done = run_cli(command, *COMMANDS[command])
    assert done.exit_code in (0, 1, 2), done.output
    assert "internal error" not in done.output
    obeyed = {
        sign
        for sign in done.stdout + done.stderr
        if sign not in "\n\t" and unicodedata.category(sign) in ("Cc", "Cf")
    }
    assert obeyed == set(), done.output
