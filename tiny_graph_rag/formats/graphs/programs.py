"""Graphs of one program each, what its keys mean that the vocabulary (words.py) can't know; and databases.

What a program keeps as nodes and is no entity (documents, chunks, communities) is dropped and counted; see
filling.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tiny_graph_rag.errors import GraphError, InputError, ServiceError, UsageError, json_kind, optional
from tiny_graph_rag.files import check_declared
from tiny_graph_rag.formats.graphs.assembly import of_tables
from tiny_graph_rag.formats.graphs.base import NONE, Columns, graph_format
from tiny_graph_rag.formats.graphs.filling import LEXICAL, fill_entities, fill_relations
from tiny_graph_rag.formats.graphs.json_lists import document_of
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.formats.words import Role
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said
from tiny_graph_rag.outputs import write_atomically

Record = dict[str, Any]

# --- property graphs: nodes with labels and properties, of which a part is the lexical layer

GIVEN = Columns(
    {"id": "<id>", "type": "<type>", "source": "<source>", "target": "<target>"} | {"relation": "<type>"}
)


def from_property_graph(rows: Rows, nodes: Sequence[Record], edges: Sequence[Record]) -> KnowledgeGraph:
    """nodes: with `<id>`, `<type>`, labels as written, and their properties. edges: with `<source>`,
    `<target>` and `<type>`."""
    rows.problems.check()
    rows.means("entities", {"labels": Role.TYPE})
    rows.means("relations", {"type": Role.TYPE})
    fill_entities(rows, Table.of_records(nodes, "entities"), GIVEN, lexical=LEXICAL)
    fill_relations(rows, Table.of_records(edges, "relations"), GIVEN)
    return rows.graph()


def own_records(values: Iterable[Record], keys: dict[str, str]) -> list[Record]:
    """Nodes or edges, with a maker's keys under ours, such as `<id>`, and with their properties. keys: the
    maker's, of which the first that holds something counts → ours."""
    records = []
    for record in values:
        rest = {name: value for name, value in record.items() if name not in keys}
        own = {keys[name]: record[name] for name in reversed(keys) if record.get(name) not in (None, "")}
        records.append({**rest, **own})
    return records


# --- Neo4j: APOC's JSON, and results of queries

_APOC = re.compile(r'"type"\s*:\s*"(node|relationship)"|"(identity|elementId)"\s*:')


@graph_format(
    "Neo4j (APOC JSON lines)",
    "what Neo4j's apoc.export.json writes, and Neo4j Browser for the result of a query",
    lambda head: bool(_APOC.search(head.text)) and ('"labels"' in head.text or '"start"' in head.text),
)
def read_apoc(paths: Sequence[Path]) -> KnowledgeGraph:
    """`{"type": "node", "labels", …}` and `{"type": "relationship", "label", "start", "end", …}` a line, in a
    list, or in two lists; or rows whose cells are nodes, relations and paths, which may stand in several."""
    rows = Rows(paths[0], "Neo4j (APOC)")
    found = document_of(paths[0], rows)
    of_kind: dict[str, dict[str, Record]] = {"node": {}, "relationship": {}}
    for number, value in enumerate(found if isinstance(found, list) else [found], start=1):
        parts = list(_parts(value))
        if not parts:
            place, got = f"{rows.path}:{number}", json_kind(value)
            rows.problems.add(place, "wanted a 'type' of node or relationship, got {got}", got=got)
        for kind, record in parts:
            of_kind[kind].setdefault(repr(record), record)
    ids = {"id": "<id>", "identity": "<id>", "elementId": "<id>"}
    ends = {"start": "<source>", "startNodeElementId": "<source>", "end": "<target>"}
    edges = {**ids, **ends, "endNodeElementId": "<target>", "label": "<type>", "type": "<type>"}
    return from_property_graph(
        rows,
        own_records(of_kind["node"].values(), {**ids, "labels": "<type>"}),
        own_records(of_kind["relationship"].values(), edges),
    )


def _parts(value: Any) -> Iterator[tuple[str, Record]]:
    """The nodes and relations that a value holds, however deep."""
    kind = ""
    if isinstance(value, dict):
        has_ends = {"start", "end"} <= value.keys() or "startNodeElementId" in value
        is_edge = has_ends and ("type" in value or "label" in value)  # not a path, nor a step of one
        kind = "node" if "labels" in value else "relationship" if is_edge else ""
        kind = value["type"] if value.get("type") in ("node", "relationship") else kind
    if kind:
        yield kind, {name: inner for name, inner in value.items() if (name, inner) != ("type", kind)}
        return
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(inner)


