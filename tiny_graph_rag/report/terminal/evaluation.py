"""What `eval` prints: the means, where recall is lost and what that does not show, the worst questions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.columns.arrays import distinct
from tiny_graph_rag.gold.nearest import joined_names
from tiny_graph_rag.measures.base import telling
from tiny_graph_rag.messages import counted, t
from tiny_graph_rag.report.json.explained import walks_cut
from tiny_graph_rag.report.json.results import question
from tiny_graph_rag.report.plain import (
    TRIED_SHOWN,
    gold_beside,
    one_line,
    points_lost,
    step_words,
    without_controls,
)
from tiny_graph_rag.report.terminal import Console, Table, cut, escape
from tiny_graph_rag.report.terminal.summary import print_summary, shown
from tiny_graph_rag.report.worst import worst_rows
from tiny_graph_rag.study.advice import NOT_RECOGNISED, recommendations
from tiny_graph_rag.study.gold_seeds import ASKED_AGAIN
from tiny_graph_rag.study.waterfall import RETURNED, ROOM, WITHIN_HOPS, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.study.advice import Advice
    from tiny_graph_rag.study.evaluate import Evaluation, Perturbed
    from tiny_graph_rag.study.explanation import Explanation
    from tiny_graph_rag.study.no_answer import NoAnswer
    from tiny_graph_rag.study.waterfall import Step


WORST_SHOWN = 5  # questions; the page lists them all
REFERENCES_SHOWN = 3  # missed ones of a question
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

MEANING_OF_KINDS = {
    "in graph": "not in the graph",
    "a seed linked": "question linked to no entity",
    "reachable": "no path from any seed",
    WITHIN_HOPS: "farther than --hops",
    "in run": "not returned",
    "recall@k": "ranked below k",
}


def print_evaluation(
    evaluation: Evaluation, console: Console, command_for: Callable[[str], str] = lambda question: ""
) -> None:
    """The summary, then what explains it. command_for: id of a question → the command that shows it."""
    print_summary(evaluation.summary, console)
    for limit, part in walks_cut(evaluation).get("walks_cut", {}).get("limits", {}).items():
        console.print(
            t(
                "the search stopped early in {n} questions, after {hops} hops: the next hop would exceed "
                "{limit} ({most})",
                n=f"{part['questions']:,}",
                hops=", ".join(part["hops"]),
                limit=f"running.{limit}",
                most=f"{part['most']:,}",
            )
        )
    advised = recommendations(evaluation.explanation, evaluation.trials)
    for advice in advised:
        if advice.rule == NOT_RECOGNISED:  # whatever is lost later may be lost by this
            console.print(f"\n{_spoken(advice)}\n")
    for judged_kind in evaluation.kinds:
        if not any(math.isnan(step.recall) for step in judged_kind.waterfall):
            title = {
                "relations": t("where recall of relations is lost"),
                "passages": t("where recall of passages is lost"),
            }[judged_kind.kind]
            cutoff = evaluation.config.evaluation.top_k
            console.print(
                waterfall_table(judged_kind.waterfall, cutoff, title=title, meaning=MEANING_OF_KINDS)
            )
    if evaluation.judged.of("") is None:  # no entities were returned at all: nothing of theirs was lost
        return
    _print_explanation(evaluation.explanation, console)
    _print_no_answer(evaluation.explanation.no_answer, console)
    _print_worst(evaluation, console, command_for)
    hops_tried = any(trial.flag.startswith("--hops") for trial in evaluation.trials)
    for advice in advised:
        if advice.rule == NOT_RECOGNISED or (advice.rule == "more hops" and hops_tried):
            continue  # said already; what was tried says more than what might be
        console.print(_spoken(advice))


def _spoken(advice: Advice) -> str:
    return f"[bold]{t(advice.rule)}[/bold]: {escape(without_controls(advice.shown))}"


def _print_explanation(found: Explanation, console: Console) -> None:
    if any(math.isnan(step.recall) for step in found.waterfall):
        return
    gold = found.gold_seeds
    scored = len(distinct(found.diagnosis.questions)[0])
    beside = gold if gold and gold_beside(gold.questions, scored) else None
    limits = found.diagnosis.limits
    console.print(
        waterfall_table(
            found.waterfall,
            found.diagnosis.cutoff,
            hops=limits.hops if limits.walks else None,
            names=found.waterfall_names,
            gold=beside.waterfall if beside else (),
            gold_questions=beside.questions if beside and beside.questions < scored else None,
        )
    )
    if limits.walks and not found.waterfall_names:
        console.print(
            t(
                "more than {n} questions: run `--linker names` and `--linker gold` to see the results "
                "with other seeds",
                n=f"{ASKED_AGAIN:,}",
            )
        )
    if gold:
        linking = t(
            "linking by name: seed precision {precision}, recall {recall} ({n} questions with seed_entities)",
            precision=shown(gold.precision),
            recall=shown(gold.recall),
            n=f"{gold.questions:,}",
        )
        gained = ""
        if gold.waterfall:
            gain = gold.waterfall[-1].recall - gold.linked_waterfall[-1].recall
            gained = t("with the gold seeds recall@{k} {gain}", k=found.diagnosis.cutoff, gain=f"{gain:+.3f}")
        console.print("; ".join(part for part in (linking, gained) if part))
    for tag, slice_ in found.hop_tags.items():
        if slice_.differ:
            spread = ", ".join(f"{hops}: {count:,}" for hops, count in slice_.measured.items())
            console.print(
                escape(
                    t(
                        "tag {tag} doesn't match the graph in {differ} of {n} questions (measured hops → "
                        "questions: {spread})",
                        tag=tag,
                        differ=f"{slice_.differ:,}",
                        n=f"{slice_.questions:,}",
                        spread=spread,
                    )
                )
            )
    if found.ties.rate > FEW_TIES:
        ranges = ", ".join(
            f"{measure} {shown(worst)}–{shown(best)}"
            for measure, (worst, best) in found.ties.measures.items()
            if shown(worst) != shown(best)
        )
        values = {"k": found.ties.cutoff, "share": f"{found.ties.rate:.1%}", "ranges": ranges}
        console.print(
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


def _print_no_answer(found: NoAnswer | None, console: Console) -> None:
    """What a least score would change for questions without an answer; nothing where it would change none."""
    if found is None or len(found.thresholds) < 2:
        return
    table = Table(title=t("no-answer questions: what --min-score would change"))
    for name in ("--min-score", t("no-answer questions that return nothing"), f"recall@{found.cutoff}"):
        table.add_column(name, justify="right")
    table.add_column(t("questions with a reference that return nothing"), justify="right", spare=1)
    for threshold in found.thresholds:
        table.add_row(
            f"{threshold.min_score:g}",
            f"{threshold.left_empty:,} / {found.questions:,}",
            shown(threshold.recall),
            f"{threshold.emptied:,}",
        )
    console.print(table)


def waterfall_table(
    steps: Sequence[Step],
    cutoff: int,
    *,
    hops: int | None = None,
    names: Sequence[Step] = (),
    gold: Sequence[Step] = (),
    gold_questions: int | None = None,
    title: str = "",
    meaning: Mapping[str, str] = MEANING,
) -> Table:
    """names, gold: the same from other seeds. gold_questions: over how many `gold` speaks, where that is not
    all. title, meaning: of what is lost, where that is not entities.

    Where there is little room the bar goes first: it says what the figure next to it says."""
    table = Table(title=title or t("where recall is lost"))
    table.add_column("", no_wrap=True)
    table.add_column(t("points"), justify="right", no_wrap=True)
    if names:
        table.add_column(t("by names alone"), justify="right")
    table.add_column(t("as run") if names or gold else t("left"), justify="right", no_wrap=True)
    if gold:
        n = "" if gold_questions is None else f" (n {gold_questions:,})"
        table.add_column(t("gold seeds") + n, justify="right")
    table.add_column("", no_wrap=True, min_width=BAR, spare=2)
    table.add_column("", no_wrap=True, spare=1)
    recalls = [{step.name: step.recall for step in column} for column in (names, gold)]
    before = 1.0
    for step in steps:
        kept, gone = round(BAR * step.recall), round(BAR * (step.recall + step.loss))
        bar = "█" * kept + "░" * (gone - kept)
        by_names, from_gold = ([shown(column.get(step.name, before))] if column else [] for column in recalls)
        name = step_words(step.name, cutoff, hops)
        means = t(meaning[step.name])
        table.add_row(name, points_lost(step.loss), *by_names, shown(step.recall), *from_gold, bar, means)
        before = step.recall
    return table


def _print_worst(evaluation: Evaluation, console: Console, command_for: Callable[[str], str]) -> None:
    """How many questions score 0, and the worst of each kind of loss, by the measure that tells it."""
    measure = telling(list(evaluation.scores))
    if measure is None:
        return
    values = evaluation.scores[measure]
    worst = _spread_over_losses(evaluation, measure)[:WORST_SHOWN]
    if not worst:
        return
    zero, scored = int((values == 0).sum()), int((~np.isnan(values)).sum())
    console.print("")
    console.print(
        counted(
            zero,
            "{n} of {all} questions scores 0 ({measure}). The worst, by kind of loss:",
            "{n} of {all} questions score 0 ({measure}). The worst, by kind of loss:",
            all=f"{scored:,}",
            measure=measure,
        )
    )
    for row in worst:
        found = question(evaluation, row)
        head = f" {shown(float(values[row]))}  {one_line(found['id'], 60)}  "
        console.print(f"{escape(head)}{escape(cut(one_line(found['query']), console.width - len(head)))}")
        for line in _ends(found, evaluation.explanation.diagnosis.limits.hops):
            console.print(f"        {escape(cut(line, console.width - 8))}")
        told = command_for(found["id"])
        if told:
            console.print(f"        [dim]{escape(told)}[/dim]", soft_wrap=True)
    console.print("")


def _spread_over_losses(evaluation: Evaluation, measure: Measure) -> list[int]:
    """The worst questions; a question's kind of loss is the first place where a reference of it was lost."""
    values, found = evaluation.scores[measure], evaluation.explanation.diagnosis
    lost = np.full(len(values), int(Verdict.HIT))
    np.minimum.at(lost, found.questions, found.verdicts)
    return worst_rows(values.tolist(), lost.tolist(), int(Verdict.HIT))


