"""What is wrong with a large KG JSON file that can't be cut into pieces, without reading it as a whole."""

from __future__ import annotations

import codecs
import json
import mmap
import re
from pathlib import Path

import msgspec

from tiny_graph_rag.errors import GraphError, InputError, json_kind
from tiny_graph_rag.files import BYTE_ORDER_MARK, COPIED_BYTES, check_utf8
from tiny_graph_rag.formats.graphs.kg_pieces import NotPlainError, forget
from tiny_graph_rag.graph.building import SHAPE, check_parts
from tiny_graph_rag.messages import Said, said

OPENINGS = {"entities": b"{", "relationships": b"["}
PLACE = re.compile(r"^(?:JSON is malformed: )?(.*?)(?: \(byte (\d+)\))?$")


def refused(path: Path, buffer: mmap.mmap, error: NotPlainError) -> InputError:
    """The mistake for which a file can't be taken, with its place. Raises InputError for wrong text."""
    check_utf8(buffer, path)
    mark = len(BYTE_ORDER_MARK) if buffer[:3] == BYTE_ORDER_MARK else 0
    try:
        parts = msgspec.json.decode(memoryview(buffer)[mark:], type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return GraphError.at(
            path, "{shape}, got {kind}", shape=SHAPE, kind=_kind(buffer[mark : mark + COPIED_BYTES])
        )
    except msgspec.DecodeError as found:
        return _not_json(path, buffer, mark, str(found))
    except RecursionError:
        return GraphError.at(path, "not a knowledge graph: nested too deeply")
    starts = {key: bytes(memoryview(parts[key])[:COPIED_BYTES]) for key in OPENINGS if key in parts}
    others = {key: _kind(start) for key, start in starts.items() if start[:1] != OPENINGS[key]}
    check_parts(path, list(parts), others)
    return GraphError.at(path, "can't be read as a knowledge graph: {why}", why=error.__cause__)


def _kind(start: bytes) -> Said:
    opening = start.lstrip()[:1]
    if opening in (b"{", b"["):
        return said("an object") if opening == b"{" else said("a list")
    try:
        return json_kind(json.loads(start))
    except ValueError:
        return said("a long string or number")


def _not_json(path: Path, buffer: mmap.mmap, mark: int, message: str) -> GraphError:
    found = PLACE.match(message)
    what, byte = (found[1], found[2]) if found else (message, None)
    end = len(buffer) if byte is None else mark + int(byte)
    line, column = 1, 1
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(mark, end, COPIED_BYTES):
        text = decoder.decode(buffer[start : min(start + COPIED_BYTES, end)])
        line += text.count("\n")
        column = len(text) - text.rindex("\n") if "\n" in text else column + len(text)
    forget(buffer, len(buffer))
    if byte is None:
        what = "it ends too early and may be cut off"
    return GraphError.at(f"{path}:{line}:{column}", "not JSON: {what}", what=what)
