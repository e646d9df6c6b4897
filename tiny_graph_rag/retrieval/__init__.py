"""Seeds → ranked entities, by one of the retrievers below.

To add one here, write a Retriever in a module of this folder and name it in BUILT_IN. Another package
registers one as an entry point, name to Retriever class, in the group `tiny_graph_rag.retrievers`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.resolve import Judgments

ENTRY_POINTS = "tiny_graph_rag.retrievers"
BUILT_IN = {  # name → where its class is, so that asking for one does not import the others
    "bfs": "tiny_graph_rag.retrieval.bfs:BfsRetriever",
    "bfs-plain": "tiny_graph_rag.retrieval.baselines:PlainBfsRetriever",
    "pagerank": "tiny_graph_rag.retrieval.pagerank:PageRankRetriever",
    "bm25": "tiny_graph_rag.retrieval.bm25:Bm25Retriever",
    "dense": "tiny_graph_rag.retrieval.dense:DenseRetriever",
    "hybrid": "tiny_graph_rag.retrieval.baselines:HybridRetriever",
    "oracle": "tiny_graph_rag.retrieval.baselines:OracleRetriever",
    "run": "tiny_graph_rag.retrieval.baselines:RunFileRetriever",
}

__all__ = [
    "BUILT_IN",
    "Reason",
    "Retriever",
    "RetrieverMaker",
    "Task",
    "is_own",
    "make_retriever",
    "retriever_class",
    "retriever_names",
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
    found = retriever_class(name)
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


def retriever_names() -> list[str]:
    """Every name that `--retriever` takes, built in first."""
    from importlib.metadata import entry_points  # a slow import that built-in names can do without

    return [*BUILT_IN, *sorted({each.name for each in entry_points(group=ENTRY_POINTS)} - set(BUILT_IN))]


def retriever_class(name: str) -> type[Retriever]:
    """The class behind a name without argument. Raises UsageError for an unknown name or a bad plug-in."""
    if name in BUILT_IN:
        module, _, class_name = BUILT_IN[name].partition(":")
        found: type[Retriever] = getattr(import_module(module), class_name)
        return found
    from importlib.metadata import entry_points

    for each in entry_points(group=ENTRY_POINTS, name=name):
        plugged_in = each.load()
        if not (isinstance(plugged_in, type) and issubclass(plugged_in, Retriever)):
            raise UsageError(f"the plug-in retriever {name!r} ({each.value}) is no Retriever class")
        return plugged_in
    known = retriever_names()
    raise UsageError(f"unknown retriever {name!r}{nearest(name, known) or '.'} Choices: {', '.join(known)}")
