"""Entities that have another name than before: in an older version of the graph, or in the gold set.

An entity of the older graph is still there where the newer one has its name, as a name or an alias. It was
renamed where both graphs say so (the same id under ids that stayed the same, an alias that became the name)
or where the two names are one by strict rules. Likeness alone renamed 13 names on four real gold sets, 6 of
them correctly: a name that is merely similar is another thing as often as not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tiny_graph_rag.fixing.merges import WRITING, asked_about
from tiny_graph_rag.fixing.patch import Rename
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.name_forms import Difference, core_of, differences
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import Near
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.messages import t

STABLE_IDS = 0.9  # share of the ids in both graphs whose names are the same, from which on ids mean something
FEWEST_IDS = 5  # ids in both graphs before they can
FIELDS = ("reference_entities", "highly_relevant_entities")
NOTE = "suggested_renames"


def propose_renames(graph: KnowledgeGraph, older: KnowledgeGraph, questions: EvalSet) -> list[Rename]:
    """The older names of entities that the questions speak of, in the order of the older graph."""
    asked = asked_about(older, questions)
    return [
        Rename(
            entity_id=graph.entities.ids[entity],
            alias=older.entities.names[row],
            name=graph.entities.names[entity],
            evidence=(why,),
            questions=tuple(asked[row]),
        )
        for row, (entity, why) in sorted(renamed(graph, older).items())
        if row in asked
    ]


def renamed(graph: KnowledgeGraph, older: KnowledgeGraph) -> dict[int, tuple[int, str]]:
    """Older row → the entity of a new name that it was renamed to, and why."""
    names, were, rows = NameIndex.of(graph), NameIndex.of(older), graph.row_of_id
    resolved = names.resolve_all(older.entities.names)
    there = {row: resolved[name][0][0] for row, name in enumerate(older.entities.names) if resolved[name][0]}
    by_id = {row: rows[id] for row, id in enumerate(older.entities.ids) if id in rows}
    same = sum(there.get(row) == entity for row, entity in by_id.items())
    if len(by_id) < FEWEST_IDS or same < STABLE_IDS * len(by_id):
        by_id = {}
    by_core: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(graph.entities.names):
        if not were.resolve(name)[0]:
            by_core[core_of(name).text].append(row)
    taken = set(there.values())
    claims: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row in range(len(older)):
        became = None if row in there else _new_name(graph, older, row, by_id, by_core)
        if became is not None and became[0] not in taken:
            claims[became[0]].append((row, became[1]))
    # What two older entities claim was merged, not renamed.
    return {rows[0][0]: (entity, rows[0][1]) for entity, rows in claims.items() if len(rows) == 1}


def _new_name(
    graph: KnowledgeGraph,
    older: KnowledgeGraph,
    row: int,
    by_id: Mapping[int, int],
    by_core: Mapping[str, Sequence[int]],
) -> tuple[int, str] | None:
    """The entity that an older one became, and why."""
    if row in by_id:
        return by_id[row], t("it has the id of the older graph's entity")
    name, type = older.entities.names[row], fold(older.entities.types[row])
    for alias in older.entities.aliases[row]:
        rows, level = NameIndex.of(graph).resolve(alias)
        if len(rows) == 1 and level == "name":
            return rows[0], t("its name was an alias in the older graph")
    alike = []
    for entity in by_core.get(core_of(name).text, ()):
        changes = differences(name, graph.entities.names[entity])
        if changes is None or Difference.ORDER in changes:
            continue
        if changes <= WRITING or type == fold(graph.entities.types[entity]):
            alike.append(entity)
    return (alike[0], t("the names are one by their words")) if len(alike) == 1 else None


def strict_renames(
    graph: KnowledgeGraph,
    missing: Mapping[str, tuple[Near, ...]],
    older: KnowledgeGraph | None = None,
) -> dict[str, Near]:
    """Missing name → the one name of this graph that it is.

    missing: each with the names most like it. By the older graph where that says what became of the entity;
    else where it is an entity's id, or exactly one has the name in another spelling (case, plural, title …).
    """
    now: dict[str, int] = {}
    if older is not None:
        were = older.entities.names
        now = {fold(were[row]): entity for row, (entity, _) in renamed(graph, older).items()}
    renames = {}
    for name, nearest in missing.items():
        row = now.get(fold(name))
        if row is not None:
            renames[name] = Near(graph.entities.names[row], row, 1.0)
            continue
        ids = graph.entities.ids
        same = [near for near in nearest if name == ids[near.entity] or _is_same(name, near.name)]
        if len({near.entity for near in same}) == 1:
            renames[name] = same[0]
    return renames


def _is_same(one: str, other: str) -> bool:
    changes = differences(one, other)
    return changes is not None and Difference.ORDER not in changes


def proposed_lines(rows: Iterable[dict[str, Any]], proposals: dict[str, Near]) -> Iterator[bytes]:
    """The gold set's questions as lines, with the proposals in place and noted under `suggested_renames`."""
    for row in rows:
        made: dict[str, dict[str, object]] = {}
        for field in FIELDS:
            listed = row.get(field, ())
            for place, name in enumerate(listed):
                if name in proposals:
                    near = proposals[name]
                    listed[place] = near.name
                    made[name] = {"to": near.name, "likeness": round(near.likeness, 3)}
        yield (json.dumps(row | ({NOTE: made} if made else {}), ensure_ascii=False) + "\n").encode()
