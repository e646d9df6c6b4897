"""JSON in which entities and relations are lists or dictionaries, as scripts and model outputs have them.

A document is a set of named tables: `{"entities": […], "relations": […]}`, node-link JSON of any program,
Cytoscape's `elements`, a list of graph documents, objects or lists `[source, relation, target]` in a list or
one a line, a dictionary from entity to neighbours. A dictionary of objects is a list whose keys are ids, a
list of lists is a table without a header. Which table holds what: assembly.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import decoded_json, json_file, json_lines, read_yaml
from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.assembly import of_tables, put_label, says
from tiny_graph_rag.formats.graphs.base import NONE, Columns, graph_format
from tiny_graph_rag.formats.graphs.filling import names_by_id, related, with_related
from tiny_graph_rag.formats.graphs.roles import (
    are_types,
    edge_roles,
    has_ends,
    names_ends,
    node_roles,
    of_role,
)
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import HEADLESS, Table, columns_of, end_text, flat, key_of, text_of
from tiny_graph_rag.formats.words import (
    ADJACENCIES,
    ENTITY_LISTS,
    ENTITY_TYPES,
    NODE_KEYS,
    PASSAGE_IDS,
    PASSAGE_TEXTS,
    RELATION_LISTS,
    Role,
)
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

LINES = (".jsonl", ".ndjson")
YAML = (".yaml", ".yml")
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


def _is_lists(head: Head) -> bool:
    """Any JSON that holds objects or lists: its reader says what it lacks."""
    text = head.text
    return text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("[", "{"))


@graph_format(
    "JSON lists",
    "lists of entities and relations, or of triples, as scripts and models write them",
    _is_lists,
    suffixes=(*LINES, *YAML),
    within=(
        *("property_graph_store.json", "*/property_graph_store.json"),
        *("graph_store.json", "*/graph_store.json"),
        *("graph.json", "graphify-out/graph.json"),
        *("openie_results_*.json", "outputs/*/openie_results_*.json"),
    ),
    general=True,
    takes_columns=True,
)
def read_lists(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    rows = Rows(paths[0], "JSON lists")
    document = document_of(paths[0], rows)
    rows.problems.check()
    return graph_of(rows, document, columns)


def graph_of(rows: Rows, document: Any, given: Columns = NONE) -> KnowledgeGraph:
    """The graph of a JSON document's tables, whoever wrote it. Raises GraphError."""
    if tables := tables_of(document, given):
        return of_tables(rows, tables, given)
    if not isinstance(document, dict):
        raise GraphError.at(rows.path, "{wanted}, got {got}", wanted=said(WANTED), got=json_kind(document))
    names = [repr(key) for key, value in document.items() if isinstance(value, list | dict)]
    raise GraphError.at(
        rows.path,
        "{wanted}; its lists are {names}. If some of them hold the graph, name them and their columns: "
        "--columns nodes=KEY,edges=KEY,source=COLUMN,target=COLUMN",
        wanted=said(WANTED),
        names=", ".join(names[:8]) or "–",
    )


_PAGE = re.compile(r"\s*<(!doctype html|html|head|body|script|div)\b", re.I)
_DATA_SET = re.compile(r"(?<![\w.])(nodes|edges)\s*=\s*new\s+vis\.DataSet\(\s*(?=\[)")


