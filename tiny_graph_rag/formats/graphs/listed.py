"""Lists of entities and relations as records, whatever file or database holds them, into `Rows`.

What their columns mean is keys.py's to say. Ends are ids, else names, else numbers of entities in their list;
where no list of entities is given, an entity is what stands at an end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import GraphError, UsageError, json_kind, unknown
from tiny_graph_rag.formats.graphs.keys import Values, admin_column, are_types, edge_roles, key_of, node_roles
from tiny_graph_rag.formats.graphs.property_graph import INNER, bare, labels_of
from tiny_graph_rag.formats.graphs.rows import (
    SOME_UNDIRECTED,
    Roles,
    Rows,
    column_roles,
    split_roles,
    strings_of,
    text_of,
    unfolded,
)
from tiny_graph_rag.formats.words import ENTITY_LISTS, INNER_KEYS, NODE_KEYS, RELATION_LISTS, Role
from tiny_graph_rag.messages import Said, said

TRIPLE = 3
TEXT_NODES = frozenset({"document", "chunk"})
TEXTS = ("page_content", "text")  # what a node of a text has, and no entity
UNDIRECTED_WORDS = frozenset({"undirected", "mutual", "false", "0"})

# What `--columns ROLE=COLUMN` may name.
NODE_NAMES = {
    "id": Role.ID,
    "name": Role.NAME,
    "type": Role.TYPE,
    "description": Role.DESCRIPTION,
    "aliases": Role.ALIASES,
    "chunks": Role.CHUNKS,
}
EDGE_NAMES = {
    "source": Role.SOURCE,
    "target": Role.TARGET,
    "relation": Role.TYPE,
    "weight": Role.WEIGHT,
    "relation_description": Role.DESCRIPTION,
    "source_name": Role.SOURCE_NAME,
    "target_name": Role.TARGET_NAME,
    "source_type": Role.SOURCE_TYPE,
    "target_type": Role.TARGET_TYPE,
}
TABLE_NAMES = ("nodes", "edges")


@dataclass(frozen=True, slots=True)
class Columns:
    """What the user calls columns: role → column, and `nodes` and `edges` → a table of several."""

    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Columns:
        """`source=head_entity,name=label`. Raises UsageError."""
        named: dict[str, str] = {}
        for part in text.split(","):
            role, equals, column = part.partition("=")
            if not equals or not column.strip():
                raise UsageError(
                    "--columns: wanted ROLE=COLUMN, such as source=head_entity; got {part}",
                    part=repr(part.strip()),
                )
            named[role.strip().replace("-", "_")] = column.strip()
        return cls.checked(named, "--columns")

    @classmethod
    def checked(cls, named: Mapping[str, str], place: str) -> Columns:
        for role in named:
            if role not in {**NODE_NAMES, **EDGE_NAMES} and role not in TABLE_NAMES:
                raise unknown(place, role, [*NODE_NAMES, *EDGE_NAMES, *TABLE_NAMES])
        return cls(named)

    @classmethod
    def read(cls, path: Path) -> Columns:
        """Of a YAML file `role: column`. Raises GraphError, UsageError."""
        found = read_yaml(path, GraphError)
        if not isinstance(found, dict) or not all(isinstance(column, str) for column in found.values()):
            raise GraphError.at(
                path, "wanted lines such as 'source: head_entity', got {got}", got=json_kind(found)
            )
        return cls.checked(found, str(path))

    @property
    def sha256(self) -> str:
        text = "\n".join(f"{role}={column}" for role, column in sorted(self.named.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def of_nodes(self, columns: Iterable[str]) -> dict[str, str]:
        """Column → role, of the columns that a table of entities has."""
        return self._among(columns, NODE_NAMES)

    def of_edges(self, columns: Iterable[str]) -> dict[str, str]:
        return self._among(columns, EDGE_NAMES)

    def _among(self, columns: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
        there = set(columns)
        return {
            column: names[role] for role, column in self.named.items() if role in names and column in there
        }

    def check(self, columns: Iterable[str], place: object) -> None:
        """Raises GraphError for a column that no table of the file has."""
        there = dict.fromkeys(columns)
        for role, column in self.named.items():
            if column not in there and role not in TABLE_NAMES:
                raise GraphError.at(
                    place,
                    "no column {column} for {role}; the file has: {columns}",
                    column=repr(column),
                    role=role,
                    columns=_listed(there),
                )


def names_ends(columns: Sequence[str], given: Columns | None = None, *, strict: bool = False) -> bool:
    """Whether columns of these names hold relations. strict: as `edge_roles` has it."""
    own = given.of_edges(columns) if given is not None else None
    return {Role.SOURCE, Role.TARGET} <= set(edge_roles(columns, given=own, strict=strict).values())


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
        given.check([*_columns(lists.entities or ()), *_columns(lists.relations)], rows.path)
    entities = lists.entities or None
    if entities is not None:
        fill_entities(rows, entities, given, own_nodes, lists.places[0])
    fill_relations(rows, lists, given, own_edges)


def fill_entities(
    rows: Rows,
    entities: list[Any],
    given: Columns,
    own: Roles | None = None,
    place: str = "entities[{}]",
) -> None:
    """Put entities into `rows`. place: what a problem calls one, by its number."""
    entities = flat([{"name": value} if isinstance(value, str) else value for value in entities])
    columns = _columns(entities)
    roles = own or node_roles(columns, _values(entities), given.of_nodes(columns))
    typed = _admin_labels(columns)
    for number, record in enumerate(entities):
        if not isinstance(record, dict):
            rows.problem(place.format(number), "wanted a name or an object, got {got}", got=json_kind(record))
            continue
        found, rest = split_roles(record, roles)
        id = text_of(found.get(Role.ID)).strip() or _name(found.get(Role.NAME)).strip()
        if not id:
            rows.problem(
                place.format(number), "wanted 'id' or 'name', got the keys {listed}", listed=_listed(record)
            )
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
            strings_of(found.get(Role.ALIASES)),
            strings_of(found.get(Role.CHUNKS)),
            unfolded(rest),
        )
    rows.took("entities", column_roles(columns, roles))


def fill_relations(rows: Rows, lists: Lists, given: Columns, own: Roles | None = None) -> None:
    """Put relations into `rows`, and what stands at their ends where no entities are listed."""
    place = lists.places[1]
    relations = flat(_of_lists(lists.relations, rows if lists.entities else None))
    columns = _columns(relations)
    roles = own or edge_roles(columns, _values(relations), given.of_edges(columns))
    if columns and not {Role.SOURCE, Role.TARGET} <= set(roles.values()):
        raise GraphError(no_ends(rows.path, columns))
    alone = not lists.entities
    directed: dict[bool, int] = {True: 0, False: 0}
    texts = rows.texts
    for number, record in enumerate(relations):
        found, rest = split_roles(record, roles) if isinstance(record, dict) else ({}, None)
        ends = (_end(found.get(Role.SOURCE)), _end(found.get(Role.TARGET)))
        if not (ends[0] and ends[1]) and not _has_ends(record, roles):
            got = (
                f"the keys {_listed(record)}"
                if isinstance(record, dict)
                else f"{json_kind(record)} {record!r:.60}"
            )
            rows.problem(place.format(number), "wanted a source and a target, got {got}", got=got)
            continue
        if texts and not texts.isdisjoint(ends):
            rows.dropped("relations of texts", f"{ends[0]} → {ends[1]}")
            continue
        if alone and ends[0] and ends[1]:
            for end, name, type in zip(
                ends, (Role.SOURCE_NAME, Role.TARGET_NAME), (Role.SOURCE_TYPE, Role.TARGET_TYPE), strict=True
            ):
                rows.end(end, text_of(found.get(name)), _type(found.get(type), split=False)[0])
        if Role.DIRECTED in found:
            directed[text_of(found[Role.DIRECTED]).strip().casefold() not in UNDIRECTED_WORDS] += 1
        rows.relation(
            ends[0],
            ends[1],
            _type(found.get(Role.TYPE), split=False)[0],
            _lines(found.get(Role.DESCRIPTION)),
            found.get(Role.WEIGHT),
            strings_of(found.get(Role.CHUNKS)),
            unfolded(rest),
            text_of(found.get(Role.ID)),
        )
    rows.took("relations", column_roles(columns, roles))
    if directed[False] and directed[True]:
        rows.flaw(SOME_UNDIRECTED, lists.places[1].format(0), directed[False])
    elif directed[False] or not lists.is_directed:
        rows.undirected("relations", "directed: false")


def no_ends(path: object, columns: Iterable[str]) -> Said:
    return said(
        "{path}: no columns for a relation's source and target; the file has: {columns}. Set them: "
        "--columns source=COLUMN,target=COLUMN,relation=COLUMN",
        path=path,
        columns=_listed(columns),
    )


def lists_of(document: Any) -> Lists | None:
    """The lists in a JSON document; None where it has none."""
    document = _unwrapped(document)
    if isinstance(document, list):
        return _of_list(document)
    if not isinstance(document, dict):
        return None
    graph = document.get("graph_dict")  # LlamaIndex's older store: subject → [relation, object] …
    if isinstance(graph, dict):
        pairs = [
            (end, more) for end, several in graph.items() if isinstance(several, list) for more in several
        ]
        return Lists(None, [[end, *more] if isinstance(more, list) else more for end, more in pairs])
    is_directed = document.get("directed") is not False
    by_key = {key_of(key): key for key in reversed(document)}
    nodes = [by_key[key] for key in ENTITY_LISTS if key in by_key]
    edges = [by_key[key] for key in RELATION_LISTS if key in by_key and _are_relations(document[by_key[key]])]
    if edges:
        entities = next((document[key] for key in nodes if isinstance(document[key], list | dict)), None)
        listed = next((document[key] for key in edges if document[key]), document[edges[0]])
        records = list(listed.values()) if isinstance(listed, dict) else listed
        places = f"{nodes[0] if nodes else 'entities'}[{{}}]", f"{edges[0]}[{{}}]"
        return Lists(None if entities is None else _entities(entities), records, is_directed, places)
    for value in document.values():  # {"elements": …}, {"graph": …}
        inner = (
            lists_of(value)
            if isinstance(value, dict) or _are_documents(value) or value is document.get("elements")
            else None
        )
        if inner is not None and (inner.relations or inner.entities):
            return inner
    return None


def _of_list(values: list[Any]) -> Lists:
    """Of a list of relations, of both, or of documents with lists of their own."""
    if _are_documents(values):
        entities: list[Any] = []
        relations: list[Any] = []
        for value in values:
            inner = lists_of(value)
            if inner is not None:
                entities += inner.entities or []
                relations += inner.relations
        return Lists(_once(entities) or None, relations)
    records = flat(values)
    roles = edge_roles(_columns(records), _values(records))
    if {Role.SOURCE, Role.TARGET} <= set(roles.values()):
        both = [(record, _has_ends(record, roles)) for record in records]
        if not all(is_relation for _, is_relation in both):
            entities = [record for record, is_relation in both if not is_relation and _is_node(record)]
            others = [record for record, is_relation in both if is_relation or not _is_node(record)]
            return Lists(entities or None, others)
    return Lists(None, values)


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
        if len(value) == 2 and pairs and known:
            return {"source": value[0], "target": value[1]}
        if len(value) == TRIPLE and isinstance(value[2], dict):  # networkx's edge with its data
            return {**value[2], "source": value[0], "target": value[1]}
        return dict(zip(keys, value, strict=True)) if len(value) == TRIPLE else value

    return [named(value) if isinstance(value, list) else value for value in relations]


def flat(records: list[Any]) -> list[Any]:
    """Records with what stands under `properties`, `data` and the like next to their other keys."""
    there = set(_columns(records))
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


def _columns(records: Iterable[Any]) -> list[str]:
    seen: dict[str, None] = {}
    keys: Any = None
    for record in records:  # most have the keys of the one before
        if isinstance(record, dict) and record.keys() != keys:
            keys = record.keys()
            seen.update(dict.fromkeys(keys))
    return list(seen)


def _values(records: Sequence[Any]) -> Values:
    return lambda column: (record.get(column) for record in records if isinstance(record, dict))


def _admin_labels(columns: Iterable[str]) -> bool:
    """Whether labels stand in one cell, as neo4j-admin has them: `Person;Actor`."""
    return any((admin := admin_column(column)) is not None and admin.kind == "LABEL" for column in columns)


def _type(value: Any, *, split: bool) -> tuple[str, list[str]]:
    """A type, and all labels where there are several."""
    if isinstance(value, str) and value[:1] != ":" and not split and value not in INNER:
        return value.strip(), []
    if isinstance(value, str):
        labels = value.split(";") if split else labels_of(value) if value[:1] == ":" else (value,)
    elif isinstance(value, list | tuple):
        labels = tuple(map(text_of, value))
    elif isinstance(value, dict):  # a query's result, or a type with a name of its own
        labels = (_end(value),)
    else:
        labels = (text_of(value),)
    own = [label for label in labels if label and label not in INNER] or [label for label in labels if label]
    return (own[0].strip() if own else ""), list(labels) if len(own) > 1 else []


def _name(value: Any) -> str:
    return text_of(value[0]) if isinstance(value, list) and value else text_of(value)


def _lines(value: Any) -> str:
    """A description: of several observations one a line."""
    return "\n".join(strings_of(value)) if isinstance(value, list) else text_of(value)


def _end(value: Any) -> str:
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


def _listed(columns: Iterable[str]) -> str:
    names = list(columns)
    return (", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")) or "none"
