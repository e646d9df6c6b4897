"""Kùzu and Ladybug, its successor: database files, and the folders that `EXPORT DATABASE` writes.

Node tables are entity types, relation tables relation types. A primary key is the entity's id; where there
are
several node tables, the table stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import GraphError, optional
from tiny_graph_rag.files import decode_utf8, read_bytes
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.graphs.base import graph_format
from tiny_graph_rag.formats.graphs.listed import Columns
from tiny_graph_rag.formats.graphs.pairs import RecordTable, of_tables
from tiny_graph_rag.formats.graphs.rows import Rows
from tiny_graph_rag.formats.graphs.tables import ParquetTable, csv_lists
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.messages import said

MAGICS = {b"KUZU": ("kuzu", "Kùzu"), b"LBUG": ("ladybug", "Ladybug")}
OLD_FILES = ("catalog.kz", "data.kz")  # a database was a folder before 0.11
_CREATE = re.compile(
    r"CREATE\s+(?P<kind>NODE|REL)\s+TABLE\s+(?:IF NOT EXISTS\s+)?`?(?P<name>[^`(\s]+)`?\s*"
    r"\((?P<body>.*?)\)\s*(?:WITH.*?)?;",
    re.I | re.S,
)
_KEY = re.compile(r"PRIMARY\s+KEY\s*\(\s*`?([^`)]+)`?\s*\)", re.I)
_COPY = re.compile(
    r"COPY\s+`?(?P<table>[^`(\s]+)`?\s*(?:\((?P<columns>[^)]*)\))?\s*FROM\s+\"(?P<file>[^\"]+)\"\s*(?:\((?P<options>[^)]*)\))?",
    re.I,
)
_OPTION = re.compile(r"(\w+)\s*=\s*'([^']*)'")


@graph_format(
    "Kùzu",
    "a database of Kùzu or Ladybug",
    lambda head: head.raw[:4] in MAGICS or head.path.name in OLD_FILES,
    within=OLD_FILES,
    suffixes=(".kuzu", ".kz", ".lbug", ".lbdb"),
    takes_columns=True,
)
def read_kuzu(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    path = paths[0]
    with path.open("rb") as stream:
        package, writer = MAGICS.get(stream.read(4), ("kuzu", "Kùzu"))
    if path.name in OLD_FILES:
        path = path.parent
    library = optional(package, said("reading {writer} databases", writer=writer), package)
    try:
        database = library.Database(str(path), read_only=True)
        try:
            tables = list(_tables(library.Connection(database)))
        finally:
            database.close()
    except RuntimeError as error:
        raise GraphError.at(
            path,
            "can't be opened by {package} {version}: {why}",
            package=package,
            version=library.__version__,
            why=str(error).splitlines()[0],
        ) from error
    return of_tables(Rows(path, writer), tables, columns)


def _tables(connection: Any) -> Iterator[RecordTable]:
    listed = [(row["name"], row["type"]) for row in _rows(connection, "CALL show_tables() RETURN name, type")]
    keys: dict[str, str] = {}
    for name, kind in listed:
        if kind != "NODE":
            continue
        info = list(_rows(connection, f"CALL table_info('{_escaped(name)}') RETURN *"))
        keys[name] = next((row["name"] for row in info if row.get("primary key")), info[0]["name"])
        nodes = [row["n"] for row in _rows(connection, f"MATCH (n:{_quoted(name)}) RETURN n")]
        properties = [row["name"] for row in info]
        yield _nodes(name, keys[name], properties, nodes)
    for name, kind in listed:
        if kind != "REL":
            continue
        wanted = f"MATCH (a)-[r:{_quoted(name)}]->(b) RETURN label(a) AS source, label(b) AS target, a, r, b"
        records = []
        for row in _rows(connection, wanted):
            ends = (row["a"], row["b"])
            labels = [row["source"], row["target"]]
            if not all(label in keys for label in labels):
                continue
            values = [end[keys[label]] for end, label in zip(ends, labels, strict=True)]
            own = {key: value for key, value in row["r"].items() if key[:1] != "_"}
            records.append(_edge(own, name, *labels, *values))
        yield _edges(name, records)


def _rows(connection: Any, query: str) -> Iterator[dict[str, Any]]:
    result = connection.execute(query)
    names = result.get_column_names()
    while result.has_next():
        yield dict(zip(names, result.get_next(), strict=True))


def _nodes(label: str, key: str, properties: Sequence[str], nodes: Sequence[dict[str, Any]]) -> RecordTable:
    column = f":ID({label})"
    records = [
        {column: node[key], "type": label, **{name: node.get(name) for name in properties}} for node in nodes
    ]
    names = [column, "type", *(name for name in properties if name != "type")]
    return RecordTable(label, names, records, is_edges=False)


def _edge(
    own: dict[str, Any], type: str, source_label: str, target_label: str, source: Any, target: Any
) -> dict[str, Any]:
    return {f":START_ID({source_label})": source, f":END_ID({target_label})": target, ":TYPE": type, **own}


def _edges(name: str, records: list[dict[str, Any]]) -> RecordTable:
    return RecordTable(
        name, list(dict.fromkeys(key for record in records for key in record)), records, is_edges=True
    )


def _is_export(head: Head) -> bool:
    return head.path.name == "schema.cypher" and "NODE TABLE" in head.text


@graph_format(
    "Kùzu export",
    "a folder that Kùzu's or Ladybug's EXPORT DATABASE wrote",
    _is_export,
    within=("schema.cypher",),
    suffixes=(".cypher",),
    takes_columns=True,
)
def read_export(paths: Sequence[Path], columns: Columns | None = None) -> KnowledgeGraph:
    """schema.cypher says the tables, copy.cypher the files; Ladybug's files are named after their tables."""
    schema = paths[0]
    folder = schema.parent
    text = decode_utf8(read_bytes(schema), schema)
    keys: dict[str, str] = {}
    order: dict[str, list[str]] = {}
    ends: dict[str, tuple[str, str]] = {}
    for match in _CREATE.finditer(text):
        body, name = match["body"], match["name"]
        if match["kind"].upper() == "NODE":
            key = _KEY.search(f"{body})")
            order[name] = [field.strip().split()[0].strip("`") for field in body.split(",") if field.strip()]
            keys[name] = key[1] if key else order[name][0]
        else:
            both = re.search(r"FROM\s+`?([^`\s]+)`?\s+TO\s+`?([^`\s,]+)`?", body, re.I)
            if both:
                ends[name] = (both[1], both[2])
    if not keys:
        raise GraphError.at(schema, "no CREATE NODE TABLE in it")
    tables = []
    for table, file, names, options in _files(folder, keys, ends):
        records = _read(folder / file, names if table in keys else ["", "", *names])
        if table in keys:
            tables.append(_nodes(table, keys[table], names or list(records[0] if records else ()), records))
            continue
        labels = (options.get("from", ends[table][0]), options.get("to", ends[table][1]))
        edges = []
        for record in records:
            values = list(record.values())
            edges.append(_edge(dict(list(record.items())[2:]), table, *labels, values[0], values[1]))
        tables.append(_edges(table, edges))
    tables.sort(key=lambda table: bool(table.is_edges))
    return of_tables(Rows(folder, "Kùzu export"), tables, columns)


