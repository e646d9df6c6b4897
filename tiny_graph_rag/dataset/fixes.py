"""A proposed gold set: references that the graph lacks, renamed to what is most like them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny_graph_rag.dataset.nearest import Near
from tiny_graph_rag.files import decode_utf8, read_bytes

LIKE_ENOUGH = 0.7  # likeness below which a guess would only cost the reader's time
FIELDS = ("reference_entities", "highly_relevant_entities")
NOTE = "suggested_renames"


def renames(missing: dict[str, tuple[Near, ...]]) -> dict[str, Near]:
    """Missing name → the name proposed for it; only where one is like it enough."""
    return {name: near[0] for name, near in missing.items() if near and near[0].likeness >= LIKE_ENOUGH}


def proposed_lines(path: Path, proposals: dict[str, Near]) -> Iterator[bytes]:
    """The gold set line by line, with the proposals in place and noted under `suggested_renames`.

    A line without proposals, or one that is not sound, stays byte for byte as it is.
    """
    for line in decode_utf8(read_bytes(path), path).split("\n"):
        if line.strip():
            yield (_proposed(line, proposals) + "\n").encode()


def _proposed(line: str, proposals: dict[str, Near]) -> str:
    try:
        row: Any = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
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