# --- a graph that lies in Neo4j, or in what else speaks Bolt (Memgraph): a snapshot of it, in a file.
# Read in one transaction that may not write. User and password come from the environment (NEO4J_USERNAME,
# NEO4J_PASSWORD) and go to the server alone. Entities and relations are in the order of their ids, so that
# one content is one file, with one fingerprint.

_URL = re.compile(r"(neo4j|bolt)(\+s|\+ssc)?:/+(?P<rest>[^/].*)", re.I)
NODES = "MATCH (n) RETURN n"
RELATIONSHIPS = "MATCH ()-[r]->() RETURN r"
USERS = ("NEO4J_USERNAME", "NEO4J_USER")
PASSWORD = "NEO4J_PASSWORD"
FETCHED = 1000  # records that a server sends at a time
WAIT_SECONDS = 15.0


def database_url(url: str) -> str:
    """`neo4j://host/db`, also where a path took one of its slashes. Raises UsageError for another address."""
    match = _URL.fullmatch(url)
    if match is None:
        raise UsageError("{url}: not a database address; write neo4j://host/database", url=url)
    return f"{url.partition(':')[0]}://{match['rest']}"


def read_database(url: str, query: str | None = None) -> KnowledgeGraph:
    """What a database holds, or what a Cypher query returns of it: nodes, relationships, paths, lists of
    these, or three texts a row (source, relation, target).

    Raises GraphError for what is no graph, ServiceError where the server can't be asked.
    """
    import logging

    neo4j = optional("neo4j", said("reading a graph database"), "neo4j")
    from neo4j.exceptions import DriverError, Neo4jError

    logging.getLogger("neo4j").addHandler(logging.NullHandler())  # what it logs comes as its error, too
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise UsageError(
            "{url}: don't put a user or password into an address, because addresses are logged; "
            "set {user} and {password} instead",
            url=_plain(url),
            user=USERS[0],
            password=PASSWORD,
        )
    database = unquote(parts.path.strip("/")) or None
    user = next((os.environ[name] for name in USERS if os.environ.get(name)), "neo4j")
    password = os.environ.get(PASSWORD)
    address = f"{parts.scheme}://{parts.netloc}"
    try:
        with (
            neo4j.GraphDatabase.driver(
                address,
                auth=(user, password) if password else None,
                connection_timeout=WAIT_SECONDS,
                connection_acquisition_timeout=2 * WAIT_SECONDS,
                max_transaction_retry_time=0,
                user_agent="tiny-graph-rag",
                notifications_min_severity="OFF",
            ) as driver,
            driver.session(
                database=database, default_access_mode=neo4j.READ_ACCESS, fetch_size=FETCHED
            ) as session,
            session.begin_transaction() as transaction,
        ):
            texts = [query] if query is not None else [NODES, RELATIONSHIPS]
            return _collected(url, map(transaction.run, texts))
    except (DriverError, Neo4jError, OSError) as error:
        reason = getattr(error, "message", None) or str(error) or type(error).__name__
        if password:
            reason = reason.replace(password, "***")
        raise ServiceError(
            "{url}: {why}{hint}", url=url, why=reason.splitlines()[0], hint=_hint(error, password)
        ) from error


def _hint(error: Exception, password: str | None) -> str:
    code = str(getattr(error, "code", "") or "")
    if "Unauthorized" in code or "AuthenticationRateLimit" in code or type(error).__name__ == "AuthError":
        return f". Set {USERS[0]} and {PASSWORD}" + ("" if password else f"; {PASSWORD} is not set")
    return ""


def _plain(url: str) -> str:
    return re.sub(r"//[^@/]*@", "//", url)


def _collected(url: str, results: Iterable[Any]) -> KnowledgeGraph:
    """The graph of the nodes and relationships of query results, each once, wherever in a row they stand; or
    of rows of three texts. Raises GraphError."""
    nodes: dict[str, Record] = {}
    edges: dict[str, Record] = {}
    triples: list[tuple[str, ...]] = []
    for result in results:
        found = result.graph()
        for node in found.nodes:
            if node.labels or dict(node):  # else a relationship's end, which the query doesn't return
                own = {"<id>": node.element_id, "<type>": sorted(node.labels)}
                nodes[node.element_id] = {**_properties(node), **own}
        for relation in found.relationships:
            edges[relation.element_id] = {
                **_properties(relation),
                "<id>": relation.element_id,
                "<source>": relation.start_node.element_id,
                "<target>": relation.end_node.element_id,
                "<type>": relation.type,
            }
        rows = (tuple(record.values()) for record in result)
        triples += [row for row in rows if len(row) == 3 and all(isinstance(cell, str) for cell in row)]
    graph = Rows(Path(_plain(url)), "Neo4j")
    if triples:
        columns = zip(("source", "relation", "target"), zip(*triples, strict=True), strict=True)
        fill_relations(graph, Table.of_columns(dict(columns), "relations"))
        return graph.graph()
    if edges and not nodes:
        raise GraphError.at(
            graph.path, "the query returns relationships without their nodes; return both, such as a, r, b"
        )
    return from_property_graph(graph, *([of[id] for id in sorted(of)] for of in (nodes, edges)))