@graph_format(
    "HTML",
    "the page of a pyvis network",
    lambda head: bool(_PAGE.match(head.text)),
    suffixes=(".html", ".htm"),
)
def read_page(paths: Sequence[Path]) -> KnowledgeGraph:
    """The nodes and edges that the page's script holds as JSON. Raises GraphError where it holds none."""
    path = paths[0]
    text = decode_utf8(read_bytes(path), path)
    lists: dict[str, list[Any]] = {}
    for match in _DATA_SET.finditer(text):
        try:
            lists[match[1]], _ = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
    if not {"nodes", "edges"} <= lists.keys():
        raise GraphError.at(
            path,
            "a page is not read. Save the graph that it shows: networkx.write_graphml(graph, "
            "'{stem}.graphml'), or of a pyvis network json.dump({{'nodes': net.nodes, 'edges': net.edges}}, "
            "file)",
            stem=path.stem,
        )
    for node in lists["nodes"]:  # `Ann\n(Girl)`
        if named := re.fullmatch(r"(.+)\n\((.*)\)", str(node.get("label"))):
            node |= {"label": named[1], "type": named[2]}
    for edge in lists["edges"]:  # `knows (weight: 2)`
        edge |= {"title": re.sub(r"\s*\([^()]*\)$", "", str(edge["title"]))} if "title" in edge else {}
    document = {**lists, "directed": any("arrows" in edge for edge in lists["edges"])}
    return graph_of(Rows(path, "HTML"), document)


def document_of(path: Path, rows: Rows) -> Any:
    """A JSON document, or the list of those that stand one a line, or a YAML document. Raises GraphError."""
    if path.name.endswith(YAML):
        return json.loads(json.dumps(read_yaml(path, GraphError), default=str))
    head = Head(path)
    _, _, rest = head.text.partition("\n")
    is_lines = head.line.endswith("}") and rest.lstrip()[:1] == "{"
    if not is_lines and not path.name.removesuffix(".gz").endswith(LINES):
        return json_file(path, GraphError, decoded_json)
    text = decode_utf8(read_bytes(path), path)
    return [record.row for record in json_lines(path, text, rows.problems, decoded_json)]


# --- a value as a table


def rows_in(value: Any) -> list[Any]:
    """What a list or a dictionary holds, as rows. Keys are ids, or types of the names, objects or pairs below
    them; of names by id and numbers by name both are columns; lists are rows without a header."""
    if isinstance(value, list):
        return _with_keys([{"name": row} if isinstance(row, str) else row for row in value])
    inner = list(value.values())
    if inner and all(isinstance(several, list) for several in inner):
        return _with_keys([_typed(type, row) for type, several in value.items() for row in several])
    if inner and all(isinstance(text, str) for text in inner):
        key = "type" if are_types(inner) else "name"
        return [{"id": id, key: text} for id, text in value.items()]
    if inner and all(isinstance(number, int) for number in inner):
        return [{"id": number, "name": name} for name, number in value.items()]
    return [{**(row if isinstance(row, dict) else {}), "id": id} for id, row in value.items()]


def _typed(type: str, row: Any) -> Any:
    if isinstance(row, list):
        return [row[0], type, row[1]] if len(row) == 2 else row
    return {"type": type, **(row if isinstance(row, dict) else {"name": row})}


def _with_keys(rows: list[Any]) -> list[Any]:
    """Rows of which some are lists of two or three, as objects with the columns of a table without a header.
    networkx's edge has its data third; the first of lists may be a header."""
    first = rows[0] if rows and isinstance(rows[0], list) and all(isinstance(s, str) for s in rows[0]) else []
    if _name_facts(first) or {Role.ID, Role.NAME} <= {*node_roles(Table.of_header(first)).values()}:
        return [dict(zip(first, row, strict=False)) if isinstance(row, list) else row for row in rows[1:]]
    pairs = all(len(row) == 2 for row in rows if isinstance(row, list))

    def named(row: Any) -> Any:
        is_pair = isinstance(row, list) and not any(isinstance(end, list | dict) for end in row[:2])
        if not is_pair or len(row) != (2 if pairs else 3):
            return row
        if pairs or isinstance(row[2], dict):
            return {**({} if pairs else row[2]), HEADLESS[0]: row[0], HEADLESS[2]: row[1]}
        return dict(zip(HEADLESS, row, strict=True))

    return list(map(named, rows))


def _both(entities: list[Any], relations: list[Any]) -> list[Table]:
    """A table of entities, if any, and one of relations."""
    nodes = [Table.of_records(entities, "entities", False)] if entities else []
    return [*nodes, Table.of_records(relations, "relations", True)]


