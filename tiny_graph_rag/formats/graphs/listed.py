"""The lists of entities and relations in a JSON document, whatever shape they have, into `Rows`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tiny_graph_rag.errors import json_kind
from tiny_graph_rag.formats.graphs.filling import end_text, fill_entities, fill_relations, flat
from tiny_graph_rag.formats.graphs.given import Columns, listed, names_ends
from tiny_graph_rag.formats.graphs.keys import are_types, edge_roles, node_roles
from tiny_graph_rag.formats.graphs.rows import (
    Roles,
    Rows,
    text_of,
)
from tiny_graph_rag.formats.graphs.spelling import key_of
from tiny_graph_rag.formats.graphs.table import Table, cells_of, columns_of
from tiny_graph_rag.formats.words import (
    ADJACENCIES,
    ENTITY_LISTS,
    NODE_KEYS,
    RELATION_LISTS,
    Role,
)
from tiny_graph_rag.messages import Said, said

TRIPLE = 3


@dataclass(slots=True)
class Lists:
    """entities: None where none are listed. is_directed: what the file says of its relations."""

    entities: list[Any] | None
    relations: list[Any]
    is_directed: bool = True
    places: tuple[str, str] = ("entities[{}]", "relations[{}]")


def fill(
    rows: Rows,
    lists: Lists,
    given: Columns | None = None,
    *,
    own_nodes: Roles | None = None,
    own_edges: Roles | None = None,
) -> None:
    """Put entities and relations into `rows`. own_nodes, own_edges: the roles of a writer's own columns.

    Raises GraphError where no column names the ends of relations, with the columns that are there.
    """
    given = given or Columns()
    if given.named:
        given.check([*columns_of(lists.entities or ()), *columns_of(lists.relations)], rows.path)
    if lists.entities:
        named = [{"name": value} if isinstance(value, str) else value for value in lists.entities]
        entities = _objects(rows, flat(named), lists.places[0], said("a name or an object"))
        fill_entities(rows, Table.of_records(entities), given, own_nodes, lists.places[0])
    relations = flat(_of_lists(lists.relations, rows if lists.entities else None))
    relations = _objects(rows, _one_way(relations, given), lists.places[1], said("a source and a target"))
    table = Table.of_records(relations, row_label="")
    roles = own_edges or edge_roles(table.names, table.cells, given.of_edges(table.names))
    if not lists.entities and (objects := _ends_in(relations, roles)):
        fill_entities(rows, Table.of_records(objects), given, None, lists.places[1])
    for number, record in enumerate(relations):
        if not _has_ends(record, roles) and {Role.SOURCE, Role.TARGET} <= set(roles.values()):
            keys = said("the keys {listed}", listed=listed(record))
            rows.problem(lists.places[1].format(number), "wanted a source and a target, got {got}", got=keys)
    fill_relations(
        rows,
        table,
        given,
        roles,
        alone=not lists.entities,
        place=lists.places[1],
        is_directed=lists.is_directed,
    )


def _ends_in(relations: list[dict[str, Any]], roles: Roles) -> list[dict[str, Any]]:
    """The entities that relations hold as objects at their ends, equal ones once."""
    ends = [name for name, role in roles.items() if role in (Role.SOURCE, Role.TARGET)]
    objects = [record.get(name) for name in ends for record in relations]
    if not all(isinstance(value, dict) for value in objects):
        return []
    merged: dict[str, dict[str, Any]] = {}
    for record in flat(objects):
        merged.setdefault(end_text(record), {}).update(record)
    merged.pop("", None)
    return list(merged.values())


def _objects(rows: Rows, values: list[Any], place: str, wanted: Said) -> list[dict[str, Any]]:
    """The objects of a list; what is none is a problem."""
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            got = f"{json_kind(value)} {value!r:.60}" if value not in (None, "") else json_kind(value)
            rows.problem(place.format(number), "wanted {wanted}, got {got}", wanted=wanted, got=got)
    return [value for value in values if isinstance(value, dict)]


def lists_of(document: Any) -> Lists | None:
    """The lists in a JSON document; None where it has none. A dictionary of objects is a list whose keys are
    ids."""
    document = _unwrapped(document)
    if isinstance(document, list):
        return _of_list(document)
    if not isinstance(document, dict):
        return None
    by_key = {key_of(key): key for key in reversed(document)}
    nodes = [by_key[key] for key in ENTITY_LISTS if key in by_key]
    edges = [by_key[key] for key in RELATION_LISTS if key in by_key and _are_relations(document[by_key[key]])]
    around = next((by_key[key] for key in ADJACENCIES if key in by_key), None)
    entities = next((document[key] for key in nodes if isinstance(document[key], list | dict)), None)
    is_directed = document.get("directed") is not False
    if edges:
        key = next((key for key in edges if _have_ends(document[key])), edges[0])
        values: Any = document[key] or next((document[key] for key in edges if document[key]), [])
        records = list(values.values()) if isinstance(values, dict) else values
        places = f"{nodes[0] if nodes else 'entities'}[{{}}]", f"{key}[{{}}]"
        lists = Lists(None if entities is None else _entities(entities), records, is_directed, places)
        return _with_names(lists, document)
    if around is not None and isinstance(document[around], dict | list):
        relations = _neighbours(document[around], entities)
        if relations:
            return Lists(None if entities is None else _entities(entities), relations, is_directed)
    for value in document.values():  # {"elements": …}, {"graph": …}
        inner = (
            lists_of(value)
            if isinstance(value, dict) or _are_documents(value) or value is document.get("elements")
            else None
        )
        if inner is not None and (inner.relations or inner.entities):
            return inner
    return _of_adjacency(document)


def _of_adjacency(document: dict[str, Any]) -> Lists | None:
    """Of `{"Ann": ["Ben"]}`, `{"Ann": {"knows": ["Ben"]}}`, `{"Ann": {"Ben": {…}}}`, where most of what is
    pointed at is a key as well: else any settings would be a graph."""
    relations = _neighbours(document, None)
    targets = {text_of(relation["target"]) for relation in relations}
    if not targets or 2 * len(targets & document.keys()) < len(targets):
        return None
    return Lists([{"id": key} for key in document], relations)


def _neighbours(value: Any, nodes: Any) -> list[dict[str, Any]]:
    """Relations of a dictionary from entity to neighbours, or of networkx's list of lists next to `nodes`."""
    if isinstance(value, list):
        ids = [node.get("id") if isinstance(node, dict) else node for node in nodes or ()]
        pairs = zip(ids, value, strict=False)
    else:
        pairs = value.items()
    found: list[dict[str, Any]] = []
    for source, targets in pairs:
        if isinstance(targets, dict):
            for key, more in targets.items():
                if isinstance(more, list):  # relation → targets
                    found += [{"source": source, "relation": key, "target": target} for target in more]
                elif isinstance(more, dict):
                    found.append({**more, "source": source, "target": key})
                elif isinstance(more, int | float):
                    found.append({"source": source, "target": key, "weight": more})
                elif isinstance(more, str):
                    found.append({"source": source, "relation": key, "target": more})
        elif isinstance(targets, list):
            for target in targets:
                if isinstance(target, list) and len(target) == 2:
                    found.append({"source": source, "relation": target[0], "target": target[1]})
                elif isinstance(target, dict):
                    found.append({"source": source, "target": end_text(target), **target})
                elif isinstance(target, str | int):
                    found.append({"source": source, "target": target})
    return [relation for relation in found if isinstance(relation["target"], str | int)]


