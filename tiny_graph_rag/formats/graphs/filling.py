"""Tables of entities and of relations, whatever file or database holds them, into `Rows`.

What their columns mean is roles.py's to say. Ends are ids, else names, else numbers of entities in their
list; where no list of entities is given, an entity is what stands at an end.

Graph-RAG tools keep documents and chunks of text as nodes next to the entities. Those are no answers to a
question: they are dropped and counted, by label; a relation between a chunk and an entity says which chunks
the entity stands in, and becomes its source chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.given import Columns, listed
from tiny_graph_rag.formats.graphs.roles import NONE, edge_roles, node_roles, of_role
from tiny_graph_rag.formats.graphs.rows import (
    BAD_WEIGHTS,
    OWN,
    SOME_UNDIRECTED,
    Block,
    Codes,
    Roles,
    Rows,
    column_roles,
)
from tiny_graph_rag.formats.graphs.spelling import admin_kind, bare, is_number, key_of
from tiny_graph_rag.formats.graphs.table import (
    Cells,
    Table,
    coded,
    flat,
    joined,
    list_of,
    numbers_of,
    strings_of,
    text_of,
)
from tiny_graph_rag.formats.words import NODE_KEYS, Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

TEXT_NODES = frozenset({"document", "chunk"})  # where they hold one of TEXTS
TEXTS = ("page_content", "text")
ENTITY_MARK = "__Entity__"
INNER = frozenset({ENTITY_MARK, "__KGBuilder__", "__Node__", "__tempEntity__", "Entity"})  # tools' own labels
UNDIRECTED_WORDS = frozenset({"undirected", "mutual", "false", "0"})


def fill_records(
    rows: Rows,
    nodes: Sequence[dict[str, Any]],
    edges: Sequence[dict[str, Any]],
    node_roles: Roles = OWN,
    edge_roles: Roles = OWN,
    lexical: Collection[str] = (),
) -> None:
    """Put records whose roles are known into `rows`: a file's own columns, and keys of `OWN`."""
    if nodes:
        fill_entities(rows, Table.of_records(nodes), own={**OWN, **node_roles}, lexical=lexical)
    fill_relations(rows, Table.of_records(edges), own={**OWN, **edge_roles}, alone=not nodes)


def fill_entities(
    rows: Rows,
    table: Table,
    given: Columns = NONE,
    own: Roles | None = None,
    place: str = "entities[{}]",
    lexical: Collection[str] = (),
) -> None:
    """Put a table's entities into `rows`. place: what a problem calls one, by its number. lexical: labels of
    nodes that are no entities; where some are marked as entities, no other node is one."""
    roles = own or node_roles(table, given)
    is_list = any(admin_kind(name) == "LABEL" for name in table.names)
    columns = _Columns(_without_text_nodes(rows, table, roles, is_list, lexical), roles)
    table = columns.table
    rows.took("entities", {**column_roles(table.names, roles), **table.unread})
    names = list(map(_name, columns.cells(Role.NAME)))
    ids = [
        text_of(id).strip() or name.strip() for id, name in zip(columns.cells(Role.ID), names, strict=True)
    ]
    labels = [_labels(cell, is_list) for cell in columns.cells(Role.TYPE)]
    own_labels = [[label for label in found if label not in INNER] for found in labels]
    if any(len(found) > 1 for found in own_labels):
        table.put("labels", [found if len(found) > 1 else None for found in own_labels])
    details = table.details(columns.names)
    descriptions, chunks = columns.cells(Role.DESCRIPTION), columns.cells(Role.CHUNKS)
    for row, id in enumerate(ids):
        if not id:
            keys = listed(name for name in table.names if table.cells(name)[row] is not None)
            rows.problem(place.format(row), "wanted 'id' or 'name', got the keys {listed}", listed=keys)
            continue
        rows.entity(
            id,
            names[row],
            next(iter(own_labels[row] or ([] if lexical else labels[row])), ""),
            _lines(descriptions[row]),
            [
                alias
                for name in columns.names.get(Role.ALIASES, ())
                for alias in _aliases(table.cells(name)[row])
            ],
            list_of(chunks[row]),
            details[row],
        )


