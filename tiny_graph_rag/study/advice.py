"""Recommendations, by rules that anyone can check against the same numbers.

Each rule looks at the summary and speaks or is silent; RULES lists them in the order in which they speak.
To add one, write a function that yields Recommendations and name it there. What a flag would change is not
guessed but tried: `fixing.asking.trials` does that, `tried` tells of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiny_graph_rag.config.sections import MOST_HOPS
from tiny_graph_rag.messages import Said, figure, said, shown, t
from tiny_graph_rag.study.explanation import Explanation
from tiny_graph_rag.study.waterfall import RETURNED, WITHIN_HOPS

WORTH_SAYING = 0.02  # of recall: less is not worth anybody's afternoon
LINKING_GAIN = 0.05  # of recall@k, from gold seeds in place of linked ones
TIES_RANGE = 0.05  # between the worst and the best order of equal scores
SURE = 0.05  # of the p of a trial
WITHIN = 0.9  # share of what lies beyond the hops that the recommended hop count reaches

LARGEST_LOSS = "Most is lost at the step '{step}': {points} of 100 points of recall. {remedy}"
REMEDY = {
    "in graph": "These references are not in the graph. `validate --fix-suggestions` proposes names that "
    "are; otherwise add aliases or the missing entities.",
    "a seed linked": "No entity was recognised in these questions. Add the words that people use as "
    "aliases to the graph, or try --fuzzy 0.85 for misspelt names.",
    "reachable": "No path leads from the seeds to these references. Check that the questions link to the "
    "right entities, and that the graph has the relations between them.",
    "past filters": "Filter options remove these references; loosen them.",
    WITHIN_HOPS: "These references are farther from the seeds than --hops.",
    RETURNED: "These references were found neither by a path within --hops nor by the retriever's "
    "other parts.",
    "above min-score": "These references were reached, but score below --min-score; lower it.",
    "within depth": "These references were reached but not returned; raise --depth.",
    "in run": "The retriever did not return these references at all: ask it for longer lists, and check "
    "that it uses the graph's names.",
    "room in k": "These questions have more references than k; use a larger --top-k.",
    "recall@k": "These references were retrieved but ranked below k. Another --retriever or a vocabulary "
    "file may rank them higher; a larger --top-k includes them.",
}
# Of a retriever that walks no relations, one of the user's own among them.
RANKED_BY_ITSELF = "These references were retrieved but ranked below k. A larger --top-k includes them."
UNWALKED = {"recall@k": RANKED_BY_ITSELF}
MORE_HOPS = (
    "{points} points are lost with references beyond --hops {hops}; --hops {wanted} would reach {share} "
    "% of them. More hops also reach more wrong entities: check the effect with `sweep` before choosing."
)
BETTER_LINKING = (
    "With the gold set's own seeds, {measure} would be {gain} higher ({n} questions): improve linking "
    "(aliases, --linker) before ranking."
)
ARBITRARY_ORDER = (
    "Ties alone can change {measure} by up to {range} ({share} % of the questions have a tie at rank "
    "{k}). Ties are broken by name; a retriever with finer scores would avoid this."
)
NOT_RECOGNISED = "names not recognised"
NOT_LINKED = (
    "{n} of {of} questions: no entity recognised by name (seeds found by text for {by_text} of them). "
    "{nearest}Add the words that people use as aliases to the graph, try --fuzzy 0.85 for misspelt "
    "names, or check whether the question names an entity of the graph at all."
)
UNTRUE_HOP_TAG = (
    "The tag {tag} doesn't match the graph in {differ} of {n} questions: don't choose --hops by it."
)
TRIED_ALL = (
    "`{flag}` raises {measure} over all questions ({measured}) from {whole_before} to {whole_after}: {won} "
    "better, {lost} worse. On the questions that lose references here ({n}), from "
    "{before} to {after}. `fix` shows whether that holds on other questions."
)
TAKES = "CPU time per question: ×{times}."
TRIED_UNSURE = (
    "`{flag}` may help: {measure} over all questions ({measured}) goes from {whole_before} to "
    "{whole_after} ({won} better, {lost} worse), but this may be chance (p {p})."
)
TRIED_IN_VAIN = (
    "`{flag}` doesn't reduce this loss: {measure} of the questions concerned ({n}) goes from {before} to "
    "{after}."
)
UNTRIED = (
    "`{flag}` may help the questions in which no entity was recognised ({losers}), but it needs the "
    "extra `{extra}`. Install it with `uv sync --inexact --extra {extra}`."
)
TRIED_AT_A_PRICE = (
    "`{flag}` is not worth it: {measure} of the questions that lose references here ({n}) rises from "
    "{before} to {after}, but over all questions ({measured}) it goes from {whole_before} to "
    "{whole_after}: {won} better, {lost} worse."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One flag tried. verdict: the loss that it was tried against.

    losers: questions that lose references to it; questions: of these, those that were asked again. before,
    after: mean of the measure over them; whole_before, whole_after: over all questions of the gold set, of a
    large one over a sample of `measured`; None where it could not be tried. won, lost: of all questions,
    those that went better, worse. seconds: CPU time a question as a multiple of today's. p: of the
    difference over all questions. needs: the extra without which it could not be tried, "" where it was.
    settings: what the flag stands for.
    """

    flag: str
    verdict: str
    measure: str
    losers: int
    questions: int
    won: int
    lost: int
    before: float = math.nan
    after: float = math.nan
    whole_before: float | None = None
    whole_after: float | None = None
    needs: str = ""
    measured: int = 0
    p: float = math.nan
    higher_is_better: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = math.nan

    @property
    def gain(self) -> float:
        """Over all questions, a gain for the better; -inf where they were not asked."""
        if self.whole_before is None or self.whole_after is None:
            return -math.inf
        change = self.whole_after - self.whole_before
        return change if self.higher_is_better else -change


