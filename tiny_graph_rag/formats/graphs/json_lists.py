"""JSON in which entities and relations are lists or dictionaries, as scripts and model outputs have them.

`{"entities": […], "relations": […]}` with names or objects, node-link JSON of any program, Cytoscape's
`elements`, a list of graph documents; `[[source, relation, target], …]`; objects with `subject`, `predicate`,
`object` or the like, in a list or one a line; a dictionary from entity to neighbours. A dictionary of objects
is a list whose keys are ids. What keys are called: roles.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import decoded_json, json_file, json_lines, read_yaml
from tiny_graph_rag.errors import GraphError, json_kind
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.roles import (
    NONE,
    Columns,
    are_types,
    edge_roles,
    has_ends,
    node_roles,
    of_role,
    related,
)
from tiny_graph_rag.formats.graphs.rows import UNLISTED, Rows, fill_entities, fill_relations, place_in
from tiny_graph_rag.formats.graphs.table import Table, columns_of, end_text, flat, key_of, text_of
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
from tiny_graph_rag.graph.building import looks_like_id
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import Said, said

LINES = (".jsonl", ".ndjson")
YAML = (".yaml", ".yml")
BROKEN = "triples that are not three texts (left out)"
AGAIN = "relations of another list (left out)"
WANTED = (
    'wanted {"entities": […], "relations": […]}, or a list of [source, relation, target] or of objects with '
    "'source', 'relation', 'target'"
)


@dataclass(slots=True)
class Lists:
    """entities: None where none are listed. is_directed: what the file says of its relations. places: what a
    problem calls an entity and a relation. others: lists of something else."""

    entities: list[Any] | None
    relations: list[Any]
    is_directed: bool = True
    places: tuple[str, str] = ("entities[{}]", "relations[{}]")
    others: dict[str, list[Any]] = field(default_factory=dict)


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
            "{wanted}; its lists are {names}. If some of them hold the graph, name them and their columns: "
            "--columns nodes=KEY,edges=KEY,source=COLUMN,target=COLUMN",
            wanted=said(WANTED),
            names=", ".join(names[:8]) or "none",
        )
    fill(rows, lists, given)
    return rows.graph()


_BOTH_ENDS = re.compile(r"(?P<source>[^|>]+?)(?:\||->)(?P<target>[^|>]+)")  # as a key
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


# --- lists into rows


def fill(rows: Rows, lists: Lists, given: Columns = NONE) -> None:
    """Put entities and relations into `rows`.

    Raises GraphError where no column names the ends of relations, with the columns that are there.
    """
    listed = [{"name": value} if isinstance(value, str) else value for value in lists.entities or ()]
    entities = flat(_objects(rows, listed, lists.places[0], said("a name or an object")))
    known = {end_text(entity) for entity in entities} | {text_of(entity.get("name")) for entity in entities}
    relations = _of_lists(lists.relations, known)
    sound = [value for value in relations if not isinstance(value, list)]
    for value in relations if sound else ():
        if isinstance(value, list):
            rows.flaw(BROKEN, f"{value!r:.60}")
    relations = sound or relations
    relations = flat(_objects(rows, relations, lists.places[1], said("a source and a target")))
    given.check([*columns_of(entities), *columns_of(relations)], rows.path)
    table = Table.of_records(relations)
    roles = edge_roles(table, given)
    for end in _ends_in(relations, of_role(roles, Role.SOURCE, Role.TARGET)):
        if end_text(end) not in known:
            entities = [*entities, end]
            if lists.entities:
                rows.flaw(UNLISTED, repr(end_text(end)))
    if entities:
        fill_entities(rows, Table.of_records(entities), given, place=lists.places[0])
    alone, place = not entities, lists.places[1]
    fill_relations(rows, table, given, alone=alone, place=place, is_directed=lists.is_directed)
    for key, several in lists.others.items():
        if _have_ends(several):
            rows.flaw(AGAIN, key, len(several))
        else:
            rows.dropped("lists that hold neither entities nor relations", key)


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
    """Relations that are lists, as objects: [source, relation, target], or as the known entities have it;
    under the keys of those that are objects, where some are."""
    several = [value for value in relations if isinstance(value, list)]
    if not several:
        return relations
    at = [
        sum(len(value) > place and text_of(value[place]) in known for value in several) for place in range(3)
    ]
    roles = edge_roles(Table.of_records(relations))
    ends = [next(iter(of_role(roles, role)), role) for role in (Role.SOURCE, Role.TARGET)]
    type = next(iter(of_role(roles, Role.TYPE)), "relation")
    is_weighted = not known and all(isinstance(value[-1], int | float) for value in several if value)
    last = "weight" if is_weighted else type
    keys = (*ends, last) if is_weighted or at[1] > at[2] else (ends[0], type, ends[1])
    pairs = all(
        len(value) == 2 and not any(isinstance(end, list | dict) for end in value) for value in several
    )

    def named(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != (2 if pairs else 3):
            return value
        if pairs or isinstance(value[2], dict):  # networkx's edge with its data
            return {**(value[2] if not pairs else {}), **dict(zip(ends, value, strict=False))}
        return dict(zip(keys, value, strict=True))

    return list(map(named, relations))


# --- lists in a document


def lists_of(document: Any, given: Columns = NONE) -> Lists | None:
    """The lists in a JSON document; None where it has none. given: may name those of an object."""
    if isinstance(document, list):
        return _of_list(document)
    if not isinstance(document, dict):
        return None
    if document and all(key.isdecimal() and isinstance(document[key], list | dict) for key in document):
        return _of_list(list(document.values()))
    by_key = {key_of(key): key for key in reversed(document)}
    named = [by_key[key] for key in ENTITY_LISTS if key in by_key]
    held = [key for key in given.tables("nodes") or named if isinstance(document.get(key), list | dict)]
    entities = records_of(document[held[0]]) if held else None
    is_directed = document.get("directed") is not False
    keys = given.tables("edges") or [by_key[key] for key in RELATION_LISTS if key in by_key]
    found = {key: records for key in keys if (records := _relations(document.get(key))) is not None}
    if not found:
        facts = [
            key
            for key, value in document.items()
            if isinstance(value, list) and _have_ends(value, strict=True)
        ]
        found = {key: document[key] for key in facts if len(facts) == 1}  # under another name
    if found:  # of several that which holds relations, not their types
        key = max(found, key=lambda key: (_have_ends(found[key]), bool(found[key])))
        places = place_in(held[0] if held else "entities"), place_in(key)
        lists = _with_names(Lists(entities, found[key], is_directed, places), document)
        others = {other: values for other, values in document.items() if other not in (key, *held[:1])}
        _name_categories(lists.entities or [], document.get("categories"))
        if not lists.entities:
            lists, others = _with_ends(lists, others)
        lists.others = {name: several for name, more in others.items() if (several := _objects_in(more))}
        return lists
    around = next((by_key[key] for key in ADJACENCIES if key in by_key), None)
    relations = related(Table.of_records(flat(entities or [])))
    if around is not None:
        relations = _neighbours(document[around], entities)
    if relations:
        return Lists(entities, relations, is_directed)
    if tree := _of_tree([document]):
        return tree
    below = [  # {"elements": …}, {"graph": …}, or documents by their names
        lists_of(value)
        for key, value in document.items()
        if isinstance(value, dict) or _are_documents(value) or key == "elements"
    ]
    parts = [part for part in below if part is not None and (part.relations or part.entities)]
    parts = [part for part in parts if part.relations] or parts[:1]
    if parts:
        return parts[0] if len(parts) == 1 else _of_documents(parts)
    only = [objects for value in document.values() if (objects := _objects_in(value))]
    lists = _of_list(only[0]) if len(only) == 1 else Lists(None, [])
    is_graph = lists.relations and (lists.entities or _have_ends(lists.relations))
    return lists if is_graph else _of_adjacency(document)


def _objects_in(values: Any) -> list[Any]:
    """The objects of a list, or of a dictionary by id; empty for anything else."""
    if isinstance(values, dict) and values and all(isinstance(value, dict) for value in values.values()):
        return records_of(values)
    return values if isinstance(values, list) and values and isinstance(values[0], dict) else []


def _name_categories(entities: list[Any], categories: Any) -> None:
    """The names of categories for their places in a list of them, as ECharts has it."""
    several = categories if isinstance(categories, list) else []
    names = [text_of(one.get("name") if isinstance(one, dict) else one) for one in several]
    for entity in entities:
        place = entity.get("category") if isinstance(entity, dict) else None
        if isinstance(place, int) and 0 <= place < len(names) and names[place]:
            entity["category"] = names[place]


def _with_ends(lists: Lists, others: dict[str, Any]) -> tuple[Lists, dict[str, Any]]:
    """With the entities of a document's other lists, of which some stand at the ends of relations; the name
    of a list is their type, where no key is. Returns what is left of the others as well."""
    records = Table.of_records(flat(lists.relations))
    columns = of_role(edge_roles(records), Role.SOURCE, Role.TARGET)
    ends = {end_text(cell) for column in columns for cell in records.cells(column)}
    found: list[Any] = []
    left = {}
    for key, values in others.items():
        objects = _objects_in(values)
        table = Table.of_records(objects)
        table.roles = node_roles(table)
        names = [*table.columns(Role.ID), *table.columns(Role.NAME)]
        if any(text in ends for column in names for text in table.texts(column)):
            type = {} if table.columns(Role.TYPE) else {"type": key}
            ids = table.cells(names[0])  # one key of ids for all the lists
            found += [{**type, **record, "id": id} for record, id in zip(objects, ids, strict=True)]
        else:
            left[key] = values
    return replace(lists, entities=found or None), left


def _relations(value: Any) -> list[Any] | None:
    """Relations as a list, of a dictionary by id or by type; None for what holds none, such as the names of
    relation types."""
    if isinstance(value, dict) and value and all(isinstance(inner, dict) for inner in value.values()):
        ends = {id: match.groupdict() for id in value if (match := _BOTH_ENDS.fullmatch(id))}
        return [{"id": id, **ends.get(id, {}), **inner} for id, inner in value.items()]
    if isinstance(value, dict) and value and all(isinstance(inner, list) for inner in value.values()):
        typed = [(type, pair) for type, several in value.items() for pair in several]
        pairs = [pair for _, pair in typed if isinstance(pair, list) and len(pair) == 2]
        return [[pair[0], type, pair[1]] for type, pair in typed] if len(pairs) == len(typed) else None
    return value if isinstance(value, list) and not (value and isinstance(value[0], str)) else None


def _have_ends(records: list[Any], *, strict: bool = False) -> bool:
    """Whether the first has both ends. strict: in words that are a header's, and a type."""
    first = records[0] if records else None
    if not isinstance(first, dict):
        return isinstance(first, list) and not strict
    roles = edge_roles(Table.of_header(list(flat([first])[0])), strict=strict)
    return has_ends(roles) and (not strict or Role.TYPE in roles.values())


