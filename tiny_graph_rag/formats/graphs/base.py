"""What a graph format is.

It is a reader registered with `@graph_format(name, line, recognises)`: `recognises` sees a Head and
says whether the file is its own, `within` names the files that its writer leaves in a folder. To add one,
write it in a module of this folder, or in another package with an entry point in the group
`tiny_graph_rag.graph_formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import NotJsonError, decoded_json
from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.files import BYTE_ORDER_MARK, check_utf8, mapped
from tiny_graph_rag.formats.detection import Format, registering
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.registry import Registry

PARTS = {"entities": "an object from id to entity", "relationships": "a list"}  # of KG JSON
GraphReader = Callable[..., KnowledgeGraph]  # of the files' paths


@dataclass(frozen=True)
class GraphFormat(Format[GraphReader]):
    """within: glob patterns, of which a folder has one file, or tuples of names that belong together.

    folders: where below the named folder to look. together: all files of all patterns are read as one.
    suffixes: whose broken files are this format's to complain about. besides: patterns of what its writer
    leaves next to the graph, which is no graph. takes_columns: whether `read` takes what the user calls
    columns (`--columns`) after the paths. tables: the tables that belong together of a folder, or with a
    file, for those whose names no pattern holds. elsewhere: where else below the named folder its files may
    lie, as that folder
    itself says; asked before `folders`.
    """

    within: tuple[str | tuple[str, ...], ...] = ()
    folders: tuple[str, ...] = ("",)
    together: bool = False
    besides: tuple[str, ...] = ()
    takes_columns: bool = False
    tables: Callable[[Path], list[tuple[Path, ...]]] | None = None
    elsewhere: Callable[[Path], list[str]] | None = None

    @property
    def graph_file(self) -> str:
        """What its writer calls the graph, in words."""
        first = self.within[0]
        return first if isinstance(first, str) else " and ".join(first)

    def files(self, folder: Path) -> list[tuple[Path, ...]]:
        """What of this format lies in a folder: one item a graph."""
        if self.tables is not None:
            return self.tables(folder)
        folders = (*(self.elsewhere(folder) if self.elsewhere is not None else ()), *self.folders)
        for pattern in folders:
            for inner in sorted(folder.glob(pattern), reverse=True) if pattern else [folder]:
                if found := self._in(inner):  # of dated folders the last
                    return found
        return []

    def beside(self, path: Path) -> tuple[Path, ...]:
        """A file and those that belong to it: `entities.parquet` and its `relationships.parquet`."""
        if self.tables is not None:
            return next(iter(self.tables(path)), (path,))
        for pattern in self.within:
            if isinstance(pattern, tuple) and path.name in pattern:
                return tuple(path.with_name(name) for name in pattern)
        return (path,)

    def _in(self, folder: Path) -> list[tuple[Path, ...]]:
        pairs = [pattern for pattern in self.within if isinstance(pattern, tuple)]
        for pair in pairs:
            if all((folder / name).is_file() for name in pair):
                return [tuple(folder / name for name in pair)]
        globbed = [sorted(folder.glob(pattern)) for pattern in self.within if isinstance(pattern, str)]
        if self.together:
            return (
                [tuple(path for paths_of_pattern in globbed for path in paths_of_pattern)]
                if all(globbed) and globbed
                else []
            )
        first = next((paths_of_pattern for paths_of_pattern in globbed if paths_of_pattern), [])
        return [(path,) for path in first if path.is_file()]


# Of a file that several formats would take, the first of these counts.
GRAPH_FORMATS: Registry[GraphFormat] = Registry(
    "graph format", "tiny_graph_rag.formats.graphs", first=("kg_json", "ms_graphrag", "lightrag", "pairs")
)


graph_format = registering(GRAPH_FORMATS, GraphFormat)


def json_of(path: Path) -> Any:
    """The document of a JSON file. Raises GraphError or InputError with the place."""
    buffer = mapped(path)
    text = memoryview(buffer)[3:] if buffer[:3] == BYTE_ORDER_MARK else buffer
    if not len(text):
        raise GraphError.at(path, "the file is empty")
    try:
        return decoded_json(text)
    except UnicodeDecodeError:
        check_utf8(buffer, path)
        raise
    except NotJsonError as error:
        raise GraphError(error.at(path)) from error


def check_parts(path: Path, keys: Sequence[str], others: Mapping[str, Said]) -> None:
    """Raises GraphError where one of KG JSON's two parts is not among an object's keys, or holds what it must
    not. others: a part → what it holds instead of an object or a list."""
    from tiny_graph_rag.graph.building import SHAPE

    missing = [key for key in PARTS if key not in keys]
    if missing:
        raise GraphError.at(
            path,
            "{wanted}; missing: {names} (it has {keys})",
            wanted=SHAPE,
            names=" and ".join(map(repr, missing)),
            keys=", ".join(map(repr, keys[:5])) or "no keys",
        )
    problems = Problems(GraphError)
    for key, got in others.items():
        problems.add(
            path, "{part} must be {wanted}, got {got}", part=repr(key), wanted=said(PARTS[key]), got=got
        )
    problems.check()
