"""A graph that lies in Neo4j, or in what else speaks Bolt (Memgraph): a snapshot of it, in a file.

Read in one transaction that may not write. User and password come from the environment (NEO4J_USERNAME,
NEO4J_PASSWORD) and go to the server alone. Entities and relations are in the order of their ids, so that one
content is one file, with one fingerprint.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tiny_graph_rag.errors import GraphError, ServiceError, UsageError, optional
from tiny_graph_rag.formats.graphs.programs import from_property_graph
from tiny_graph_rag.formats.graphs.rows import Rows, fill_relations
from tiny_graph_rag.formats.graphs.table import Table
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

_URL = re.compile(r"(neo4j|bolt)(\+s|\+ssc)?:/+(?P<rest>[^/].*)", re.I)
NODES = "MATCH (n) RETURN n"
RELATIONSHIPS = "MATCH ()-[r]->() RETURN r"
USERS = ("NEO4J_USERNAME", "NEO4J_USER")
PASSWORD = "NEO4J_PASSWORD"
FETCHED = 1000  # records that a server sends at a time
WAIT_SECONDS = 15.0


def database_url(name: object) -> str | None:
    """`neo4j://host/db`, also where a path took one of its slashes; None for what is no such address."""
    text = str(name)
    match = _URL.fullmatch(text)
    return f"{text.partition(':')[0]}://{match['rest']}" if match else None


def read_database(url: str, query: str | None = None) -> KnowledgeGraph:
    """What a database holds, or what a Cypher query returns of it: nodes, relationships, paths, lists of
    these, or three texts a row (source, relation, target).

    Raises GraphError for what is no graph, ServiceError where the server can't be asked.
    """
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
            collected = _Collected()
            for text in [query] if query is not None else [NODES, RELATIONSHIPS]:
                collected.add(transaction.run(text))
    except (DriverError, Neo4jError, OSError) as error:
        reason = getattr(error, "message", None) or str(error) or type(error).__name__
        if password:
            reason = reason.replace(password, "***")
        raise ServiceError(
            "{url}: {why}{hint}", url=url, why=reason.splitlines()[0], hint=_hint(error, password)
        ) from error
    return collected.graph(url)


def _hint(error: Exception, password: str | None) -> str:
    code = str(getattr(error, "code", "") or "")
    if "Unauthorized" in code or "AuthenticationRateLimit" in code or type(error).__name__ == "AuthError":
        return f". Set {USERS[0]} and {PASSWORD}" + ("" if password else f"; {PASSWORD} is not set")
    return ""


def _plain(url: str) -> str:
    return re.sub(r"//[^@/]*@", "//", url)


class _Collected:
    """Nodes and relationships of query results, each once, wherever in a row they stand; rows of three
    texts."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: dict[str, dict[str, Any]] = {}
        self.triples: list[tuple[str, ...]] = []

    def add(self, result: Any) -> None:
        found = result.graph()
        for node in found.nodes:
            if node.labels or dict(node):  # else a relationship's end, which the query doesn't return
                own = {"<id>": node.element_id, "<type>": sorted(node.labels)}
                self.nodes[node.element_id] = {**_properties(node), **own}
        for relation in found.relationships:
            self.edges[relation.element_id] = {
                **_properties(relation),
                "<id>": relation.element_id,
                "<source>": relation.start_node.element_id,
                "<target>": relation.end_node.element_id,
                "<type>": relation.type,
            }
        rows = (tuple(record.values()) for record in result)
        self.triples += [row for row in rows if len(row) == 3 and all(isinstance(cell, str) for cell in row)]

    def graph(self, url: str) -> KnowledgeGraph:
        rows = Rows(Path(_plain(url)), "Neo4j")
        if self.triples:
            columns = zip(("source", "relation", "target"), zip(*self.triples, strict=True), strict=True)
            fill_relations(rows, Table.of_columns(dict(columns), "relations"))
            return rows.graph()
        if self.edges and not self.nodes:
            raise GraphError.at(
                rows.path, "the query returns relationships without their nodes; return both, such as a, r, b"
            )
        nodes, edges = ([found[id] for id in sorted(found)] for found in (self.nodes, self.edges))
        return from_property_graph(rows, nodes, edges)


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
    from tiny_graph_rag.formats.graphs.writing import write_graph

    graph = read_database(url, query)
    parts = urlsplit(url)
    name = re.sub(r"[^\w.-]+", "-", unquote(parts.path.strip("/")) or parts.hostname or "neo4j")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-KG.json"
    write_graph(graph, path, "kg-json")
    return path
