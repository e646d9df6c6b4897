"""A measure is a value: it parses from text, prints back, compares, and knows its definition.

To add a measure, write one function under `@measure(…)` in a module of this folder, or in another package
with an entry point in the group `tiny_graph_rag.measures`. The contract tests, the `measures` command and
docs/measures.md pick it up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError, unknown, wrong_value
from tiny_graph_rag.measures.judged import ENTITIES, PASSAGES, RELATIONS, Judged
from tiny_graph_rag.registry import Registry

Column = NDArray[np.float64]
Compute = Callable[[Judged, int | None], Column]
CutoffUse = Literal["required", "optional", "none"]


class MeasureKind(Struct, frozen=True):
    """A measure without its cutoff. compute: (judged, cutoff or None) → (questions,) float64.

    low, high: its range; the worst end is what a question counts that failed or that the run lacks. weight:
    of each question where the mean pools counts (micro averages), else None. needs_graph: whether it looks
    at relations. times: whether it is a time, which only what was
    answered has: a failed question is undefined, and counted next to the mean.
    """

    name: str
    compute: Compute
    definition: str
    source: str
    cutoff: CutoffUse = "required"
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    weight: Compute | None = None
    needs_graph: bool = False
    times: bool = False

    @property
    def best(self) -> float:
        return self.high if self.higher_is_better else self.low

    @property
    def worst(self) -> float:
        return self.low if self.higher_is_better else self.high


KINDS: Registry[MeasureKind] = Registry(
    "measure",
    "tiny_graph_rag.measures",
    {
        "precision": "ranking:precision",
        "recall": "ranking:recall",
        "f1": "ranking:f1",
        "set_precision": "ranking:set_precision",
        "hit": "ranking:hit",
        "all_hit": "ranking:all_hit",
        "mrr": "ranking:reciprocal_rank",
        "rprec": "ranking:r_precision",
        "bpref": "ranking:bpref",
        "map": "ranking:average_precision",
        "map_hits": "ranking:average_precision_over_hits",
        "contest_map": "ranking:contest_average_precision",
        "rbp": "ranking:rank_biased_precision",
        "ndcg": "ranking:ndcg",
        "ndcg_exp": "ranking:ndcg_exponential",
        "err": "ranking:expected_reciprocal_rank",
        "ndcg_retrieved": "ranking:ndcg_of_the_retrieved",
        "micro_precision": "sets:micro_precision",
        "micro_recall": "sets:micro_recall",
        "micro_f1": "sets:micro_f1",
        "set_f1": "sets:set_f1",
        "judged_bad": "sets:judged_bad",
        "no_answer_accuracy": "sets:no_answer_accuracy",
        "context_relevance": "coverage:context_relevance",
        "context_completeness": "coverage:context_completeness",
        "completeness": "coverage:completeness",
        "relation_recall": "coverage:relation_recall",
        "relation_precision": "coverage:relation_precision",
        "path_completeness": "coverage:path_completeness",
        "latency": "sets:latency",
    },
)


def measure(name: str, *, source: str, **fields: Any) -> Callable[[Compute], Compute]:
    """Register a measure; its definition is the first paragraph of its docstring. fields: others of
    MeasureKind.

    Raises ValueError for one without a worst value: no mean could take a question that failed.
    """

    def made(compute: Compute) -> MeasureKind:
        paragraph = (compute.__doc__ or "").strip().split("\n\n")[0]
        kind = MeasureKind(name, compute, " ".join(paragraph.split()), source, **fields)
        if not kind.times and not math.isfinite(kind.worst):
            raise wrong_value(
                "measure {name} needs a finite `{end}`: what a failed question counts",
                name=repr(name),
                end="low" if kind.higher_is_better else "high",
            )
        return kind

    return KINDS.register(name, "", made)


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """`ndcg@5`, `mrr`: a kind with its cutoff, if it takes one.

    of: what is judged: "" for entities, else `relations` or `passages`, as in `passages:recall@5`.
    """

    name: str
    cutoff: int | None = None
    of: str = ""

    def __str__(self) -> str:
        spelled = self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"
        return f"{self.of}:{spelled}" if self.of else spelled

    @property
    def kind(self) -> MeasureKind:
        return KINDS[self.name]

    @property
    def sign(self) -> float:
        """What makes a value higher where it is better: 1.0, or -1.0."""
        return 1.0 if self.kind.higher_is_better else -1.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Its range; infinite where it has no end."""
        return self.kind.low, self.kind.high

    @property
    def span(self) -> float:
        """How far apart two of its values can be."""
        return self.kind.high - self.kind.low

    def compute(self, judged: Judged) -> Column:
        """One value a question, NaN where the gold set leaves the measure undefined for it.

        A question that failed or that the run lacks has the worst value, whatever an empty list would have.
        """
        values = self._of(self.kind.compute, judged)
        if self.kind.times or judged.answered.all():
            return values
        return np.where(judged.answered | np.isnan(values), values, self.kind.worst)

    def weight(self, judged: Judged) -> Column | None:
        """How much each question weighs in a mean that pools counts, None where all weigh the same."""
        return None if self.kind.weight is None else self._of(self.kind.weight, judged)

    def _of(self, compute: Compute, judged: Judged) -> Column:
        of = judged.of(self.of)
        if of is None:  # nothing of what is judged was returned for any question
            return np.full(len(judged), np.nan)
        return compute(of, self.cutoff)

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Raises UsageError for an unknown name (and the nearest), a cutoff that doesn't fit."""
        shown = text.strip()
        of, colon, rest = shown.lower().partition(":")
        if colon and of.strip() in (ENTITIES, RELATIONS, PASSAGES):
            measure = cls.parse(rest)
            if of.strip() == ENTITIES:
                return measure
            if measure.of or measure.kind.needs_graph:
                raise UsageError(
                    "measure {shown}: {name} is not a measure of a ranking; leave out {of}",
                    shown=repr(shown),
                    name=str(measure),
                    of=repr(f"{of}:"),
                )
            return replace(measure, of=of.strip())
        name, at, cutoff = _TREC_EVAL.sub(r"\1@\2", shown.lower()).partition("@")
        name = name.strip()
        name = name if name in KINDS else OTHER_NAMES.get(name, name)
        if name not in KINDS:
            choices = {key: KINDS[key] for key in sorted(KINDS)}
            wanted = {
                key: key if choice.cutoff == "none" else f"{key}{at}{cutoff}"
                for key, choice in choices.items()
            }
            raise unknown("measure", shown, list(choices), near=name, spelled=wanted)
        kind = KINDS[name]
        if not at:
            if kind.cutoff == "required":
                raise UsageError(
                    "measure {shown} needs a cutoff, such as {example}",
                    shown=repr(shown),
                    example=f"{shown}@5",
                )
            return cls(name)
        if kind.cutoff == "none":
            raise UsageError(
                "measure {name} takes no cutoff, got {shown}", name=repr(name), shown=repr(shown)
            )
        if not re.fullmatch(r"[0-9]{1,9}", cutoff) or int(cutoff) < 1:
            raise UsageError("the cutoff of {shown} must be from 1 to 999,999,999", shown=repr(shown))
        return cls(name, int(cutoff))


