"""JSON in which entities and relations are lists or dictionaries, as scripts and model outputs have them.

`{"entities": […], "relations": […]}` with names or objects, node-link JSON of any program, Cytoscape's
`elements`, a list of graph documents; `[[source, relation, target], …]`; objects with `subject`, `predicate`,
`object` or the like, in a list or one a line; a dictionary from entity to neighbours. A dictionary of objects
is a list whose keys are ids. What keys are called: roles.py.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import decoded_json, json_lines
from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, mapped, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format, json_of
from tiny_graph_rag.formats.graphs.filling import end_text, fill_entities, fill_relations
from tiny_graph_rag.formats.graphs.given import Columns
from tiny_graph_rag.formats.graphs.roles import (
    NONE,
    are_types,
    edge_roles,
    has_ends,
    names_ends,
    node_roles,
    of_role,
)
from tiny_graph_rag.formats.graphs.rows import Roles, Rows
from tiny_graph_rag.formats.graphs.spelling import key_of
from tiny_graph_rag.formats.graphs.table import Table, columns_of, flat, text_of
from tiny_graph_rag.formats.words import ADJACENCIES, ENTITY_LISTS, NODE_KEYS, RELATION_LISTS, Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import Said, said

LINES = (".jsonl", ".ndjson")
TRIPLE = ("source", "relation", "target")
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


@dataclass(slots=True)
class Lists:
    """entities: None where none are listed. is_directed: what the file says of its relations."""

    entities: list[Any] | None
    relations: list[Any]
    is_directed: bool = True
    places: tuple[str, str] = ("entities[{}]", "relations[{}]")


def _is_lists(head: Head) -> bool:
    """Any JSON that holds objects or lists: its reader says what it lacks."""
    text = head.text
    return text[:1] == "{" or (text[:1] == "[" and text[1:].lstrip()[:1] in ("[", "{"))


@graph_format(
    "JSON lists",
    "lists of entities and relations, or of triples, as scripts and models write them",
    _is_lists,
    suffixes=LINES,
    general=True,
    takes_columns=True,
)
def read_lists(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    rows = Rows(paths[0], "JSON lists")
    document = document_of(paths[0], rows)
    rows.problems.check()
    return graph_of(rows, document, columns or NONE)


def graph_of(rows: Rows, document: Any, given: Columns = NONE) -> KnowledgeGraph:
    """The graph of a JSON document's lists, whoever wrote it. Raises GraphError."""
    lists = lists_of(document, given)
    if lists is None:
        if not isinstance(document, dict):
            raise GraphError.at(
                rows.path, "{wanted}, got {got}", wanted=said(WANTED), got=json_kind(document)
            )
        names = [repr(key) for key, value in document.items() if isinstance(value, list | dict)]
        raise GraphError.at(
            rows.path,
            "{wanted}; its lists are {names}. If two of them hold the graph, name them: --columns "
            "nodes=KEY,edges=KEY",
            wanted=said(WANTED),
            names=", ".join(names[:8]) or "none",
        )
    fill(rows, lists, given)
    used = {place.partition("[")[0] for place in lists.places}
    for key, value in document.items() if isinstance(document, dict) else ():
        is_list = isinstance(value, list) and value and isinstance(value[0], dict)
        if is_list and key not in {*used, "hyperedges"}:
            rows.dropped("lists that hold neither entities nor relations", key)
    count_hyperedges(rows, document)
    return rows.graph()


def count_hyperedges(rows: Rows, document: Any) -> None:
    parts = [document, document.get("graph")] if isinstance(document, dict) else []
    found = next(
        (part["hyperedges"] for part in parts if isinstance(part, dict) and part.get("hyperedges")), None
    )
    if isinstance(found, list):
        first = found[0] if isinstance(found[0], dict) else {"id": found[0]}
        example = text_of(first.get("label") or first.get("id"))
        rows.dropped("hyperedges (they join more than two nodes)", example, len(found))


