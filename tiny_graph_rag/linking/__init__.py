"""Question text → seed entities, by one of the linkers below.

To add one, write a Linker in a module of this folder and name it here.
"""

from __future__ import annotations

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, Seed

LINKERS = ("names",)

__all__ = ["LINKERS", "LinkedQuestion", "Linker", "Seed", "make_linker"]


def make_linker(names: NameIndex, config: Config) -> Linker:
    """The linker that `config.retrieval.linker` names. Raises UsageError for an unknown name."""
    name = config.retrieval.linker
    if name == "names":
        from tiny_graph_rag.linking.names import NameLinker

        return NameLinker(names)
    raise UsageError(f"unknown linker {name!r}{nearest(name, LINKERS) or '.'} Choices: {', '.join(LINKERS)}")