@dataclass(frozen=True, slots=True)
class Advice:
    """rule: which rule spoke. text: one or two sentences. evidence: the figures behind it. seconds: of a
    setting that was tried, its CPU time a question as a multiple of today's; no run has the same, so it
    stands with the results' other times and not in the text."""

    rule: str
    text: Said
    evidence: dict[str, float | str | None] = field(default_factory=dict)
    seconds: float = math.nan

    @property
    def shown(self) -> str:
        """In the language spoken, with the time that it takes."""
        took = "" if math.isnan(self.seconds) else f" {t(TAKES, times=figure(self.seconds, 2))}"
        return shown(self.text) + took


def recommendations(found: Explanation, tried: Sequence[Trial] = ()) -> tuple[Advice, ...]:
    """In the order of RULES, then what trials showed; empty where nothing is worth saying."""
    if not found.waterfall or math.isnan(found.waterfall[-1].recall):
        return ()
    spoken = [finding for rule in RULES for finding in rule(found)]
    return (*spoken, *(finding for trial in tried for finding in of_trial(trial)))


def not_recognised(found: Explanation) -> Iterator[Advice]:
    """Questions whose names no entity has: the first thing to mend."""
    unlinked = found.unlinked
    if unlinked is None:
        return
    near = "; ".join(f'{one.id} "{one.words}": {one.name}?' for one in unlinked.nearest)
    yield Advice(
        NOT_RECOGNISED,
        said(
            NOT_LINKED,
            n=f"{unlinked.questions:,}",
            of=f"{unlinked.of:,}",
            by_text=f"{unlinked.by_text:,}",
            nearest=f"{near}. " if near else "",
        ),
        {"questions": unlinked.questions, "of": unlinked.of, "by_text": unlinked.by_text},
    )


def largest_loss(found: Explanation) -> Iterator[Advice]:
    """The step of the waterfall that loses most, and what would win it back."""
    worst = max(found.waterfall, key=lambda step: step.loss)
    if worst.loss >= WORTH_SAYING:
        remedies = REMEDY if found.diagnosis.limits.walks else REMEDY | UNWALKED
        # As tables have it.
        step = f"recall@{found.diagnosis.cutoff}" if worst.name == "recall@k" else said(worst.name)
        yield Advice(
            "largest loss",
            said(
                LARGEST_LOSS,
                step=step,
                points=f"{100 * worst.loss:.1f}",
                remedy=said(remedies[worst.name]),
            ),
            {"step": worst.name, "loss": worst.loss},
        )


def hops_wanted(found: Explanation) -> tuple[int, float, float] | None:
    """(hops, share, loss): the hop count that reaches nine tenths of what lies beyond the hops, the share of
    it that they reach, the recall that is lost there. None where too little is lost. What a hybrid ranked
    below k without a path is lost there too. What walks that a limit ended did not come to is left out, and
    what lies farther than --hops may be: more hops would bring none of it."""
    diagnosis = found.diagnosis
    farther = (diagnosis.hops > (diagnosis.limits.hops or 0)) & (diagnosis.hops <= MOST_HOPS)
    lost = diagnosis.beyond_hops & farther
    relevant = np.bincount(diagnosis.questions)
    loss = float((1 / relevant[diagnosis.questions[lost]]).sum() / max((relevant > 0).sum(), 1))
    hops = np.sort(diagnosis.hops[lost])
    if not loss >= WORTH_SAYING:
        return None
    wanted = int(hops[math.ceil(WITHIN * len(hops)) - 1])
    return wanted, float((hops <= wanted).mean()), loss