# --- files


def document_of(path: Path, rows: Rows) -> Any:
    """A JSON document, or the list of those that stand one a line. Raises GraphError."""
    if not _is_lines(Head.of(path)):
        return json_of(path)
    text = decode_utf8(read_bytes(path), path)
    return [record.row for record in json_lines(path, text, rows.problems, decoded_json)]


def _is_lines(head: Head) -> bool:
    """Whether there is an object a line."""
    if head.path.name.removesuffix(".gz").endswith(LINES):
        return True
    text = head.text
    if head.is_cut and "\n" not in text:  # of a long line the end is looked for
        text = _around_line_end(mapped(head.path)).decode("utf-8", "replace")
    line, _, rest = text.partition("\n")
    return line.rstrip().endswith("}") and rest.lstrip()[:1] == "{"


def _around_line_end(buffer: bytes | mmap.mmap) -> bytes:
    end = buffer.find(b"\n")
    return bytes(buffer[max(0, end - 8) : end + 80]) if end >= 0 else b""


# --- lists into rows


def fill(
    rows: Rows,
    lists: Lists,
    given: Columns = NONE,
    *,
    own_nodes: Roles | None = None,
    own_edges: Roles | None = None,
) -> None:
    """Put entities and relations into `rows`. own_nodes, own_edges: the roles of a writer's own columns.

    Raises GraphError where no column names the ends of relations, with the columns that are there.
    """
    listed = [{"name": value} if isinstance(value, str) else value for value in lists.entities or ()]
    entities = flat(_objects(rows, listed, lists.places[0], said("a name or an object")))
    known = {end_text(entity) for entity in entities} | {text_of(entity.get("name")) for entity in entities}
    relations = _of_lists(lists.relations, known)
    relations = flat(_objects(rows, relations, lists.places[1], said("a source and a target")))
    given.check([*columns_of(entities), *columns_of(relations)], rows.path)
    table = Table.of_records(relations)
    roles = own_edges or edge_roles(table, given)
    if not entities:
        entities = _ends_in(relations, of_role(roles, Role.SOURCE, Role.TARGET))
    if entities:
        fill_entities(rows, Table.of_records(entities), given, own_nodes, lists.places[0])
    alone, place = not entities, lists.places[1]
    fill_relations(rows, table, given, roles, alone=alone, place=place, is_directed=lists.is_directed)


def _objects(rows: Rows, values: list[Any], place: str, wanted: Said) -> list[dict[str, Any]]:
    """The objects of a list; what is none is a problem."""
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            got = f"{json_kind(value)} {value!r:.60}" if value not in (None, "") else json_kind(value)
            rows.problem(place.format(number), "wanted {wanted}, got {got}", wanted=wanted, got=got)
    return [value for value in values if isinstance(value, dict)]


def _ends_in(relations: list[dict[str, Any]], ends: list[str]) -> list[dict[str, Any]]:
    """The entities that relations hold as objects at their ends, equal ones once."""
    objects = [record.get(name) for name in ends for record in relations]
    if not all(isinstance(value, dict) for value in objects):
        return []
    merged: dict[str, dict[str, Any]] = {}
    for record in flat(objects):
        merged.setdefault(end_text(record), {}).update(record)
    merged.pop("", None)
    return list(merged.values())