# What trec_eval, ir_measures and papers call a measure → its name here. Names compare without regard to case.
OTHER_NAMES = {
    "p": "precision",
    "r": "recall",
    "f": "f1",
    "ap": "map",
    "map_cut": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "ndcg_cut": "ndcg",
    "success": "hit",
    "hits": "hit",
    "r-prec": "rprec",
}
_TREC_EVAL = re.compile(r"^(p|recall|map_cut|ndcg_cut|success)_([0-9]+)$")  # P_10 is P@10

# Each run of letters is looked at once: a text of 30,000 is no measure, and no reason to stand still.
_SEVERAL_CUTOFFS = re.compile(r"(?<![^,@{}])([^,@{}]++)@\{([^{}]*+)\}")


def parse_measures(text: str) -> tuple[Measure, ...]:
    """`"ndcg@5,f1@{1,3,5},mrr"` → measures in that order, each once."""
    expanded = _SEVERAL_CUTOFFS.sub(
        lambda found: ",".join(f"{found[1]}@{k.strip()}" for k in found[2].split(",")), text.lower()
    )
    if "{" in expanded or "}" in expanded:
        raise UsageError(
            "measures {text}: write several cutoffs in braces, as in {example}",
            text=repr(text),
            example="recall@{1,3,5}",
        )
    names = [name for name in expanded.split(",") if name.strip()]
    if not names:
        raise UsageError("no measure given; write a list such as ndcg@5,recall@{1,3,5},mrr")
    return tuple(dict.fromkeys(Measure.parse(name) for name in names))


