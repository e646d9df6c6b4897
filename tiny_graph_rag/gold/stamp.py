"""The sidecar of a gold set: which graph it was written for, and what its references meant there.

`NAME-eval.jsonl` has `NAME-eval.meta.json` beside it: {"graph": {"name", "sha256"}, "gold_set": {"sha256"},
"references": {name: [entity ids]}}.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from tiny_graph_rag.errors import DatasetError, InputError
from tiny_graph_rag.files import read_bytes, readable, sha256_of, write_atomically
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

ENDING = ".meta.json"


class _Graph(msgspec.Struct):
    name: str
    sha256: str


class _Gold(msgspec.Struct):
    sha256: str


class GoldStamp(msgspec.Struct, omit_defaults=True):
    """references: name → ids of the entities that it meant. generated: whether this program made the set."""

    graph: _Graph
    gold_set: _Gold
    references: dict[str, list[str]]
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Drift:
    """What became of a gold set since it was stamped.

    graph_changed, gold_changed: by SHA-256. lost: references that meant an entity and mean none now.
    moved: references that mean other entities now.
    """

    stamped_for: str
    graph_changed: bool
    gold_changed: bool
    lost: tuple[str, ...]
    moved: tuple[str, ...]


def stamp_path(examples: EvalSet) -> Path:
    """Where the sidecar lies. examples: read from a file."""
    if examples.path is None:
        raise ValueError(said("a gold set that was not read from a file has no sidecar"))
    return _beside(examples.path)


def _beside(path: Path) -> Path:
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    return path.with_name(name + ENDING)


def is_as_generated(path: Path) -> bool:
    """Whether this program made the gold set and nobody changed it since, by the sidecar beside it."""
    try:
        stamp = msgspec.json.decode(read_bytes(_beside(path)), type=GoldStamp)
    except (InputError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return stamp.generated and stamp.gold_set.sha256 == sha256_of(path)


def write_stamp(
    graph: KnowledgeGraph, examples: EvalSet, judgments: Judgments, *, generated: bool = False
) -> Path:
    """Record that the gold set fits this graph. generated: the set was just made from it."""
    ids = graph.entities.ids
    references = {
        item.name: [ids[entity] for entity in item.entities] for row in judgments.references for item in row
    }
    stamp = GoldStamp(
        _Graph(readable(graph.name), graph.sha256),
        _Gold(examples.sha256),
        dict(sorted(references.items())),
        generated,
    )
    path = stamp_path(examples)
    write_atomically(path, [msgspec.json.format(msgspec.json.encode(stamp), indent=1), b"\n"])
    return path


def read_drift(graph: KnowledgeGraph, examples: EvalSet, judgments: Judgments) -> Drift | None:
    """None without a sidecar. Raises DatasetError for one that can't be read."""
    path = stamp_path(examples)
    if not path.exists():
        return None
    try:
        stamp = msgspec.json.decode(read_bytes(path), type=GoldStamp)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(
            said(
                "{path}: no sidecar of a gold set: {error}. `validate --stamp` writes it",
                path=path,
                error=error,
            )
        ) from error
    ids = graph.entities.ids
    now = {
        item.name: {ids[entity] for entity in item.entities} for row in judgments.references for item in row
    }
    both = [name for name in stamp.references if name in now]
    return Drift(
        stamped_for=stamp.graph.name,
        graph_changed=stamp.graph.sha256 != graph.sha256,
        gold_changed=stamp.gold_set.sha256 != examples.sha256,
        lost=tuple(name for name in both if stamp.references[name] and not now[name]),
        moved=tuple(name for name in both if now[name] and now[name] != set(stamp.references[name])),
    )
