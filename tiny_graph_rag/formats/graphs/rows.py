"""Graph files of other programs on their way into columns: every reader fills one `Rows`, and accounts for
it.

A reader says of each column of its file what it becomes (a role), of everything else that it is dropped and
why; `stats` shows both. What no role takes is kept as the entity's or the relation's own detail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import GraphError, Problems
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION, UNKNOWN_TYPE, GraphColumns
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT, UNDIRECTED, Dropped, Origin
from tiny_graph_rag.messages import said

TWICE = "entities that stand in the file more than once (taken as one)"
NAMELESS = "entities without a name (named by their id)"
BAD_WEIGHTS = f"relations whose weight is no number (taken as {DEFAULT_WEIGHT})"
NUMBERED = "relations whose ends are taken as numbers of rows, for as ids some are not there"
SOME_UNDIRECTED = "undirected relations among directed ones (--direction takes them as they are written)"

Roles = Mapping[str, str]


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
        self.details: list[dict[str, Any] | None] = []
        self.ends: list[tuple[str, str]] = []
        self.relation_ids: list[str] = []
        self.relation_types: list[str] = []
        self.relation_descriptions: list[str] = []
        self.weights: list[float] = []
        self.relation_chunks: list[Sequence[str]] = []
        self.relation_details: list[dict[str, Any] | None] = []
        self.columns: dict[tuple[str, str], str] = {}
        self.problems = Problems(GraphError)
        self.texts: set[str] = set()  # ids of nodes that are texts, not entities
        self._dropped: dict[str, tuple[int, list[str]]] = {}
        self._flaws: dict[str, tuple[int, list[str]]] = {}

    def entity(
        self,
        id: str,
        name: str = "",
        type: str = "",
        description: str = "",
        aliases: Sequence[str] = (),
        chunks: Sequence[str] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        row = self.known.setdefault(id, len(self.names))
        if row < len(self.names):
            self.flaw(TWICE, id)
            self.names[row] = self.names[row] or name
            self.types[row] = self.types[row] or type
            self.descriptions[row] = self.descriptions[row] or description
            self.aliases[row] = list(dict.fromkeys([*self.aliases[row], *aliases]))
            self.chunks[row] = list(dict.fromkeys([*self.chunks[row], *chunks]))
            self.details[row] = {**(details or {}), **(self.details[row] or {})}
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
            return
        self.names[row] = self.names[row] or name
        self.types[row] = self.types[row] or type

    def relation(
        self,
        source: str,
        target: str,
        type: str = "",
        description: str = "",
        weight: Any = None,
        chunks: Sequence[str] = (),
        details: dict[str, Any] | None = None,
        id: str = "",
    ) -> None:
        self.ends.append((source, target))
        self.relation_ids.append(id or f"relations[{len(self.relation_ids)}]")
        self.relation_types.append(type)
        self.relation_descriptions.append(description)
        self.weights.append(DEFAULT_WEIGHT if weight is None else self._number(weight))
        self.relation_chunks.append(chunks)
        self.relation_details.append(details)

    def _number(self, weight: Any) -> float:
        try:
            return float(weight)
        except (TypeError, ValueError, OverflowError):
            self.flaw(BAD_WEIGHTS, f"{weight!r:.40}")
            return DEFAULT_WEIGHT

    def undirected(self, place: str, written: str) -> None:
        """Note that the file's relations have no direction. place, written: what says so."""
        self.took(place, {written: UNDIRECTED})

    def took(self, table: str, roles: Roles) -> None:
        """Note what became of columns. table: `entities` or `relations`."""
        self.columns.update({(table, column): role for column, role in roles.items()})

    def dropped(self, what: str, example: str, count: int = 1) -> None:
        """Something that is no entity or relation by intent. what: in the plural."""
        self._add(self._dropped, what, example, count)

    def flaw(self, what: str, example: str, count: int = 1) -> None:
        """Something unsound that was loaded all the same, or left out; the user is warned."""
        self._add(self._flaws, what, example, count)

    def problem(self, place: str | int, wrong: str, **values: object) -> None:
        """Something that makes the file unusable; `graph` raises them all. place: a line by its number."""
        separator = ":" if isinstance(place, int) else ": "
        self.problems.add(f"{self.path}{separator}{place}", wrong, **values)

    @staticmethod
    def _add(kept: dict[str, tuple[int, list[str]]], what: str, example: str, count: int) -> None:
        before, examples = kept.setdefault(what, (0, []))
        if len(examples) < 3:
            examples.append(example)
        kept[what] = (before + count, examples)

    def graph(self) -> KnowledgeGraph:
        """Raises GraphError with all problems, and for a file without entities."""
        self.problems.check()
        ids = list(self.known)
        nameless = [row for row, name in enumerate(self.names) if not name or not name.strip()]
        for row in nameless:
            self.names[row] = ids[row]
        if 0 < len(nameless) < len(ids):  # where none has a name, ids are the names
            self.flaw(NAMELESS, ids[nameless[0]], len(nameless))
        columns = GraphColumns(self.known)
        columns.add_entity_columns(
            ids,
            self.names,
            [type_ or UNKNOWN_TYPE for type_ in self.types],
            self.descriptions,
            self.aliases,
            self.chunks,
            list(map(detail_text, self.details)),
        )
        sources, targets = self._end_rows()
        pairs = zip(self.ends, sources.tolist(), targets.tolist(), strict=True)
        missing = (end for ends, *rows in pairs for end, row in zip(ends, rows, strict=True) if row < 0)
        columns.missing = list(islice(map(repr, missing), 3))
        columns.add_relation_columns(
            self.relation_ids,
            sources,
            targets,
            [type_ or UNKNOWN_RELATION for type_ in self.relation_types],
            self.relation_descriptions,
            np.array(self.weights, dtype=np.float64),
            self.relation_chunks,
            list(map(detail_text, self.relation_details)),
        )
        return self.finished(columns)

    def _end_rows(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows of the entities at both ends: by id, else by name, whatever its case, else by number."""
        written = [end for pair in self.ends for end in pair]
        ends = [self.known.get(end, -1) for end in written]
        for fold in (str, str.casefold):
            if -1 not in ends:
                break
            named: dict[str, int] = {}
            for row, name in enumerate(self.names):
                named.setdefault(fold(name), row)
            ends = [
                named.get(fold(end), -1) if row < 0 else row for end, row in zip(written, ends, strict=True)
            ]
        if -1 in ends:
            ends = self._numbers(written) or ends
        both = np.array(ends, dtype=np.int32).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()

    def _numbers(self, ends: Sequence[str]) -> list[int]:
        """Ends that number the list of entities, from 0 or from 1; empty where they don't."""
        if not all(end.isdecimal() and len(end) < 10 for end in ends):
            return []
        numbers = list(map(int, ends))
        first = 0 if min(numbers) == 0 else 1
        if max(numbers) - first >= len(self.names) or (first and max(numbers) < len(self.names)):
            return []
        if any(id.isdecimal() for id in self.known):
            self.flaw(NUMBERED, repr(ends[0]), len(self.ends))
        return [number - first for number in numbers]

    def finished(self, columns: GraphColumns) -> KnowledgeGraph:
        """The graph of columns that are filled already, with this account of the file."""
        self.problems.check()
        if not columns.entities:
            held = ", ".join(f"{count:,} {what}" for what, (count, _) in self._dropped.items())
            raise GraphError.at(
                self.path,
                "read as {writer}, the file has no entities; it needs at least one{held}",
                writer=self.writer,
                held=said(". It holds {parts}", parts=held) if held else "",
            )
        columns.check_ends(self.path)
        dropped = tuple(
            Dropped(what, count, tuple(examples)) for what, (count, examples) in self._dropped.items()
        )
        taken = tuple((table, column, role) for (table, column), role in self.columns.items())
        flaws = [(what, count, tuple(examples)) for what, (count, examples) in self._flaws.items()]
        columns.flaws += flaws
        return KnowledgeGraph.of_columns(columns, origin=Origin(self.writer, taken, dropped))


def detail_text(details: Mapping[str, Any] | None) -> str:
    """JSON of what no column takes; "" where there is nothing. Values that JSON lacks are written as text."""
    return json.dumps(details, ensure_ascii=False, default=str) if details else ""


def unfolded(rest: dict[str, Any] | None) -> dict[str, Any] | None:
    """Details with those taken out that `convert` packed under the one column `details`."""
    packed = (rest or {}).get("details")
    if rest is None or not isinstance(packed, str) or packed[:1] != "{":
        return rest
    try:
        inner = json.loads(packed)
    except ValueError:
        return rest
    return {**{key: value for key, value in rest.items() if key != "details"}, **inner} or None


def split_roles(row: Mapping[str, Any], roles: Roles) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A record's values by role, and those that no role takes.

    Of two columns of one role the one that `roles` names first counts; the other is kept as a detail.
    """
    found: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for column, role in roles.items():
        value = row.get(column)
        if value is None or value == "" or role == Role.UNUSED:
            continue
        if role in found or role == Role.DETAIL:
            rest[column] = value
        else:
            found[role] = value
    for column, value in row.items():
        if column not in roles and value is not None and value != "":
            rest[column] = value
    return found, rest or None


def text_of(value: Any) -> str:
    """A value as text: strings as they are, null as nothing, the rest as JSON says it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def strings_of(value: Any) -> list[str]:
    """A list of strings of whatever came: a list, one value, nothing."""
    if value is None or value == "":
        return []
    if isinstance(value, list | tuple):
        return [text_of(part) for part in value if part is not None]
    return [text_of(value)]


def column_roles(seen: Iterable[str], roles: Roles) -> dict[str, str]:
    """What becomes of each column that was seen."""
    return {column: roles.get(column, Role.DETAIL) for column in seen}
