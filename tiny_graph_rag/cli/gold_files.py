"""Gold sets that a command reads and writes: any format in, any format out, under --dataset-dir."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.cli.output import STDOUT, keep_apart
from tiny_graph_rag.errors import at
from tiny_graph_rag.files import check_writable, find_input, output_path, write_atomically

if TYPE_CHECKING:
    from tiny_graph_rag.cli.session import Session
    from tiny_graph_rag.gold.examples import EvalSet, Example
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.graph.names import NameIndex


@dataclass(frozen=True, slots=True)
class GoldOutput:
    """given: what `-o` says, None without it; `-` writes JSONL to standard output. format: of --format."""

    given: str | None
    format: str | None = None

    @property
    def to_stdout(self) -> bool:
        return self.given == STDOUT

    def path(self, session: Session, derived: str, read: Iterable[Path | None] = ()) -> Path:
        """The file to write; refused before any work where it can't be written or would destroy an input."""
        from tiny_graph_rag.formats.gold.exchange import format_for

        path = output_path(self.given or derived, Path(session.config.storage.dataset_dir))
        if not self.to_stdout:
            format_for(path, self.format)
            keep_apart((path,), (*read, session.config.file))
            check_writable(path)
        return path

    def write(self, path: Path, examples: Sequence[Example], like: EvalSet | None = None) -> None:
        """like: the set that the questions come from, whose layout and head they keep."""
        from tiny_graph_rag.formats.gold.exchange import format_for, written
        from tiny_graph_rag.formats.gold.head import write_head

        if not self.to_stdout:
            format = format_for(path, self.format)
            write_atomically(path, written(examples, path, format, like))
            if like is not None and like.head and format not in ("json", "rag"):
                write_head(path, {key: value for key, value in like.head.items() if key != like.list_key})
            return
        for part in written(examples, path, self.format or "jsonl", like):
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()

    def pin(self, path: Path, graph: KnowledgeGraph, names: NameIndex) -> None:
        """Pin the gold set to the graph it was made from, so that `validate` detects later changes."""
        from tiny_graph_rag.formats.gold.exchange import format_for
        from tiny_graph_rag.formats.gold.jsonl import read_eval_set
        from tiny_graph_rag.gold.pin import write_pin
        from tiny_graph_rag.gold.resolve import resolve

        if format_for(path, self.format) == "jsonl" and path.is_file():
            examples = read_eval_set(path)
            write_pin(graph, examples, resolve(examples, names, len(graph)))


def read_any(session: Session, dataset: Path) -> EvalSet:
    """A gold set of any known format, with what that format holds. Raises DatasetError."""
    from tiny_graph_rag.formats.gold import read_gold

    gold = read_gold(find_input(dataset, Path(session.config.storage.dataset_dir), "gold set"))
    for note in gold.notes:
        session.note(at(gold.name, note))
    return gold
