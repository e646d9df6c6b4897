"""Results in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.evaluation.diagnosis.recommendations import recommendations
from tiny_graph_rag.report.console import Console, Table, escape
from tiny_graph_rag.report.console.explained import print_explanation
from tiny_graph_rag.report.console.summary import print_summary, shown
from tiny_graph_rag.report.json.results import question
from tiny_graph_rag.report.plain import one_line, verdict_words

if TYPE_CHECKING:
    from tiny_graph_rag.evaluation.runner import Evaluation

WORST_SHOWN = 5  # questions; the page lists them all


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """The summary, then what explains it."""
    print_summary(evaluation.summary, console)
    print_explanation(evaluation.explanation, console)
    _print_worst(evaluation, console)
    for advice in recommendations(evaluation.explanation):
        console.print(f"[bold]{advice.rule}[/bold]: {escape(advice.text)}")


def _print_worst(evaluation: Evaluation, console: Console) -> None:
    """The questions with the lowest nDCG (else the first measure), and what became of their references."""
    measures = list(evaluation.scores)
    measure = next((each for each in measures if str(each).startswith("ndcg")), measures[0])
    values = evaluation.scores[measure]
    short = [row for row in np.argsort(values, kind="stable").tolist() if values[row] < 1]
    if not short:
        return
    table = Table()
    table.add_column("worst questions", no_wrap=True, ratio=3)
    table.add_column(str(measure), justify="right", no_wrap=True)
    table.add_column("references", no_wrap=True, ratio=2)
    for row in short[:WORST_SHOWN]:
        found = question(evaluation, row)
        ends = verdict_words(found)
        table.add_row(escape(one_line(found["query"])), shown(float(values[row])), escape(ends))
    console.print(table)