def _of_lists(relations: list[Any], known: set[str]) -> list[Any]:
    """Relations that are lists, as objects: [source, relation, target], or as the known entities have it."""
    several = [value for value in relations if isinstance(value, list)]
    at = [
        sum(len(value) > place and text_of(value[place]) in known for value in several) for place in range(3)
    ]
    keys = ("source", "target", "relation") if at[1] > at[2] else TRIPLE
    pairs = all(
        len(value) == 2 and not any(isinstance(end, list | dict) for end in value) for value in several
    )

    def named(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != (2 if pairs else 3):
            return value
        if pairs or isinstance(value[2], dict):  # networkx's edge with its data
            return {**(value[2] if not pairs else {}), "source": value[0], "target": value[1]}
        return dict(zip(keys, value, strict=True))

    return list(map(named, relations))


# --- lists in a document


def lists_of(document: Any, given: Columns = NONE) -> Lists | None:
    """The lists in a JSON document; None where it has none. given: may name those of an object."""
    document = _unwrapped(document)
    if isinstance(document, list):
        return _of_list(document)
    if not isinstance(document, dict):
        return None
    by_key = {key_of(key): key for key in reversed(document)}
    named = [by_key[key] for key in ENTITY_LISTS if key in by_key]
    is_held = [key for key in given.tables("nodes") or named if isinstance(document.get(key), list | dict)]
    entities = _entities(document[is_held[0]]) if is_held else None
    is_directed = document.get("directed") is not False
    keys = given.tables("edges") or [by_key[key] for key in RELATION_LISTS if key in by_key]
    found = {key: records for key in keys if (records := _relations(document.get(key))) is not None}
    if not found:
        facts = [key for key, value in document.items() if isinstance(value, list) and _are_facts(value)]
        found = {key: document[key] for key in facts if len(facts) == 1}  # under another name
    if found:  # of several that which holds relations, not their types
        key = max(found, key=lambda key: (_have_ends(found[key]), bool(found[key])))
        places = f"{is_held[0] if is_held else 'entities'}[{{}}]", f"{key}[{{}}]"
        lists = _with_names(Lists(entities, found[key], is_directed, places), document)
        return lists if lists.entities else replace(lists, entities=_at_ends(lists.relations, document))
    around = next((by_key[key] for key in ADJACENCIES if key in by_key), None)
    relations = _neighbours(document[around], entities) if around is not None else _inner(entities or [])
    if relations:
        return Lists(entities, relations, is_directed)
    for key, value in document.items():  # {"elements": …}, {"graph": …}
        if isinstance(value, dict) or _are_documents(value) or key == "elements":
            inner = lists_of(value)
            if inner is not None and (inner.relations or inner.entities):
                return inner
    return _of_adjacency(document)


def _at_ends(relations: list[Any], document: dict[str, Any]) -> list[Any] | None:
    """The entities in a document's other lists, of which some stand at the ends of relations; the name of a
    list is their type, where no key is."""
    records = Table.of_records(flat(relations))
    ends = {
        end_text(cell)
        for column in of_role(edge_roles(records), Role.SOURCE, Role.TARGET)
        for cell in records.cells(column)
    }
    found: list[Any] = []
    for key, values in document.items():
        table = Table.of_records(values if isinstance(values, list) and values is not relations else [])
        roles = node_roles(table)
        names = of_role(roles, Role.ID, Role.NAME)
        if any(text in ends for column in names for text in table.texts(column)):
            found += [
                {"type": key, **record} if Role.TYPE not in roles.values() else record for record in values
            ]
    return found or None


def _inner(entities: list[Any]) -> list[Any]:
    """Relations that entities hold as lists of others: `"related_concepts": ["hen"]`, of that type."""
    table = Table.of_records(flat(entities))
    roles = node_roles(table)
    known = {text for column in of_role(roles, Role.ID, Role.NAME) for text in table.texts(column)}
    own = [next(iter(of_role(roles, role)), "") for role in (Role.ID, Role.NAME)]
    found: list[Any] = []
    for column in table.names:
        related = [
            {
                "source": record.get(own[0]) or record.get(own[1]),
                "relation": column,
                "target": end_text(target),
            }
            for record in table.records()
            for target in (record[column] if isinstance(record[column], list) else ())
        ]
        if column not in roles and 2 * sum(relation["target"] in known for relation in related) > len(
            related
        ):
            found += related
    return found


def _relations(value: Any) -> list[Any] | None:
    """Relations as a list; None for what holds none, such as the names of relation types."""
    if isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values()):
        return list(value.values())
    return value if isinstance(value, list) and not (value and isinstance(value[0], str)) else None


