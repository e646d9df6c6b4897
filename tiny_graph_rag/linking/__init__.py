"""Question text → seed entities, by one of the linkers of this folder or of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LINKERS, LinkedQuestion, Linker, LinkerTask, Seed, linker

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Outcome
    from tiny_graph_rag.llm.chat import Chat

__all__ = [
    "LINKERS",
    "LinkedQuestion",
    "Linker",
    "LinkerMaker",
    "LinkerTask",
    "Seed",
    "asks_model",
    "linker",
    "make_linker",
]

LinkerMaker = Callable[[KnowledgeGraph, NameIndex, Config], Linker]


def asks_model(config: Config) -> bool:
    """Whether linking as configured asks a language model. Raises UsageError for an unknown linker."""
    return LINKERS[config.retrieval.linker].asks_model


def make_linker(
    graph: KnowledgeGraph,
    names: NameIndex,
    config: Config,
    *,
    chat: Chat | None = None,
    done: Callable[[Outcome], None] = lambda outcome: None,
) -> Linker:
    """The linker that `config.retrieval.linker` names. chat: whom it may ask; done: gets each outcome.

    Raises UsageError for an unknown name, and for one that asks a model without a chat.
    """
    name = config.retrieval.linker
    chosen = LINKERS[name]
    if chosen.asks_model and chat is None:
        raise UsageError(
            "--linker {name} needs a model to ask, and there is none here; use --linker names", name=name
        )
    return chosen.of(LinkerTask(graph, names, config, chat, done))
