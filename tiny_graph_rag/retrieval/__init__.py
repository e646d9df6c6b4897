"""Seeds → ranked entities, by one of the retrievers of this folder or of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import RETRIEVERS, Reason, Retriever, Task, retriever

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.resolve import Judgments

__all__ = [
    "RETRIEVERS",
    "Reason",
    "Retriever",
    "RetrieverMaker",
    "Task",
    "is_own",
    "make_retriever",
    "retriever",
]


def make_retriever(
    graph: KnowledgeGraph,
    config: Config,
    examples: EvalSet | None = None,
    judgments: Judgments | None = None,
) -> Retriever:
    """The retriever that `config.retrieval.retriever` names. Raises UsageError for an unknown name."""
    spec = config.retrieval.retriever
    if is_own(spec):
        from tiny_graph_rag.retrieval.own import OwnRetriever

        return OwnRetriever.of(Task(graph, config, spec, examples, judgments))
    name, _, argument = spec.partition(":")
    found = RETRIEVERS[name]
    if argument and not found.argument:
        raise UsageError(f"--retriever {name} takes nothing after a colon, got {argument!r}")
    if found.argument and not argument:
        raise UsageError(f"--retriever {name} wants {name}:{found.argument}")
    return found.of(Task(graph, config, argument, examples, judgments))


RetrieverMaker = Callable[
    [KnowledgeGraph, Config, "EvalSet | None", "Judgments | None"], Retriever
]  # as `make_retriever` is one


def is_own(spec: str) -> bool:
    """Whether `--retriever` names a user's function: `file.py:function`, `package.module:function`."""
    place, _, function = spec.rpartition(":")
    if not place or not function.isidentifier():
        return False
    return place.endswith(".py") or ("." in place and all(part.isidentifier() for part in place.split(".")))
