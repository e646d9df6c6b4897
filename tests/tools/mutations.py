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
INSIDE = ("text", "value", "column", "table", "rows", "view")  # what changes in a database


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
        if data.startswith(b"SQLite format 3"):
            return _sqlite(data, chance)
        if data[8:12] == b"DUCK":
            return _duckdb(data, chance)
        if data.startswith(b"PAR1"):
            return _parquet(data, chance)
        if data.startswith(b"PK"):
            return _zipped(data, chance)
        if data[:1] not in (b"{", b"[", b"<"):
            document = yaml.safe_load(data)
            if isinstance(document, dict):
                return _written(_reshaped(document, chance), chance)
    return _valued(data, chance)


def _cell(value: Any, chance: random.Random) -> Any:
    """A value of a database in place of another; what is JSON in it is damaged as JSON."""
    if isinstance(value, bytes) and chance.random() < 0.7:
        return _shape(value, chance)
    other = chance.choice((*VALUES, b"\xff\0", "x" * 70_000))
    if isinstance(other, int) and not -(2**63) <= other < 2**63:
        return float("inf")
    if isinstance(other, list | dict):
        return json.dumps(other)
    return other.encode("utf-8", "replace").decode() if isinstance(other, str) else other


def _sqlite(data: bytes, chance: random.Random) -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.deserialize(data)
        database.execute("PRAGMA foreign_keys = OFF")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = chance.choice(tables)
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
        column, what = chance.choice(columns), chance.choice(INSIDE)
        if what == "text":
            database.execute("PRAGMA writable_schema = ON")
            (sql,) = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            changed = _token(sql.encode(), chance).decode("utf-8", "replace").replace("\0", "")
            database.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (changed, table))
        elif what == "value":
            rows = database.execute(f'SELECT rowid, "{column}" FROM "{table}"').fetchall()
            row, value = chance.choice(rows)
            database.execute(
                f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (_cell(value, chance), row)
            )
        elif what == "column":
            database.execute(f'ALTER TABLE "{table}" {chance.choice(_columns(column))}')
        elif what == "table":
            database.execute(
                chance.choice((f'DELETE FROM "{table}"', f'ALTER TABLE "{table}" RENAME TO "x y"'))
            )
        elif what == "rows":
            for _ in range(chance.choice((1, 8))):
                database.execute(f'INSERT OR IGNORE INTO "{table}" SELECT * FROM "{table}"')
        else:
            database.execute(f'ALTER TABLE "{table}" RENAME TO other')
            database.execute(f'CREATE VIEW "{table}" AS {chance.choice(_VIEWS)}')
        return database.serialize()


def _columns(column: str) -> tuple[str, ...]:
    return (
        f'RENAME COLUMN "{column}" TO "x"',
        f'DROP COLUMN "{column}"',
        f'RENAME COLUMN "{column}" TO "a, ""b"',
    )


_VIEWS = (
    "WITH RECURSIVE n(source, target) AS (SELECT 1, 2 UNION ALL SELECT source + 1, 2 FROM n) SELECT * FROM n",
    "SELECT * FROM other, other AS b, other AS c", "SELECT 1 AS source, NULL AS target",
    "SELECT * FROM missing", "SELECT zeroblob(900000000) AS id", "SELECT printf('%.*c', 90000000, 'x') AS source, 1 AS target",
)  # fmt: skip
_DUCK_VIEWS = (
    "SELECT i AS source, i + 1 AS target FROM range(100000) t(i)", "SELECT * FROM other, other AS b",
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT 1 AS source, NULL AS target", "SELECT [1, 2] AS source, {'a': 1} AS target",
    "SELECT repeat('x', 1000000) AS source, 1 AS target", "SELECT current_date AS source, now() AS target, random() AS weight",
)  # fmt: skip
_DUCK_VALUES = (
    "NULL", "'x'::BLOB", "'infinity'::TIMESTAMP", "'290000-01-01'::TIMESTAMP", "'5000-01-01 BC'::DATE", "INTERVAL 900000 MONTH", "1e300::DOUBLE",
    "'nan'::DOUBLE", "99999999999999999999999999999999999::HUGEINT", "1.50::DECIMAL(38, 10)", "[1, NULL]", "[['a']]", "{'a': [1]}",
    "MAP {'k': 1}", "uuid()", "'24:00:00'::TIME", "TRUE", "'101'::BIT", "now()", "repeat('x', 70000)", "chr(0)",
)  # fmt: skip


