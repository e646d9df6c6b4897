"""How the fuzz driver breaks a sound file: its bytes, its lines, its values, and what a database, a Parquet file
or a worksheet holds inside."""

# ruff: noqa: E501 - tables of tokens; the statements damage a file of our own

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

TOKENS: tuple[bytes, ...] = tuple(
    item if isinstance(item, bytes) else item.encode("utf-8", "surrogatepass")
    for item in (
        "\0", "\r", "\r\n", "\n\n", "\t", " ", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x1b[2J", "\x9b", "\u202e",
        "²", "--1", "+-2", "-0", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e-400", str(2**31), str(2**63),
        str(2**70), "9" * 400, "9" * 5000, "0x10", "1_000", "true", "null", "[]", "{}", '""', "''", '"', "'", "\\",
        "\\ud800", "\\udc00", "\\u0000", "\\x", "[" * 300, "[" * 3000, "{" * 300, '{"a":' * 3000, "]", "}", ",", ":",
        "&a [*a,*a]", "*a", "&a ", "<<: *a", "!!python/object/apply:os.system [x]", "!!binary x", "2026-01-01",
        "12:30:45", "? ", "- " * 500, "|\n", "%", "%00", "%2", "=1+1", "@x", "x" * 10_000, "점" * 3000, "😀", "e\u0301",
        "-" * 300, "w" * 40_000, "가" * 20_000, "word " * 4_000, "," * 20_000, "\t" * 20_000, "1.0", "2.0", ",,,,", '"a\nb"', b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\x80", b"\x1f\x8b\x08", b"PAR1",
    )
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**70, 10**400, "", " ", "x",
    "\0", "\r\n", "\ud800", "=1+1", "x" * 5000, [], {}, [[]], [None], [1], ["x", "x"], [[1, 2], [3]], {"": ""},
    {"a": {"b": []}}, [{}], "2026-01-01", "\u202e", "[red]x[/red]", "</script><b>", "../../x",
)  # fmt: skip


BINARY = (b"SQLite format 3", b"PAR1", b"PK")


def mutated(sound: bytes, chance: random.Random) -> bytes:
    """One to four changes; a database, a Parquet file or a worksheet often only inside, where it still opens."""
    if (sound.startswith(BINARY) or sound[8:12] == b"DUCK") and chance.random() < 0.6:
        return _inside(sound, chance)
    data = bytearray(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = bytearray(chance.choice(WAYS)(bytes(data), chance))
    return bytes(data)


def _token(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(TOKENS) + data[at + chance.choice((0, 0, 1, 3)) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _lost(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 10, 100)) :]


def _twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[:at], *[lines[at]] * chance.choice((2, 2, 50)), *lines[at + 1 :]])


def _swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\xc2\x85", b"")))


def _packed(data: bytes, chance: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return chance.choice((packed, packed, packed + b"x", packed[:-4], _flip(packed, chance), packed * 2))


def _encoded(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(("utf-16", "utf-8-sig", "cp949", "utf-32", "latin-1")), "replace")


def _shape(data: bytes, chance: random.Random) -> bytes:
    """A value of another kind, a field that is missing or is given twice; of JSON, whole or by lines."""
    text = data.decode("utf-8", "replace")
    try:
        return _written(_reshaped(json.loads(text), chance), chance)
    except (ValueError, RecursionError):
        pass
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    try:
        lines[at] = _written(_reshaped(json.loads(lines[at]), chance), chance).decode(
            "utf-8", "surrogatepass"
        )
    except (ValueError, RecursionError):
        fields = lines[at].split(chance.choice((" ", ",", "\t", ": ")))
        fields[chance.randrange(len(fields))] = str(chance.choice(VALUES))
        lines[at] = chance.choice((" ", ",", "\t", ": ")).join(fields)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _written(value: Any, chance: random.Random) -> bytes:
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _reshaped(value: Any, chance: random.Random) -> Any:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, dict | list):
                walk(child)

    if not isinstance(value, dict | list) or not value:
        return chance.choice(VALUES)
    walk(value)
    node, key = chance.choice(places)
    what = chance.randrange(5)
    if what == 0 and isinstance(node, dict):
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[chance.choice((key + "x", "", "\0", "id", "name", "score"))] = node.pop(key)
    elif what == 2 and isinstance(node, list):
        node[key : key + 1] = [node[key]] * chance.choice((0, 2, 200))
    else:
        node[key] = chance.choice(VALUES)
    return value


