"""Tiny-Graph-RAG eval: does my graph retrieve the right entities, why not, and what would fix it?

    from tiny_graph_rag import evaluate, load_graph, load_questions

    graph = load_graph("story-KG.json")
    result = evaluate(graph, load_questions("story-eval.jsonl"), hops=3)
    print(result.means)            # {'precision@5': 0.32, 'recall@5': 0.81, 'mrr': 0.74, 'ndcg@5': 0.72}
    result.to_pandas()             # a row a question
    result.save("results.json")    # what `eval` writes

    load_graph(path)                            a graph with its vocabulary → KnowledgeGraph
    KnowledgeGraph.from_triples(triples)        of (source, relation, target) names
    KnowledgeGraph.from_records(entities, …)    of records with the fields of KG JSON
    KnowledgeGraph.from_networkx(graph)         of a networkx graph; .to_networkx() gives one
    load_questions(path or records)             a gold set → EvalSet of Examples
    ask(graph, "Who …?", hops=2)                what one question retrieves → Ranking
    evaluate(graph, questions, hops=3)          score the retrieval → Result
    evaluate(…, retriever=my_function)          score a retriever of your own
    assert_retrieval(…, "recall@5>=0.8")        the same in a test: fails below
    compare(one, other)                         test results against the first → ResultComparison
    sweep(graph, questions, hops=range(5))      try settings → SweepResult with what it recommends
    score(run, gold, "ndcg@10,map")             score anyone's run: paths, dictionaries, DataFrames → Scored
    evaluate_predictions(preds, qrels)          the same by cutoff, as a DataFrame
    load_config(path)                           settings of a config.yaml → Config
    Measure.parse("ndcg@5")                     a measure is a value
    Run, Retriever                              what a retriever of one's own returns, and is

Settings are those of config.yaml by name; docs/python.md tells more. Every error that is meant is a
`tiny_graph_rag.errors.TinyGraphRagError`. Names are imported when first used: importing the package is free.
"""

from __future__ import annotations

# As typing has it, without importing that: Ctrl-C has its answer only once this file has been read.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from tiny_graph_rag.config import Config as Config
    from tiny_graph_rag.config.sources import load_config as load_config
    from tiny_graph_rag.gold.examples import EvalSet as EvalSet
    from tiny_graph_rag.gold.examples import Example as Example
    from tiny_graph_rag.graph.model import KnowledgeGraph as KnowledgeGraph
    from tiny_graph_rag.library import Ranking as Ranking
    from tiny_graph_rag.library import Result as Result
    from tiny_graph_rag.library import ask as ask
    from tiny_graph_rag.library import assert_retrieval as assert_retrieval
    from tiny_graph_rag.library import evaluate as evaluate
    from tiny_graph_rag.library import load_graph as load_graph
    from tiny_graph_rag.library import load_questions as load_questions
    from tiny_graph_rag.library.studies import ResultComparison as ResultComparison
    from tiny_graph_rag.library.studies import SweepResult as SweepResult
    from tiny_graph_rag.library.studies import compare as compare
    from tiny_graph_rag.library.studies import sweep as sweep
    from tiny_graph_rag.measures.base import Measure as Measure
    from tiny_graph_rag.retrieval.base import Retriever as Retriever
    from tiny_graph_rag.run import Run as Run
    from tiny_graph_rag.scoring.frames import evaluate_predictions as evaluate_predictions
    from tiny_graph_rag.scoring.frames import score as score
    from tiny_graph_rag.version import __version__ as __version__

# Module → its public names; it is imported when one is first used.
_MODULES = {
    "config": ("Config",),
    "config.sources": ("load_config",),
    "gold.examples": ("EvalSet", "Example"),
    "graph.model": ("KnowledgeGraph",),
    "library": ("Ranking", "Result", "ask", "assert_retrieval", "evaluate", "load_graph", "load_questions"),
    "library.studies": ("ResultComparison", "SweepResult", "compare", "sweep"),
    "measures.base": ("Measure",),
    "retrieval.base": ("Retriever",),
    "run": ("Run",),
    "scoring.frames": ("evaluate_predictions", "score"),
    "version": ("__version__",),
}
PUBLIC = {name: f"tiny_graph_rag.{module}" for module, names in _MODULES.items() for name in names}
__all__ = sorted(PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