def _ends(found: dict[str, Any], hops: int | None) -> Iterator[str]:
    """A line a reference that was missed: what stood in its way, with its figure."""
    missed = [reference for reference in found["references"] if reference["verdict"] != "hit"]
    for reference in missed[:REFERENCES_SHOWN]:
        yield f"{one_line(reference['name'], 40)}: {end_words(reference, hops)}"
    if len(missed) > REFERENCES_SHOWN:
        yield t("… and {n} more", n=len(missed) - REFERENCES_SHOWN)
    if not found["references"]:
        yield t("should return nothing, but returned entities")
    elif not missed:
        ranks = sorted(reference["rank"] for reference in found["references"] if reference["rank"])
        yield t("every reference was found: rank {ranks}", ranks=", ".join(map(str, ranks)))


def end_words(reference: dict[str, Any], hops: int | None = None) -> str:
    """What became of a reference, with the figure that tells how far off it is. hops: that were walked."""
    verdict, rank, hop = reference["verdict"], reference.get("rank"), reference.get("hop")
    if verdict == "beyond_hops" and hop:
        return t("needs {n} hops", n=hop)
    if verdict == "ranked_below_k" and rank and hop and hops is not None and hop > hops:
        return t("at rank {n}, found without a path; needs {hops} hops", n=rank, hops=hop)
    if verdict == "ranked_below_k" and rank:
        return t("at rank {n}", n=rank)
    if verdict == "no_seed":
        tried = reference.get("tried") or ()
        if tried:
            more = ", …" if len(tried) > TRIED_SHOWN else ""
            return t(
                "no entity of the question was recognised; looked for: {words}",
                words=", ".join(tried[:TRIED_SHOWN]) + more,
            )
        return t("no entity of the question was recognised")
    if verdict == "not_in_graph":
        near = reference.get("nearest") or ()
        if joined := joined_names(reference["name"], near):
            return t("several names in one; put ';' between them: {names}", names="; ".join(joined))
        if near:
            return t("not in the graph; nearest names: {names}", names=", ".join(near[:3]))
    return t(END_WORDS.get(verdict, verdict.replace("_", " ")))


