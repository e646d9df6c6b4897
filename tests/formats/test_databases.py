"""Graphs in databases: Bolt over a socket with the real driver, SQLite and DuckDB by their own libraries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import read_json
from tests.formats.test_json_lists import told
from tests.tools.bolt_server import BEGIN, PULL, RUN, Answer, BoltServer, node, relationship
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.graphs.base import Columns
from tiny_graph_rag.formats.graphs.programs import NODES, RELATIONSHIPS

GIRL = node(10, ["Person", "__Entity__"], {"name": "점순", "embedding": [0.5, 0.25], "born": 1920})
HEN = node(2, ["Animal", "__Entity__"], {"name": "닭", "description": "쪼인다"})
CHUNK = node(3, ["Chunk"], {"text": "닭이 쪼인다"})
KEEPS = relationship(7, 10, 2, "KEEPS", {"weight": 2.0})
FROM = relationship(8, 2, 3, "FROM_CHUNK", {})
EVERYTHING = {
    NODES: Answer(["n"], [[GIRL], [HEN], [CHUNK]]),
    RELATIONSHIPS: Answer(["r"], [[KEEPS], [FROM]]),
}


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("neo4j")
    monkeypatch.setenv("NEO4J_PASSWORD", "secret")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("scheme", ["neo4j", "bolt"])
def test_a_database_becomes_a_snapshot(scheme: str, run_cli: Callable[..., Result], own_folder: Path) -> None:
    with BoltServer(EVERYTHING) as server:
        url = f"{scheme}://127.0.0.1:{server.port}/dongbaek"
        done = run_cli("convert", "-g", url, "-o", "./my-KG.json", code=0)
        begun = [fields[0] for tag, fields in server.received if tag == BEGIN]
        assert [(record["mode"], record["db"]) for record in begun] == [("r", "dongbaek")]
        run_cli("convert", "-g", url, "-o", "./again-KG.json", code=0)
    document = read_json("my-KG.json")
    entities = document["entities"]
    assert {id: one["name"] for id, one in entities.items()} == {"4:test:2": "닭", "4:test:10": "점순"}
    assert entities["4:test:2"]["source_chunks"] == ["4:test:3"]
    assert [record["relationship_type"] for record in document["relationships"]] == ["KEEPS"]
    assert "embedding" not in entities["4:test:10"]
    assert (own_folder / "my-KG.json").read_bytes() == (own_folder / "again-KG.json").read_bytes()
    assert "secret" not in done.output


@pytest.mark.usefixtures("secret")
def test_a_query_takes_a_part_and_what_it_returns_is_batched(run_cli: Callable[..., Result]) -> None:
    rows = [[f"a{number}", "KNOWS", f"b{number}"] for number in range(2500)]
    part = "MATCH (a)-[r]->(b) RETURN a.name, type(r), b.name"
    with BoltServer({part: Answer(["a", "r", "b"], rows)}) as server:
        done = run_cli("stats", "-g", f"bolt://127.0.0.1:{server.port}", "--set", f"running.query={part}")
        assert "2,500" in done.output, done.output
        pulls = [fields[0]["n"] for tag, fields in server.received if tag == PULL]
        assert pulls == [1000, 1000, 1000]


@pytest.mark.usefixtures("secret")
def test_no_query_writes_and_no_password_is_told(
    run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "MATCH (n) SET n.x = 1 RETURN n"
    with BoltServer(EVERYTHING) as server:
        port, url = server.port, f"bolt://127.0.0.1:{server.port}"
        done = run_cli("stats", "-g", url, "--set", f"running.query={query}", code=3)
        assert "read access mode" in done.output
        monkeypatch.setenv("NEO4J_PASSWORD", "wrong-one")
        done = run_cli("stats", "-g", url, code=3)
        assert "Set NEO4J_USERNAME and NEO4J_PASSWORD" in done.output
        assert "wrong-one" not in done.output
        assert [fields[0] for tag, fields in server.received if tag == RUN] == [query]
    assert "hush" not in run_cli("stats", "-g", "bolt://neo4j:hush@127.0.0.1:1", code=2).output
    gone = run_cli("stats", "-g", f"bolt://127.0.0.1:{port}", code=3).output
    assert f"bolt://127.0.0.1:{port}" in gone
    assert "Traceback" not in gone


SCHEMA = """\
CREATE TABLE person (pid INTEGER PRIMARY KEY, name TEXT, kind TEXT, face BLOB);
CREATE TABLE knows (source_id INTEGER REFERENCES person(pid), target_id INTEGER REFERENCES person(pid),
relation TEXT);
CREATE TABLE log (id INTEGER, line TEXT);
INSERT INTO person VALUES (1, '점순', 'GIRL', x'00ff'), (2, '나', 'BOY', NULL);
INSERT INTO knows VALUES (1, 2, '놀린다');
"""


def test_sqlite_by_foreign_keys_and_by_columns_that_are_named(own_folder: Path) -> None:
    path = own_folder / "town.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    graph = read_graph(path, columns=Columns.of("id=pid"))
    assert (graph.origin.writer, told(graph)) == ("SQLite", [("점순", "놀린다", "나")])
    assert list(graph.entities.types) == ["GIRL", "BOY"]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("ALTER TABLE knows RENAME COLUMN source_id TO who; DROP TABLE log;")
    with pytest.raises(
        GraphError, match=r"no table of relations among person \(pid, name, kind, face\), knows"
    ):
        read_graph(path)
    named = "nodes=person,edges=knows,source=who,target=target_id,id=pid"
    assert told(read_graph(path, columns=Columns.of(named))) == [("점순", "놀린다", "나")]
    before = path.read_bytes()
    read_graph(path, columns=Columns.of(named))
    assert path.read_bytes() == before


DUCKDB = """\
CREATE TABLE entities (id INT, name VARCHAR, type VARCHAR);
CREATE TABLE relations (source_id INT, target_id INT, relation VARCHAR, weight DOUBLE);
INSERT INTO entities VALUES (1, '점순', 'GIRL'), (2, '나', 'BOY');
INSERT INTO relations VALUES (1, 2, '놀린다', 2.5);
"""


def test_duckdb(own_folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = own_folder / "town.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(DUCKDB)
    graph = read_graph(path)
    assert (graph.origin.writer, told(graph)) == ("DuckDB", [("점순", "놀린다", "나")])
    assert graph.relations.weights.tolist() == [2.5]
