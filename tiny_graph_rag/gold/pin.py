"""The version of the graph that a gold set is pinned to, and what its references meant there.

The pin of `NAME-eval.jsonl` is the file `NAME-eval.meta.json` in the same folder:
{"graph": {"name", "sha256"}, "gold_set": {"sha256"}, "references": {name: [entity ids]}}.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from tiny_graph_rag.errors import DatasetError, InputError, wrong_value
from tiny_graph_rag.files import read_bytes, sha256_of
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import readable
from tiny_graph_rag.outputs import write_atomically

ENDING = ".meta.json"


class PinnedFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str = ""
    sha256: str


class GoldPin(msgspec.Struct, omit_defaults=True):
    """references: name → ids of the entities that it meant. generated: whether this program made the set."""

    graph: PinnedFile
    gold_set: PinnedFile
    references: dict[str, list[str]]
    generated: bool = False


class Drift(Struct, frozen=True):
    """What has changed since a gold set was pinned to a graph.

    graph_changed, gold_changed: by SHA-256. lost: references that meant an entity and mean none now.
    moved: references that mean other entities now.
    """

    pinned_to: str
    graph_changed: bool
    gold_changed: bool
    lost: tuple[str, ...]
    moved: tuple[str, ...]


def pin_path(examples: EvalSet) -> Path:
    """The file of the pin. examples: read from a file."""
    if examples.path is None:
        raise wrong_value("a gold set that was not read from a file has no pin")
    return _beside(examples.path)


def _beside(path: Path) -> Path:
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    return path.with_name(name + ENDING)


def is_as_generated(path: Path) -> bool:
    """Whether this program made the gold set and nobody changed it since, by its pin."""
    try:
        pin = _read_pin(_beside(path))
    except InputError:
        return False
    return pin.generated and pin.gold_set.sha256 == sha256_of(path)


def _read_pin(path: Path) -> GoldPin:
    """Raises InputError where there is none, DatasetError for one that can't be read."""
    try:
        return msgspec.json.decode(read_bytes(path), type=GoldPin)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DatasetError(
            "{path}: not a pin of a gold set: {error}. Run `validate --pin` to write it again",
            path=path,
            error=error,
        ) from error


def write_pin(
    graph: KnowledgeGraph, examples: EvalSet, judgments: Judgments, *, generated: bool = False
) -> Path:
    """Record that the gold set fits this graph. generated: the set was just made from it."""
    pin = GoldPin(
        PinnedFile(name=readable(graph.name), sha256=graph.sha256),
        PinnedFile(sha256=examples.sha256),
        dict(sorted(_meanings(graph, judgments).items())),
        generated,
    )
    path = pin_path(examples)
    write_atomically(path, [msgspec.json.format(msgspec.json.encode(pin), indent=1), b"\n"])
    return path


def read_drift(graph: KnowledgeGraph, examples: EvalSet, judgments: Judgments) -> Drift | None:
    """None for a gold set that is not pinned. Raises DatasetError for one that can't be read."""
    path = pin_path(examples)
    if not path.exists():
        return None
    pin = _read_pin(path)
    now = _meanings(graph, judgments)
    both = [name for name in pin.references if name in now]
    return Drift(
        pinned_to=pin.graph.name,
        graph_changed=pin.graph.sha256 != graph.sha256,
        gold_changed=pin.gold_set.sha256 != examples.sha256,
        lost=tuple(name for name in both if pin.references[name] and not now[name]),
        moved=tuple(name for name in both if now[name] and set(now[name]) != set(pin.references[name])),
    )


def _meanings(graph: KnowledgeGraph, judgments: Judgments) -> dict[str, list[str]]:
    """Reference → ids of the entities that it means."""
    ids = graph.entities.ids
    return {
        item.name: [ids[entity] for entity in item.entities] for row in judgments.references for item in row
    }
