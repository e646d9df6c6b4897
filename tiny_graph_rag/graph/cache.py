"""Loaded graphs, kept as memory-mapped columns under the user's cache folder.

One folder a graph, named by the SHA-256 of the file it was made from and by a digest of the code that made
it: content or code that differs is another folder, never a mistaken one. Files are moved into place whole,
so that two processes at once each find either nothing or a whole cache. A cache that is cut off or
unknown is rebuilt, and one that can't be written is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.columns.stored import Arrays, BadArraysError, known_sha256, read_arrays, write_arrays
from tiny_graph_rag.columns.strings import Categories, Numbered, StringLists, Strings
from tiny_graph_rag.files import combined_sha256
from tiny_graph_rag.graph.model import Build, Columns, Derived, KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency, Dropped, Entities, LoadNotes, Origin, Relations
from tiny_graph_rag.shown import short_repr
from tiny_graph_rag.version import __version__

if TYPE_CHECKING:
    from tiny_graph_rag.graph.large import Triples

WRITTEN_MEANWHILE_FROM_BYTES = 1 << 26  # from here on, writing takes long enough to go on next to it
PACKAGE = Path(__file__).resolve().parent.parent
CODE_BEHIND_COLUMNS = ("columns", "formats/graphs", "graph", "language", "linking")
GRAPH = "graph"  # the folder of its columns; what is derived of it lies next to it


@dataclass(frozen=True, slots=True)
class GraphCache:
    """folder: where caches lie; it may not exist yet."""

    folder: Path

    def graph(
        self,
        paths: Sequence[Path],
        load: Callable[[], KnowledgeGraph],
        large: Callable[[], Triples | None] = lambda: None,
        say: Callable[[str], None] = lambda text: None,
    ) -> KnowledgeGraph:
        """The graph of a file or of several, from the cache where it is sound, else from `load` and into it.

        Its name is not set: one content may lie in several files. large: its triples where memory need not
        hold it, which are then written into the cache piece by piece; say: called with what is done
        meanwhile.
        """
        size = sum(path.stat().st_size for path in paths)
        sha256 = combined_sha256([known_sha256(path, self.folder / "sources") for path in paths])
        home = self.folder / "graphs" / f"{sha256[:32]}-{_code_digest()[:16]}"
        derived = StoredDerived(home=home)
        try:
            return replace(_graph_of(*read_arrays(home / GRAPH), sha256), derivations=derived)
        except (BadArraysError, KeyError, IndexError, TypeError, ValueError):
            pass
        triples = large()
        if triples is not None:
            from tiny_graph_rag.graph.large import build

            build(triples, home / GRAPH, _origin_note(triples.origin), say)
            return replace(_graph_of(*read_arrays(home / GRAPH), sha256), derivations=derived)
        graph = replace(load(), derivations=derived)
        if graph.sha256 != sha256:  # the file was exchanged while it was read
            return replace(graph, derivations=Derived())
        if size < WRITTEN_MEANWHILE_FROM_BYTES:
            self._keep(graph, home)
        else:  # the process ends when this thread has
            Thread(target=self._keep, args=(graph, home)).start()
        return graph

    def _keep(self, graph: KnowledgeGraph, home: Path) -> None:
        """A cache that can't be written is done without."""
        with contextlib.suppress(OSError):
            self._remove_older(graph.sha256)
            write_arrays(home / GRAPH, _arrays_of(graph), _note_of(graph))

    def _remove_older(self, sha256: str) -> None:
        for older in (self.folder / "graphs").glob(f"{sha256[:32]}-*"):
            if not older.name.endswith(_code_digest()[:16]):
                shutil.rmtree(older, ignore_errors=True)


@dataclass(slots=True)
class StoredDerived(Derived):
    """Keeps derived arrays as files next to the graph's."""

    home: Path = field(default_factory=Path)

    __repr__ = short_repr

    def made(self, name: str, build: Build) -> Columns:
        folder, code = self.home / name, _module_digest(build)
        try:
            arrays, note = read_arrays(folder)
            if note.get("code") == code:
                return arrays
        except BadArraysError:
            pass
        built = build()
        try:
            write_arrays(folder, built, {"code": code})
            return read_arrays(folder)[0]
        except (OSError, BadArraysError):
            return built


def _arrays_of(part: Any, prefix: str = "") -> Arrays:
    """The arrays in a graph and its columns, under names like `entities.names.offsets`."""
    found: Arrays = {}
    for column in fields(part):
        value = getattr(part, column.name)
        if hasattr(value, "dtype"):
            found[prefix + column.name] = value
        elif is_dataclass(value) and not isinstance(value, Derived | LoadNotes | Origin):
            found.update(_arrays_of(value, f"{prefix}{column.name}."))
    return found


def _note_of(graph: KnowledgeGraph) -> dict[str, Any]:
    return {
        **_origin_note(graph.origin),
        "entity_types": graph.entities.types.names,
        "relation_types": graph.relations.types.names,
        "flaws": graph.notes.found,
    }


def _origin_note(origin: Origin) -> dict[str, Any]:
    return {"package": __version__, "origin": asdict(origin)}


def _graph_of(arrays: Arrays, note: Mapping[str, Any], sha256: str) -> KnowledgeGraph:
    def strings(name: str) -> Strings:
        return Strings.kept(arrays, name)

    def lists(name: str) -> StringLists:
        return StringLists(strings(f"{name}.items"), arrays[f"{name}.offsets"])

    def types(name: str, names: list[str]) -> Categories:
        return Categories(arrays[f"{name}.types.codes"], tuple(names))

    entities = Entities(
        ids=strings("entities.ids"),
        names=strings("entities.names"),
        types=types("entities", note["entity_types"]),
        descriptions=strings("entities.descriptions"),
        aliases=lists("entities.aliases"),
        source_chunks=lists("entities.source_chunks"),
        details=strings("entities.details"),
    )
    relations = Relations(
        ids=Numbered(*note["relation_ids"]) if "relation_ids" in note else strings("relations.ids"),
        sources=arrays["relations.sources"],
        targets=arrays["relations.targets"],
        types=types("relations", note["relation_types"]),
        descriptions=strings("relations.descriptions"),
        weights=arrays["relations.weights"],
        source_chunks=lists("relations.source_chunks"),
        details=strings("relations.details"),
    )
    adjacency = Adjacency(**{field.name: arrays[f"adjacency.{field.name}"] for field in fields(Adjacency)})
    flaws = LoadNotes(tuple((kind, count, tuple(examples)) for kind, count, examples in note["flaws"]))
    written = note["origin"]
    origin = Origin(
        written["writer"],
        tuple((table, column, became) for table, column, became in written["columns"]),
        tuple(Dropped(drop["what"], drop["count"], tuple(drop["examples"])) for drop in written["dropped"]),
    )
    rank = arrays["name_rank"]
    return KnowledgeGraph(entities, relations, adjacency, rank, sha256=sha256, notes=flaws, origin=origin)


@cache
def _code_digest() -> str:
    """Of all that decides what a graph's columns are: our code, Unicode's tables, the machine's bytes."""
    digest = hashlib.sha256(f"{__version__} {unicodedata.unidata_version} {sys.byteorder}".encode())
    for part in CODE_BEHIND_COLUMNS:
        place = PACKAGE / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _module_digest(build: Callable[..., Any]) -> str:
    module = sys.modules.get(getattr(build, "__module__", ""))
    source = Path(getattr(module, "__file__", None) or "")
    return hashlib.sha256(source.read_bytes() if source.is_file() else b"").hexdigest()
