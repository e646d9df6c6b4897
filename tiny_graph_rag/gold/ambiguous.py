"""Which entity a returned name means, where several entities of the graph have it.

A gold set's own ambiguous names are filled by any of their entities (gold/resolve.py). A retriever that
returns such a name instead of an id has not said which one it found: `first` takes the first entity that has
the name, `any` a reference among them that the ranking doesn't hold yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING

from tiny_graph_rag.messages import said

if TYPE_CHECKING:  # a large TREC run is scored without a graph
    from tiny_graph_rag.gold.examples import Example
    from tiny_graph_rag.graph.names import NameIndex

FIRST, ANY = "first", "any"
READ_FIRST = (
    "ambiguous on this graph: {n} of the names in the run (such as {such}), each read as the first entity "
    "that has it; evaluation.ambiguous=any counts whichever of them is a reference"
)
READ_ANY = (
    "ambiguous on this graph: {n} of the names in the run (such as {such}), each read as whichever of its "
    "entities is a reference"
)


def meant(entities: Sequence[int], relevant: Set[int], used: Set[int]) -> int:
    """The one of a name's entities that counts.

    relevant: of the question, empty for `first`; used: those that its ranking holds already.
    """
    return next((entity for entity in entities if entity in relevant and entity not in used), entities[0])


def relevant_entities(how: str, examples: Iterable[Example], names: NameIndex) -> dict[str, frozenset[int]]:
    """Question id → the entities of its references; {} where `how` doesn't ask for them."""
    if how != ANY:
        return {}
    return {example.id: names.meant_by(example.relevant_entities) for example in examples}


def note(ambiguous: Iterable[str], how: str) -> list[str]:
    """How many names of a run were ambiguous, and how they were read; [] without one."""
    names = list(dict.fromkeys(ambiguous))
    if not names:
        return []
    such = ", ".join(names[:3])
    return [said(READ_ANY if how == ANY else READ_FIRST, n=f"{len(names):,}", such=such)]