def _properties(entity: Any) -> dict[str, Any]:
    """Without bytes. Dates and points are text where JSON is written."""
    return {
        key: value if isinstance(value, str | int | float | bool | list | None) else str(value)
        for key, value in sorted(dict(entity).items())
        if not isinstance(value, bytes | bytearray)
    }


def snapshot(url: str, query: str | None, folder: Path) -> Path:
    """Write what lies there into a KG JSON file of a folder, whole or not at all. Raises as
    `read_database`.
    """
    from tiny_graph_rag.formats.writing import graph_parts

    graph = read_database(url, query)
    parts = urlsplit(url)
    name = re.sub(r"[^\w.-]+", "-", unquote(parts.path.strip("/")) or parts.hostname or "neo4j")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-KG.json"
    write_atomically(path, graph_parts(graph, path, "kg-json"))
    return path


# --- SQLite and DuckDB: tables of entities and tables of relations, which is which by `--columns` or by their
# names and columns. Files are opened to be read only; views are not read, for one may be without end.

SQLITE_MAGIC = b"SQLite format 3\0"
DUCKDB_MAGIC = b"DUCK"  # behind a checksum of eight bytes
ROW_BYTES, CELL_BYTES = 250, 16  # of a record in memory, and of each of its values besides its text


@graph_format(
    "SQLite",
    "a SQLite file with tables of entities and relations",
    lambda head: head.raw.startswith(SQLITE_MAGIC),
    suffixes=(".sqlite", ".sqlite3", ".db"),
    takes_columns=True,
)
def read_sqlite(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    import sqlite3

    path = paths[0]
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' "
                "ORDER BY rowid"
            ).fetchall()
            tables = [_table(connection, name, path) for (name,) in names]
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return of_tables(Rows(path, "SQLite"), tables, columns)
    except InputError:
        raise
    except (sqlite3.Error, ValueError, TypeError, OverflowError, MemoryError) as error:  # a damaged schema
        why = str(error) or type(error).__name__
        raise GraphError.at(path, "can't be read as SQLite: {error}", error=why) from error


@graph_format(
    "DuckDB",
    "a DuckDB file with tables of entities and relations",
    lambda head: head.raw[8:12] == DUCKDB_MAGIC,
    suffixes=(".duckdb",),
    takes_columns=True,
)
def read_duckdb(paths: Sequence[Path], columns: Columns = NONE) -> KnowledgeGraph:
    path = paths[0]
    duckdb = optional("duckdb", said("reading DuckDB files"), "duckdb")
    try:
        with duckdb.connect(
            str(path), read_only=True, config={"enable_external_access": False}
        ) as connection:
            connection.execute("SET enable_progress_bar = false")  # it is drawn where results are printed
            names = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main' ORDER BY table_name"
            ).fetchall()
            tables = [_table(connection, name, path) for (name,) in names]
            return of_tables(Rows(path, "DuckDB"), tables, columns)
    except duckdb.Error as error:
        raise GraphError.at(path, "can't be read as DuckDB: {why}", why=str(error).splitlines()[0]) from error


def _table(connection: Any, name: str, path: Path) -> Table:
    """A table that is read when its cells are asked for, without what is no text and no number. Reading it
    raises InputError where it gives far more than the file holds."""
    query = f'SELECT * FROM "{name.replace(chr(34), 2 * chr(34))}"'

    @cache
    def records() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = connection.execute(query)
        size = 0
        while rows := cursor.fetchmany(1000):
            size += sum(len(value) for row in rows for value in row if isinstance(value, str))
            size += len(rows) * (ROW_BYTES + CELL_BYTES * len(header))
            check_declared(path, size, said("more than {n} rows", n=f"{len(found):,}"))
            found += [
                {key: value for key, value in zip(header, row, strict=True) if not isinstance(value, bytes)}
                for row in rows
            ]
        return found

    header = [column[0] for column in connection.execute(f"{query} LIMIT 0").description]
    return Table(header, lambda column: [record.get(column) for record in records()], name)