def records_of(values: Any) -> list[Any]:
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


def objects_of(document: Any) -> list[Any]:
    """The rows of a table of its own: of an object the one list that it has, pairs by type, or entities by
    id; names, pairs and triples as objects."""
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list)]
        tables = [value for value in lists if value and not isinstance(value[0], str)]
        is_typed = len(lists) == len(document) and not set(map(key_of, document)) & set(RELATION_LISTS)
        pairs = _relations(document) if is_typed else None
        document = pairs or (tables[0] if len(tables) == 1 else records_of(document))
    if not isinstance(document, list):
        return []
    values = [{"name": value} if isinstance(value, str) else value for value in document]
    return _of_lists(values, set())


def _of_adjacency(document: dict[str, Any]) -> Lists | None:
    """Of `{"Ann": ["Ben"]}`, `{"Ann": {"knows": ["Ben"]}}`, `{"Ann": {"Ben": {…}}}`, where most of what is
    pointed at is a key as well: else any settings would be a graph."""
    inner = [value for value in document.values() if isinstance(value, dict)]
    told = {*NODE_KEYS[Role.TYPE], *NODE_KEYS[Role.DESCRIPTION]}
    described = sum(
        any(key_of(key) in told and isinstance(value[key], str) for key in value) for value in inner
    )
    if 2 * described > len(document):  # properties of entities, of which some may be neighbours
        entities = records_of(document)
        relations = related(Table.of_records(flat(entities)))
        told_of = dict.fromkeys(relation["target"] for relation in relations)
        others = [{"id": name} for name in told_of if name and name not in document]
        return Lists([*entities, *others], relations) if relations else None
    relations = _neighbours(document, None)
    targets = dict.fromkeys(text_of(relation["target"]) for relation in relations)
    if not targets or 2 * len(targets.keys() & document.keys()) < len(targets):
        return None
    return Lists([{"id": key} for key in {**document, **targets}], relations)


