"""The graph of named tables, whatever holds them: files, the sheets of a workbook, a database, a document.

Which of them hold entities and which relations is what the user says, or the headers of neo4j-admin's import
(`:ID`, `:START_ID`), or the tables' names, or their columns (roles.py); of tables of entities those count
that hold ends of relations. Of relations alone an entity is what stands at an end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs.base import NONE, Columns
from tiny_graph_rag.formats.graphs.filling import ENDS, fill_entities, fill_relations, names_by_id
from tiny_graph_rag.formats.graphs.roles import (
    edge_roles,
    names_ends,
    names_entities,
    node_roles,
    of_role,
)
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import (
    SAMPLE,
    Table,
    admin_column,
    admin_kind,
    end_text,
    words_of,
)
from tiny_graph_rag.formats.words import ENTITY_LISTS, PEOPLE_WORDS, RELATION_LISTS, Role
from tiny_graph_rag.graph.building import looks_like_id
from tiny_graph_rag.graph.model import KnowledgeGraph


def says(name: str) -> tuple[bool | None, str]:
    """Whether a name says that the table holds relations, entities (False) or nothing of it, and its other
    words."""
    words = words_of(name)
    for vocabulary in ((*RELATION_LISTS, *ENTITY_LISTS), PEOPLE_WORDS):  # `people_relations` holds relations
        for place, word in enumerate(words):
            if word in vocabulary:
                return word in RELATION_LISTS, " ".join((*words[:place], *words[place + 1 :]))
    return None, " ".join(words)


def of_tables(rows: Rows, tables: Sequence[Table], given: Columns = NONE) -> KnowledgeGraph:
    """The graph of tables of entities and tables of relations, of which some may hold something else.

    Raises GraphError where none holds relations, or it is not clear which hold entities.
    """
    nodes, edges = _sorted(rows, tables, given)
    given.check([column for table in (*nodes, *edges) for column in table.names], rows.path)
    _apart(nodes, edges)
    ends = _ends_of(edges, given)
    for table in nodes:
        _drop_ids_of_others(table, given, ends)
        if len(nodes) > 1:
            put_label(table, "type")
        fill_entities(rows, table, given)
    for table in edges:
        if len(edges) > 1:
            put_label(table, "relation")
        table.row_label = ""
        fill_relations(rows, table, given)
    return rows.graph()


def _ends_of(edges: Sequence[Table], given: Columns) -> set[str]:
    return {text for table in edges for text in _texts_of(table, edge_roles(table, given), *ENDS)}


def _texts_of(table: Table, roles: Mapping[str, str], *wanted: str) -> list[str]:
    columns = [islice(table.cells(name), SAMPLE) for name in of_role(roles, *wanted)]
    return [text for cells in columns for cell in cells if (text := end_text(cell))]


def _drop_ids_of_others(table: Table, given: Columns, ends: set[str]) -> None:
    """Without a column that is called the id and repeats, where the names stand at ends of relations and it
    does not: it is of something else, such as the documents of the entities."""
    roles = node_roles(table, given)
    ids, names = (_texts_of(table, roles, role) for role in (Role.ID, Role.NAME))
    if ends.isdisjoint(ids) and not ends.isdisjoint(names) and len({*ids}) < len(ids):
        table.names = [name for name in table.names if roles.get(name) != Role.ID]


def _sorted(rows: Rows, tables: Sequence[Table], given: Columns) -> tuple[list[Table], list[Table]]:
    """Tables of entities, and of relations: as the user says, by what neo4j-admin's headers say, by their
    names, by their columns."""
    if not tables:
        raise GraphError.at(rows.path, "the file has no table")
    by_name = {table.name: table for table in tables}
    chosen = {role: given.tables(role) for role in ("nodes", "edges")}
    for name in (name for names in chosen.values() for name in names if name not in by_name):
        raise GraphError.at(
            rows.path,
            "no table {table}; the file has: {listed}",
            table=repr(name),
            listed=_listed(tables),
        )
    for table in tables:
        if table.is_edges is None and not table.label:  # of a sheet
            table.is_edges, table.label = says(table.name)
        kinds = set(map(admin_kind, table.names))
        if kinds & {"ID", "START_ID"}:
            table.is_edges = "START_ID" in kinds
    ends = [table for table in tables if names_ends(table.names, given)]
    edges = (
        [by_name[name] for name in chosen["edges"]]
        or [table for table in ends if table.is_edges]
        or [table for table in tables if table.is_edges]
        or [table for table in ends if table.is_edges is None]
    )
    if not edges:
        raise GraphError.at(
            rows.path,
            "no table of relations among {tables}. Set it: --columns "
            "edges=TABLE,source=COLUMN,target=COLUMN,nodes=TABLE",
            tables=_listed(tables),
        )
    told: list[set[tuple[str, ...]]] = []
    for table in sorted(edges, key=lambda table: -table.rows) if len(edges) > 1 else ():
        facts = _facts(table)
        if any(facts <= others for others in told):  # the same again
            edges.remove(table)
            tables = [other for other in tables if other is not table]
        told.append(facts)
    nodes = [by_name[name] for name in chosen["nodes"]]
    if "nodes" not in given.named:
        nodes = _of_entities(rows, [table for table in tables if table not in edges], edges, given)
    for table in tables:
        table.is_edges = table in edges
    for table in (table for table in tables if table not in (*nodes, *edges)):
        if not any(_name_types(one, table) for one in (*edges, *nodes)):
            rows.dropped("tables that hold neither entities nor relations", table.name)
    return nodes, edges


def _name_types(table: Table, names: Table) -> bool:
    """Whether another table names the types of a table by their ids, or by their places in it as ECharts'
    `categories`: they are called so then."""
    roles = edge_roles(table) if table.is_edges else node_roles(table)
    called = names_by_id(names, node_roles(names))
    if not called.keys() - {""}:
        called = {str(at): end_text(name) for at, name in enumerate(names.of(Role.NAME))}
    types = of_role(roles, Role.TYPE)[:1] if not all(map(looks_like_id, called.values())) else []
    types = [column for column in types if set() < {*table.texts(column)} <= called.keys()]
    for column in types:
        table.put(column, [called.get(end_text(type), type) for type in table.cells(column)])
    return bool(types)


def _facts(table: Table) -> set[tuple[str, ...]]:
    """Both ends of the first relations, and with these their types where they have one."""
    table.roles = edge_roles(table)
    columns = (islice(table.of(role), SAMPLE) for role in (Role.SOURCE, Role.TARGET, Role.TYPE))
    facts = [tuple(map(end_text, row)) for row in zip(*columns, strict=True)]
    return {fact[:2] for fact in facts} | {fact for fact in facts if fact[2]}


def _listed(tables: Sequence[Table]) -> str:
    return ", ".join(f"{table.name} ({', '.join(table.names[:8])})" for table in tables[:8])


def _of_entities(rows: Rows, tables: Sequence[Table], edges: Sequence[Table], given: Columns) -> list[Table]:
    """Of other tables those whose names say so, and those that hold ends which these lack. Numbers may be ids
    of any table: then it must be one, or they were named together. Raises GraphError."""
    others = [
        table
        for table in tables
        if not table.is_edges
        if names_entities(table.names, given) or (table.is_edges is False and not table.label)
    ]
    roles = {table: node_roles(table, given) for table in others}
    texts = {table: {*_texts_of(table, roles[table], Role.ID, Role.NAME)} for table in others}
    named = [table for table in others if table.is_edges is False]
    ends = _ends_of(edges, given)
    names = {end for end in ends if not end.isdecimal()}
    if rows.writer == "tables" and (not names or len(others) == 1):
        folded = {*map(str.casefold, ends)}.intersection(map(str.casefold, texts[others[0]])) if names else ()
        return others if not names or folded or all(map(looks_like_id, names)) else []
    nodes = []
    for table in sorted(others, key=lambda table: (table not in named, -len(names & texts[table]))):
        if table in named or not names.isdisjoint(texts[table]):
            nodes.append(table)
            names -= texts[table]
    if nodes:
        return [table for table in others if table in nodes]
    nodes = [table for table in others if ends & texts[table]]
    nodes = nodes or ([] if rows.writer == "JSON lists" else others)
    nodes = [table for table in nodes if Role.NAME in roles[table].values()] or nodes
    if len(nodes) > 1:
        raise GraphError.at(
            rows.path,
            "several tables may hold the entities: {tables}. Set it: --columns nodes=TABLE,edges=TABLE",
            tables=_listed(nodes),
        )
    return nodes


def put_label(table: Table, column: str) -> None:
    """Of several tables each says by its name what its rows are, where no column does."""
    roles = node_roles(table) if column == "type" else edge_roles(table)
    if table.label and Role.TYPE not in roles.values():
        table.put(column, [table.label] * table.rows)


def _apart(nodes: Sequence[Table], edges: Sequence[Table]) -> None:
    """Ids that several tables of entities have in common, with what differs before them: their space
    (`:ID(Person)`), or the name of their column (`movie_id`), which relations have as well."""
    own = {column for table in nodes for column in of_role(node_roles(table), Role.ID)[:1]}
    ids = [set(table.cells(column)) for table in nodes for column in table.names if column in own]
    is_shared = len(own) > 1 and sum(map(len, ids)) > len(set().union(*ids))
    spaces = {column: column for column in own if is_shared and not admin_kind(column)}
    for column in (column for table in (*nodes, *edges) for column in table.names):
        admin = admin_column(column)
        if admin and admin.kind in ("ID", "START_ID", "END_ID") and admin.space:
            spaces[column] = admin.space
    if len({space for column, space in spaces.items() if column in own}) > 1:
        for table in (*nodes, *edges):
            for column in (column for column in table.names if column in spaces):
                cells, space = table.cells(column), spaces[column]
                table.put(column, [f"{space}:{cell}" if cell not in (None, "") else cell for cell in cells])