def _without_text_nodes(
    rows: Rows, table: Table, roles: Roles, is_list: bool, lexical: Collection[str]
) -> Table:
    """The table without its documents and chunks: those of the labels in `lexical`, else those that hold a
    text. Where some nodes are marked as entities, others are none."""
    columns = _Columns(table, roles)
    ids = columns.cells(Role.ID)
    labels = [_labels(cell, is_list) for cell in columns.cells(Role.TYPE)]
    texts = table.first_of([name for name in TEXTS if name in table.names])
    is_marked = bool(lexical) and any(ENTITY_MARK in found for found in labels)
    kept = []
    for row, found in enumerate(labels):
        known = lexical or (TEXT_NODES if texts is not None and texts[row] else ())
        label = next((label for label in found if bare(label) in known), "")
        if is_marked:
            label = "" if ENTITY_MARK in found else label or next(iter(found), "unlabelled")
        if label:
            id = text_of(ids[row]).strip()
            rows.texts[id] = label
            rows.dropped(f"{label} nodes (no entities)", id)
        else:
            kept.append(row)
    return table if len(kept) == len(labels) else table.only(kept)


class _Columns:
    """A table's columns by what they are."""

    def __init__(self, table: Table, roles: Roles) -> None:
        there = {name: role for name, role in roles.items() if name in table.names and role != Role.DETAIL}
        self.table = table
        self.names = {role: of_role(there, role) for role in dict.fromkeys(there.values())}

    def cells(self, role: str) -> Cells:
        """(rows,) values; None each where no column has the role."""
        found = self.table.first_of(self.names.get(role, ()))
        return [None] * self.table.rows if found is None else found


def fill_relations(
    rows: Rows,
    table: Table,
    given: Columns = NONE,
    own: Roles | None = None,
    *,
    alone: bool,
    place: str = "relations[{}]",
    is_directed: bool = True,
) -> None:
    """Put a table's relations into `rows`. alone: entities are what stands at their ends.

    Raises GraphError where no column names the ends.
    """
    roles = own or edge_roles(table, given)
    columns = _Columns(table, roles)
    if table.names and not {Role.SOURCE, Role.TARGET} <= columns.names.keys():
        raise GraphError(
            "{path}: no columns for a relation's source and target; the file has: {columns}. Set them: "
            "--columns source=COLUMN,target=COLUMN,relation=COLUMN",
            path=rows.path,
            columns=listed([*table.names, *table.unread]),
        )
    if not table.rows:
        return
    columns = _Columns(_without_texts(rows, columns), roles)
    table, count = columns.table, columns.table.rows
    pairs = [coded(columns.cells(role), end_text) for role in (Role.SOURCE, Role.TARGET)]
    (sources, targets), ends = joined(pairs)
    types, descriptions, chunks, ids, weights, directed = (
        columns.cells(role) if role in columns.names else None
        for role in (Role.TYPE, Role.DESCRIPTION, Role.CHUNKS, Role.ID, Role.WEIGHT, Role.DIRECTED)
    )
    if alone:
        names, kinds = (
            _told(len(ends), (sources, targets), [columns.cells(role) for role in both], of)
            if set(both) & columns.names.keys()
            else []
            for both, of in (
                ((Role.SOURCE_NAME, Role.TARGET_NAME), text_of),
                ((Role.SOURCE_TYPE, Role.TARGET_TYPE), _one_type),
            )
        )
        rows.ends(ends, names, kinds)
    labels: Sequence[str] = Strings.numbered(table.row_label, range(table.first, table.first + count))
    if not table.row_label:
        labels = [place.format(number) for number in range(count)]
    if ids is not None:
        labels = [text_of(id) or label for id, label in zip(ids, labels, strict=True)]
    rows.blocks.append(
        Block(
            ends,
            sources,
            targets,
            Categories(np.zeros(count, np.int32), (UNKNOWN_RELATION,)) if types is None else _types(types),
            Strings.blank(count) if descriptions is None else list(map(_lines, descriptions)),
            _weights(rows, weights, count),
            StringLists.blank(count) if chunks is None else list(map(list_of, chunks)),
            table.details(columns.names),
            labels,
        )
    )
    rows.took("relations", {**column_roles(table.names, roles), **table.unread})
    _note_direction(rows, directed, place, is_directed)


