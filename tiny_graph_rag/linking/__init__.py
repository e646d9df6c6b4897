"""Question text → seed entities, by one of the linkers below.

To add one, write a Linker in a module of this folder and give it a line in `_MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, Seed

__all__ = ["LINKERS", "LinkedQuestion", "Linker", "Seed", "make_linker"]


def _names(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.names import NameLinker

    return NameLinker(graph, names, config.retrieval.fuzzy)


def _gold(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.gold import GoldLinker

    return GoldLinker(names)


def _none(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.gold import NoLinker

    return NoLinker()


_MAKERS: dict[str, Callable[[KnowledgeGraph, NameIndex, Config], Linker]] = {
    "names": _names,
    "gold": _gold,
    "none": _none,
}
LINKERS = tuple(_MAKERS)


def make_linker(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    """The linker that `config.retrieval.linker` names. Raises UsageError for an unknown name."""
    name = config.retrieval.linker
    if name not in _MAKERS:
        raise UsageError(
            f"unknown linker {name!r}{nearest(name, LINKERS) or '.'} Choices: {', '.join(LINKERS)}"
        )
    return _MAKERS[name](graph, names, config)
