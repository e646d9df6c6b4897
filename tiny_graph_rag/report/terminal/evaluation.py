"""What `eval` prints: the means, where recall is lost and what that does not show, the worst questions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.measures.base import telling
from tiny_graph_rag.messages import counted, listed, signed, t, three
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.json.results import question
from tiny_graph_rag.report.plain import cut, one_line, waterfall_steps, without_controls
from tiny_graph_rag.report.tables import View, reference_lines, worst_rows
from tiny_graph_rag.report.terminal import CopiedLine, Shown, escape, summary_lines
from tiny_graph_rag.study.advice import NOT_RECOGNISED, recommendations
from tiny_graph_rag.study.gold_seeds import ASKED_AGAIN
from tiny_graph_rag.study.waterfall import RETURNED, ROOM, WITHIN_HOPS, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.study.advice import Advice
    from tiny_graph_rag.study.evaluate import Evaluation, Perturbed

    Json = Mapping[str, Any]


WORST_SHOWN = 5  # questions; the page lists them all
BAR = 18  # characters of a full bar: the whole table fits into a hundred columns
FEW_TIES = 0.01  # below this share of questions the order of equal scores changes nothing worth a line

MEANING = {
    "in graph": "not in the graph",
    "a seed linked": "question linked to no entity",
    "reachable": "no path from any seed",
    "past filters": "removed by a filter option",
    WITHIN_HOPS: "farther than --hops",
    RETURNED: "not found, by a path or otherwise",
    "above min-score": "below --min-score",
    "within depth": "below --depth",
    "in run": "not returned",
    ROOM: "more references than k",
    "recall@k": "ranked below k",
}


def evaluation_lines(
    evaluation: Evaluation,
    found: Json,
    width: int,
    command_for: Callable[[str], str] = lambda question: "",
) -> Iterator[Shown]:
    """The summary, then what explains it. found: `summary` of its results file. width: of the terminal, in
    columns. command_for: id of a question → the command that shows it."""
    yield from summary_lines(found, width)
    for limit, part in found.get("walks_cut", {}).get("limits", {}).items():
        yield t(
            "the search stopped early in {n} questions, after {hops} hops: the next hop would exceed "
            "{limit} ({most})",
            n=f"{part['questions']:,}",
            hops=", ".join(part["hops"]),
            limit=f"running.{limit}",
            most=f"{part['most']:,}",
        )
    advised = recommendations(evaluation.explanation, evaluation.trials)
    for advice in advised:
        if advice.rule == NOT_RECOGNISED:  # whatever is lost later may be lost by this
            yield f"\n{_spoken(advice)}\n"
    for kind, part in found.get("kinds", {}).items():
        title = {
            "relations": t("where recall of relations is lost"),
            "passages": t("where recall of passages is lost"),
        }[kind]
        yield from waterfall_lines(part, found["k"], title=title)
    if evaluation.judged.of("") is None:  # no entities were returned at all: nothing of theirs was lost
        return
    if waterfall_steps(found):
        yield from _explanation_lines(evaluation, found)
    thresholds = tables.no_answer(found)
    if thresholds is not None:
        yield replace(thresholds, title=t("no-answer questions: what --min-score would change"))
    yield from _worst_lines(evaluation, width, command_for)
    hops_tried = any(trial.flag.startswith("--hops") for trial in evaluation.trials)
    for advice in advised:
        if advice.rule == NOT_RECOGNISED or (advice.rule == "more hops" and hops_tried):
            continue  # said already; what was tried says more than what might be
        yield _spoken(advice)


def _spoken(advice: Advice) -> str:
    return f"[bold]{t(advice.rule)}[/bold]: {escape(without_controls(advice.shown))}"


def _explanation_lines(evaluation: Evaluation, found: Json) -> Iterator[Shown]:
    limits = evaluation.explanation.diagnosis.limits
    others = tables.other_seeds(found)
    yield from waterfall_lines(found, found["k"], hops=limits.hops if limits.walks else None, others=others)
    if limits.walks and not found["waterfall_names"]:
        yield t(
            "more than {n} questions: run `--linker names` and `--linker gold` to see the results "
            "with other seeds",
            n=f"{ASKED_AGAIN:,}",
        )
    gold = found["linking"]
    if gold:
        linking = t(
            "linking by name: seed precision {precision}, recall {recall} ({n} questions with seed_entities)",
            precision=three(gold["seed_precision"]),
            recall=three(gold["seed_recall"]),
            n=f"{gold['questions']:,}",
        )
        gained = ""
        if found["waterfall_gold_seeds"]:
            gain = found["waterfall_gold_seeds"][-1]["recall"] - gold["waterfall"][-1]["recall"]
            gained = t("with the gold seeds recall@{k} {gain}", k=found["k"], gain=signed(gain))
        yield "; ".join(part for part in (linking, gained) if part)
    for tag, part in found["hop_tags"].items():
        if part["differ"]:
            spread = ", ".join(f"{hops}: {count:,}" for hops, count in part["measured"].items())
            yield escape(
                t(
                    "tag {tag} doesn't match the graph in {differ} of {n} questions (measured hops → "
                    "questions: {spread})",
                    tag=tag,
                    differ=f"{part['differ']:,}",
                    n=f"{part['questions']:,}",
                    spread=spread,
                )
            )
    ties = found["ties"]
    if ties["rate"] is not None and ties["rate"] > FEW_TIES:
        spans = {name: (three(span["worst"]), three(span["best"])) for name, span in ties["measures"].items()}
        ranges = ", ".join(f"{name} {worst}–{best}" for name, (worst, best) in spans.items() if worst != best)
        values = {"k": ties["k"], "share": f"{ties['rate']:.1%}", "ranges": ranges}
        yield (
            t(
                "ties at rank {k}: {share} of the questions; another order of equal scores could give "
                "{ranges}",
                **values,
            )
            if ranges
            else t(
                "ties at rank {k}: {share} of the questions; another order of equal scores would change "
                "every mean by less than .001",
                **values,
            )
        )


def waterfall_lines(
    found: Json,
    cutoff: int,
    *,
    hops: int | None = None,
    others: Sequence[tuple[str, Sequence[Json]]] = (),
    title: str = "",
) -> Iterator[Shown]:
    """The table of reports, with a bar and what each step loses; nothing where no question has a reference.

    found: with `waterfall`. Where there is little room the bar goes first: it says what the figure next to it
    says.
    """
    steps = waterfall_steps(found)
    if not steps:
        return
    view = tables.waterfall(steps, cutoff, hops, others)
    head = (*view.head[:3], *view.head[4:])  # the bar says what the fourth column counts
    last, rows = len(head), []
    for step, line in zip(steps, view.rows, strict=True):
        left, before = round(BAR * step["recall"]), round(BAR * (step["recall"] + step["loss"]))
        cells = (*line[:3], *line[4:])
        rows.append((*cells, ("█" * left + "░" * (before - left)).ljust(BAR), t(MEANING[step["step"]])))
    yield View(
        (*head, "", ""),
        tuple(rows),
        (0, last, last + 1),
        title or t("where recall is lost"),
        spare={last: 2, last + 1: 1},
        whole=(0, last, last + 1),
    )


def _worst_lines(evaluation: Evaluation, width: int, command_for: Callable[[str], str]) -> Iterator[Shown]:
    """How many questions score 0, and the worst of each kind of loss, by the measure that tells it."""
    measure = telling(list(evaluation.scores))
    if measure is None:
        return
    values = evaluation.scores[measure]
    worst = _spread_over_losses(evaluation, measure)[:WORST_SHOWN]
    if not worst:
        return
    zero, scored = int((values == 0).sum()), int((~np.isnan(values)).sum())
    yield ""
    yield counted(
        zero,
        "{n} of {all} questions scores 0 ({measure}). The worst, by kind of loss:",
        "{n} of {all} questions score 0 ({measure}). The worst, by kind of loss:",
        all=f"{scored:,}",
        measure=measure,
    )
    for row in worst:
        found = question(evaluation, row)
        head = f" {three(float(values[row]))}  {one_line(found['id'], 60)}  "
        yield f"{escape(head)}{escape(cut(one_line(found['query']), width - len(head)))}"
        for line in reference_lines(found, evaluation.explanation.diagnosis.limits.hops):
            yield f"        {escape(cut(line, width - 8))}"
        told = command_for(found["id"])
        if told:
            yield CopiedLine(f"        [dim]{escape(told)}[/dim]")
    yield ""


def _spread_over_losses(evaluation: Evaluation, measure: Measure) -> list[int]:
    """The worst questions; a question's kind of loss is the first place where a reference of it was lost."""
    values, found = evaluation.scores[measure], evaluation.explanation.diagnosis
    lost = np.full(len(values), int(Verdict.HIT))
    np.minimum.at(lost, found.questions, found.verdicts)
    return worst_rows(values.tolist(), lost.tolist(), int(Verdict.HIT))


