"""What answering a gold set gives, and what it took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tiny_graph_rag.llm.base import PURPOSES, Purpose
from tiny_graph_rag.llm.cost import Spent, total


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's answer.

    error: why there is none, None otherwise. citations: entity rows that the cited facts speak of, in order
    of citation; cited: the facts' numbers. scores: name → value, NaN where undefined. verdicts: what the
    judge said, by judge. unjudged: the scores that are the worst there is because no verdict could be had or
    read. facts, context_tokens, left_out: the context that was sent.
    """

    text: str
    error: str | None
    abstained: bool = False
    cited: tuple[int, ...] = ()
    citations: tuple[int, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    verdicts: dict[str, Any] = field(default_factory=dict)
    unjudged: frozenset[str] = frozenset()
    spent: dict[Purpose, Spent] = field(default_factory=dict)
    facts: int = 0
    context_tokens: int = 0
    left_out: bool = False

    @property
    def total(self) -> Spent:
        return total(self.spent.values())


LEAST_KAPPA = 0.4  # "fair" agreement ends here: Landis & Koch (1977)


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The judge of retrieval against the gold set: Cohen's κ over n graded entities."""

    kappa: float
    n: int

    @property
    def is_weak(self) -> bool:
        """Whether the judge's means say little: κ is below LEAST_KAPPA."""
        return self.kappa < LEAST_KAPPA


@dataclass(frozen=True, slots=True)
class Flips:
    """Verdicts that changed when answer and ground truth changed places, of n asked in both orders."""

    flipped: int
    n: int


@dataclass(frozen=True, slots=True)
class Answers:
    """One answer a question, in order. complete: False where --max-cost left questions unasked.

    notes: what counted the tokens and which prices were used, with their dates, for people.
    """

    rows: tuple[Answer, ...]
    complete: bool = True
    notes: tuple[str, ...] = ()
    agreement: JudgeAgreement | None = None
    flips: Flips | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def failed(self) -> int:
        return sum(row.error is not None for row in self.rows)

    def spent(self, rows: Iterable[int] | None = None) -> dict[Purpose, Spent]:
        """By purpose, over all questions or the given ones."""
        chosen = self.rows if rows is None else [self.rows[row] for row in rows]
        return {purpose: total(item.spent.get(purpose, Spent()) for item in chosen) for purpose in PURPOSES}
