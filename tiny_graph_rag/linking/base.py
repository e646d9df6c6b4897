"""What linking gives: the entities that a question speaks of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tiny_graph_rag.gold.examples import Example

if TYPE_CHECKING:
    from tiny_graph_rag.llm.cost import Spent


@dataclass(frozen=True, slots=True)
class Seed:
    """An entity that a question names, and why we think so.

    mention: the words of the question (or of an earlier turn). start, end: their characters in the question,
    None where the question itself holds no mention. rule: which rule linked them. weight: in (0, 1], the
    entity's share when several bear the name.
    """

    entity: int
    mention: str
    start: int | None
    end: int | None
    rule: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question with its seeds, in the order in which the text names them. id: the example's.

    error: why it could not be linked; such a question has failed, which is not the same as naming nothing.
    spent: what linking it took, None for linkers that ask no model. tried: where there are no seeds, the
    words or names that were looked for in the graph.
    """

    text: str
    seeds: tuple[Seed, ...] = ()
    id: str = ""
    error: str | None = None
    spent: Spent | None = None
    tried: tuple[str, ...] = ()


class Linker(ABC):
    """Finds seeds. Made once for a graph and its options."""

    name: ClassVar[str]

    def check(self, examples: Sequence[Example]) -> None:  # noqa: B027 - most linkers can link anything
        """Raise before anything is linked where the questions lack what this linker needs."""

    def prepare(self, examples: Sequence[Example]) -> None:  # noqa: B027 - most linkers have nothing to do
        """Do together, and outside all timing, what `link` would otherwise wait for question by question."""

    @abstractmethod
    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        """One linked question an example, in order."""


def in_text_order(seeds: Sequence[Seed]) -> tuple[Seed, ...]:
    """Seeds by where they stand in the question, those without a place first; otherwise as they came."""
    return tuple(sorted(seeds, key=lambda seed: -1 if seed.start is None else seed.start))
