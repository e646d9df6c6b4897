"""One question in words: linked and retrieved, with nothing to judge it by."""

from __future__ import annotations

from dataclasses import dataclass

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion, LinkerMaker, make_linker
from tiny_graph_rag.retrieval import Reason, make_retriever
from tiny_graph_rag.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class QueryResult:
    """reasons: by rank, for as many ranks as were wanted."""

    example: Example
    linked: LinkedQuestion
    run: Run
    reasons: tuple[tuple[Reason, ...], ...]


def ask(
    graph: KnowledgeGraph,
    question: str,
    config: Config,
    *,
    reasons: int = 0,
    linker_for: LinkerMaker = make_linker,
) -> QueryResult:
    """What `evaluate` links and retrieves for this question. reasons: ranks that give theirs.

    Raises UsageError for settings that need a gold set.
    """
    example = Example(id="query", query=question, reference_entities=())
    linker = linker_for(graph, NameIndex.of(graph), config)
    linker.check((example,))
    linker.prepare((example,))
    retriever = make_retriever(graph, config, EvalSet((example,)))
    retriever.prepare(lambda: linker.link((example,)))
    (linked,) = retriever.starting(linker.link((example,)))
    run = retriever.retrieve([linked])
    explained = range(min(reasons, len(run.entities)))
    return QueryResult(example, linked, run, tuple(retriever.reasons(linked, run, row) for row in explained))