def _neighbours(value: Any, nodes: list[Any] | None) -> list[dict[str, Any]]:
    """Relations of a dictionary from entity to neighbours, or of networkx's list of lists next to `nodes`."""
    if isinstance(value, list):
        ids = [node.get("id") if isinstance(node, dict) else node for node in nodes or ()]
        value = dict(zip(map(text_of, ids), value, strict=False))
    found: list[dict[str, Any]] = []
    for source, targets in value.items() if isinstance(value, dict) else ():
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


def _with_names(lists: Lists, document: dict[str, Any]) -> Lists:
    """Names of ids and of relation types that a dictionary in the document tells: `{"R1": "knows"}`, or
    `{"knows": 1}`."""
    triples = [record for record in lists.relations if isinstance(record, list) and len(record) == 3]
    told = [(key_of(key), value) for key, value in document.items() if isinstance(value, dict)]
    told += [(key, {text_of(id): name for name, id in table.items()}) for key, table in told]
    named = [(key, table) for key, table in told if all(isinstance(name, str) for name in table.values())]

    def naming(word: str, *places: int) -> dict[str, str]:
        """The dictionary that has all the ids; of several one whose key has the word."""
        ids = {text_of(record[place]) for record in triples for place in places}
        fits = [
            (word not in key, table)
            for key, table in named
            if ids and ids <= table.keys() and not all(map(looks_like_id, table.values()))
        ]
        return min(fits, key=lambda told: told[0])[1] if fits else {}

    types, names = naming("rel", 1), naming("ent", 0, 2)
    for record in triples if types else ():
        record[1] = types[text_of(record[1])]
    if lists.entities is None:
        lists.entities = [{"id": id, "name": name} for id, name in names.items()] or None
    return lists


