"""Tables of entities and of relations, whatever file or database holds them, into `Rows`.

What their columns mean is keys.py's to say. Ends are ids, else names, else numbers of entities in their list;
where no list of entities is given, an entity is what stands at an end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.given import Columns, listed, no_ends
from tiny_graph_rag.formats.graphs.keys import edge_roles, node_roles
from tiny_graph_rag.formats.graphs.rows import (
    BAD_WEIGHTS,
    OWN,
    SOME_UNDIRECTED,
    Block,
    Codes,
    Roles,
    Rows,
    column_roles,
    split_roles,
    strings_of,
    text_of,
    unfolded,
)
from tiny_graph_rag.formats.graphs.spelling import (
    INNER,
    admin_column,
    bare,
    is_number,
    key_of,
    labels_of,
)
from tiny_graph_rag.formats.graphs.table import Table, coded, columns_of, joined, list_of, numbers_of
from tiny_graph_rag.formats.words import INNER_KEYS, NODE_KEYS, Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT

TEXT_NODES = frozenset({"document", "chunk"})
TEXTS = ("page_content", "text")  # what a node of a text has, and no entity
UNDIRECTED_WORDS = frozenset({"undirected", "mutual", "false", "0"})


def fill_records(
    rows: Rows,
    nodes: Sequence[dict[str, Any]],
    edges: Sequence[dict[str, Any]],
    node_roles: Roles = OWN,
    edge_roles: Roles = OWN,
) -> None:
    """Put records whose roles are known into `rows`: a file's own columns, and keys of `OWN`."""
    if nodes:
        fill_entities(rows, Table.of_records(nodes), Columns(), {**OWN, **node_roles})
    table = Table.of_records(edges, row_label="")
    fill_relations(rows, table, Columns(), {**OWN, **edge_roles}, alone=not nodes)


def fill_entities(
    rows: Rows, table: Table, given: Columns, own: Roles | None = None, place: str = "entities[{}]"
) -> None:
    """Put a table's entities into `rows`. place: what a problem calls one, by its number."""
    roles = own or node_roles(table.names, table.cells, given.of_nodes(table.names))
    typed = any((admin := admin_column(name)) and admin.kind == "LABEL" for name in table.names)
    for number, record in enumerate(table.records()):
        found, rest = split_roles(record, roles)
        id = text_of(found.get(Role.ID)).strip() or _name(found.get(Role.NAME)).strip()
        if not id:
            keys = listed(key for key, value in record.items() if value is not None)
            rows.problem(place.format(number), "wanted 'id' or 'name', got the keys {listed}", listed=keys)
            continue
        type, more = _type(found.get(Role.TYPE), split=typed)
        if len(type) < 16 and bare(type) in TEXT_NODES and any(record.get(key) for key in TEXTS):
            rows.dropped(f"{type} nodes (texts, no entities)", id)
            rows.texts.add(id)
            continue
        if more:
            rest = {**(rest or {}), "labels": more}
        rows.entity(
            id,
            _name(found.get(Role.NAME)),
            type,
            _lines(found.get(Role.DESCRIPTION)),
            list_of(found.get(Role.ALIASES)),
            list_of(found.get(Role.CHUNKS)),
            unfolded(rest),
        )
    rows.took("entities", {**column_roles(table.names, roles), **table.unread})


def fill_relations(
    rows: Rows,
    table: Table,
    given: Columns,
    own: Roles | None = None,
    *,
    alone: bool,
    place: str = "relations[{}]",
    is_directed: bool = True,
) -> None:
    """Put a table's relations into `rows`. alone: entities are what stands at their ends.

    Raises GraphError where no column names the ends.
    """
    roles = own or edge_roles(table.names, table.cells, given.of_edges(table.names))
    columns: dict[str, list[str]] = {}
    for name, role in roles.items():
        if name in table.names and role not in (Role.UNUSED, Role.DETAIL):
            columns.setdefault(role, []).append(name)
    count = table.rows
    if table.names and not {Role.SOURCE, Role.TARGET} <= columns.keys():
        raise GraphError(no_ends(rows.path, [*table.names, *table.unread]))
    if not count or not table.names:
        return
    pairs = [coded(table.first_of(columns[role]) or (), end_text) for role in (Role.SOURCE, Role.TARGET)]
    (sources, targets), ends = joined(pairs)
    kept = _without_texts(rows, sources, targets, ends)

    def column(role: str) -> Sequence[Any] | None:
        cells = table.first_of(columns.get(role, ()))
        return cells if cells is None or kept is None else [cells[row] for row in kept.tolist()]

    if kept is not None:
        sources, targets, count = sources[kept], targets[kept], len(kept)
    if alone:
        of_ends = [
            _told(len(ends), (sources, targets), column(source), column(target), of)
            for source, target, of in (
                (Role.SOURCE_NAME, Role.TARGET_NAME, text_of),
                (Role.SOURCE_TYPE, Role.TARGET_TYPE, _one_type),
            )
        ]
        rows.ends(ends, *of_ends)
    types, descriptions, chunks, ids = map(column, (Role.TYPE, Role.DESCRIPTION, Role.CHUNKS, Role.ID))
    taken = {name for name, role in roles.items() if role == Role.UNUSED}
    details = table.details(taken | {names[0] for names in columns.values()})
    labels: Sequence[str] = Strings.numbered(table.row_label, range(table.first, table.first + table.rows))
    if not table.row_label:
        labels = [place.format(number) for number in range(table.rows)]
    if kept is not None:
        labels = [labels[row] for row in kept.tolist()]
        details = details and [details[row] for row in kept.tolist()]
    if ids is not None:
        labels = [text_of(id) or label for id, label in zip(ids, labels, strict=True)]
    rows.blocks.append(
        Block(
            ends,
            sources,
            targets,
            Categories(np.zeros(count, np.int32), (UNKNOWN_RELATION,)) if types is None else _types(types),
            Strings.blank(count) if descriptions is None else list(map(_lines, descriptions)),
            _weights(rows, column(Role.WEIGHT), count),
            StringLists.blank(count) if chunks is None else list(map(list_of, chunks)),
            details or Strings.blank(count),
            labels,
        )
    )
    rows.took("relations", {**column_roles(table.names, roles), **table.unread})
    _note_direction(rows, column(Role.DIRECTED), place, is_directed)


