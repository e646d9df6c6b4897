"""What every results file has in common: its head, rows one a line, waterfalls, selections."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from tiny_graph_rag.measures.summary import number
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

Made = Mapping[str, Any]
"""`at` (UTC, ISO 8601), `command` and `label` (null where none) of the run that made a file; `patch` where
one was applied."""

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # texts of errors are a kind of str

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import Selection
    from tiny_graph_rag.messages import Said
    from tiny_graph_rag.study.waterfall import WaterfallStep


def head(kind: str, made: Made | None = None, **fields: Any) -> dict[str, Any]:
    """The first fields of a file of this kind, then the given ones. made: when and how, where known."""
    known: dict[str, Any] = {}
    if made is not None:
        known["made"] = {name: value for name, value in made.items() if name != "patch"}
        known |= {"patch": made["patch"]} if "patch" in made else {}
    return {"schema_version": SCHEMA_VERSION, "package_version": __version__, "kind": kind, **known, **fields}


def whole(document: Mapping[str, Any]) -> bytes:
    """A document that is small enough to be made at once."""
    return (json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode(
        "utf-8", "replace"
    )


def packed(record: Any) -> bytes:
    """JSON in one line; a number that is not finite is null, and what is no UTF-8 in a name is `?`."""
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(record, enc_hook=str)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def opened(fields: Mapping[str, Any]) -> bytes:
    """A document's first fields, for more to follow before `}`."""
    return (
        json.dumps(fields, ensure_ascii=False, indent=2, allow_nan=False)
        .removesuffix("\n}")
        .encode("utf-8", "replace")
    )


def closed_with_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A document's last field: objects, one a line."""
    yield f',\n  "{name}": ['.encode("utf-8", "replace")
    for place, row in enumerate(rows):
        line = json.dumps(row, ensure_ascii=False, allow_nan=False)
        yield (",\n    " if place else "\n    ").encode() + line.encode()
    yield b"\n  ]\n}\n"


def selection_json(chosen: Selection | None) -> dict[str, Any] | None:
    """`selection` of a gold set: null where all of it was asked."""
    return {"limit": chosen.limit, "tags": list(chosen.tags), "ids": list(chosen.ids)} if chosen else None


def said_json(sentence: Said) -> dict[str, Any]:
    """A sentence with names in braces, and what stands there: for showing it in another language."""
    return {"said": sentence.template, "values": dict(sentence.values)}


def steps_json(steps: Sequence[WaterfallStep]) -> list[dict[str, Any]]:
    """A waterfall as results files hold it."""
    return [
        {
            "step": step.name,
            "recall": number(step.recall),
            "loss": number(step.loss),
            "references": step.references,
        }
        for step in steps
    ]
