"""What a gold set's lost names are called now, only where strict rules or an older graph say so; and the gold
set that is to be reviewed with them.

Likeness alone renamed 13 names on four real gold sets, 6 of them correctly: a name that is merely similar is
another thing as often as not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tiny_graph_rag.fixing.older import renamed
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.nearest import Near
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.language.name_forms import Difference, differences

# Another letter or order may be another name.
LOOSE = frozenset((Difference.LETTER, Difference.ORDER))

FIELDS = ("reference_entities", "highly_relevant_entities")
NOTE = "suggested_renames"


def strict_renames(
    graph: KnowledgeGraph,
    missing: Mapping[str, tuple[Near, ...]],
    older: KnowledgeGraph | None = None,
) -> dict[str, Near]:
    """Missing name → the one name of this graph that it is.

    missing: each with the names most like it. By the older graph where that says what became of the entity;
    else where exactly one entity has the name in another spelling (case, spaces, plural, title …).
    """
    now: dict[str, int] = {}
    if older is not None:
        were = older.entities.names
        now = {fold(were[row]): entity for row, (entity, _) in renamed(graph, older).items()}
    found = {}
    for name, nearest in missing.items():
        row = now.get(fold(name))
        if row is not None:
            found[name] = Near(graph.entities.names[row], row, 1.0)
            continue
        same = [near for near in nearest if _is_same(name, near.name)]
        if len({near.entity for near in same}) == 1:
            found[name] = same[0]
    return found


def _is_same(one: str, other: str) -> bool:
    changes = differences(one, other)
    return changes is not None and not changes & LOOSE


def proposed_lines(lines: Iterable[str], proposals: dict[str, Near]) -> Iterator[bytes]:
    """The gold set line by line, with the proposals in place and noted under `suggested_renames`.

    A line without proposals, or one that is not sound, stays as it is.
    """
    for line in lines:
        if line.strip():
            yield (_proposed(line, proposals) + "\n").encode()


def _proposed(line: str, proposals: dict[str, Near]) -> str:
    try:
        row: Any = json.loads(line)
    except ValueError:
        return line
    if not isinstance(row, dict):
        return line
    made: dict[str, dict[str, object]] = {}
    for field in FIELDS:
        listed = row.get(field)
        if not isinstance(listed, list):
            continue
        for place, name in enumerate(listed):
            if isinstance(name, str) and name in proposals:
                near = proposals[name]
                listed[place] = near.name
                made[name] = {"to": near.name, "likeness": round(near.likeness, 3)}
    if not made:
        return line
    row[NOTE] = made
    return json.dumps(row, ensure_ascii=False)