def _with_names(lists: Lists, document: dict[str, Any]) -> Lists:
    """Names of ids and of relation types that a dictionary in the document tells: `{"R1": "knows"}`."""
    triples = [record for record in lists.relations if isinstance(record, list) and len(record) == TRIPLE]
    if not triples:
        return lists
    tables = [(key_of(key), value) for key, value in document.items() if isinstance(value, dict)]
    tables += [(key, {str(id): name for name, id in table.items()}) for key, table in tables]
    tables = [(key, table) for key, table in tables if all(isinstance(name, str) for name in table.values())]

    def naming(ids: set[str], word: str) -> dict[str, str]:
        """The dictionary that has all the ids; of several the one whose key has the word."""
        fits = [(word not in key, place) for place, (key, table) in enumerate(tables) if ids <= table.keys()]
        return tables[min(fits)[1]][1] if fits else {}

    types = naming({text_of(record[1]) for record in triples}, "rel")
    if types and any(types.values()):
        named = [[record[0], types[text_of(record[1])], record[2]] for record in triples]
        others = [record for record in lists.relations if not isinstance(record, list)]
        lists = replace(lists, relations=[*named, *others])
    if lists.entities is None:
        names = naming({text_of(record[end]) for record in triples for end in (0, 2)}, "ent")
        if names:
            lists = replace(lists, entities=[{"id": id, "name": name} for id, name in names.items()])
    return lists


