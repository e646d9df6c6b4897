"""What `eval` prints: the means, where recall is lost and what that does not show, the worst questions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.errors import amount
from tiny_graph_rag.report.json.results import question
from tiny_graph_rag.report.plain import one_line, verdict_words
from tiny_graph_rag.report.terminal import Console, Table, escape
from tiny_graph_rag.report.terminal.summary import print_summary, shown
from tiny_graph_rag.study.advice import recommendations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiny_graph_rag.study.evaluate import Evaluation, Perturbed
    from tiny_graph_rag.study.explanation import Explanation
    from tiny_graph_rag.study.verdicts import Step


REFERENCES_WIDTH = 16  # of a verdict and its number
WORST_SHOWN = 5  # questions; the page lists them all
BAR, SHORT_BAR = 24, 10  # characters of a full bar; the short one where the terminal is narrow
ROOMY = 100  # columns from which the meaning of each step is written beside it
FEW_TIES = 0.01  # below this share of questions the order of equals changes nothing worth a line

_MEANING = {
    "in graph": "names that no entity bears",
    "reachable": "no seed, or another component",
    "past filters": "kept out by a filter option",
    "within hops": "farther than --hops",
    "within depth": "below --depth",
    "room in k": "more references than k",
    "recall@k": "ranked below k",
}


def print_evaluation(evaluation: Evaluation, console: Console) -> None:
    """The summary, then what explains it."""
    print_summary(evaluation.summary, console)
    _print_explanation(evaluation.explanation, console)
    _print_worst(evaluation, console)
    for advice in recommendations(evaluation.explanation):
        console.print(f"[bold]{advice.rule}[/bold]: {escape(advice.text)}")


def _print_explanation(found: Explanation, console: Console) -> None:
    if any(math.isnan(step.recall) for step in found.waterfall):
        return
    gold = found.gold_seeds
    console.print(
        _waterfall(found.waterfall, found.diagnosis.cutoff, gold.waterfall if gold else (), console.width)
    )
    if gold:
        gained = gold.waterfall[-1].recall - gold.linked_waterfall[-1].recall
        console.print(
            f"linking: seed precision {shown(gold.precision)}, recall {shown(gold.recall)} "
            f"({amount(gold.questions, 'question')} with seed_entities); from the gold seeds "
            f"recall@{found.diagnosis.cutoff} {gained:+.3f}"
        )
    for tag, each in found.hop_tags.items():
        if each.differ:
            spread = ", ".join(f"{hops}: {count:,}" for hops, count in each.measured.items())
            console.print(
                f"tag {tag}: the farthest reference lies elsewhere in {each.differ:,} of "
                f"{each.questions:,} questions (hops measured → questions: {spread})"
            )
    if found.ties.rate > FEW_TIES:
        ranges = ", ".join(
            f"{each} {shown(worst)}–{shown(best)}"
            for each, (worst, best) in found.ties.measures.items()
            if shown(worst) != shown(best)
        )
        could = f"could give {ranges}" if ranges else "would move no mean by as much as .001"
        console.print(
            f"ties at rank {found.ties.cutoff}: {found.ties.rate:.1%} of the questions; "
            f"another order of equals {could}"
        )


def _waterfall(steps: Sequence[Step], cutoff: int, gold: Sequence[Step], width: int) -> Table:
    full = BAR if width >= ROOMY - BAR else SHORT_BAR
    table = Table()
    table.add_column("where recall is lost")
    table.add_column("points", justify="right")
    table.add_column("left", justify="right")
    table.add_column("", no_wrap=True, min_width=full)
    if gold:
        table.add_column("gold seeds", justify="right")
    if width >= ROOMY:
        table.add_column("")
    by_name = {step.name: step for step in gold}
    for step in steps:
        name = step.name.replace("@k", f"@{cutoff}").replace(" k", f" {cutoff}")
        kept, before = round(full * step.recall), round(full * (step.recall + step.loss))
        bar = "█" * kept + "░" * (before - kept)
        other = [shown(by_name[step.name].recall) if step.name in by_name else ""] if gold else []
        lost = f"−{100 * step.loss:.1f}" if step.loss > 0 else "0"
        meaning = [_MEANING[step.name]] if width >= ROOMY else []
        table.add_row(name, lost, shown(step.recall), bar, *other, *meaning)
    return table


def _print_worst(evaluation: Evaluation, console: Console) -> None:
    """The questions with the lowest nDCG (else the first measure), and what became of their references."""
    measures = list(evaluation.scores)
    measure = next((each for each in measures if str(each).startswith("ndcg")), measures[0])
    values = evaluation.scores[measure]
    short = [row for row in np.argsort(values, kind="stable").tolist() if values[row] < 1]
    if not short:
        return
    table = Table()
    table.add_column("worst questions")
    table.add_column(str(measure), justify="right", no_wrap=True)
    table.add_column("references", min_width=REFERENCES_WIDTH)
    for row in short[:WORST_SHOWN]:
        found = question(evaluation, row)
        ends = verdict_words(found)
        table.add_row(escape(one_line(found["query"])), shown(float(values[row])), escape(one_line(ends)))
    console.print(table)


BROKEN_SHOWN = 3  # questions of a kind; the results file has them all


def print_perturbed(found: Sequence[Perturbed], console: Console) -> None:
    """What each kind of altered question cost, with the first questions that broke."""
    table = Table()
    for name in ("asked again with", "measure"):
        table.add_column(name)
    for name in ("mean", "drop", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        for place, (measure, drop) in enumerate(each.measures.items()):
            ends = "–" if math.isnan(drop.low) else f"{drop.low:+.3f} … {drop.high:+.3f}"
            drops = "–" if math.isnan(drop.drop) else f"{drop.drop:+.3f}"
            row = (str(measure), shown(drop.mean), drops, ends, f"{drop.n:,}")
            table.add_row("" if place else each.kind, *row)
    console.print(table)
    for each in found:
        more = ", …" if len(each.broken) > BROKEN_SHOWN else ""
        listed = ", ".join(question for question, _ in each.broken[:BROKEN_SHOWN]) + more
        said = f"{len(each.broken):,} broke ({listed})" if each.broken else "none broke"
        console.print(
            escape(f"{each.kind}: {amount(each.altered, 'question')} altered, {said}"), soft_wrap=True
        )
