"""What some measures need beyond ranks and grades: types, sources, and the subgraph around a ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiny_graph_rag.language.folding import fold

if TYPE_CHECKING:
    from tiny_graph_rag.graph.names import NameIndex


@dataclass(frozen=True, slots=True)
class RelationReference:
    """A reference relationship: the entities that its ends can mean, and its type folded ("" is any)."""

    sources: frozenset[int]
    targets: frozenset[int]
    type: str

    @classmethod
    def of(cls, source: str, target: str, type: str, names: NameIndex) -> RelationReference:
        return cls(frozenset(names.resolve(source)[0]), frozenset(names.resolve(target)[0]), fold(type))


@dataclass(frozen=True, slots=True)
class RetrievedContext:
    """One question's retrieved subgraph: its seeds, the returned entities, and every relation with both ends
    among them.

    returned: the ranked list. added: what of it is no seed. relevant: entities that can fill a reference.
    filled: how many relevant items seeds and list fill together, one entity one item. relations: rows of the
    graph. held: of each reference relationship, the relations that are it.
    """

    seeds: frozenset[int]
    returned: frozenset[int]
    added: frozenset[int]
    relevant: frozenset[int]
    filled: int
    relations: tuple[int, ...]
    references: tuple[RelationReference, ...]
    held: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """type_of, sources_of: of a row of the run's table, None where nobody knows. expected_types: of each
    question, folded. context: of a question, None without a graph.
    """

    expected_types: Sequence[frozenset[str]] = ()
    type_of: Callable[[int], str] | None = None
    sources_of: Callable[[int], Sequence[str]] | None = None
    context: Callable[[int], RetrievedContext] | None = None