def _without_texts(
    rows: Rows, sources: Codes, targets: Codes, ends: Sequence[str]
) -> NDArray[np.int64] | None:
    """The rows of relations whose ends are no texts; None for all of them. The others are dropped."""
    if not rows.texts:
        return None
    is_text = np.array([*(end in rows.texts for end in ends), False])
    dropped = is_text[sources] | is_text[targets]
    if not dropped.any():
        return None
    first = int(dropped.argmax())
    example = f"{ends[sources[first]]} → {ends[targets[first]]}"
    rows.dropped("relations of texts", example, int(dropped.sum()))
    return np.flatnonzero(~dropped)


def _told(
    count: int,
    codes: tuple[Codes, Codes],
    of_sources: Sequence[Any] | None,
    of_targets: Sequence[Any] | None,
    of: Callable[[Any], str],
) -> list[str]:
    """What relations tell of their ends: of several texts of an end the first; empty where none does."""
    told = [""] * count
    for ends, cells in zip(codes, (of_sources, of_targets), strict=True):
        if cells is not None:
            places, texts = coded(cells, of)
            usable = (ends >= 0) & np.array([bool(text) for text in texts] or [False])[places]
            first, rows = np.unique(ends[usable], return_index=True)
            for end, text in zip(first.tolist(), places[usable][rows].tolist(), strict=True):
                told[end] = told[end] or texts[text]
    return told if any(told) else []


def _types(cells: Sequence[Any]) -> Sequence[str]:
    codes, texts = coded(cells, _one_type)
    return Categories(codes, tuple(text or UNKNOWN_RELATION for text in texts))


def _weights(rows: Rows, cells: Sequence[Any] | None, count: int) -> NDArray[np.float64]:
    """Of a column's numbers; where nothing stands the usual weight, and a flaw where no number does."""
    if cells is None:
        return np.full(count, DEFAULT_WEIGHT)
    weights = numbers_of(cells)
    for row in np.flatnonzero(np.isnan(weights)).tolist():
        value = cells[row]
        if value in (None, "") or not is_number(value):
            if value not in (None, ""):
                rows.flaw(BAD_WEIGHTS, str(value)[:40])
            weights[row] = DEFAULT_WEIGHT  # NaN itself stays: the graph's own check says that it isn't finite
    return weights


def _note_direction(rows: Rows, cells: Sequence[Any] | None, place: str, is_directed: bool) -> None:
    words = [] if cells is None else [text_of(cell).strip().casefold() for cell in cells]
    undirected = [number for number, word in enumerate(words) if word in UNDIRECTED_WORDS]
    if undirected and len(undirected) < len(words):
        rows.flaw(SOME_UNDIRECTED, place.format(undirected[0]), len(undirected))
    elif undirected or not is_directed:
        rows.undirected("relations", "directed: false")


def flat(records: list[Any]) -> list[Any]:
    """Records with what stands under `properties`, `data` and the like next to their other keys."""
    there = set(columns_of(records))
    inner = [
        key
        for key in INNER_KEYS
        if key in there
        and any(isinstance(value, dict) and isinstance(value.get(key), dict) for value in records)
    ]
    if not inner:
        return records
    return [_flattened(record, inner) if isinstance(record, dict) else record for record in records]


def _flattened(record: dict[str, Any], inner: list[str]) -> dict[str, Any]:
    below = {
        key: value
        for name in inner
        if isinstance(record.get(name), dict)
        for key, value in record[name].items()
    }
    own = {key: value for key, value in record.items() if not (key in inner and isinstance(value, dict))}
    return {
        **below,
        **{key: value for key, value in own.items() if value not in (None, "") or key not in below},
    }


def _one_type(value: Any) -> str:
    return _type(value, split=False)[0]


def _type(value: Any, *, split: bool) -> tuple[str, list[str]]:
    """A type, and all labels where there are several."""
    if isinstance(value, str) and value[:1] != ":" and not split and value not in INNER:
        return value.strip(), []
    if isinstance(value, str):
        labels = value.split(";") if split else labels_of(value) if value[:1] == ":" else (value,)
    elif isinstance(value, list | tuple):
        labels = tuple(map(text_of, value))
    elif isinstance(value, dict):  # a query's result, or a type with a name of its own
        labels = (end_text(value),)
    else:
        labels = (text_of(value),)
    own = [label for label in labels if label and label not in INNER] or [label for label in labels if label]
    return (own[0].strip() if own else ""), list(labels) if len(own) > 1 else []


def _name(value: Any) -> str:
    return text_of(value[0]) if isinstance(value, list) and value else text_of(value)


def _lines(value: Any) -> str:
    """A description: of several observations one a line."""
    return "\n".join(strings_of(value)) if isinstance(value, list) else text_of(value)


def end_text(value: Any) -> str:
    """An end's id or name, of an object its `id` or `name`."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict):
        value = flat([value])[0]
        by_key = {key_of(key): key for key in reversed(value)}
        keys = (
            by_key[key]
            for key in (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME], "label", "value")
            if key in by_key
        )
        value = next((value[key] for key in keys if value[key] not in (None, "")), None)
    return "" if isinstance(value, list | dict) else text_of(value).strip()
