"""Entities and relations, whatever file or database holds them, on their way into columns: every reader fills
one `Rows`, and accounts for it (filling.py).

Of each column it says what it becomes (a role: roles.py), of everything else that it is dropped and why;
`stats` shows both. What no role takes is kept as the entity's or the relation's own detail. Ends are ids,
else names, else numbers of entities in their list; where no list of entities is given, an entity is what
stands at an end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.formats.graphs.table import Table, detail_text
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.building import (
    UNKNOWN_TYPE,
    Notes,
    entities_of,
    looks_like_id,
    relations_of,
    tables_of,
)
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Dropped, LoadNotes, Origin
from tiny_graph_rag.messages import said

TWICE = "entities found more than once in the file, taken as one"
NAMELESS = "entities without a name (named by their id)"
NUMBERED = "relations whose ends are taken as numbers of rows, for as ids some are not there"
AMBIGUOUS = "relations whose end is a name of several entities (the first of them is taken)"
UNLISTED = "names at ends of relations that no table of entities lists (taken as entities)"
LOOKED_AT = 100_000  # ends, for examples of those that are missing

# Of an entity, and their values where a record has none.
FIELDS = {"name": "", "type": "", "description": "", "aliases": (), "source_chunks": (), "details": ""}

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
    by id and may stand before them. Where most relations have an end that is not listed, and some ends are,
    those that are not are entities, too.
    """

    def __init__(self, path: Path, writer: str) -> None:
        self.path, self.writer = path, writer
        self.known: dict[str, int] = {}
        self.entities: dict[str, list[Any]] = {field: [] for field in FIELDS}
        self.names = self.entities["name"]
        self.blocks: list[Block] = []
        self.columns: dict[tuple[str, str], str] = {}
        self.problems = Problems(GraphError)
        self.texts: dict[str, str] = {}  # ids of nodes that are no entities, with their labels
        self.ambiguous: set[str] = set()  # ends that are names of several entities
        self.is_alone: bool | None = None  # whether relations alone tell the entities
        self._dropped, self._flaws = Notes(), Notes()

    def entity(self, id: str, *, is_end: bool = False, **fields: Any) -> None:
        """fields: of FIELDS; details are JSON of an object. is_end: of a relation, where no table lists
        entities; it may stand at several."""
        row = self.known.setdefault(id, len(self.names))
        if row == len(self.names):
            for field, column in self.entities.items():
                column.append(fields.get(field, FIELDS[field]))
            return
        held = {field: column[row] for field, column in self.entities.items()}
        new = {**FIELDS, **fields}
        is_other = held["name"] and new["name"] not in ("", held["name"])
        if not is_end:
            self.flaw(TWICE, f"{id}: {held['name']}, {new['name']}" if is_other else id)
            new["aliases"] = [*new["aliases"], *([new["name"]] if is_other else ())]
        for field, value in held.items():
            several = [] if isinstance(value, str) else list(dict.fromkeys([*value, *new[field]]))
            self.entities[field][row] = several or value or new[field]
        details = {**json.loads(new["details"] or "{}"), **json.loads(held["details"] or "{}")}
        self.entities["details"][row] = detail_text(details)

    def took(self, part: str, table: Table) -> None:
        """Note what becomes of a table's columns. part: `entities` or `relations`."""
        seen = {column: table.roles.get(column, Role.DETAIL) for column in table.names if column[:1] != "<"}
        self.means(part, {**seen, **table.unread})

    def means(self, part: str, roles: Mapping[str, str]) -> None:
        """Note what something of the file is, for `stats`."""
        self.columns.update({(part, column): role for column, role in roles.items()})

    def dropped(self, what: str, example: str, count: int = 1) -> None:
        """Something that is no entity or relation by intent. what: in the plural."""
        self._dropped.add(what, count, [example])

    def flaw(self, what: str, example: str, count: int = 1) -> None:
        """Something unsound that was loaded all the same, or left out; the user is warned."""
        self._flaws.add(what, count, [example])

    def graph(self) -> KnowledgeGraph:
        """Raises GraphError with all problems, and for a file without entities."""
        self.problems.check()
        rows_of = self.end_rows()
        blocks = self._placed(rows_of)
        lost = sum(int(((block["sources"] < 0) | (block["targets"] < 0)).sum()) for block in blocks)
        relations = sum(len(block["sources"]) for block in blocks)
        if 3 * lost > relations and any(row >= 0 for row in rows_of.values()):
            for end in (end for end, row in rows_of.items() if row < 0):
                rows_of[end] = len(self.names)
                self.entity(end, name=end)
                self.flaw(UNLISTED, repr(end))
            blocks = self._placed(rows_of)
        ids = list(self.known)
        nameless = [row for row, name in enumerate(self.names) if not name or not name.strip()]
        for row in nameless:
            self.names[row] = ids[row]
        count, aliases = Counter(self.names), self.entities["aliases"]
        for row, (id, name) in enumerate(zip(ids, self.names, strict=True)):
            if count[name] > 1 and id not in (name, *aliases[row]) and not looks_like_id(id):
                aliases[row] = [*aliases[row], id]
        if 0 < len(nameless) < len(ids):  # where none has a name, ids are the names
            self.flaw(NAMELESS, ids[nameless[0]], len(nameless))
        dropped = tuple(Dropped(*told) for told in self._dropped.found())
        if not ids:
            held = ", ".join(f"{part.count:,} {part.what}" for part in dropped) if self.texts else ""
            for line in LoadNotes(self._flaws.found()).lines():
                self.problems.add(self.path, line)
            self.problems.add(
                self.path,
                "read as {writer}, the file has no entities; it needs at least one{held}",
                writer=self.writer,
                held=said(". It holds {parts}; have its program extract entities too", parts=held)
                if held
                else "",
            )
            self.problems.check()
        types = [type or UNKNOWN_TYPE for type in self.entities["type"]]
        named = {"ids": ids, "names": self.names, "types": types}
        rest = {field: self.entities[field] for field in ("aliases", "source_chunks", "details")}
        entities = entities_of({**named, "descriptions": self.entities["description"], **rest})
        for block in self.blocks if self.ambiguous else ():
            is_ambiguous = np.array([*(end in self.ambiguous for end in block.ends), False])
            if met := int((is_ambiguous[block.sources] | is_ambiguous[block.targets]).sum()):
                self.flaw(AMBIGUOUS, repr(block.ends[int(is_ambiguous.argmax())]), met)
        missing = [repr(end) for end, row in islice(rows_of.items(), LOOKED_AT) if row < 0][:3]
        taken = tuple((table, column, role) for (table, column), role in self.columns.items())
        origin = Origin(self.writer, taken, dropped)
        return KnowledgeGraph.of_tables(
            tables_of(entities, relations_of(blocks), self._flaws, origin, self.path, missing)
        )

    def _placed(self, rows_of: Mapping[str, int]) -> list[dict[str, Any]]:
        """Relations by column, with rows of entities for their ends: -1 for what is not listed."""
        blocks = []
        for block in self.blocks:
            row_of = np.array([*(rows_of[end] for end in block.ends), -1], dtype=np.int32)
            ends = {"sources": row_of[block.sources], "targets": row_of[block.targets]}  # the last is of -1
            blocks.append({**block.columns, **ends})
        return blocks

    def end_rows(self) -> dict[str, int]:
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
