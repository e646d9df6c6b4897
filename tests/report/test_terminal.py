"""What `eval` prints: golden, narrow, without colour, into pipes, and with names that mean harm."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.cells import cell_len

from tests.conftest import write_gold, write_kg
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json.results import summary
from tiny_graph_rag.report.terminal import screen
from tiny_graph_rag.report.terminal.evaluation import evaluation_lines
from tiny_graph_rag.study.evaluate import evaluate

GOLDEN = Path(__file__).with_name("golden") / "terminal.txt"


def evaluated(run_cli, tmp_path, *, entities=(), questions=(), options=()):
    names = ["점순", "점순네 수탉", "Rex", "우리 수탉", "Zoe", *entities]
    write_kg(
        tmp_path / "data/kg/tale-KG.json",
        names,
        [
            ("점순", "OWNS", "점순네 수탉"),
            ("점순네 수탉", "FIGHTS", "우리 수탉"),
            ("우리 수탉", "FEARS", "Rex"),
        ],
    )
    gold = [
        {"query": "점순이 키우는 닭은?", "reference_entities": ["점순네 수탉"], "tags": ["1-hop"]},
        {"query": "점순네 수탉이 싸운 닭은?", "reference_entities": ["우리 수탉"], "tags": ["1-hop"]},
        {
            "query": "점순이 닭이 싸운 닭이 겁내는 것은?",
            "reference_entities": ["Rex"],
            "tags": ["3-hop", "긴 꼬리표"],
        },
        {"query": "Who is it?", "reference_entities": ["Zoe", "Nobody"], "tags": ["긴 꼬리표"]},
        {"query": "점순의 꿈은?", "reference_entities": [], "tags": ["no-answer"]},
    ]
    write_gold(tmp_path / "data/eval/tale-eval.jsonl", *gold, *questions)
    options = ("--retriever", "bfs-plain", "--top-k", "2", "--skip-generation", *options)
    done = run_cli("eval", "--dataset", "tale-eval.jsonl", *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_the_terminal_is_as_it_was(run_cli, tmp_path):
    """Look at the difference; where it is meant, copy what was printed to golden/terminal.txt."""
    # What a setting takes is no two times the same.
    printed = lines(re.sub(r" CPU time per question: ×[0-9.e+]+\.", "", evaluated(run_cli, tmp_path)))
    (tmp_path / "terminal.txt").write_text("\n".join(printed) + "\n", encoding="utf-8")
    assert printed == GOLDEN.read_text(encoding="utf-8").splitlines()


def test_korean_columns_line_up(run_cli, tmp_path):
    """Hangul takes two cells: figures under one heading end in the same cell."""
    printed = evaluated(run_cli, tmp_path).splitlines()
    table = [line for line in printed if line.startswith((" questions", " all", "   "))][:4]
    assert "긴 꼬리표" in "".join(printed)
    assert len({cell_len(line) for line in table}) == 1


def test_a_pipe_gets_no_colour_codes_and_quiet_prints_nothing(run_cli, tmp_path):
    assert "\x1b" not in evaluated(run_cli, tmp_path)
    assert evaluated(run_cli, tmp_path, options=("--quiet",)) == ""


def test_names_cannot_command_the_terminal(run_cli, tmp_path):
    evil = {"query": "Who is \x1b]0;owned\x07 [red]Zoe[/red] \u202eevil?", "reference_entities": ["\x1b[2J"]}
    printed = evaluated(run_cli, tmp_path, questions=[evil | {"tags": ["[bold]\x1b[31m"]}])
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "[red]Zoe[/red]" in printed


def test_a_narrow_terminal_keeps_every_figure_and_lets_the_bar_go(tmp_path, run_cli):
    evaluated(run_cli, tmp_path)
    wide = printed_in(tmp_path, 120)
    narrow = printed_in(tmp_path, 60)
    assert max(map(cell_len, narrow.splitlines())) <= 60
    assert "0.875" in narrow
    assert "−25.0" in narrow
    assert "█" not in narrow  # the bar says what the figure beside it says: it goes first
    assert "no path from any seed" in wide
    assert "no path from any seed" not in narrow


def printed_in(folder: Path, width: int) -> str:
    config = Config().override(hops=2, top_k=2, retriever="bfs-plain", latency_sample=0)
    graph = read_graph(folder / "data/kg/tale-KG.json")
    examples = read_eval_set(folder / "data/eval/tale-eval.jsonl")
    stream = io.StringIO()
    console = screen(stream, quiet=False)
    console.width = width  # type: ignore[misc]
    evaluation = evaluate(graph, examples, config, default_measures(2))
    for part in evaluation_lines(evaluation, summary(evaluation), width):
        console.print(part)
    return stream.getvalue()
