"""Graph files: one module a format, found by suffix.

A format is a function from a path to a KnowledgeGraph, registered under its suffixes. To add one, write
`formats/<name>.py` with a function under `@graph_format(".suffix", …)` and import it at the end of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.graph.model import KnowledgeGraph

GraphReader = Callable[[Path], KnowledgeGraph]
READERS: dict[str, GraphReader] = {}


def graph_format(*suffixes: str) -> Callable[[GraphReader], GraphReader]:
    """Register a reader for file names that end so."""

    def register(reader: GraphReader) -> GraphReader:
        READERS.update(dict.fromkeys(suffixes, reader))
        return reader

    return register


def read_graph(path: Path) -> KnowledgeGraph:
    """Load a knowledge graph. Raises GraphError with everything that is wrong with the file."""
    for suffix in sorted(READERS, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return READERS[suffix](path)
    raise GraphError(f"{path}: unknown graph format; wanted one of: {', '.join(sorted(READERS))}")


from tiny_graph_rag.graph.formats import kg_json  # noqa: E402, F401 - registers itself
