"""How a sound file is broken: its bytes, its lines, and the values of its JSON."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from typing import Any

TOKENS = (
    *(
        "\0",
        "\r",
        "\n\n",
        "\t",
        "\u00a0",
        "\u2028",
        "\ufeff",
        "\x1b[2J",
        "\u202e",
        "²",
        "--1",
        "1e999",
        "NaN",
    ),
    *("Infinity", str(2**31), str(2**63), str(2**70), "9" * 5000, "null", "[]", "{}", '""', '"', "'", "\\"),
    *(
        "\\ud800",
        "\\u0000",
        "[" * 3000,
        '{"a":' * 3000,
        "]",
        "}",
        ",",
        ":",
        "&a [*a,*a]",
        "<<: *a",
        "|\n",
        "%2",
    ),
    *(
        "!!python/object/apply:os.system [x]",
        "2026-01-01",
        "- " * 500,
        "=1+1",
        "x" * 10_000,
        "점" * 3000,
        "😀",
    ),
    *("," * 20_000, "word " * 4000, '"a\nb"', "\udcff", "\udcfe\udcff", "\udc80", "PAR1"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 10**400),
    *("", " ", "x", "\0", "\r\n", "\ud800", "=1+1", "x" * 5000, "2026-01-01", "\u202e", "[red]x[/red]"),
    *("</script><b>", "../../x", [], {}, [[]], [None], [1], ["x", "x"], [[1, 2], [3]], {"": ""}, [{}]),
    {"a": {"b": []}},
)


def mutated(sound: bytes, chance: random.Random) -> bytes:
    """One to four changes."""
    data = sound
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = chance.choice(WAYS)(data, chance)
    return data


def _token(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    token = chance.choice(TOKENS).encode("utf-8", "surrogateescape")
    return data[:at] + token + data[at + chance.choice((0, 0, 1, 3)) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(chance.choice((1, 1, 2, 8))):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _lost(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 10, 100)) :]


def _lines(data: bytes, chance: random.Random) -> bytes:
    """A line many times, all lines in another order, or other line ends."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    what = chance.randrange(3)
    if what == 0:
        lines[at : at + 1] = [lines[at]] * chance.choice((2, 50))
    elif what == 1:
        chance.shuffle(lines)
    return (b"\n" if what < 2 else chance.choice((b"\r", b"\r\n", b"\x0b", b""))).join(lines)


def _encoded(data: bytes, chance: random.Random) -> bytes:
    """In another encoding, or packed, also packed badly."""
    text = data.decode("utf-8", "replace")
    packed = gzip.compress(data, mtime=0)
    encoded = text.encode(chance.choice(("utf-16", "utf-8-sig", "cp949", "latin-1")), "replace")
    return chance.choice((encoded, encoded, packed, packed[:-4]))


def _shape(data: bytes, chance: random.Random) -> bytes:
    """A value of another kind, a field that is missing or is called otherwise; of JSON, whole or by lines."""
    text = data.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    try:
        return _written(_reshaped(json.loads(text), chance))
    except (ValueError, RecursionError):
        pass
    try:
        lines[at] = _written(_reshaped(json.loads(lines[at]), chance)).decode()
    except (ValueError, RecursionError):
        sign = chance.choice((" ", ",", "\t", ": "))
        fields = lines[at].split(sign)
        fields[chance.randrange(len(fields))] = str(chance.choice(VALUES))
        lines[at] = sign.join(fields)
    return "\n".join(lines).encode("utf-8", "replace")


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


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


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_token, _token, _token, _flip, _flip, _cut, _lost, _lines, _lines, _encoded),
    *(_shape, _shape, _shape, _shape, _shape, _shape, _shape),
)
