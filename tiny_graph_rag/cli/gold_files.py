"""Gold sets that a command reads and writes: any format in, any format out, under --dataset-dir."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.errors import at
from tiny_graph_rag.inputs import find_input

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
    def output(self) -> Output:
        return Output(self.given, folder="dataset_dir")

    @property
    def to_stdout(self) -> bool:
        return self.output.to_stdout

    def path(self, session: Session, derived: str) -> Path:
        """The file to write; refused before any work where it can't be written or would destroy an input, and
        where a set that somebody may have changed has the derived name."""
        from tiny_graph_rag.formats.gold.exchange import format_for
        from tiny_graph_rag.gold.pin import is_as_generated

        path = self.output.path(session, derived, is_as_generated)
        if not self.to_stdout:
            format_for(path, self.format)
        return path

    def named(self, session: Session, name: str) -> Path:
        """`path` of one of several files that are named after what `-o` says."""
        return replace(self, given=None if self.given is None else name).path(session, name)

    def write(
        self, session: Session, path: Path, examples: Sequence[Example], like: EvalSet | None = None
    ) -> None:
        """like: the set that the questions come from, whose layout and head they keep."""
        from tiny_graph_rag.formats.gold import head_path, write_head
        from tiny_graph_rag.formats.gold.exchange import format_for, written

        format = (self.format or "jsonl") if self.to_stdout else format_for(path, self.format)
        head = {} if like is None or self.to_stdout or format in ("json", "rag") else dict(like.head)
        if head and like is not None:
            head.pop(like.list_key, None)
            session.outputs.claim(head_path(path), is_own=True)
        self.output.write(session, path, written(examples, path, format, like))
        if head:
            write_head(path, head)

    def pin(self, session: Session, path: Path, graph: KnowledgeGraph, names: NameIndex) -> None:
        """Pin the gold set to the graph it was made from, so that `validate` detects later changes."""
        from tiny_graph_rag.formats.gold import read_eval_set
        from tiny_graph_rag.formats.gold.exchange import format_for
        from tiny_graph_rag.gold.pin import pin_path, write_pin
        from tiny_graph_rag.gold.resolve import resolve

        if format_for(path, self.format) == "jsonl" and path.is_file():
            examples = read_eval_set(path)
            session.outputs.claim(pin_path(examples), is_own=True)
            write_pin(graph, examples, resolve(examples, names, len(graph)), generated=True)


def read_any(session: Session, dataset: Path) -> EvalSet:
    """A gold set of any known format, with what that format holds. Raises DatasetError."""
    from tiny_graph_rag.formats.gold import read_gold

    gold = read_gold(find_input(dataset, Path(session.config.storage.dataset_dir), "gold set"))
    for note in gold.notes:
        session.note(at(gold.name, note))
    return gold
