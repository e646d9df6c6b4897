"""A comparison as a file: kind "comparison" of the results schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from tiny_graph_rag.config import Config
from tiny_graph_rag.evaluation.comparison import Comparison, Flip, Rows
from tiny_graph_rag.report.json.numbers import closed_with_rows, head, number, opened


def comparison_parts(found: Comparison, config: Config) -> Iterator[bytes]:
    """The file, piece by piece, one flipped question a line."""
    first = found.systems[0]
    fields = {
        "dataset": {
            "name": first.dataset_name,
            "sha256": first.dataset_sha256,
            "selection": first.selection,
        },
        "config": config.as_dict(),
        "k": first.k,
        "questions": len(first.ids),
        "systems": [
            {"name": each.name, "file": each.path.name, "graph_sha256": each.graph_sha256, "k": each.k}
            | ({"speed": each.speed} if each.speed else {})
            for each in found.systems
        ],
        "notes": list(found.notes),
        "verdicts": list(found.verdicts()),
        "differs": {name: list(values) for name, values in found.differs.items()},
        **({"groups": found.groups} if found.groups is not None else {}),
        "measures": _rows(found.overall),
        "by_tag": {tag: _rows(rows) for tag, rows in found.by_tag.items()},
    }
    yield opened(head("comparison", **fields))
    yield from closed_with_rows("flips", map(_flip, found.flips))


def _rows(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    return {
        measure: [
            {
                name: number(value) if isinstance(value, float) else value
                for name, value in asdict(row).items()
            }
            for row in each
        ]
        for measure, each in rows.items()
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "system": flip.system,
        "id": flip.id,
        "query": flip.query,
        "tags": list(flip.tags),
        "change": flip.change,
        "values": {each: [number(before), number(after)] for each, (before, after) in flip.values.items()},
        "references": [
            {"name": name, "before": before, "after": after} for name, before, after in flip.references
        ],
    }
