"""Graph files: one module a format, recognised by content; what `-g` names may be a folder, too."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import GraphError, UsageError
from tiny_graph_rag.files import combined_sha256, sha256_of
from tiny_graph_rag.formats.detection import Head, particular_first
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS, KNOWN, Columns, GraphFormat
from tiny_graph_rag.formats.graphs.refused import lines_refused
from tiny_graph_rag.formats.tables import columns_in
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.inputs import GRAPH_ENDINGS, bare_name, note_read
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said

if TYPE_CHECKING:
    from tiny_graph_rag.graph.large import Triples

CACHED_FROM_BYTES = 100_000  # below this, loading and indexing take less time than looking for a cache
STREAMED_FROM_BYTES = 10_000_000  # smaller files hold too few triples
DATABASE = re.compile(r"[a-z][a-z0-9+]+:/", re.I)  # an address, of which a path may have taken a slash
PLAIN_FOLDER_NAMES = ("output", "artifacts", "graphify-out", "rag_storage", "storage", "")


def read_graph(
    path: Path,
    cache: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    columns: Columns | None = None,
) -> KnowledgeGraph:
    """Load a knowledge graph of any known writer from its file or its folder.

    Raises GraphError with everything that is wrong with it. cache: the folder that keeps loaded graphs
    (graph/cache.py); None always reads the files. say: called with what is done where that takes minutes.
    columns: what the user calls the columns, else what `NAME-columns.yaml` next to the graph says.
    """
    columns = columns or columns_beside(path)
    format, paths = found_at(path) if columns is None else found_with(path, columns)
    note_read(*paths)  # a graph that the cache has is not opened

    def load() -> KnowledgeGraph:
        collecting = gc.isenabled()
        gc.disable()  # records hold no cycles; looking for some doubles the time
        try:
            graph = format.read(paths) if columns is None else format.read(paths, columns)
        finally:
            if collecting:
                gc.enable()
        read = [sha256_of(path) for path in paths]
        # A reader that says nothing of the writer leaves the format's name to `stats`.
        origin = graph.origin if graph.origin.writer else replace(graph.origin, writer=format.name)
        if columns is not None:  # another graph, though of the same files
            read.append(columns.sha256)
        return replace(graph, sha256=combined_sha256(read), origin=origin)

    name = graph_name(path)
    is_small = sum(path.stat().st_size for path in paths) < CACHED_FROM_BYTES
    if cache is None or columns is not None or is_small:  # the cache knows files alone
        return replace(load(), name=name)
    from tiny_graph_rag.graph.cache import GraphCache

    return replace(GraphCache(cache).graph(paths, load, lambda: _large(format, paths), say), name=name)


def _large(format: GraphFormat, paths: Sequence[Path]) -> Triples | None:
    """The triples of files that are loaded piece by piece."""
    if format.name != "triples" or paths[0].stat().st_size < STREAMED_FROM_BYTES:
        return None
    from tiny_graph_rag.formats.graphs.tabular import triples_of
    from tiny_graph_rag.graph.large import LARGE_FROM_ROWS

    triples = triples_of(paths[0])
    return triples if triples is not None and triples.rows >= LARGE_FROM_ROWS else None


def found_at(path: Path) -> tuple[GraphFormat, tuple[Path, ...]]:
    """The format of what lies there, and the files to read. Raises GraphError."""
    if path.is_dir():
        return _in_folder(path)
    if _is_several(path):
        return GRAPH_FORMATS["tables"], tuple(map(Path, str(path).split(",")))
    head = Head(path)
    for format in _formats():  # the first alone is loaded where it is its file
        if format.recognises(head):
            return format, next(iter(format.tables(path) if format.tables else ()), (path,))
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    for format in _formats():
        if suffix in format.suffixes:
            return format, (path,)
    raise lines_refused(path) or GraphError.at(
        path,
        "unknown graph format. Any graph can be written as a CSV file with the header source,relation,target",
    )


def located(
    name: str | PathLike[str], existing: Callable[[Path], Path], cache: Path, query: str | None = None
) -> Path:
    """Where to read what `-g` names: a file, a folder, two tables (`nodes.csv,edges.csv`), or a database, of
    which a snapshot is taken into the cache. existing: finds a file, and raises where there is none.
    """
    address = DATABASE.match(str(name))
    if address is not None:
        return _snapshot(str(name), query, cache)
    if query is not None:
        raise UsageError("--query needs a database; {name} is not one", name=name)
    path = Path(name)
    if not _is_several(path):
        return existing(path)
    first, *others = (existing(Path(part)) for part in str(path).split(","))
    return Path(",".join([str(first), *(str(other.resolve()) for other in others)]))


@cache
def _snapshot(url: str, query: str | None, cache: Path) -> Path:
    """Once a process: a command that asks twice must get one content."""
    from tiny_graph_rag.formats.graphs.programs import database_url, snapshot

    address = database_url(url)
    kept = sha256(f"{address}\n{query or ''}".encode()).hexdigest()[:16]
    return snapshot(address, query, cache / "snapshots" / kept)


def columns_beside(path: Path) -> Columns | None:
    """What `NAME-columns.yaml` next to a graph calls its columns; None where there is none. Raises
    GraphError, UsageError."""
    home = path if path.is_dir() else path.parent
    beside = home / f"{graph_name(path)}-columns.yaml"
    return Columns(columns_in(beside, KNOWN, GraphError)) if beside.is_file() else None


def found_with(path: Path, columns: Columns) -> tuple[GraphFormat, tuple[Path, ...]]:
    """The format of a file whose columns the user names. Raises GraphError."""
    try:
        format, paths = found_at(path)
    except GraphError:
        if not path.is_file():
            raise
        format, paths = GRAPH_FORMATS["triples"], (path,)
    if not format.takes_columns and GRAPH_FORMATS["JSON lists"].recognises(Head(path)):
        format = GRAPH_FORMATS["JSON lists"]  # somebody's own keys in a form like a program's
    if not format.takes_columns:
        raise GraphError.at(path, "the columns of {name} are fixed; leave out --columns", name=format.name)
    return format, paths


def _is_several(path: Path) -> bool:
    return "," in str(path) and not path.exists()


def _in_folder(folder: Path) -> tuple[GraphFormat, tuple[Path, ...]]:
    found = _graphs_in(folder)
    if len(found) > 1:
        writers = list(dict.fromkeys(format.name for format, _ in found))
        listed = ", ".join(str(paths[0].relative_to(folder)) for _, paths in found[:8])
        raise GraphError.at(
            folder,
            "the graph isn't clear: the folder has {found} of {names}: {listed}. Give one with -g",
            found=len(found),
            names=" and ".join(writers),
            listed=listed,
        )
    if found:
        format, paths = found[0]
        return (format, paths) if len(paths) > 1 else found_at(paths[0])
    plain = [path for path in graph_files(folder) if path.suffix not in (".txt", ".xml")]
    if len(plain) == 1:
        return found_at(plain[0])
    there = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or said("nothing")
    raise GraphError.at(
        folder,
        "no graph in a supported format in this folder; it contains {there}. Give the graph file with -g, or "
        "its tables together: -g ENTITIES,RELATIONS",
        there=there,
    )


def _graphs_in(folder: Path) -> list[tuple[GraphFormat, tuple[Path, ...]]]:
    """What known writers left there: of one program, else of a suffix that anyone may use, else tables."""
    for any_name in (False, True):
        matching = {path: format for format in _formats() for path in _matching(format, folder, any_name)}
        if matching:
            return [(format, (path,)) for path, format in matching.items()]
    tables = GRAPH_FORMATS["tables"]
    return [(tables, paths) for paths in tables.tables(folder)] if tables.tables else []


def _matching(format: GraphFormat, folder: Path, any_name: bool) -> list[Path]:
    """The files of the first of a format's patterns that has some. any_name: of those for any file of a
    suffix."""
    patterns = [pattern for pattern in format.within if pattern.startswith("*.") == any_name]
    globbed = (sorted(folder.glob(pattern)) for pattern in patterns)
    return [path for path in next(filter(None, globbed), []) if path.is_file()]


def graph_name(path: Path) -> str:
    """The file's name without its suffix and `-KG`; a folder's, or that of the project it lies in."""
    path = path.resolve() if path.name in ("", ".", "..") else path
    if _is_several(path):
        path = Path(str(path).partition(",")[0])
    if path.is_dir():
        named = path if path.name not in PLAIN_FOLDER_NAMES else path.resolve().parent
        return nfc(named.name) or "graph"
    return bare_name(path).removesuffix("-KG")


def graph_files(folder: Path) -> list[Path]:
    """Files of a folder that may be graphs, by their suffixes."""
    paths = sorted(path for path in folder.glob("*") if path.is_file())
    return [path for path in paths if path.name.removesuffix(".gz").endswith(GRAPH_ENDINGS)]


def _formats() -> Iterator[GraphFormat]:
    """In the order in which they are asked; each loaded when it is its turn."""
    return (GRAPH_FORMATS[name] for name in particular_first(GRAPH_FORMATS))
