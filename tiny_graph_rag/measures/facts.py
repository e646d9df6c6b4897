"""What some measures need beyond ranks and grades: types, sources, and the subgraph around a ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiny_graph_rag.language.folding import fold

if TYPE_CHECKING:
    from tiny_graph_rag.run import Relation

Ends = Callable[[str], frozenset[int]]
"""What an end of a relation means: the entities that its name can be."""


@dataclass(frozen=True, slots=True)
class RelationReference:
    """A relation, expected or returned: the entities that its ends can mean, its type folded ("" is any)."""

    sources: frozenset[int]
    targets: frozenset[int]
    type: str

    @classmethod
    def of(cls, relation: Relation, ends: Ends) -> RelationReference:
        return cls(ends(relation.source), ends(relation.target), fold(relation.type))

    def is_met_by(self, returned: RelationReference) -> bool:
        """Whether a returned relation is this reference: the same ends and type. One that came without a type
        says nothing of a direction either: its ends decide, either way round."""
        if self.sources & returned.sources and self.targets & returned.targets:
            return not self.type or not returned.type or self.type == returned.type
        turned = self.sources & returned.targets and self.targets & returned.sources
        return not returned.type and bool(turned)


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """What one question retrieved, held against what the gold set expects.

    seeds: that it started from. entities: that were retrieved. relevant: entities that can fill a reference.
    filled: how many relevant items the retrieved entities fill together, one entity one item.
    """

    seeds: frozenset[int]
    entities: frozenset[int]
    relevant: frozenset[int]
    filled: int


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """type_of, sources_of: of a row of the run's table, None where nobody knows. expected_types: of each
    question, folded. context: of a question, None without a graph.
    """

    expected_types: Sequence[frozenset[str]] = ()
    type_of: Callable[[int], str] | None = None
    sources_of: Callable[[int], Sequence[str]] | None = None
    context: Callable[[int], RetrievedContext] | None = None