def _without_texts(rows: Rows, columns: _Columns) -> Table:
    """Relations between entities. Those of chunks become source chunks of the entity, others are dropped."""
    table = columns.table
    if not rows.texts:
        return table
    sources, targets = (map(end_text, columns.cells(role)) for role in (Role.SOURCE, Role.TARGET))
    types, kept = columns.cells(Role.TYPE), []
    for row, both in enumerate(zip(sources, targets, strict=True)):
        if not rows.texts.keys() & both:
            kept.append(row)
            continue
        type = _one_type(types[row]) or UNKNOWN_RELATION
        rows.dropped(f"{type} relations (of nodes that are no entities)", " → ".join(both))
        for text, entity in (both, both[::-1]):
            if entity in rows.known and "chunk" in bare(rows.texts.get(text, "")):
                place = rows.known[entity]
                rows.chunks[place] = list(dict.fromkeys([*rows.chunks[place], text]))
    return table if len(kept) == table.rows else table.only(kept)


def _told(
    count: int, codes: tuple[Codes, Codes], columns: Sequence[Cells], of: Callable[[Any], str]
) -> list[str]:
    """What relations tell of their ends: of several texts of an end the first; empty where none does."""
    told = [""] * count
    for ends, cells in zip(codes, columns, strict=True):
        places, texts = coded(cells, of)
        usable = (ends >= 0) & np.array([bool(text) for text in texts])[places]
        first, rows = np.unique(ends[usable], return_index=True)
        for end, text in zip(first.tolist(), places[usable][rows].tolist(), strict=True):
            told[end] = told[end] or texts[text]
    return told


def _types(cells: Cells) -> Sequence[str]:
    codes, texts = coded(cells, _one_type)
    return Categories(codes, tuple(text or UNKNOWN_RELATION for text in texts))


def _weights(rows: Rows, cells: Cells | None, count: int) -> NDArray[np.float64]:
    """Of a column's numbers; where nothing stands the usual weight, and a flaw where no number does."""
    if cells is None:
        return np.full(count, DEFAULT_WEIGHT)
    weights = numbers_of(cells)
    for row in np.flatnonzero(np.isnan(weights)).tolist():
        value = cells[row]
        if not is_number(value):
            if value not in (None, ""):
                rows.flaw(BAD_WEIGHTS, str(value)[:40])
            weights[row] = DEFAULT_WEIGHT  # NaN itself stays: the graph's own check says that it isn't finite
    return weights


def _note_direction(rows: Rows, cells: Cells | None, place: str, is_directed: bool) -> None:
    words = [text_of(cell).strip().casefold() for cell in cells or ()]
    undirected = [number for number, word in enumerate(words) if word in UNDIRECTED_WORDS]
    if undirected and len(undirected) < len(words):
        rows.flaw(SOME_UNDIRECTED, place.format(undirected[0]), len(undirected))
    elif undirected or not is_directed:
        rows.undirected("relations", "directed: false")


def _labels(value: Any, is_list: bool = False) -> list[str]:
    """`["Person", "__Entity__"]`, `"Person"`, `":Person:Actor"` → labels. is_list: signs part them."""
    if isinstance(value, str):
        parts = re.split("[;|]", value) if is_list else value.split(":") if value[:1] == ":" else [value]
    elif isinstance(value, list | tuple):
        parts = list(map(text_of, value))
    else:
        parts = [end_text(value)]  # a query's result, or a type with a name of its own
    return [part.strip() for part in parts if part.strip()]


def _one_type(value: Any) -> str:
    labels = _labels(value)
    return next((label for label in labels if label not in INNER), next(iter(labels), ""))


def _aliases(value: Any) -> list[str]:
    """A list, or names that signs divide in one cell."""
    parts = re.split(r"[|;；、]", value) if isinstance(value, str) and value[:1] != "[" else list_of(value)
    return [part.strip() for part in parts if part.strip()]


def _name(value: Any) -> str:
    return text_of(value[0]) if isinstance(value, list) and value else text_of(value)


def _lines(value: Any) -> str:
    """A description: of several observations one a line."""
    return "\n".join(strings_of(value)) if isinstance(value, list) else text_of(value)


def end_text(value: Any) -> str:
    """An end's id or name, of an object its `id` or `name`."""
    if isinstance(value, dict):
        value = flat([value])[0]
        by_key = {key_of(key): key for key in reversed(value)}
        keys = [
            by_key[key]
            for key in (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME], "label", "value")
            if key in by_key
        ]
        value = next((value[key] for key in keys if value[key] not in (None, "")), None)
    return "" if isinstance(value, list | dict) else text_of(value).strip()