def _of_list(values: list[Any]) -> Lists:
    """Of a list of relations, of both, or of documents with lists of their own."""
    if _are_documents(values):
        parts = [part for part in map(lists_of, values) if part is not None]
        records = [record for part in parts for record in part.entities or () if isinstance(record, dict)]
        roles = node_roles(columns_of(records), cells_of(records))
        named = [_names_of(part, {role: key for key, role in reversed(roles.items())}) for part in parts]
        together: dict[str, set[str]] = {}
        for id, name in (item for names in named for item in names.items()):
            together.setdefault(id, set()).add(name)
        if 2 * sum(len(names) > 1 for names in together.values()) > len(together):  # `e1` of each document
            parts = [_by_name(part, names) for part, names in zip(parts, named, strict=True)]
        entities = [entity for part in parts for entity in part.entities or ()]
        return Lists(_once(entities) or None, [relation for part in parts for relation in part.relations])
    records = flat(values)
    roles = edge_roles(columns_of(records), cells_of(records))
    if {Role.SOURCE, Role.TARGET} <= set(roles.values()):
        both = [(record, _has_ends(record, roles)) for record in records]
        if not all(is_relation for _, is_relation in both):
            entities = [record for record, is_relation in both if not is_relation and _is_node(record)]
            others = [record for record, is_relation in both if is_relation or not _is_node(record)]
            return Lists(entities or None, others)
    return Lists(None, values)


def _names_of(lists: Lists, called: Roles) -> dict[str, str]:
    """The names of ids that a document's own entities have. called: role → key."""
    if not {Role.ID, Role.NAME} <= called.keys():
        return {}
    return {
        text_of(record.get(called[Role.ID])): text_of(record.get(called[Role.NAME]))
        for record in lists.entities or ()
        if isinstance(record, dict)
    }


def _by_name(lists: Lists, names: dict[str, str]) -> Lists:
    """The lists with names for ids that hold in one document alone."""
    entities = [
        {key: value for key, value in record.items() if text_of(value) not in names}
        if isinstance(record, dict)
        else record
        for record in lists.entities or ()
    ]
    relations: list[Any] = []
    for record in lists.relations:
        if isinstance(record, dict):
            roles = edge_roles(list(record))
            ends = [key for key, role in roles.items() if role in (Role.SOURCE, Role.TARGET)]
            record = record | {key: names.get(text_of(record[key]), record[key]) for key in ends}
        elif isinstance(record, list):
            record = [names.get(text_of(value), value) for value in record]
        relations.append(record)
    return Lists(entities, relations, lists.is_directed, lists.places)


def _is_node(record: Any) -> bool:
    return isinstance(record, dict) and any(
        key_of(key) in (*NODE_KEYS[Role.ID], *NODE_KEYS[Role.NAME]) for key in record
    )


def _has_ends(record: Any, roles: Roles) -> bool:
    """Whether a record has both ends among its keys, empty or not."""
    if not isinstance(record, dict):
        return False
    there = {roles[key] for key in record if key in roles}
    return {Role.SOURCE, Role.TARGET} <= there


def _once(entities: list[Any]) -> list[Any]:
    """Entities that several documents of one text repeat, once: that is no flaw."""
    seen: dict[str, Any] = {}
    for entity in entities:
        seen.setdefault(repr(entity), entity)
    return list(seen.values())


