"""What gold sets and runs of other makers share: a format called by name, a whole file of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import InputError, UsageError, nearest
from tiny_graph_rag.files import decode_utf8, read_bytes


def check_format(name: str, kind: str, known: Collection[str]) -> None:
    """Raises UsageError for a format that nothing reads. kind: of file, for the message."""
    if name not in known:
        hint = nearest(name, list(known)) or "."
        raise UsageError(f"unknown {kind} format {name!r}{hint} Choices: {', '.join(known)}")


def json_document(path: Path, failure: type[InputError]) -> Any:
    """The document. Raises `failure` with line and column for what is no JSON."""
    try:
        return json.loads(decode_utf8(read_bytes(path), path))
    except json.JSONDecodeError as error:
        raise failure(f"{path.name}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
