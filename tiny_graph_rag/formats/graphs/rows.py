"""Graph files of other programs on their way into columns: every reader fills one `Rows`, and accounts for
it.

A reader says of each column of its file what it becomes (a role), of everything else that it is dropped and
why; `stats` shows both. What no role takes is kept as the entity's or the relation's own detail.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.formats.graphs.table import Table, detail_text
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.building import UNKNOWN_TYPE, Notes, entities_of, relations_of, tables_of
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT, Dropped, Origin
from tiny_graph_rag.messages import said

TWICE = "entities that stand in the file more than once (taken as one)"
NAMELESS = "entities without a name (named by their id)"
BAD_WEIGHTS = f"relations whose weight is no number (taken as {DEFAULT_WEIGHT})"
NUMBERED = "relations whose ends are taken as numbers of rows, for as ids some are not there"
SOME_UNDIRECTED = (
    "undirected relations among directed ones (retrieval.direction takes them as they are written)"
)

AMBIGUOUS = "relations whose end is a name of several entities (the first of them is taken)"
LOOKED_AT = 100_000  # ends, for examples of those that are missing

Roles = Mapping[str, str]
# Of records that a reader makes itself: keys that no file's columns have.
OWN: Roles = {
    "<id>": Role.ID,
    "<name>": Role.NAME,
    "<type>": Role.TYPE,
    "<description>": Role.DESCRIPTION,
    "<aliases>": Role.ALIASES,
    "<chunks>": Role.CHUNKS,
    "<source>": Role.SOURCE,
    "<target>": Role.TARGET,
    "<weight>": Role.WEIGHT,
    "<directed>": Role.DIRECTED,
}
Codes = NDArray[np.int32]


class Block(NamedTuple):
    """Relations by column. sources, targets: places in `ends`, -1 for an empty one. columns: what else
    Relations have."""

    ends: Sequence[str]
    sources: Codes
    targets: Codes
    columns: dict[str, Any]


class Rows:
    """Entities and relations of one file, in file order; `graph` once at the end.

    Entities have ids; a second one of the same id fills what the first left empty. Relations name their ends
    by id and may stand before them.
    """

    def __init__(self, path: Path, writer: str) -> None:
        self.path, self.writer = path, writer
        self.known: dict[str, int] = {}
        self.names: list[str] = []
        self.types: list[str] = []
        self.descriptions: list[str] = []
        self.aliases: list[Sequence[str]] = []
        self.chunks: list[Sequence[str]] = []
        self.details: list[str] = []
        self.blocks: list[Block] = []
        self.columns: dict[tuple[str, str], str] = {}
        self.problems = Problems(GraphError)
        self.texts: dict[str, str] = {}  # ids of nodes that are no entities, with their labels
        self.ambiguous: set[str] = set()  # ends that are names of several entities
        self._dropped, self._flaws = Notes(), Notes()

    def entity(
        self,
        id: str,
        name: str = "",
        type: str = "",
        description: str = "",
        aliases: Sequence[str] = (),
        chunks: Sequence[str] = (),
        details: str = "",
    ) -> None:
        """details: JSON of an object, "" where there is nothing."""
        row = self.known.setdefault(id, len(self.names))
        if row < len(self.names):
            self.flaw(TWICE, id)
            self.names[row] = self.names[row] or name
            self.types[row] = self.types[row] or type
            self.descriptions[row] = self.descriptions[row] or description
            self.aliases[row] = list(dict.fromkeys([*self.aliases[row], *aliases]))
            self.chunks[row] = list(dict.fromkeys([*self.chunks[row], *chunks]))
            more = {**json.loads(details or "{}"), **json.loads(self.details[row] or "{}")}
            self.details[row] = detail_text(more)
            return
        self.names.append(name)
        self.types.append(type)
        self.descriptions.append(description)
        self.aliases.append(aliases)
        self.chunks.append(chunks)
        self.details.append(details)

    def end(self, id: str, name: str = "", type: str = "") -> None:
        """An entity that stands at a relation's end, where no table lists entities."""
        row = self.known.get(id)
        if row is None:
            self.entity(id, name, type)
        else:
            self.names[row] = self.names[row] or name
            self.types[row] = self.types[row] or type

    def took(self, part: str, table: Table) -> None:
        """Note what becomes of a table's columns. part: `entities` or `relations`."""
        seen = {column: table.roles.get(column, Role.DETAIL) for column in table.names if column not in OWN}
        self.means(part, {**seen, **table.unread})

    def means(self, part: str, roles: Roles) -> None:
        """Note what something of the file is, for `stats`."""
        self.columns.update({(part, column): role for column, role in roles.items()})

    def dropped(self, what: str, example: str, count: int = 1) -> None:
        """Something that is no entity or relation by intent. what: in the plural."""
        self._dropped.add(what, count, [example])

    def flaw(self, what: str, example: str, count: int = 1) -> None:
        """Something unsound that was loaded all the same, or left out; the user is warned."""
        self._flaws.add(what, count, [example])

    def problem(self, place: str | int, wrong: str, **values: object) -> None:
        """Something that makes the file unusable; `graph` raises them all. place: a line by its number."""
        separator = ":" if isinstance(place, int) else ": "
        self.problems.add(f"{self.path}{separator}{place}", wrong, **values)

    def graph(self) -> KnowledgeGraph:
        """Raises GraphError with all problems, and for a file without entities."""
        self.problems.check()
        ids = list(self.known)
        nameless = [row for row, name in enumerate(self.names) if not name or not name.strip()]
        for row in nameless:
            self.names[row] = ids[row]
        if 0 < len(nameless) < len(ids):  # where none has a name, ids are the names
            self.flaw(NAMELESS, ids[nameless[0]], len(nameless))
        dropped = tuple(Dropped(*told) for told in self._dropped.found())
        if not ids:
            held = ", ".join(f"{part.count:,} {part.what}" for part in dropped)
            raise GraphError.at(
                self.path,
                "read as {writer}, the file has no entities; it needs at least one{held}",
                writer=self.writer,
                held=said(". It holds {parts}", parts=held) if held else "",
            )
        entities = entities_of(
            {
                "ids": ids,
                "names": self.names,
                "types": [type_ or UNKNOWN_TYPE for type_ in self.types],
                "descriptions": self.descriptions,
                "aliases": self.aliases,
                "source_chunks": self.chunks,
                "details": self.details,
            }
        )
        rows_of = self._end_rows()
        blocks = []
        for block in self.blocks:
            self._count_ambiguous(block)
            row_of = np.array([*(rows_of[end] for end in block.ends), -1], dtype=np.int32)
            ends = {"sources": row_of[block.sources], "targets": row_of[block.targets]}  # the last is of -1
            blocks.append({**block.columns, **ends})
        missing = [repr(end) for end, row in islice(rows_of.items(), LOOKED_AT) if row < 0][:3]
        taken = tuple((table, column, role) for (table, column), role in self.columns.items())
        origin = Origin(self.writer, taken, dropped)
        relations = relations_of(blocks)
        return KnowledgeGraph.of_tables(
            tables_of(entities, relations, self._flaws, origin, self.path, missing)
        )

    def _count_ambiguous(self, block: Block) -> None:
        if self.ambiguous:
            is_ambiguous = np.array([*(end in self.ambiguous for end in block.ends), False])
            count = int((is_ambiguous[block.sources] | is_ambiguous[block.targets]).sum())
            if count:
                self.flaw(AMBIGUOUS, repr(block.ends[int(is_ambiguous.argmax())]), count)

    def _end_rows(self) -> dict[str, int]:
        """End → row of its entity: by id, else by name, whatever its case, else by number; -1 for none."""
        ends = dict.fromkeys(end for block in self.blocks for end in block.ends)
        found = {end: self.known.get(end, -1) for end in ends}
        for fold in (str, str.casefold):
            missing = [end for end, row in found.items() if row < 0]
            if not missing:
                break
            named: dict[str, int] = {}
            shared: set[str] = set()
            for row, name in enumerate(self.names):
                key = fold(name)
                if key in named:
                    shared.add(key)
                named.setdefault(key, row)
            for end in missing:
                found[end] = named.get(fold(end), -1)
                if found[end] >= 0 and fold(end) in shared:
                    self.ambiguous.add(end)
        if -1 in found.values():
            return self._numbers(list(found)) or found
        return found

    def _numbers(self, ends: Sequence[str]) -> dict[str, int]:
        """Ends that number the list of entities, from 0 or from 1; empty where they don't."""
        if not all(end.isdecimal() and len(end) < 10 for end in ends):
            return {}
        numbers = list(map(int, ends))
        first = 0 if min(numbers) == 0 else 1
        if max(numbers) - first >= len(self.names) or (first and max(numbers) < len(self.names)):
            return {}
        if any(id.isdecimal() for id in self.known):
            self.flaw(NUMBERED, repr(ends[0]), sum(len(block.sources) for block in self.blocks))
        return {end: number - first for end, number in zip(ends, numbers, strict=True)}