def _files(
    folder: Path, keys: dict[str, str], ends: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, str, list[str], dict[str, str]]]:
    """RecordTable, file, the columns after the ends, and what else is reported of the file."""
    copy = folder / "copy.cypher"
    commands = list(_COPY.finditer(decode_utf8(read_bytes(copy), copy))) if copy.is_file() else []
    for command in commands:
        names = [name.strip().strip("`") for name in (command["columns"] or "").split(",") if name.strip()]
        if command["table"] in keys or command["table"] in ends:
            yield (
                command["table"],
                Path(command["file"]).name,
                names,
                dict(_OPTION.findall(command["options"] or "")),
            )
    if not commands:
        for prefix, tables in (("nodes_", keys), ("rels_", ends)):
            for table in tables:
                if (folder / f"{prefix}{table}.parquet").is_file():
                    yield table, f"{prefix}{table}.parquet", [], {}


def _read(path: Path, names: list[str]) -> list[dict[str, Any]]:
    """Records; without names those that the file has, without `a.` before them."""
    named = [name or f"end {place}" for place, name in enumerate(names)]
    if path.suffix == ".parquet":
        table = ParquetTable(path)
        plain = [re.sub(r"^[abr]\.", "", name) for name in table.names]
        own = named if len(named) == len(plain) else plain
        columns = [table.values(name) for name in table.names]
        return [dict(zip(_distinct(own), row, strict=True)) for row in zip(*columns, strict=True)]
    return [dict(zip(named, row, strict=False)) for row in csv_lists(path, ",")]


def _distinct(names: Sequence[str]) -> list[str]:
    """The ends of a relation may have one name."""
    return [name if name not in names[:place] else f"{name} {place}" for place, name in enumerate(names)]


def _quoted(name: str) -> str:
    return f"`{name}`"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("'", "\\'")
