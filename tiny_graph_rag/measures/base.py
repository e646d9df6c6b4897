"""A measure is a value: it parses from text, prints back, compares, and knows its definition.

To add a measure, write one function under `@measure(…)` in a module that `measures/__init__.py` imports. The
contract tests, the `measures` command and docs/measures.md pick it up from the registry.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.measures.judged import Judged

Column = NDArray[np.float64]
Compute = Callable[[Judged, int | None], Column]
CutoffUse = Literal["required", "optional", "none"]
Need = Literal["", "types", "sources", "graph"]


@dataclass(frozen=True, slots=True)
class MeasureKind:
    """A measure without its cutoff. compute: (judged, cutoff or None) → (questions,) float64.

    low, high: its range. weight: of each question where the mean pools counts (micro averages), else None.
    needs: what it must know beyond ranks and grades, "" for nothing. ceiling: the best that each question
    allows, where that is less than `high`. scores_no_gold: whether it says something of questions without
    gold.
    """

    name: str
    compute: Compute
    cutoff: CutoffUse
    low: float
    high: float
    higher_is_better: bool
    definition: str
    source: str
    weight: Compute | None = None
    needs: Need = ""
    ceiling: Compute | None = None
    scores_no_gold: bool = False


KINDS: dict[str, MeasureKind] = {}


def measure(
    name: str,
    *,
    source: str,
    cutoff: CutoffUse = "required",
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    weight: Compute | None = None,
    needs: Need = "",
    ceiling: Compute | None = None,
    scores_no_gold: bool = False,
) -> Callable[[Compute], Compute]:
    """Register a measure; its definition is the first paragraph of its docstring."""

    def register(compute: Compute) -> Compute:
        paragraph = (compute.__doc__ or "").strip().split("\n\n")[0]
        KINDS[name] = MeasureKind(
            name,
            compute,
            cutoff,
            low,
            high,
            higher_is_better,
            " ".join(paragraph.split()),
            source,
            weight,
            needs,
            ceiling,
            scores_no_gold,
        )
        return compute

    return register


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """`ndcg@5`, `mrr`: a kind with its cutoff, if it takes one."""

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def kind(self) -> MeasureKind:
        return KINDS[self.name]

    @property
    def bounds(self) -> tuple[float, float]:
        """Its range; infinite where it has no end."""
        return self.kind.low, self.kind.high

    def compute(self, judged: Judged) -> Column:
        """One value a question, NaN where the question has no reference and the measure is undefined."""
        return self.kind.compute(judged, self.cutoff)

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Raises UsageError for an unknown name (with the nearest) or a cutoff that doesn't fit."""
        name, at, cutoff = text.strip().lower().partition("@")
        kind = KINDS.get(name)
        if kind is None:
            choices = sorted(KINDS)
            wanted = {
                each: f"{each}{at}{cutoff}" if KINDS[each].cutoff != "none" else each for each in choices
            }
            hint = nearest(name, choices, spelled=wanted) or "."
            raise UsageError(f"unknown measure {text.strip()!r}{hint} Choices: {', '.join(choices)}")
        if not at:
            if kind.cutoff == "required":
                raise UsageError(f"measure {name!r} needs a cutoff, such as {name}@5")
            return cls(name)
        if kind.cutoff == "none":
            raise UsageError(f"measure {name!r} takes no cutoff, got {text.strip()!r}")
        if not re.fullmatch(r"[0-9]{1,9}", cutoff) or int(cutoff) < 1:
            raise UsageError(f"the cutoff of {text.strip()!r} must be a whole number from 1 up")
        return cls(name, int(cutoff))


def parse_measures(text: str) -> tuple[Measure, ...]:
    """`"ndcg@5,recall@{1,3,5},mrr"` → measures in that order, each once."""
    expanded = re.sub(
        r"([a-z_]+)@\{([0-9,\s]*)\}",
        lambda found: ",".join(f"{found[1]}@{k.strip()}" for k in found[2].split(",")),
        text.lower(),
    )
    names = [name for name in expanded.split(",") if name.strip()]
    if not names:
        raise UsageError("no measure named; wanted a list such as ndcg@5,recall@{1,3,5},mrr")
    return tuple(dict.fromkeys(Measure.parse(name) for name in names))


def default_measures(cutoff: int) -> tuple[Measure, ...]:
    """The four that `eval` reports unless told otherwise."""
    return (Measure("precision", cutoff), Measure("recall", cutoff), Measure("mrr"), Measure("ndcg", cutoff))


def score(judged: Judged, measures: Iterable[Measure]) -> dict[Measure, Column]:
    """Every measure's column. A question without gold is NaN; one without retrieval has its 0."""
    return {each: each.compute(judged) for each in measures}


def ceilings(judged: Judged, measures: Iterable[Measure]) -> dict[Measure, Column]:
    """For the measures that a question may keep below their range: the best that each question allows."""
    return {
        each: each.kind.ceiling(judged, each.cutoff) for each in measures if each.kind.ceiling is not None
    }


def weights(judged: Judged, measures: Iterable[Measure]) -> dict[Measure, Column]:
    """For the measures whose mean pools counts, how much each question weighs in it."""
    return {each: each.kind.weight(judged, each.cutoff) for each in measures if each.kind.weight is not None}


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


def returned(judged: Judged, cutoff: int | None) -> Column:
    """Entities that the list really has among its first k."""
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    return np.asarray(length, dtype=np.float64)


def within_cutoff(judged: Judged, cutoff: int | None) -> Column:
    """Relevant entities that the first k have room for."""
    room = judged.relevant if cutoff is None else np.minimum(judged.relevant, cutoff)
    return np.asarray(room, dtype=np.float64)


def added_up(values: NDArray[np.float64]) -> Column:
    """Row sums, added rank by rank, so that they don't depend on how the machine splits a sum."""
    if not values.shape[1]:
        return np.zeros(len(values))
    return np.asarray(np.add.accumulate(values, axis=1)[:, -1])
