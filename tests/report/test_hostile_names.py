"""Names from graphs, gold sets and labels stay text wherever they are shown: no terminal obeys them, and
LaTeX sets them as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import write_gold, write_kg
from tests.report.make_results import results
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.paper import latex_table

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


HOSTILE = [
    r"\input{/etc/passwd}",
    r"\\ \end{table}",
    r"\write18{rm}",
    "100 % & $x_1^2$ # ~",
    "^^5cinput{a}",
    "[a] {b} <c> |d|",
    "`a' ``b'' \"c\"",
    "-- --- ?` !`",
    "− – · … →",
]


def table(folder: Path) -> str:
    """Of a result for each hostile name, on a gold set that is called by all of them."""
    content = results(40, 60) | {"dataset": {"name": " ".join(HOSTILE), "sha256": "", "selection": None}}
    return latex_table([Document(folder / "x.json", content | {"made": {"label": name}}) for name in HOSTILE])


def test_latex_gets_no_sign_that_it_obeys_from_a_name(tmp_path: Path) -> None:
    """What is left without its escapes holds no command, no comment, no group and no column."""
    spelled = re.compile(
        r"\\[&%$#_{}]|\\text\w+\{\}|\{\\char34\}|\{[\[\]`-]\}|\\ldots\{\}|\$-\$|\$\\rightarrow\$"
    )
    lines = table(tmp_path).partition("midrule\n")[2].splitlines()
    for line, name in zip(lines, HOSTILE, strict=False):
        first = line.partition(" & ")[0]
        assert not set(spelled.sub("", first)) & set("\\{}%&$#_~^"), (name, line)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_latex_sets_hostile_names_within_the_page_and_knows_the_label(tmp_path: Path) -> None:
    text = table(tmp_path)
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    label = text.partition("\\label{")[2].partition("}")[0]
    paper = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\ref{%s}\\input{t}\\end{document}"
    )
    (tmp_path / "paper.tex").write_text(paper % label, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):  # a label is known from the second time on
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]
    assert "undefined" not in done.stdout
    assert "Overfull" not in done.stdout