def _wide(data: bytes, chance: random.Random) -> bytes:
    """A line of a thousand times as many fields, or a file of many times as many lines."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    sign = chance.choice((b",", b"\t", b" ", b";"))
    if chance.random() < 0.5:
        lines[at] = sign.join(
            [lines[at]] + [b"x%d" % number for number in range(chance.choice((1000, 20_000)))]
        )
        return b"\n".join(lines)
    return b"\n".join([*lines[:at], *lines[at : at + 1] * 2000, *lines[at + 1 :]])[: 1 << 22]


def _valued(data: bytes, chance: random.Random) -> bytes:
    """Another value between quotes, between tags, or in place of a number."""
    places = list(re.finditer(rb'"[^"\n]*"|>[^<>\n]*<|(?<![\w.])-?[0-9][0-9.]*', data))
    if not places:
        return _token(data, chance)
    found = chance.choice(places)
    value = chance.choice(
        (chance.choice(TOKENS), str(chance.choice(VALUES)).encode("utf-8", "surrogatepass"))
    )
    around = found[0][:1], found[0][-1:]
    whole = around[0] + value + around[1] if around[0] in (b'"', b">") else value
    return data[: found.start()] + whole + data[found.end() :]


def _inside(data: bytes, chance: random.Random) -> bytes:
    """What a database, a Parquet file or a worksheet holds; YAML's values; of other files a value."""
    with contextlib.suppress(Exception):  # of a file that was damaged before
        if data.startswith(b"SQLite format 3") or data[8:12] == b"DUCK":
            return _database(data, chance)
        if data.startswith(b"PAR1"):
            return _parquet(data, chance)
        if data.startswith(b"PK"):
            return _zipped(data, chance)
        if data[:1] not in (b"{", b"[", b"<"):
            document = yaml.safe_load(data)
            if isinstance(document, dict):
                return _written(_reshaped(document, chance), chance)
    return _valued(data, chance)


# What changes in a database: rows, names, a column of another type, a view in place of a table.
_STATEMENTS = (
    'DELETE FROM "{table}"',
    'INSERT INTO "{table}" SELECT * FROM "{table}"',
    'ALTER TABLE "{table}" RENAME TO "x y"',
    'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "x"',
    'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "a, ""b"',
    'ALTER TABLE "{table}" DROP COLUMN "{column}"',
    *['CREATE TABLE made AS SELECT {columns} FROM "{table}"; DROP TABLE "{table}"; ALTER TABLE made RENAME TO "{table}"'] * 4,
    *['ALTER TABLE "{table}" RENAME TO other; CREATE VIEW "{table}" AS {view}'] * 2,
)  # fmt: skip
_CELLS = (
    "NULL",
    "x'ff00'",
    "1e300",
    "-1",
    "'x'",
    "replace(hex(zeroblob(35000)), '00', 'x')",
    "zeroblob(900000000)",
    "char(0)",
)
_DUCK_CELLS = (
    "NULL", "'x'::BLOB", "'infinity'::TIMESTAMP", "'290000-01-01'::TIMESTAMP", "'5000-01-01 (BC)'::DATE", "INTERVAL 900000 MONTH", "1e300::DOUBLE",
    "'nan'::DOUBLE", "99999999999999999999999999999999999::HUGEINT", "1.50::DECIMAL(38, 10)", "[1, NULL]", "[['a']]", "{'a': [1]}",
    "MAP {'k': 1}", "uuid()", "'24:00:00'::TIME", "TRUE", "'101'::BIT", "now()", "repeat('x', 70000)", "chr(0)",
)  # fmt: skip
_VIEWS = (
    "WITH RECURSIVE n(source, target) AS (SELECT 1, 2 UNION ALL SELECT source + 1, 2 FROM n) SELECT * FROM n",
    "SELECT * FROM other, other AS b, other AS c", "SELECT 1 AS source, NULL AS target",
    "SELECT * FROM missing", "SELECT * FROM read_csv('/etc/passwd')", "SELECT printf('%.*c', 90000000, 'x') AS source, 1 AS target",
)  # fmt: skip