def measures_of(given: str | Iterable[Measure | str]) -> tuple[Measure, ...]:
    """Of a text as `parse_measures` reads it, or one by one."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return parse_measures(str(given))
    return tuple(measure if isinstance(measure, Measure) else Measure.parse(measure) for measure in given)


def default_measures(cutoff: int, of: str = "") -> tuple[Measure, ...]:
    """The four that `eval` reports by default, of entities or of another kind."""
    named = (("precision", cutoff), ("recall", cutoff), ("mrr", None), ("ndcg", cutoff))
    return tuple(Measure(name, at, of) for name, at in named)


def telling(measures: Sequence[Measure], cutoff: int | None = None) -> Measure | None:
    """The one that says how well a question went: nDCG, else the first that rises to 1; None without any.

    cutoff: of several cutoffs the one to take; without it, or where it is not among them, the largest.
    """
    rising = [measure for measure in measures if measure.kind.higher_is_better and measure.kind.high == 1]
    first = next((measure for measure in rising if measure.name.startswith("ndcg")), None)
    first = first or (rising[0] if rising else None)
    if first is None:
        return None
    others = [one for one in rising if replace(one, cutoff=None) == replace(first, cutoff=None)]
    return max(others, key=lambda one: (one.cutoff == cutoff, one.cutoff is None, one.cutoff or 0))


def score(judged: Judged, measures: Iterable[Measure]) -> dict[Measure, Column]:
    """Every measure's column. A question without gold is NaN; one that failed has the worst value."""
    return {measure: measure.compute(judged) for measure in measures}


def weights(judged: Judged, measures: Iterable[Measure]) -> dict[Measure, Column]:
    """For the measures whose mean pools counts, how much each question weighs in it."""
    found = {measure: measure.weight(judged) for measure in measures}
    return {key: column for key, column in found.items() if column is not None}


def defined(judged: Judged, values: NDArray[np.float64]) -> Column:
    """NaN where a question has no relevant entity."""
    return np.where(judged.relevant > 0, values, np.nan)


def divided(numerator: NDArray[Any], denominator: NDArray[Any]) -> Column:
    """Row by row, 0 where the denominator is 0."""
    out: Column = np.zeros(len(numerator), dtype=np.float64)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out


def hits(judged: Judged, cutoff: int | None) -> Column:
    """Relevant entities among the first k."""
    found: Column = (judged.grades[:, :cutoff] > 0).sum(axis=1).astype(np.float64)
    return found


def found_items(judged: Judged, cutoff: int | None) -> Column:
    """Relevant items that the first k find: as many as relevant entities, unless a text contains several."""
    if judged.found is None:
        return hits(judged, cutoff)
    found: Column = judged.found[:, :cutoff].sum(axis=1).astype(np.float64)
    return found


def returned(judged: Judged, cutoff: int | None) -> Column:
    """Entities that the list really has among its first k."""
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    return np.asarray(length, dtype=np.float64)


def added_up(values: NDArray[np.float64]) -> Column:
    """Row sums, added rank by rank, so that they don't depend on how the machine splits a sum."""
    if not values.shape[1]:
        return np.zeros(len(values))
    return np.asarray(np.add.accumulate(values, axis=1)[:, -1])