BROKEN_SHOWN = 3  # questions of a kind; the results file has them all


def perturbed_lines(found: Sequence[Perturbed]) -> Iterator[Shown]:
    """What each kind of altered question cost, with the first questions that broke."""
    rows = []
    for perturbed in found:
        for place, (measure, drop) in enumerate(perturbed.measures.items()):
            ends = "–" if math.isnan(drop.low) else f"{signed(drop.low)} … {signed(drop.high)}"
            cells = (str(measure), three(drop.mean), signed(drop.drop), ends, f"{drop.n:,}")
            rows.append(("" if place else perturbed.kind, *cells))
    head = (t("questions changed by"), t("measure"), t("mean"), t("drop"), t("95 % interval"), "n")
    yield View(head, tuple(rows), (0, 1), whole=(2, 3, 4, 5))
    for perturbed in found:
        values = {
            "kind": perturbed.kind,
            "n": f"{perturbed.altered:,}",
            "broken": f"{len(perturbed.broken):,}",
            "ids": listed([question for question, _ in perturbed.broken], BROKEN_SHOWN),
        }
        yield escape(
            t("{kind}: {n} questions changed, {broken} failed because of it ({ids})", **values)
            if perturbed.broken
            else t("{kind}: {n} questions changed, none failed because of it", **values)
        )