def _are_facts(values: list[Any]) -> bool:
    """Whether a list holds objects with both ends and a type."""
    roles = edge_roles(Table.of_header(columns_of(values[:1])), strict=True)
    return has_ends(roles) and Role.TYPE in roles.values()


def _have_ends(records: list[Any]) -> bool:
    first = records[0] if records else None
    return isinstance(first, list) or (isinstance(first, dict) and names_ends(list(flat([first])[0])))


def _entities(values: Any) -> list[Any]:
    """Entities as a list: of a dictionary by id, by name → type, or by type → names."""
    if isinstance(values, list):
        return values
    if all(isinstance(value, list) for value in values.values()):
        typed = [(type, value) for type, several in values.items() for value in several]
        return [
            {"type": type, **(value if isinstance(value, dict) else {"name": value})} for type, value in typed
        ]
    if all(isinstance(value, str) for value in values.values()):
        key = "type" if are_types(list(values.values())) else "name"
        return [{"id": id, key: value} for id, value in values.items()]
    return [{**(value if isinstance(value, dict) else {}), "id": id} for id, value in values.items()]


def _of_adjacency(document: dict[str, Any]) -> Lists | None:
    """Of `{"Ann": ["Ben"]}`, `{"Ann": {"knows": ["Ben"]}}`, `{"Ann": {"Ben": {…}}}`, where most of what is
    pointed at is a key as well: else any settings would be a graph."""
    relations = _neighbours(document, None)
    targets = {text_of(relation["target"]) for relation in relations}
    if not targets or 2 * len(targets & document.keys()) < len(targets):
        return None
    return Lists([{"id": key} for key in document], relations)


def _neighbours(value: Any, nodes: list[Any] | None) -> list[dict[str, Any]]:
    """Relations of a dictionary from entity to neighbours, or of networkx's list of lists next to `nodes`."""
    if isinstance(value, list):
        ids = [node.get("id") if isinstance(node, dict) else node for node in nodes or ()]
        value = dict(zip(map(text_of, ids), value, strict=False))
    found: list[dict[str, Any]] = []
    for source, targets in value.items() if isinstance(value, dict) else ():
        several = targets if isinstance(targets, list) else []
        for key, more in targets.items() if isinstance(targets, dict) else ():
            if isinstance(more, list):  # relation → targets
                several = [*several, *([key, target] for target in more)]
            elif isinstance(more, str):
                several = [*several, [key, more]]
            else:
                told = more if isinstance(more, dict) else {"weight": more}
                several = [*several, {**told, "target": key}]
        for target in several:
            if isinstance(target, list) and len(target) == 2:
                target = {"relation": target[0], "target": target[1]}
            elif isinstance(target, dict):
                target = {"target": end_text(target), **target}
            else:
                target = {"target": target}
            found.append({**target, "source": source})
    return [relation for relation in found if isinstance(relation["target"], str | int)]


def _with_names(lists: Lists, document: dict[str, Any]) -> Lists:
    """Names of ids and of relation types that a dictionary in the document tells: `{"R1": "knows"}`."""
    triples = [
        record for record in lists.relations if isinstance(record, list) and len(record) == len(TRIPLE)
    ]
    told = [(key_of(key), value) for key, value in document.items() if isinstance(value, dict)]
    told += [(key, {text_of(id): name for name, id in table.items()}) for key, table in told]
    told = [(key, table) for key, table in told if all(isinstance(name, str) for name in table.values())]

    def naming(ids: set[str], word: str) -> dict[str, str]:
        """The dictionary that has all the ids; of several one whose key has the word."""
        fits = [(word not in key, place) for place, (key, table) in enumerate(told) if ids <= table.keys()]
        return told[min(fits)[1]][1] if fits and ids else {}

    types = naming({text_of(record[1]) for record in triples}, "rel")
    if types:
        lists = replace(lists, relations=[
            [record[0], types.get(text_of(record[1])), record[2]]
            if isinstance(record, list) and len(record) == len(TRIPLE)
            else record
            for record in lists.relations
        ])  # fmt: skip
    if lists.entities is None:
        names = naming({text_of(record[end]) for record in triples for end in (0, 2)}, "ent")
        lists.entities = [{"id": id, "name": name} for id, name in names.items()] or None
    return lists


