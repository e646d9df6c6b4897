"""Tiny-Graph-RAG eval: does my graph retrieve the right entities, why not, and what would fix it?

The public names below are imported when first used, so that `import tiny_graph_rag` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tiny_graph_rag.version import __version__

_PUBLIC = {
    "KnowledgeGraph": "tiny_graph_rag.graph.model",
    "read_graph": "tiny_graph_rag.formats.graphs",
    "EvalSet": "tiny_graph_rag.gold.examples",
    "Example": "tiny_graph_rag.gold.examples",
    "read_eval_set": "tiny_graph_rag.formats.gold.jsonl",
    "Config": "tiny_graph_rag.config",
    "load_config": "tiny_graph_rag.config",
    "Run": "tiny_graph_rag.run",
    "Retriever": "tiny_graph_rag.retrieval.base",
    "Measure": "tiny_graph_rag.measures.base",
    "evaluate": "tiny_graph_rag.scoring.frames",
    "evaluate_predictions": "tiny_graph_rag.scoring.frames",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