def _unwrapped(value: Any) -> Any:
    """Of objects as LangChain serialises them, their fields."""
    if isinstance(value, list):
        return [_unwrapped(inner) for inner in value] if any(map(_is_wrapped, value)) else value
    if not _is_wrapped(value):
        return value
    return {key: _unwrapped(inner) for key, inner in value["kwargs"].items()}


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and "lc" in value and isinstance(value.get("kwargs"), dict)


def _are_documents(values: Any) -> bool:
    if not isinstance(values, list) or not values or not isinstance(values[0], dict):
        return False
    keys = {key_of(key) for key, value in values[0].items() if isinstance(value, list)}
    return bool(keys & set(RELATION_LISTS))


def _are_relations(values: Any) -> bool:
    """Not the names of relation types, which some list next to them."""
    if isinstance(values, dict):
        return bool(values) and all(isinstance(value, dict) for value in values.values())
    return isinstance(values, list) and (not values or not isinstance(values[0], str))


def _have_ends(values: Any) -> bool:
    """Whether a list holds relations, and not their types: `[{"id": "knows", "label": "knows"}]`."""
    first = next(iter(values.values() if isinstance(values, dict) else values), None)
    return isinstance(first, list) or (isinstance(first, dict) and names_ends(list(flat([first])[0])))


def _entities(values: Any) -> list[Any]:
    """Entities as a list: of a dictionary by id, by name → type, or by type → names."""
    if isinstance(values, list):
        return values
    if all(isinstance(value, list) for value in values.values()):
        typed = [(type, value) for type, several in values.items() for value in several]
        return [
            {"type": type, **value} if isinstance(value, dict) else {"name": value, "type": type}
            for type, value in typed
        ]
    if all(isinstance(value, str) for value in values.values()):
        key = "type" if are_types(values.values()) else "name"
        return [{"id": id, key: value} for id, value in values.items()]
    return [{**(value if isinstance(value, dict) else {}), "id": id} for id, value in values.items()]


def _of_lists(relations: list[Any], listed: Rows | None) -> list[Any]:
    """Relations that are lists, as objects: [source, relation, target], or as the known entities have it."""
    several = [value for value in relations if isinstance(value, list)]
    if not several:
        return relations
    keys = ["source", "relation", "target"]
    known = set(listed.known).union(listed.names) if listed is not None else set()
    if known:
        at = [
            sum(len(value) > place and text_of(value[place]) in known for value in several)
            for place in range(TRIPLE)
        ]
        if at[1] > at[2]:
            keys = ["source", "target", "relation"]
    pairs = all(len(value) == 2 for value in several) and all(
        isinstance(end, str | int) for value in several for end in value
    )

    def named(value: list[Any]) -> Any:
        if len(value) == 2 and pairs:
            return {"source": value[0], "target": value[1]}
        if len(value) == TRIPLE and isinstance(value[2], dict):  # networkx's edge with its data
            return {**value[2], "source": value[0], "target": value[1]}
        return dict(zip(keys, value, strict=True)) if len(value) == TRIPLE else value

    return [named(value) if isinstance(value, list) else value for value in relations]


def _one_way(records: list[Any], given: Columns) -> list[Any]:
    """Records whose ends are called otherwise than those of most, with the names of those."""
    roles = edge_roles(columns_of(records), cells_of(records), given.of_edges(columns_of(records)))
    names = {role: name for name, role in reversed(roles.items())}
    if not {Role.SOURCE, Role.TARGET} <= names.keys():
        return records

    def renamed(record: Any) -> Any:
        if not isinstance(record, dict) or _has_ends(record, roles):
            return record
        own = edge_roles(list(record))
        called = {role: name for name, role in reversed(own.items())}
        if not {Role.SOURCE, Role.TARGET} <= called.keys():
            return record
        moved = {called[role]: names[role] for role in (Role.SOURCE, Role.TARGET)}
        if Role.TYPE in called:
            moved[called[Role.TYPE]] = names.get(Role.TYPE, called[Role.TYPE])
        return {moved.get(key, key): value for key, value in record.items()}

    return list(map(renamed, records))