def one_table(document: Any, name: str) -> Table:
    """The table of a file of its own: of an object the one list of rows that it has."""
    if isinstance(document, dict):
        lists = {key: value for key, value in document.items() if isinstance(value, list)}
        tables = [value for value in lists.values() if value and not isinstance(value[0], str)]
        is_typed = len(lists) == len(document) and not {*map(key_of, document)} & {*RELATION_LISTS}
        if len(tables) == 1 and not (is_typed and isinstance(tables[0][0], list)):
            document = tables[0]
    return Table.of_records(rows_in(document) if isinstance(document, list | dict) else [], name)


def _objects_in(value: Any) -> list[Any]:
    """The objects of a list, or of a dictionary by id; empty for anything else."""
    if isinstance(value, dict) and all(isinstance(one, dict) for one in value.values()):
        return rows_in(value)
    return value if isinstance(value, list) and value and isinstance(value[0], dict) else []


# --- the tables of a document


def tables_of(document: Any, given: Columns = NONE) -> list[Table]:
    """The tables of a JSON document, those of relations marked; empty where it holds no graph. given: may
    name those of an object."""
    if isinstance(document, list):
        return _of_list(document)
    if not isinstance(document, dict):
        return []
    if {"columns", "data"} <= document.keys() and names_ends(document["columns"]):  # pandas' `split`
        return _of_list([dict(zip(document["columns"], row, strict=False)) for row in document["data"]])
    told = {key: role == "edges" for role in ("nodes", "edges") for key in given.tables(role)}
    tables = [table for key, value in document.items() if (table := _table_in(key, value, told.get(key)))]
    facts = [
        table
        for table in tables
        if table.is_edges is None and table.label
        if _name_facts(held := [name for name in table.names if table.cells(name)[0] is not None])
        or (says(table.name)[0] and names_ends(held))
    ]
    is_told = len(facts) == 1 or all(says(table.name)[0] for table in facts)  # `Link_person2paper`
    for table in facts if is_told and not any(table.is_edges for table in tables) else ():
        table.is_edges = True
    named = [table for table in tables if table.is_edges is False]
    edges = [table for table in tables if table.is_edges]
    if edges:
        texts = {text for table in edges for name in table.names for text in table.texts(name)}
        for table in tables:
            table.is_directed = document.get("directed") is not False
            if table.is_edges is None:
                put_label(table, "type")
        return [one for one in tables if one.is_edges is not None or one.label or texts & {*one.texts("id")}]
    around = next((value for key, value in document.items() if key_of(key) in ADJACENCIES), None)
    if isinstance(around, dict) and (relations := _neighbours(around)):
        return [*named, Table.of_records(relations, "relations", True)]
    inner = next(filter(None, map(with_related, named)), None)
    return inner or _of_tree([document]) or _below(document) or _of_adjacency(document)


def _table_in(key: str, value: Any, is_edges: bool | None) -> Table | None:
    """What stands under a key, as a table; None for what is none, such as a list of texts. is_edges: what the
    user says of it, else its key does. One without a label is a dictionary of names."""
    word = key_of(key)
    if is_edges is None and word in (*RELATION_LISTS, *ENTITY_LISTS):
        is_edges = word in RELATION_LISTS
    if not isinstance(value, list | dict):
        return None
    inner = list(value.values()) if isinstance(value, dict) else value
    is_dictionary = isinstance(value, dict) and {*map(type, inner)} in ({str}, {int})
    if is_dictionary and is_edges is not False:
        is_edges = None
    elif (
        (is_edges is None and not _objects_in(value))
        or (is_edges and isinstance(value, dict) and len({*map(type, inner)}) > 1)
        or (is_edges and isinstance(_first(value), str | int))
    ):
        return None
    table = Table.of_records(rows_in(value), key, is_edges)
    table.label = key if is_edges is None and not is_dictionary else ""
    return table


