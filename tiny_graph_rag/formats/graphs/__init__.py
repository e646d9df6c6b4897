"""Graph files: one module a format, found by suffix and content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.columns.stamps import Stamp, stamp_of
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.files import sha256_meanwhile, sha256_of
from tiny_graph_rag.formats.detection import Head, best_fit
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS, GraphFormat, graph_format, suffixes
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.registry import Choice

__all__ = ["GRAPH_FORMATS", "GraphFormat", "graph_format", "graph_name", "read_graph", "suffixes"]


def read_graph(path: Path, cache: Path | None = None, format: str | None = None) -> KnowledgeGraph:
    """Load a knowledge graph. Raises GraphError with everything that is wrong with the file.

    cache: the folder that keeps loaded graphs (graph/cache.py); None always reads the file. format: a name of
    GRAPH_FORMATS; None finds it by suffix and content.
    """
    format = format or _format_of(path)
    reader = GRAPH_FORMATS[format]

    def load() -> KnowledgeGraph:
        before, sha256 = _stamp(path), sha256_meanwhile(path)
        graph = reader.read(path)
        unchanged = before is not None and _stamp(path) == before
        return replace(graph, sha256=sha256() if unchanged else sha256_of(path))

    # What another package's code made can't be told from what its next version would make.
    if cache is None or format not in GRAPH_FORMATS.built_in:
        return replace(load(), name=graph_name(path, format))
    from tiny_graph_rag.graph.cache import GraphCache

    return replace(GraphCache(cache).graph(path, load), name=graph_name(path, format))


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(path)
    except OSError:
        return None


def _format_of(path: Path) -> str:
    """The format that the content fits, of those that the suffix belongs to. Raises GraphError."""
    own = _claiming(path, GRAPH_FORMATS.built_in)
    found = best_fit(
        GRAPH_FORMATS, Head.of(path), "--graph-format", lambda choices: _claiming(path, choices) or choices
    )
    if found is None and not own:
        wanted = ", ".join(sorted(suffixes(GRAPH_FORMATS.choices())))
        raise GraphError(f"{path}: unknown graph format; wanted one of: {wanted}")
    return found or own[0]  # which then says what is wrong with the file


def _claiming(path: Path, choices: Mapping[str, Choice]) -> list[str]:
    """The formats of files with such a name."""
    for suffix, formats in suffixes(choices).items():
        if path.name.lower().endswith(suffix):
            return formats
    return []


def graph_name(path: Path, format: str) -> str:
    """The file's name without its suffix and `-KG`."""
    choices = GRAPH_FORMATS.built_in if format in GRAPH_FORMATS.built_in else GRAPH_FORMATS.choices()
    for suffix in suffixes({format: choices[format]}):
        if path.name.lower().endswith(suffix):
            return nfc(path.name[: -len(suffix)]).removesuffix("-KG")
    return nfc(path.stem).removesuffix("-KG")
