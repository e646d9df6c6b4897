"""Graph files: one module a format, found by suffix.

A format is a function from a path to a KnowledgeGraph (without name and SHA-256, which are given here),
registered under its suffixes. To add one, write
`formats/<name>.py` with a function under `@graph_format(".suffix", …)` and import it at the end of this file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.columns.stamps import Stamp, stamp_of
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import sha256_meanwhile, sha256_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc

GraphReader = Callable[[Path], KnowledgeGraph]
READERS: dict[str, GraphReader] = {}


def graph_format(*suffixes: str) -> Callable[[GraphReader], GraphReader]:
    """Register a reader for file names that end so."""

    def register(reader: GraphReader) -> GraphReader:
        READERS.update(dict.fromkeys(suffixes, reader))
        return reader

    return register


def read_graph(path: Path, cache: Path | None = None) -> KnowledgeGraph:
    """Load a knowledge graph. Raises GraphError with everything that is wrong with the file.

    cache: the folder that keeps loaded graphs (graph/cache.py); None always reads the file.
    """
    reader, name = _reader(path)

    def load() -> KnowledgeGraph:
        before, sha256 = _stamp(path), sha256_meanwhile(path)
        graph = reader(path)
        unchanged = before is not None and _stamp(path) == before
        return replace(graph, sha256=sha256() if unchanged else sha256_of(path))

    if cache is None:
        return replace(load(), name=name)
    from tiny_graph_rag.graph.cache import GraphCache

    return replace(GraphCache(cache).graph(path, load), name=name)


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(path)
    except OSError:
        return None


def _reader(path: Path) -> tuple[GraphReader, str]:
    """The reader for a file name, and the graph's name: the file's without its suffix and `-KG`."""
    for suffix in sorted(READERS, key=len, reverse=True):
        if path.name.lower().endswith(suffix):
            return READERS[suffix], nfc(path.name[: -len(suffix)]).removesuffix("-KG")
    raise GraphError(f"{path}: unknown graph format; wanted one of: {', '.join(sorted(READERS))}")


from tiny_graph_rag.formats.graphs import kg_json  # noqa: E402, F401 - registers itself