def _of_list(values: list[Any]) -> Lists:
    """Of a list of relations, of both, or of documents with lists of their own."""
    if _are_documents(values):
        return _of_documents([part for part in map(lists_of, values) if part is not None])
    records = flat(values)
    ends = edge_roles(Table.of_records(records))
    if not has_ends(ends):
        if passages := _passages(values):
            return Lists(passages, [])
        if tree := _of_tree(values):
            return tree
        inner = related(Table.of_records(records))
        are_entities = inner or any(key_of(key) in ENTITY_TYPES for key in columns_of(values))
        return Lists(values, inner) if are_entities else Lists(None, values)
    sides = [set(of_role(ends, Role.SOURCE)), set(of_role(ends, Role.TARGET))]
    names = {*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME]}
    entities: list[Any] = []
    relations: list[Any] = []
    for record in records:
        is_node = (
            isinstance(record, dict)
            and not all(side & record.keys() for side in sides)
            and any(key_of(key) in names for key in record)
        )
        (entities if is_node else relations).append(record)
    return Lists(entities or None, relations)


def _of_tree(roots: list[Any]) -> Lists | None:
    """Entities inside entities (d3's hierarchy, family trees): each relates to those that a key of it holds,
    where some of them have the same key; None for anything else."""
    found: list[dict[str, Any]] = []
    relations: list[dict[str, Any]] = []
    is_tree = False
    below: list[tuple[Any, int, str]] = [(root, -1, "") for root in roots]
    for number, (value, parent, relation) in enumerate(below):  # grows
        if not _is_named(value):
            return None
        inner = {key: held if isinstance(held, list) else [held] for key, held in value.items()}
        inner = {key: held for key, held in inner.items() if held and all(map(_is_named, held))}
        is_tree = is_tree or any(key in one for key, held in inner.items() for one in held)
        below += [(one, number, key) for key, held in inner.items() for one in held]
        found.append({**{key: held for key, held in value.items() if key not in inner}, "id": number})
        if parent >= 0:
            relations.append({"source": parent, "relation": relation, "target": number})
    return Lists(found, relations) if is_tree else None


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


def _of_documents(parts: list[Lists]) -> Lists:
    """The lists of several documents as one, what several repeat once. Where entities have ids and names, the
    names count: ids such as `e1` name another entity in each document."""
    entities: dict[str, Any] = {}
    relations: list[Any] = []
    for part in parts:
        table = Table.of_records(part.entities or [])
        table.roles = node_roles(table)
        pairs = zip(table.of(Role.ID), table.of(Role.NAME), strict=True)
        names = {text_of(id): text_of(name) for id, name in pairs if name}
        ids = table.columns(Role.ID) if names else []
        for entity in part.entities or ():
            is_object = isinstance(entity, dict)
            kept = {key: entity[key] for key in entity if key not in ids} if is_object else entity
            entities.setdefault(repr(kept), kept)
        ends = of_role(edge_roles(Table.of_records(part.relations)), Role.SOURCE, Role.TARGET)
        for relation in part.relations:
            if isinstance(relation, list):
                relation = [names.get(text_of(end), end) for end in relation]
            elif isinstance(relation, dict):
                told = {end: relation.get(end) for end in ends}
                relation = {**relation, **{end: names.get(text_of(id), id) for end, id in told.items()}}
            relations.append(relation)
    return Lists(list(entities.values()) or None, relations)


def _are_documents(values: Any) -> bool:
    first: dict[str, Any] = next(iter(_objects_in(values)), {})
    keys = {key_of(key) for key, value in first.items() if isinstance(value, list)}
    return bool(keys & set(RELATION_LISTS))
