"""Gold sets that a command reads and writes: any format in, any format out, under --dataset-dir."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import at
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.gold.exchange import format_for, written
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.pin import is_as_generated, pin_path, write_pin
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.inputs import find_input


def gold_output(session: Session, given: str | None, format: str | None, derived: str) -> Output:
    """Where a gold set goes; refused before any work where it can't be written or would destroy an input, and
    where a set that somebody may have changed has the derived name. format: of --format."""
    out = Output.of(session, given, derived, ending="", folder="dataset_dir", may_replace=is_as_generated)
    if out.path is not None:
        format_for(out.path, format)
    return out


def write_gold(out: Output, examples: Sequence[Example], format: str | None) -> None:
    """format: of --format, None for what the file's suffix says."""
    path = out.path or Path("set.jsonl")
    out.write(written(examples, path, format_for(path, format)))


def pin(out: Output, format: str | None, graph: KnowledgeGraph, names: NameIndex) -> None:
    """Pin the gold set to the graph it was made from, so that `validate` detects later changes."""
    if out.path is not None and format_for(out.path, format) == "jsonl" and out.path.is_file():
        examples = read_eval_set(out.path)
        out.session.outputs.claim(pin_path(examples), is_own=True)
        write_pin(graph, examples, resolve(examples, names, len(graph)), generated=True)


def read_any(session: Session, dataset: Path) -> EvalSet:
    """A gold set of any known format, with what that format holds. Raises DatasetError."""
    gold = read_gold(find_input(dataset, Path(session.config.storage.dataset_dir), "gold set"))
    for note in gold.notes:
        session.note(at(gold.name, note))
    return gold
