"""Loaded graphs, kept as memory-mapped columns under the user's cache folder.

One folder a graph, named by the SHA-256 of the file it was made from and by a digest of the code that made
it: content or code that differs is another folder, never a mistaken one. Folders are moved into place whole,
so that two processes at once each find either nothing or a whole cache. A cache that is cut off or
unknown is rebuilt, and one that can't be written is done without.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tiny_graph_rag.columns.stored import BadRecordError, Derived, new_folder, read_record, write_record
from tiny_graph_rag.files import combined_sha256, sha256_of, stamp_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Tables
from tiny_graph_rag.outputs import write_atomically
from tiny_graph_rag.version import __version__

if TYPE_CHECKING:
    from tiny_graph_rag.graph.large import Triples

PACKAGE = Path(__file__).resolve().parent.parent
CODE_BEHIND_COLUMNS = ("columns", "formats/graphs", "graph", "language", "linking")
GRAPH = "graph"  # the folder of its columns; what is derived of it lies next to it


class GraphCache(Struct, frozen=True):
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
        sha256 = combined_sha256([self._sha256(path) for path in paths])
        home = self.folder / "graphs" / f"{sha256[:32]}-{_code_digest()[:16]}"

        def opened() -> KnowledgeGraph:
            tables = read_record(home / GRAPH, Tables)
            return replace(KnowledgeGraph.of_tables(tables), sha256=sha256, derivations=Derived(home))

        with suppress(BadRecordError):
            return opened()
        for older in (self.folder / "graphs").glob(f"{sha256[:32]}-*"):
            if older != home:
                shutil.rmtree(older, ignore_errors=True)
        triples = large()
        if triples is not None:
            from tiny_graph_rag.graph.large import build

            with new_folder(home / GRAPH) as folder:
                write_record(folder, build(triples, folder, say))
            return opened()
        graph = load()
        if graph.sha256 != sha256:  # the file was exchanged while it was read
            return graph
        # A cache that can't be written is done without.
        with suppress(OSError, ValueError), new_folder(home / GRAPH) as folder:
            write_record(folder, graph.tables)
        return replace(graph, derivations=Derived(home))

    def _sha256(self, path: Path) -> str:
        """Of the file's bytes; kept under its place and stamp: a file that stays as it is is read once."""
        before = stamp_of(path)
        named = f"{path.resolve()} {before}".encode("utf-8", "surrogateescape")
        note = self.folder / "sources" / hashlib.sha256(named).hexdigest()
        with suppress(OSError):
            return note.read_text(encoding="ascii", errors="replace")
        sha256 = sha256_of(path)
        if stamp_of(path) == before:
            with suppress(OSError):  # it only saves time
                note.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(note, [sha256.encode()])
        return sha256


@cache
def _code_digest() -> str:
    """Of all that decides what a graph's columns are: our code, Unicode's tables, the machine's bytes."""
    digest = hashlib.sha256(f"{__version__} {unicodedata.unidata_version} {sys.byteorder}".encode())
    for room in CODE_BEHIND_COLUMNS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