def _of_list(values: list[Any]) -> Lists:
    """Of a list of relations, of both, or of documents with lists of their own."""
    if _are_documents(values):
        return _of_documents([part for part in map(lists_of, values) if part is not None])
    records = flat(values)
    ends = edge_roles(Table.of_records(records))
    if not has_ends(ends):
        related = _inner(values)
        return Lists(values if related else None, related or values)
    sides = [set(of_role(ends, Role.SOURCE)), set(of_role(ends, Role.TARGET))]
    names = {*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME]}
    is_node = [
        isinstance(record, dict)
        and not all(side & record.keys() for side in sides)
        and any(key_of(key) in names for key in record)
        for record in records
    ]
    entities = [record for record, is_entity in zip(records, is_node, strict=True) if is_entity]
    return Lists(
        entities or None,
        [record for record, is_entity in zip(records, is_node, strict=True) if not is_entity],
    )


def _of_documents(parts: list[Lists]) -> Lists:
    """The lists of several documents as one. Ids such as `e1` that name another entity in each document are
    left out for the names."""
    entities = Table.of_records([entity for part in parts for entity in part.entities or ()])
    roles = node_roles(entities)
    relations = Table.of_records([relation for part in parts for relation in part.relations])
    ends = of_role(edge_roles(relations), Role.SOURCE, Role.TARGET)
    id, name = (next(iter(of_role(roles, role)), "") for role in (Role.ID, Role.NAME))
    told = [
        {
            text_of(entity.get(id)): text_of(entity[name])
            for entity in part.entities or ()
            if isinstance(entity, dict) and entity.get(name)
        }
        for part in parts
    ]
    pairs = {pair for names in told for pair in names.items()} if id and name else set()
    is_local = len({id for id, _ in pairs}) < 2 / 3 * len(pairs)
    entities_of_all: list[Any] = []
    relations_of_all: list[Any] = []
    seen = set()
    for part, names in zip(parts, told, strict=True):
        for entity in part.entities or ():
            if is_local and isinstance(entity, dict):
                entity = {key: value for key, value in entity.items() if key != id}
            if repr(entity) not in seen:  # what several documents repeat is no flaw
                seen.add(repr(entity))
                entities_of_all.append(entity)
        for relation in part.relations:
            if is_local and isinstance(relation, dict):
                relation = relation | {
                    end: names.get(text_of(relation.get(end)), relation.get(end)) for end in ends
                }
            elif is_local and isinstance(relation, list):
                relation = [names.get(text_of(value), value) for value in relation]
            relations_of_all.append(relation)
    return Lists(entities_of_all or None, relations_of_all)


def _are_documents(values: Any) -> bool:
    if not isinstance(values, list) or not values or not isinstance(values[0], dict):
        return False
    keys = {key_of(key) for key, value in values[0].items() if isinstance(value, list)}
    return bool(keys & set(RELATION_LISTS)) or _is_wrapped(values[0])


def _unwrapped(value: Any) -> Any:
    """Of objects as LangChain serialises them, their fields."""
    if isinstance(value, list):
        return [_unwrapped(inner) for inner in value] if any(map(_is_wrapped, value)) else value
    return {key: _unwrapped(inner) for key, inner in value["kwargs"].items()} if _is_wrapped(value) else value


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and "lc" in value and isinstance(value.get("kwargs"), dict)