def _database(data: bytes, chance: random.Random) -> bytes:
    """A database of SQLite or DuckDB. What is JSON in a cell is often damaged as JSON."""
    import duckdb

    is_duck = data[8:12] == b"DUCK"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.duckdb")
        path.write_bytes(data)
        connection: Any = (
            duckdb.connect(str(path)) if is_duck else sqlite3.connect(path, isolation_level=None)
        )
        with contextlib.closing(connection) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
            (table,) = chance.choice(tables.fetchall())
            columns = [row[1] for row in database.execute(f"PRAGMA table_info('{table}')").fetchall()]
            column = chance.choice(columns)
            cells = database.execute(f'SELECT "{column}" FROM "{table}"').fetchall()
            (cell,) = chance.choice(cells or [(None,)])
            if isinstance(cell, bytes) and chance.random() < 0.7:
                changed = _shape(cell, chance)
                database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (changed, cell))
            else:
                value = chance.choice(_DUCK_CELLS if is_duck else _CELLS)
                kept = [f'{value} AS "{name}"' if name == column else f'"{name}"' for name in columns]
                names = {
                    "table": table,
                    "column": column,
                    "columns": ", ".join(kept),
                    "view": chance.choice(_VIEWS),
                }
                for statement in chance.choice(_STATEMENTS).format(**names).split(";"):
                    database.execute(statement)
        return path.read_bytes()


def _parquet(data: bytes, chance: random.Random) -> bytes:
    """Other values, or a column of another type: decimals, far timestamps, lists, maps, dictionaries."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(data))
    place, rows = chance.randrange(table.num_columns), table.num_rows
    name, column = table.column_names[place], table.column(place).combine_chunks()
    near, far = (
        [chance.choice(values) for _ in range(rows)]
        for values in ((2**53, -1, 0, None), (2**62, -(2**62), None))
    )
    kind = chance.choice((
        pa.timestamp("s"), pa.timestamp("us", "Asia/Seoul"), pa.date64(), pa.time64("ns"), pa.duration("s"),
        pa.int64(), pa.uint64(), pa.decimal128(38, 3), pa.decimal256(60, 20),
    ))  # fmt: skip
    what = chance.randrange(7)
    if what == 0:
        table = table.set_column(place, name, pa.array(near, pa.int64()).cast(kind))
    elif what == 1:
        table = table.set_column(place, name, pa.array(far, pa.int64()).view(pa.timestamp("ns")))
    elif what == 2:
        value = chance.choice(
            ([1, None], [["a"]], {"a": {"b": [1]}}, b"\xff", float("nan"), True, "", None, [], "x" * 70_000)
        )
        table = table.set_column(place, name, pa.array([value] * rows))
    elif what == 3:
        table = table.set_column(place, name, column.dictionary_encode())
    elif what == 4:
        cells = [str(value).encode() + chance.choice((b"", b"\xff")) for value in column.to_pylist()]
        table = table.set_column(place, name, pa.array(cells, pa.binary()))
    elif what == 5:
        table = chance.choice(
            (table.drop_columns([name]), table.slice(0, 0), table.append_column(name, column))
        )
    else:
        table = table.rename_columns(
            [chance.choice((name, name, "", "x", "id")) for name in table.column_names]
        )
    out = io.BytesIO()
    parquet.write_table(table, out, compression=chance.choice(("snappy", "zstd", "gzip", "none")))
    return out.getvalue()


def _zipped(data: bytes, chance: random.Random) -> bytes:
    """A worksheet with a part that is damaged or missing, a cell far out, or cells of another type."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = chance.choice([name for name in parts if "sheet" in name.rpartition("/")[2]] + list(parts))
    what = chance.randrange(8)
    if what == 0:
        del parts[name]
    elif what == 1:
        place = chance.choice(
            (b"XFD1048576", b"A1048576", b"ZZZZ99999999", b"A0", b"a1", b"1", b"&#65;1", b"B2")
        )
        parts[name] = re.sub(rb'r="[A-Z]+[0-9]+"', b'r="' + place + b'"', parts[name], count=1)
    elif what == 2:
        parts[name] = re.sub(rb"<(/?)(c|row|v|is|t|sheetData)\b", rb"<\1x:\2", parts[name])
        parts[name] = parts[name].replace(b"xmlns=", b"xmlns:x=", 1)
    elif what == 3:
        kind = chance.choice((b' t="d"', b' t="e"', b' t="s"', b' t="b"', b' t="n"', b""))
        parts[name] = re.sub(rb' t="[a-zA-Z]*"', kind, parts[name])
    else:
        parts[name] = chance.choice((_valued, _valued, _token, _lost, _twice))(parts[name], chance)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as packed:
        for part, content in parts.items():
            packed.writestr(part, content)
    return out.getvalue()


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _token, _token, _token, _flip, _flip, _cut, _lost, _twice, _swapped, _wide, _ends, _packed, _encoded,
    _shape, _shape, _shape, _shape, _shape, _valued, _valued, _inside, _inside, _inside, _inside, _inside, _inside,
)  # fmt: skip