def _first(value: Any) -> Any:
    """The first thing that a list, a dictionary or the lists of a dictionary hold."""
    first = next(iter(value.values() if isinstance(value, dict) else value), None)
    return _first(first) if isinstance(value, dict) and isinstance(first, list) else first


def _name_facts(names: Sequence[str]) -> bool:
    """Whether there are both ends and a type, in words that are a header's."""
    roles = edge_roles(Table.of_header(names), strict=True)
    return has_ends(roles) and Role.TYPE in roles.values()


def _below(document: dict[str, Any]) -> list[Table]:
    """The tables deeper in an object: `{"elements": …}`, `{"graph": …}`, documents by their names, or its
    lists of objects."""
    found = [
        tables_of(value)
        for key, value in document.items()
        if isinstance(value, dict) or _are_documents(value) or key == "elements"
    ]
    parts = [part for part in found if any(table.is_edges and table.rows for table in part)]
    parts = parts or [part for part in found if part][:1]
    if parts:
        return parts[0] if len(parts) == 1 else _joined(parts)
    lists = {key: objects for key, value in document.items() if (objects := _objects_in(value))}
    if len(lists) > 1:  # whose objects name each other
        rows = [{"type": key, **row} for key, objects in lists.items() for row in objects]
        both = [] if names_ends(columns_of(rows)) else with_related(Table.of_records(rows, "entities"))
        return both if both and 3 * both[1].rows >= len(rows) else []
    tables = _of_list(*lists.values()) if lists else []
    is_graph = tables and tables[-1].rows and (len(tables) > 1 or names_ends(tables[-1].names))
    return tables if is_graph else []


def _are_documents(values: Any) -> bool:
    first: dict[str, Any] = next(iter(_objects_in(values)), {})
    keys = {key_of(key) for key, value in first.items() if isinstance(value, list)}
    return bool(keys & set(RELATION_LISTS))


def _joined(documents: Sequence[Sequence[Table]]) -> list[Table]:
    """The tables of several documents as one set. Where entities have ids and names, the names count, for ids
    such as `e1` name another entity in each document; unless some are in several, under one name."""
    kinds: dict[object, list[Table]] = {}
    nodes = [table for tables in documents for table in tables if not table.is_edges]
    roles = node_roles(Table.stacked(nodes)) if nodes else {}
    named = [names_by_id(table, roles) for table in nodes]
    told = {id: name for own in named for id, name in own.items()}
    is_clear = all(own.items() <= told.items() for own in named) and len(told) < sum(map(len, named))
    for tables in documents:
        names: dict[str, str] = {}
        for table in (table for table in tables if not table.is_edges):
            own = {} if is_clear else names_by_id(table, roles)
            table.names = [name for name in table.names if not own or roles.get(name) != Role.ID]
            names |= own
        for table in tables:
            for column in of_role(edge_roles(table), Role.SOURCE, Role.TARGET) if table.is_edges else ():
                table.put(column, [names.get(text_of(end), end) for end in table.cells(column)])
            kinds.setdefault(table.name if table.is_edges is None else table.is_edges, []).append(table)
    return [Table.stacked(tables) for tables in kinds.values()]


def _of_list(values: list[Any]) -> list[Table]:
    """Of a list of relations, of both, or of documents with lists of their own."""
    if _are_documents(values):
        return _joined(list(map(tables_of, values)))
    rows = flat(_with_keys(values))
    ends = edge_roles(Table.of_records(rows))
    if not has_ends(ends):
        if passages := _passages(values):
            return _both(passages, [])
        inner = _of_tree(values) or with_related(Table.of_records(rows, "entities"))
        are_entities = any(key_of(key) in ENTITY_TYPES for key in columns_of(values))
        return inner or (_both(rows, []) if are_entities else _both([], rows))
    sides = [set(of_role(ends, Role.SOURCE)), set(of_role(ends, Role.TARGET))]
    names = {*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME]}
    entities: list[Any] = []
    relations: list[Any] = []
    for record in rows:
        is_node = (
            isinstance(record, dict)
            and not all(side & record.keys() for side in sides)
            and any(key_of(key) in names for key in record)
        )
        (entities if is_node else relations).append(record)
    return _both(entities, relations)