def _duckdb(data: bytes, chance: random.Random) -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "g.duckdb")
        path.write_bytes(data)
        with duckdb.connect(str(path)) as database:
            names = database.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
            (table,) = chance.choice(names)
            columns = database.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_name = ?", (table,)
            )
            (column,), what = chance.choice(columns.fetchall()), chance.choice(INSIDE)
            if what in ("text", "value"):
                value = chance.choice(_DUCK_VALUES)
                database.execute(
                    f'CREATE OR REPLACE TABLE "{table}" AS SELECT * REPLACE ({value} AS "{column}") FROM "{table}"'
                )
            elif what == "column":
                database.execute(f'ALTER TABLE "{table}" {chance.choice(_columns(column))}')
            elif what == "table":
                database.execute(
                    chance.choice((f'DELETE FROM "{table}"', f'ALTER TABLE "{table}" RENAME TO "x y"'))
                )
            elif what == "rows":
                database.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}"')
            else:
                database.execute(f'ALTER TABLE "{table}" RENAME TO other')
                database.execute(f'CREATE VIEW "{table}" AS {chance.choice(_DUCK_VIEWS)}')
        return path.read_bytes()


def _parquet(data: bytes, chance: random.Random) -> bytes:
    """Other values, or a column of another type: decimals, far timestamps, lists, maps, dictionaries."""
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(data))
    place = chance.randrange(table.num_columns)
    name, rows = table.column_names[place], table.num_rows
    far = [2**62, -(2**62), 2**53, -1, 0, None]
    kinds = (
        pa.timestamp("ns"), pa.timestamp("s"), pa.timestamp("us", "Asia/Seoul"), pa.date64(), pa.time64("ns"), pa.duration("s"),
        pa.int64(), pa.uint64(), pa.decimal128(38, 3), pa.decimal256(60, 20),
    )  # fmt: skip
    what = chance.randrange(6)
    if what == 0:
        kind = chance.choice(kinds)
        with contextlib.suppress(pa.ArrowException):
            cells = pa.array([chance.choice(far[2:]) for _ in range(rows)], pa.int64()).cast(kind)
            table = table.set_column(place, name, cells)
        if pa.types.is_timestamp(kind):
            table = table.set_column(
                place, name, pa.array([chance.choice(far) for _ in range(rows)], pa.int64()).view(kind)
            )
    elif what == 1:
        value = chance.choice(
            (
                [1, None],
                [["a"]],
                {"a": {"b": [1]}},
                b"\xff",
                0.5,
                float("nan"),
                True,
                "",
                None,
                [],
                "x" * 70_000,
            )
        )
        table = table.set_column(place, name, pa.array([value] * rows))
    elif what == 2:
        table = table.set_column(place, name, table.column(place).combine_chunks().dictionary_encode())
    elif what == 3:
        table = chance.choice(
            (table.drop_columns([name]), table.slice(0, 0), table.append_column(name, table.column(place)))
        )
    elif what == 4:
        table = table.rename_columns(
            [chance.choice((column, column, "", "x", "id")) for column in table.column_names]
        )
    else:
        values = table.column(place).to_pylist()
        values[chance.randrange(rows)] = None
        cells = pa.array(
            [str(value).encode() + chance.choice((b"", b"\xff")) for value in values], pa.binary()
        )
        table = table.set_column(place, name, cells)
    out = io.BytesIO()
    parquet.write_table(table, out, compression=chance.choice(("snappy", "zstd", "gzip", "none")))
    return out.getvalue()


def _zipped(data: bytes, chance: random.Random) -> bytes:
    """A worksheet with a part that is damaged, missing or given twice, or a cell far out."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = chance.choice([name for name in parts if "sheet" in name.rpartition("/")[2]] + list(parts))
    what = chance.randrange(8)
    if what == 0:
        del parts[name]
    elif what == 1:
        place = chance.choice(
            (b"XFD1048576", b"A1048576", b"XFD1", b"ZZZZ99999999", b"A0", b"a1", b"1", b"&#65;1", b"B2")
        )
        parts[name] = re.sub(rb'r="[A-Z]+[0-9]+"', b'r="' + place + b'"', parts[name], count=1)
    elif what == 2:
        parts[name] = re.sub(rb"<(/?)(c|row|v|is|t|sheetData)\b", rb"<\1x:\2", parts[name]).replace(
            b"xmlns=", b"xmlns:x=", 1
        )
    elif what == 3:
        parts[name] = re.sub(
            rb' t="[a-zA-Z]*"',
            chance.choice((b' t="d"', b' t="e"', b' t="s"', b' t="b"', b' t="n"', b"")),
            parts[name],
        )
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