def more_hops(found: Explanation) -> Iterator[Advice]:
    """The hop count that reaches nine tenths of what lies beyond the hops; a sweep tells what it costs."""
    found_hops = hops_wanted(found)
    if found_hops is not None:
        wanted, share, loss = found_hops
        yield Advice(
            "more hops",
            said(
                MORE_HOPS,
                points=f"{100 * loss:.1f}",
                hops=str(found.diagnosis.limits.hops or 0),
                wanted=str(wanted),
                share=f"{100 * share:.0f}",
            ),
            {"loss": loss, "hops": wanted, "share": share},
        )


def better_linking(found: Explanation) -> Iterator[Advice]:
    """What the gold set's own seeds would give, over the questions that name them."""
    gold = found.gold_seeds
    if gold is None or not gold.waterfall:
        return
    gain = gold.waterfall[-1].recall - gold.linked_waterfall[-1].recall
    if gain >= LINKING_GAIN:
        yield Advice(
            "better linking",
            said(
                BETTER_LINKING,
                measure=f"recall@{found.diagnosis.cutoff}",
                gain=f"{gain:.3f}",
                n=f"{gold.questions:,}",
            ),
            {"gain": gain, "seed_recall": gold.recall},
        )


def arbitrary_order(found: Explanation) -> Iterator[Advice]:
    """Ties that another order of equal scores would turn into another result."""
    each_range = ((str(name), best - worst) for name, (worst, best) in found.ties.measures.items())
    spread = {measure: range_ for measure, range_ in each_range if not math.isnan(range_)}
    if not spread:
        return
    measure = max(spread, key=spread.__getitem__)
    if spread[measure] >= TIES_RANGE:
        yield Advice(
            "arbitrary order",
            said(
                ARBITRARY_ORDER,
                measure=measure,
                range=f"{spread[measure]:.3f}",
                share=f"{100 * found.ties.rate:.0f}",
                k=str(found.ties.cutoff),
            ),
            {"measure": measure, "range": spread[measure], "rate": found.ties.rate},
        )


def untrue_hop_tags(found: Explanation) -> Iterator[Advice]:
    """Hop tags that say something else than the graph for a tenth of their questions or more."""
    for tag, slice_ in found.hop_tags.items():
        if slice_.questions and slice_.differ / slice_.questions >= 1 - WITHIN:
            yield Advice(
                "wrong hop tag",
                said(UNTRUE_HOP_TAG, tag=tag, differ=f"{slice_.differ:,}", n=f"{slice_.questions:,}"),
                {"tag": tag, "differ": slice_.differ, "questions": slice_.questions},
            )


RULES: tuple[Callable[[Explanation], Iterator[Advice]], ...] = (
    not_recognised,
    largest_loss,
    more_hops,
    better_linking,
    arbitrary_order,
    untrue_hop_tags,
)


def of_trial(trial: Trial) -> Iterator[Advice]:
    """What trying a flag showed over all questions; silent about a flag that brings nothing, but for hops."""
    if trial.needs:
        yield Advice(
            "not tried",
            said(UNTRIED, flag=trial.flag, losers=f"{trial.losers:,}", extra=trial.needs),
            {"flag": trial.flag, "verdict": trial.verdict, "losers": trial.losers, "extra": trial.needs},
        )
        return
    is_hops = trial.flag.startswith("--hops")  # hops were advised by the distances already
    if trial.gain >= WORTH_SAYING:
        told = TRIED_ALL if trial.p < SURE else TRIED_UNSURE
    elif is_hops and trial.whole_before is not None and trial.gain < 0:
        told = TRIED_AT_A_PRICE
    elif is_hops:
        told = TRIED_IN_VAIN
    else:
        return
    figures = {
        "before": trial.before,
        "after": trial.after,
        "whole_before": trial.whole_before,
        "whole_after": trial.whole_after,
    }
    yield Advice(
        "tried",
        said(
            told,
            flag=trial.flag,
            measure=trial.measure,
            n=f"{trial.questions:,}",
            losers=f"{trial.losers:,}",
            won=f"{trial.won:,}",
            lost=f"{trial.lost:,}",
            measured=f"{trial.measured:,}",
            p="–" if math.isnan(trial.p) else f"{trial.p:.3f}",
            **{name: "–" if value is None else f"{value:.3f}" for name, value in figures.items()},
        ),
        {
            "flag": trial.flag,
            "verdict": trial.verdict,
            "measure": trial.measure,
            "questions": trial.questions,
            "won": trial.won,
            "lost": trial.lost,
            "measured": trial.measured,
            "p": trial.p,
            **figures,
        },
        trial.seconds,
    )
