"""Recommendations, by rules that anyone can check against the same numbers.

Each rule looks at the summary and speaks or is silent; RULES lists them in the order in which they speak.
To add one, write a function that yields Advice and name it there. What a flag would change is not guessed but
tried: `study.settings` does that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec import Struct

from tiny_graph_rag.messages import Said, said, verbatim
from tiny_graph_rag.results import Decision
from tiny_graph_rag.study.explanation import Explanation
from tiny_graph_rag.study.waterfall import NAMED, RETURNED, ROOM, WITHIN_HOPS

WORTH_SAYING = 0.02  # of recall: less is not worth anybody's afternoon
LINKING_GAIN = 0.05  # of recall@k, from gold seeds in place of linked ones

LARGEST_LOSS = "Most is lost at the step '{step}': {points} of 100 points of recall. {remedy}"
REMEDY = {
    "in graph": "These references are not in the graph. `validate --fix-suggestions` proposes names that "
    "are; otherwise add aliases or the missing entities.",
    NAMED: "What these questions name was not recognised. Add the words that people use as "
    "aliases to the graph.",
    "reachable": "No path leads from the seeds to these references. Check that the questions link to the "
    "right entities, and that the graph has the relations between them.",
    "past filters": "Filter options remove these references; loosen them.",
    WITHIN_HOPS: "These references are farther than --hops from the entities that the questions name.",
    RETURNED: "These references were found neither by a path within --hops nor by the retriever's "
    "other parts.",
    "above min-score": "These references were reached, but score below retrieval.min_score; lower it.",
    "within depth": "These references were reached but not returned; raise retrieval.depth.",
    "in run": "The retriever did not return these references at all: ask it for longer lists, and check "
    "that it uses the graph's names.",
    ROOM: "These questions have more references than ranks; use a larger --top-k.",
    "recall@k": "These references were retrieved but ranked below --top-k. A vocabulary file may rank them "
    "higher; a larger --top-k includes them.",
}
# Of a retriever that walks no relations, one of the user's own among them.
RANKED_BY_ITSELF = "These references were retrieved but ranked below --top-k. A larger --top-k includes them."
UNWALKED = {"recall@k": RANKED_BY_ITSELF}
BETTER_LINKING = (
    "With the gold set's own seeds, {measure} would be {gain} higher ({n} questions): improve linking "
    "(aliases, --linker) before ranking."
)
TEXT_SEEDS = (
    "Seeds found by text raise {measure} by {gain}: from the gold set's own seeds alone it would be that "
    "much lower ({n} questions)."
)
NOT_RECOGNISED = "names not recognised"
NOT_LINKED = (
    "{n} of {of} questions: no entity recognised by name (seeds found by text for {by_text} of them). "
    "Add the words that people use as aliases to the graph, or check whether the question "
    "names an entity of the graph at all."
)


class Advice(Struct, frozen=True):
    """rule: which rule spoke. text: one or two sentences. evidence: the figures behind it."""

    rule: str
    text: Said
    evidence: dict[str, float | str | None] = {}


def recommendations(explained: Explanation, decision: Decision | None = None) -> tuple[Advice, ...]:
    """In the order of RULES, then what trying settings showed; empty where nothing is worth saying."""
    if not explained.waterfall or math.isnan(explained.waterfall[-1].recall):
        return ()
    spoken = [advice for rule in RULES for advice in rule(explained)]
    return (*spoken, *_decided(decision))


def _decided(decision: Decision | None) -> Iterator[Advice]:
    """The recommended setting, where it isn't today's; too few questions, where they are."""
    if decision is None:
        return
    record = None if decision.recommended is None else decision.tried[decision.recommended]
    if decision.best == 0 if record is None else not record.settings:
        return  # nothing better than today's, whose place is the first
    evidence: dict[str, float | str | None] = {"measure": decision.measure, "questions": decision.questions}
    if record is not None:
        figures = {name: getattr(record, name) for name in ("change", "better", "worse", "p")}
        evidence |= {"flag": record.label, **figures, "certain": "yes" if decision.certain else "no"}
    yield Advice("tried", verbatim(decision.reason), evidence)


def not_recognised(found: Explanation) -> Iterator[Advice]:
    """Questions whose names no entity has: the first thing to mend."""
    unlinked = found.unlinked
    if unlinked is None:
        return
    yield Advice(
        NOT_RECOGNISED,
        said(
            NOT_LINKED,
            n=f"{unlinked.questions:,}",
            of=f"{unlinked.of:,}",
            by_text=f"{unlinked.by_text:,}",
        ),
        {"questions": unlinked.questions, "of": unlinked.of, "by_text": unlinked.by_text},
    )


def largest_loss(found: Explanation) -> Iterator[Advice]:
    """The step that loses most, and what would win it back."""
    worst = max(found.waterfall, key=lambda step: step.loss)
    if worst.loss >= WORTH_SAYING:
        remedies = REMEDY if found.diagnosis.limits.walks else REMEDY | UNWALKED
        # As tables have it.
        step = f"recall@{found.diagnosis.cutoff}" if worst.step == "recall@k" else said(worst.step)
        yield Advice(
            "largest loss",
            said(
                LARGEST_LOSS, step=step, points=f"{100 * worst.loss:.1f}", remedy=said(remedies[worst.step])
            ),
            {"step": worst.step, "loss": worst.loss},
        )


def better_linking(found: Explanation) -> Iterator[Advice]:
    """What the gold set's own seeds would give, over the questions that name them."""
    gold = found.gold_seeds
    if gold is None or not gold.from_gold:
        return
    gain = gold.from_gold[-1].recall - gold.waterfall[-1].recall
    if abs(gain) >= LINKING_GAIN:
        yield Advice(
            "better linking" if gain > 0 else "seeds by text",
            said(
                BETTER_LINKING if gain > 0 else TEXT_SEEDS,
                measure=f"recall@{found.diagnosis.cutoff}",
                gain=f"{abs(gain):.3f}",
                n=f"{gold.questions:,}",
            ),
            {"gain": gain, "seed_recall": gold.seed_recall},
        )


RULES: tuple[Callable[[Explanation], Iterator[Advice]], ...] = (
    not_recognised,
    largest_loss,
    better_linking,
)
