"""What the numbers recommend, by rules that anyone can check against the same numbers.

Each rule looks at the summary and speaks or is silent; RULES lists them in the order in which they speak.
To add one, write a function that yields Recommendations and name it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tiny_graph_rag.errors import amount
from tiny_graph_rag.study.explanation import Explanation
from tiny_graph_rag.study.verdicts import Verdict

WORTH_SAYING = 0.02  # of recall: less is not worth anybody's afternoon
LINKING_GAIN = 0.05  # of recall@k, from gold seeds in place of linked ones
TIES_RANGE = 0.05  # between the worst and the best order of equals
WITHIN = 0.9  # share of what lies beyond the hops that the recommended hop count reaches

_REMEDY = {
    "in graph": "the gold set names what the graph lacks. `validate --fix-suggestions` proposes names that "
    "it has; add aliases, or the entities themselves",
    "reachable": "questions link to nothing, or to another component. Add the words that people use as "
    "aliases, or try another --linker",
    "past filters": "filter options keep references out; loosen them",
    "within hops": "references lie farther than --hops",
    "within depth": "references were reached but not returned; raise --depth",
    "room in k": "questions have more references than k; judge them at a larger --top-k",
    "recall@k": "references were retrieved but stand below k. Another --retriever or a vocabulary file may "
    "rank them higher, or a larger --top-k shows them",
}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """rule: which rule spoke. text: one or two sentences. evidence: the figures behind it."""

    rule: str
    text: str
    evidence: dict[str, float | str] = field(default_factory=dict)


def recommendations(found: Explanation) -> tuple[Recommendation, ...]:
    """In the order of RULES; empty where nothing is worth saying."""
    if not found.waterfall or math.isnan(found.waterfall[-1].recall):
        return ()
    return tuple(each for rule in RULES for each in rule(found))


def largest_loss(found: Explanation) -> Iterator[Recommendation]:
    """The step of the waterfall that loses most, and what would win it back."""
    worst = max(found.waterfall, key=lambda step: step.loss)
    if worst.loss >= WORTH_SAYING:
        yield Recommendation(
            "largest loss",
            f"Most is lost at the step '{worst.name}': {100 * worst.loss:.1f} of 100 points of recall. "
            f"There {_REMEDY[worst.name]}.",
            {"step": worst.name, "loss": worst.loss},
        )


def more_hops(found: Explanation) -> Iterator[Recommendation]:
    """The hop count that reaches nine tenths of what lies beyond the hops; a sweep tells what it costs."""
    diagnosis = found.diagnosis
    loss = next((step.loss for step in found.waterfall if step.name == "within hops"), 0.0)
    hops = np.sort(diagnosis.hops[diagnosis.verdicts == Verdict.BEYOND_HOPS])
    if loss >= WORTH_SAYING and len(hops):
        wanted = int(hops[math.ceil(WITHIN * len(hops)) - 1])
        share = float((hops <= wanted).mean())
        yield Recommendation(
            "more hops",
            f"{100 * loss:.1f} points lie beyond {amount(diagnosis.limits.hops or 0, 'hop')}; "
            f"{amount(wanted, 'hop')} would reach {100 * share:.0f} % of those references. More hops also "
            "bring more that is wrong: see what they cost with `sweep` before choosing.",
            {"loss": loss, "hops": wanted, "share": share},
        )


def better_linking(found: Explanation) -> Iterator[Recommendation]:
    """What the gold set's own seeds would give, over the questions that name them."""
    gold = found.gold_seeds
    if gold is None:
        return
    gain = gold.waterfall[-1].recall - gold.linked_waterfall[-1].recall
    if gain >= LINKING_GAIN:
        yield Recommendation(
            "better linking",
            f"From the gold set's own seeds recall@{found.diagnosis.cutoff} would be {gain:.3f} higher "
            f"({amount(gold.questions, 'question')}): work on linking (aliases, --linker) before ranking.",
            {"gain": gain, "seed_recall": gold.recall},
        )


def arbitrary_order(found: Explanation) -> Iterator[Recommendation]:
    """Ties that another order of equals would turn into another result."""
    spread = {str(each): best - worst for each, (worst, best) in found.ties.measures.items()}
    if not spread:
        return
    measure = max(spread, key=spread.__getitem__)
    if spread[measure] >= TIES_RANGE:
        yield Recommendation(
            "arbitrary order",
            f"The order of equals alone moves {measure} by up to {spread[measure]:.3f} "
            f"({100 * found.ties.rate:.0f} % of the questions have a tie at rank {found.ties.cutoff}). "
            "A retriever with finer scores would decide what names decide now.",
            {"measure": measure, "range": spread[measure], "rate": found.ties.rate},
        )


def untrue_hop_tags(found: Explanation) -> Iterator[Recommendation]:
    """Hop tags that say something else than the graph for a tenth of their questions or more."""
    for tag, each in found.hop_tags.items():
        if each.questions and each.differ / each.questions >= 1 - WITHIN:
            yield Recommendation(
                "untrue hop tag",
                f"The tag {tag} is not what the graph says for {each.differ:,} of {each.questions:,} "
                "questions: don't choose --hops by it.",
                {"tag": tag, "differ": each.differ, "questions": each.questions},
            )


RULES: tuple[Callable[[Explanation], Iterator[Recommendation]], ...] = (
    largest_loss,
    more_hops,
    better_linking,
    arbitrary_order,
    untrue_hop_tags,
)
