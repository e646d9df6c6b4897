"""Tables of entities and of relations into `Rows`: what their columns mean (roles.py) becomes names, types,
aliases and ends.

Graph-RAG tools keep documents and chunks of text as nodes next to the entities. Those are no answers to a
question: they are dropped and counted, by label; a relation between a chunk and an entity says which chunks
the entity stands in, and becomes its source chunks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.base import NONE, Columns, listed
from tiny_graph_rag.formats.graphs.roles import edge_roles, has_ends, node_roles, of_role
from tiny_graph_rag.formats.graphs.rows import UNLISTED, Block, Codes, Rows
from tiny_graph_rag.formats.graphs.table import (
    HEADLESS,
    SEPARATOR,
    Table,
    admin_kind,
    bare,
    coded,
    end_text,
    flat,
    joined,
    key_of,
    list_of,
    numbers_of,
    strings_of,
    text_of,
    words_of,
)
from tiny_graph_rag.formats.tables import is_number
from tiny_graph_rag.formats.words import CHUNK_NODES, ID_WORDS, MISSING, NAME_PARTS, Role
from tiny_graph_rag.graph.building import UNKNOWN_RELATION
from tiny_graph_rag.graph.tables import DEFAULT_WEIGHT, UNDIRECTED

TEXT_NODES = frozenset({"document", "chunk", "sentence", "passage"})  # where they hold one of TEXTS
TEXTS = ("page_content", "text")
# Labels in lower case without underscores; of graphs in which chunks are nodes also what anybody may use.
LEXICAL = CHUNK_NODES | {"document", "chunk", "textnode", "community"}
ENTITY_MARK = "__Entity__"
INNER = frozenset({ENTITY_MARK, "__KGBuilder__", "__Node__", "__tempEntity__", "Entity"})  # tools' own labels
UNDIRECTED_WORDS = frozenset({"undirected", "mutual", "false", "0"})
BAD_WEIGHTS = f"relations whose weight is no number (taken as {DEFAULT_WEIGHT})"
SOME_UNDIRECTED = (
    "undirected relations among directed ones (retrieval.direction takes them as they are written)"
)
RENAMED = "ids of relation ends with several names (the first name is used)"
UNNAMED = "entities without an id and a name (left out)"
BROKEN = "rows of another shape than the others (left out)"
ENDS = (Role.SOURCE, Role.TARGET)
NO_IDS = (None, "", "?", "-", *MISSING)  # what stands for an id that nobody knows
END_NAMES = (Role.SOURCE_NAME, Role.TARGET_NAME)
END_TYPES = (Role.SOURCE_TYPE, Role.TARGET_TYPE)


def fill_entities(rows: Rows, table: Table, given: Columns = NONE, lexical: Collection[str] = ()) -> None:
    """Put a table's entities into `rows`. lexical: labels of nodes that are no entities; where some are
    marked as entities, no other node is one."""
    _count_strange(rows, table)
    _join_names(table)
    table.roles = node_roles(table, given)
    is_list = any(admin_kind(name) == "LABEL" for name in table.names)
    table = _without_text_nodes(rows, table, is_list, lexical)
    rows.took("entities", table)
    labels = [_labels(cell, is_list) for cell in table.of(Role.TYPE)]
    own_labels = [[label for label in found if label not in INNER] for found in labels]
    if any(len(found) > 1 for found in own_labels):
        table.put("labels", [found if len(found) > 1 else None for found in own_labels])
    details, aliases = table.details(), [table.cells(name) for name in table.columns(Role.ALIASES)]
    columns = (table.of(role) for role in (Role.ID, Role.NAME, Role.DESCRIPTION, Role.CHUNKS))
    for row, (id, name, description, chunks) in enumerate(zip(*columns, strict=True)):
        name = text_of(name[0]) if isinstance(name, list) and name else text_of(name)
        id, name = text_of(id).strip() or name.strip(), name.strip(" ")
        if not id:
            rows.flaw(UNNAMED, f"{table.name}[{row}]")
            continue
        rows.entity(
            id,
            name=name,
            type=next(iter(own_labels[row] or ([] if lexical else labels[row])), ""),
            description=_lines(description),
            aliases=[alias for cells in aliases for alias in _aliases(cells[row])],
            source_chunks=list_of(chunks),
            details=details[row],
        )


def _count_strange(rows: Rows, table: Table) -> None:
    """Tell of what is no row."""
    for at, row in table.strange.items():
        rows.flaw(BROKEN, f"{table.name}[{at}]: {row!r:.60}")


def _join_names(table: Table) -> None:
    """The names of people whose parts stand in columns of their own (`first_name`, `last_name`)."""
    parts = [[name for name in table.names if key_of(name) in keys][:1] for keys in NAME_PARTS.values()]
    if parts[0] and parts[-1]:
        columns = [[text_of(cell).strip() for cell in table.cells(name)] for part in parts for name in part]
        names = [
            row[0] if row[0].endswith(row[-1]) else " ".join(filter(None, row))
            for row in zip(*columns, strict=True)
        ]
        table.put("name", names)


def _without_text_nodes(rows: Rows, table: Table, is_list: bool, lexical: Collection[str]) -> Table:
    """The table without its documents and chunks: those of the labels in `lexical`, else those that hold a
    text. Where some nodes are marked as entities, others are none."""
    ids, labels = table.of(Role.ID), [_labels(cell, is_list) for cell in table.of(Role.TYPE)]
    texts = table.first_of([name for name in TEXTS if name in table.names])
    is_marked = bool(lexical) and any(ENTITY_MARK in found for found in labels)
    kept = []
    for row, found in enumerate(labels):
        known = lexical or (CHUNK_NODES | TEXT_NODES if texts is not None and texts[row] else CHUNK_NODES)
        label = next((label for label in found if bare(label) in known), "")
        if is_marked:
            label = "" if ENTITY_MARK in found else label or next(iter(found), "unlabelled")
        if label:
            id = text_of(ids[row]).strip()
            rows.texts[id] = label
            rows.dropped(f"{label} nodes (no entities)", id)
        else:
            kept.append(row)
    return table.only(kept)


def fill_relations(rows: Rows, table: Table, given: Columns = NONE) -> None:
    """Put a table's relations into `rows`; where nothing lists entities, what stands at ends are these.

    Raises GraphError where no column names the ends.
    """
    _count_strange(rows, table)
    table.roles = edge_roles(table, given)
    if not has_ends(table.roles) or HEADLESS[0] in table.names:
        known = {*rows.known, *rows.names}
        table.roles = edge_roles(table, given, known=known)
        if known and not has_ends(table.roles) and (inner := related(table, known)):
            return fill_relations(rows, Table.of_records(inner, table.name), given)
    if (table.names or table.strange) and not has_ends(table.roles):
        raise GraphError(
            "{path}: no columns for a relation's source and target; the file has: {columns}. Set them: "
            "--columns source=COLUMN,target=COLUMN,relation=COLUMN. A table of entities alone needs one of "
            "relations: -g {file},RELATIONS",
            path=rows.path,
            file=rows.path.name,
            columns=listed([*table.names, *table.unread] or map(str, table.strange.values())),
        )
    if not table.rows:
        return
    table = _without_texts(rows, table)
    _fill_ends(rows, table, given)
    if rows.is_alone is None:
        rows.is_alone = not rows.known
    rows.took("relations", table)
    (sources, targets), ends = joined([coded(cells, end_text) for cells in _own_ends(table)])
    if rows.is_alone:
        _note_renamed(rows, table)
        told = [
            _told(len(ends), (sources, targets), table, roles, of)
            for roles, of in ((END_NAMES, text_of), (END_TYPES, _one_type))
        ]
        for end, name, type in zip(ends, *told, strict=True):
            rows.entity(end, name=name, type=type, is_end=True)
    count = table.rows
    labels: Sequence[str] = Strings.numbered(table.row_label, range(table.first, table.first + count))
    if not table.row_label:
        labels = [f"{table.name}[{number}]" for number in range(count)]
    if table.columns(Role.ID):
        labels = [text_of(id) or label for id, label in zip(table.of(Role.ID), labels, strict=True)]

    def filled(role: str, blank: Any, of: Callable[[Any], Any]) -> Any:
        return list(map(of, table.of(role))) if table.columns(role) else blank(count)

    found = {
        "ids": labels,
        "types": _types(table),
        "descriptions": filled(Role.DESCRIPTION, Strings.blank, _lines),
        "weights": _weights(rows, table),
        "source_chunks": filled(Role.CHUNKS, StringLists.blank, list_of),
        "details": table.details(),
    }
    rows.blocks.append(Block(ends, sources, targets, found))
    _note_direction(rows, table, labels)


def related(table: Table, known: Collection[str] = ()) -> list[dict[str, Any]]:
    """Relations that rows hold as entities or lists of them: `"related_concepts": ["hen"]` is of that type,
    from the row's own entity, and so is `fatherId`. known: ids and names of entities; else those of the rows,
    whose lists have no role."""
    roles = node_roles(table)
    names = [*of_role(roles, Role.ID), *of_role(roles, Role.NAME)]
    left = [column for column in table.names if known or column not in roles]
    own = list(map(text_of, table.first_of(names) or [""] * table.rows))
    known = known or {text for name in names for text in table.texts(name)}
    are_entities = 2 * sum(text in known for text in own) > len(own)
    found: list[dict[str, Any]] = []
    for column in left:
        is_key = bool({*words_of(column)[-1:]} & ID_WORDS)  # other numbers are ages and the like
        texts = {text for text in known if is_key or not text.isdecimal()} if are_entities else set()
        lists = [_listed(cell, texts) for cell in table.cells(column)]
        if any(isinstance(cell, list | dict) for cell in table.cells(column)):
            texts = set(known)
        ends = [end for row, several in enumerate(lists) for end in several if end != own[row]]
        if 2 * sum(end in texts for end in ends) <= len(ends):
            continue
        for row, several in enumerate(lists if are_entities else ()):
            found += [{"source": own[row], "relation": column, "target": end} for end in several]
    return found


def names_by_id(table: Table, roles: Mapping[str, str]) -> dict[str, str]:
    """What a table of entities, or of relation types, calls its ids."""
    table.roles = roles
    pairs = zip(table.of(Role.ID), table.of(Role.NAME), strict=True)
    return {text_of(id): text_of(name) for id, name in pairs if name}


def with_related(table: Table) -> list[Table]:
    """A table of entities, and one of the relations that its rows hold; empty where they hold none."""
    inner = Table.of_records(related(table), "relations", True)
    table.is_edges = False
    return [table, inner] if inner.rows else []


def _listed(cell: Any, known: Collection[str]) -> list[str]:
    """The entities of a list, or that are keys; of a text those known, alone or between signs: `p2|p3`."""
    if isinstance(cell, list | dict):
        return list(map(end_text, cell))
    text = text_of(cell).strip() if known else ""
    return [text] if text in known else [part.strip() for part in re.split("[|;,]", text) if part.strip()]


def _fill_ends(rows: Rows, table: Table, given: Columns) -> None:
    """The entities that relations hold as objects at their ends, equal ones once."""
    objects = [cell for role in ENDS for name in table.columns(role) for cell in table.cells(name)]
    if not all(isinstance(cell, dict) for cell in objects):
        return
    merged: dict[str, dict[str, Any]] = {}
    for record in flat(objects):
        merged.setdefault(end_text(record), {}).update(record)
    known = {"", *rows.known, *rows.names}
    new = [record for end, record in merged.items() if end not in known]
    for record in new if rows.known else ():
        rows.flaw(UNLISTED, repr(end_text(record)))
    fill_entities(rows, Table.of_records(new), given)


def _without_texts(rows: Rows, table: Table) -> Table:
    """Relations between entities. Those of chunks become source chunks of the entity, others are dropped."""
    if not rows.texts:
        return table
    sources, targets = (map(end_text, table.of(role)) for role in (Role.SOURCE, Role.TARGET))
    types, kept = table.of(Role.TYPE), []
    for row, both in enumerate(zip(sources, targets, strict=True)):
        if not rows.texts.keys() & both:
            kept.append(row)
            continue
        type = _one_type(types[row]) or UNKNOWN_RELATION
        rows.dropped(f"{type} relations (of nodes that are no entities)", " → ".join(both))
        for text, entity in (both, both[::-1]):
            if entity in rows.known and "chunk" in bare(rows.texts.get(text, "")):
                place = rows.known[entity]
                chunks = rows.entities["source_chunks"]
                chunks[place] = list(dict.fromkeys([*chunks[place], text]))
    return table.only(kept)


def _own_ends(table: Table) -> list[Any]:
    """What stands at the ends: ids, and names where some have no id."""
    return [
        [told if cell in NO_IDS else cell for cell, told in zip(table.of(id), table.of(name), strict=True)]
        if table.columns(name) and any(cell in NO_IDS for cell in table.of(id))
        else table.of(id)
        for id, name in zip(ENDS, END_NAMES, strict=True)
    ]


def _note_renamed(rows: Rows, table: Table) -> None:
    """Count ids of ends that stand next to different names."""
    names_of: dict[str, set[str]] = {}
    for roles in zip(ENDS, END_NAMES, strict=True) if all(map(table.columns, END_NAMES)) else ():
        for id, name in zip(*(map(text_of, table.of(role)) for role in roles), strict=True):
            if name and id not in NO_IDS:
                names_of.setdefault(id, set()).add(name)
    for id in (id for id, names in names_of.items() if len(names) > 1):
        rows.flaw(RENAMED, repr(id))


def _told(
    count: int, ends: tuple[Codes, Codes], table: Table, roles: tuple[str, str], of: Callable[[Any], str]
) -> list[str]:
    """What relations tell of their ends: of several texts of an end the first; empty where none does."""
    told = [""] * count
    for codes, role in zip(ends, roles, strict=True):
        if table.columns(role):
            places, texts = coded(table.of(role), of)
            usable = (codes >= 0) & np.array([bool(text) for text in texts])[places]
            first, rows = np.unique(codes[usable], return_index=True)
            for end, text in zip(first.tolist(), places[usable][rows].tolist(), strict=True):
                told[end] = told[end] or texts[text]
    return told


def _types(table: Table) -> Sequence[str]:
    if not table.columns(Role.TYPE):
        return Categories(np.zeros(table.rows, np.int32), (UNKNOWN_RELATION,))
    codes, texts = coded(table.of(Role.TYPE), _one_type)
    return Categories(codes, tuple(text or UNKNOWN_RELATION for text in texts))


def _weights(rows: Rows, table: Table) -> NDArray[np.float64]:
    """Of a column's numbers; where nothing stands the usual weight, and a flaw where no number does."""
    if not table.columns(Role.WEIGHT):
        return np.full(table.rows, DEFAULT_WEIGHT)
    cells = table.of(Role.WEIGHT)
    weights = numbers_of(cells)
    for row in np.flatnonzero(np.isnan(weights)).tolist():
        value = cells[row]
        if not is_number(value):
            if value not in (None, ""):
                rows.flaw(BAD_WEIGHTS, str(value)[:40])
            weights[row] = DEFAULT_WEIGHT  # NaN itself stays: the graph's own check says that it isn't finite
    return weights


def _note_direction(rows: Rows, table: Table, labels: Sequence[str]) -> None:
    cells = table.of(Role.DIRECTED) if table.columns(Role.DIRECTED) else ()
    words = [text_of(cell).strip().casefold() for cell in cells]
    undirected = [number for number, word in enumerate(words) if word in UNDIRECTED_WORDS]
    if undirected and len(undirected) < len(words):
        rows.flaw(SOME_UNDIRECTED, labels[undirected[0]], len(undirected))
    elif undirected or not table.is_directed:
        rows.means("relations", {"directed: false": UNDIRECTED})


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


def _lines(value: Any) -> str:
    """A description: of several observations one a line, the same one once."""
    if isinstance(value, str) and SEPARATOR in value:
        return "\n".join(dict.fromkeys(list_of(value)))
    if isinstance(value, list):
        value = [part.get("text", part) if isinstance(part, dict) else part for part in value]
        return "\n".join(strings_of(value))
    return text_of(value)