END_WORDS = {
    "hit": "hit",
    "below_depth": "reached, but not among the --depth entities returned",
    "not_in_run": "not returned by the retriever",
    "filtered": "removed by a filter option",
    "unreachable": "no path from any seed",
    "below_min_score": "reached, but its score is below --min-score",
    "beyond_hops": "farther than --hops",
    "ranked_below_k": "ranked below k",
    "not_in_graph": "not in the graph",
}


BROKEN_SHOWN = 3  # questions of a kind; the results file has them all


def print_perturbed(found: Sequence[Perturbed], console: Console) -> None:
    """What each kind of altered question cost, with the first questions that broke."""
    table = Table()
    for name in (t("questions changed by"), t("measure")):
        table.add_column(name)
    for name in (t("mean"), t("drop"), t("95 % interval"), "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for perturbed in found:
        for place, (measure, drop) in enumerate(perturbed.measures.items()):
            ends = "–" if math.isnan(drop.low) else f"{drop.low:+.3f} … {drop.high:+.3f}"
            drops = "–" if math.isnan(drop.drop) else f"{drop.drop:+.3f}"
            row = (str(measure), shown(drop.mean), drops, ends, f"{drop.n:,}")
            table.add_row("" if place else perturbed.kind, *row)
    console.print(table)
    for perturbed in found:
        more = ", …" if len(perturbed.broken) > BROKEN_SHOWN else ""
        listed = ", ".join(question for question, _ in perturbed.broken[:BROKEN_SHOWN]) + more
        values = {
            "kind": perturbed.kind,
            "n": f"{perturbed.altered:,}",
            "broken": f"{len(perturbed.broken):,}",
            "ids": listed,
        }
        console.print(
            escape(
                t("{kind}: {n} questions changed, {broken} failed because of it ({ids})", **values)
                if perturbed.broken
                else t("{kind}: {n} questions changed, none failed because of it", **values)
            ),
            soft_wrap=True,
        )
