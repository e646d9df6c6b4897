"""Question text → seed entities, by one of the linkers below.

To add one, write a Linker in a module of this folder and give it a line in `_MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, Seed

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Outcome
    from tiny_graph_rag.llm.chat import Chat

__all__ = ["LINKERS", "LinkedQuestion", "Linker", "LinkerMaker", "Seed", "make_linker"]

LinkerMaker = Callable[[KnowledgeGraph, NameIndex, Config], Linker]


def _names(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.names import NameLinker

    return NameLinker(graph, names, config.retrieval.fuzzy)


def _gold(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.gold import GoldLinker

    return GoldLinker(names)


def _none(graph: KnowledgeGraph, names: NameIndex, config: Config) -> Linker:
    from tiny_graph_rag.linking.gold import NoLinker

    return NoLinker()


_MAKERS: dict[str, LinkerMaker] = {
    "names": _names,
    "gold": _gold,
    "none": _none,
}
LLM = "llm"  # asks a model, so it needs one
LINKERS = (*_MAKERS, LLM)


def make_linker(
    graph: KnowledgeGraph,
    names: NameIndex,
    config: Config,
    *,
    chat: Chat | None = None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> Linker:
    """The linker that `config.retrieval.linker` names. chat: whom `llm` asks; done: is told each outcome.

    Raises UsageError for an unknown name, and for `llm` without a chat.
    """
    name = config.retrieval.linker
    if name == LLM:
        if chat is None:
            raise UsageError("--linker llm needs a model to ask, and there is none here; use --linker names")
        from tiny_graph_rag.linking.llm import ModelLinker

        return ModelLinker(graph, names, chat, config.openai, done)
    if name not in _MAKERS:
        raise UsageError(
            f"unknown linker {name!r}{nearest(name, LINKERS) or '.'} Choices: {', '.join(LINKERS)}"
        )
    return _MAKERS[name](graph, names, config)
