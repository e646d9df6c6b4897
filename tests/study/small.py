"""Small graphs, gold and seeds straight from numbers, for tests of what comes after loading."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tiny_graph_rag.gold.resolve import Judgments, Reference
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking import LinkedQuestion, Seed

MOST = 9  # entities of a random graph: enough for three components with walks in them


def graph_of(entities: int, edges: Sequence[tuple[int, int]]) -> KnowledgeGraph:
    """Entities are called e0, e1, …; relations run from the first to the second of a pair."""
    records = {f"e{row}": {"name": f"e{row}"} for row in range(entities)}
    relations = [{"source_entity_id": f"e{one}", "target_entity_id": f"e{other}"} for one, other in edges]
    return KnowledgeGraph.from_records(records, relations)


def linked(*seeds: Sequence[int]) -> list[LinkedQuestion]:
    return [
        LinkedQuestion("?", tuple(Seed(entity, f"e{entity}", None, None, "name") for entity in seed))
        for seed in seeds
    ]


def judgments_of(universe: int, *questions: Sequence[Sequence[int]]) -> Judgments:
    """Each reference is the set of entities that bear its name; none: not in the graph."""
    rows = []
    for question in questions:
        items: dict[object, int] = {}
        row = []
        for place, bearers in enumerate(question):
            meaning: object = tuple(sorted(bearers)) or ("unresolved", place)
            item = items.setdefault(meaning, len(items))
            row.append(Reference(f"n{place}", 1, tuple(sorted(bearers)), "name" if bearers else None, item))
        rows.append(tuple(row))
    return Judgments.of(rows, universe)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]], list[list[int]], list[list[list[int]]]]:
    """(entities, edges, seeds of each question, references of each question as bearers)."""
    entities = draw(st.integers(1, MOST))
    one = st.integers(0, entities - 1)
    edges = draw(st.lists(st.tuples(one, one), max_size=12))
    questions = draw(st.integers(1, 3))
    seeds = [draw(st.lists(one, max_size=2, unique=True)) for _ in range(questions)]
    bearers = st.lists(one, max_size=2, unique=True)
    references = [draw(st.lists(bearers, max_size=4)) for _ in range(questions)]
    return entities, edges, seeds, references