def _of_tree(roots: list[Any]) -> list[Table]:
    """Entities inside entities (d3's hierarchy, family trees): each relates to those that a key of it holds,
    where some of them have the same key; empty for anything else."""
    found: list[dict[str, Any]] = []
    relations: list[dict[str, Any]] = []
    is_tree = False
    below: list[tuple[Any, int, str]] = [(root, -1, "") for root in roots]
    for number, (value, parent, relation) in enumerate(below):  # grows
        if not _is_named(value):
            return []
        inner = {key: held if isinstance(held, list) else [held] for key, held in value.items()}
        inner = {key: held for key, held in inner.items() if held and all(map(_is_named, held))}
        is_tree = is_tree or any(key in one for key, held in inner.items() for one in held)
        below += [(one, number, key) for key, held in inner.items() for one in held]
        found.append({**{key: held for key, held in value.items() if key not in inner}, "id": number})
        if parent >= 0:
            relations.append({"source": parent, "relation": relation, "target": number})
    return _both(found, relations) if is_tree else []


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and any(
        key_of(key) in NODE_KEYS[Role.NAME] and isinstance(told, str) for key, told in value.items()
    )


def _passages(values: list[Any]) -> list[dict[str, str]]:
    """A collection of passages (`_id` and `text`, as BEIR has it) as entities without relations, so that
    `recommend`, `curate` and `eval` work on their ids; empty for any other list."""
    first = values[0] if values and isinstance(values[0], dict) else {}
    id, text = (
        next((key for key in keys if isinstance(first.get(key), str)), "")
        for keys in (PASSAGE_IDS, PASSAGE_TEXTS)
    )
    is_collection = id and text and all(isinstance(row, dict) and {id, text} <= row.keys() for row in values)
    return [
        {"id": row[id], "name": row[id], "description": f"{row.get('title') or ''}\n{row[text]}".strip()}
        for row in (values if is_collection else ())
    ]


# --- entities and their neighbours


def _of_adjacency(document: dict[str, Any]) -> list[Table]:
    """Of `{"Ann": ["Ben"]}`, `{"Ann": {"knows": ["Ben"]}}`, `{"Ann": {"Ben": {…}}}`, where most of what is
    pointed at is a key as well: else any settings would be a graph."""
    rows = rows_in(document)
    relations = [] if names_ends(columns_of(rows)) else related(Table.of_records(rows, "entities"))
    if 2 * len(relations) < len(rows):
        rows = [{"id": key} for key in document]
        relations = _neighbours(document)
        targets = {text_of(relation["target"]) for relation in relations}
        relations = relations if 2 * len(targets & document.keys()) >= len(targets) else []
    others = dict.fromkeys(text_of(relation["target"]) for relation in relations)
    rows += [{"id": name} for name in others if name and name not in document]
    return _both(rows, relations) if relations else []


def _neighbours(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Relations of a dictionary from entity to neighbours."""
    found: list[dict[str, Any]] = []
    for source, targets in document.items():
        several: list[Any] = targets if isinstance(targets, list) else []
        for key, more in targets.items() if isinstance(targets, dict) else ():
            if isinstance(more, list | str):  # relation → targets
                ends = more if isinstance(more, list) else [more]
                several = [*several, *([key, end] for end in ends)]
            else:
                told = more if isinstance(more, dict) else {"weight": more}
                several = [*several, {**told, "target": key}]
        for target in several:
            if isinstance(target, list) and len(target) == 2:
                relation = {"relation": target[0], "target": target[1]}
            elif isinstance(target, dict):
                relation = {"target": end_text(target), **target}
            else:
                relation = {"target": target}
            found.append({**relation, "source": source})
    return [relation for relation in found if isinstance(relation["target"], str | int)]
