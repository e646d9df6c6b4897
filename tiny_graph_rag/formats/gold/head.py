"""What a gold set says of all its questions (`metadata`, a schema's version), where its format can't hold it.

A file that is one object holds it itself. Next to any other lies `NAME.metadata.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiny_graph_rag.documents import json_file
from tiny_graph_rag.errors import DatasetError, json_kind
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.outputs import write_atomically

ENDING = ".metadata.json"


def head_path(path: Path) -> Path:
    return path.with_name(bare_name(path) + ENDING)


def head_beside(path: Path) -> dict[str, Any]:
    """Empty where there is none. Raises DatasetError for one that is no object."""
    beside = head_path(path)
    if not beside.is_file():
        return {}
    head = json_file(beside, DatasetError)
    if not isinstance(head, dict):
        raise DatasetError.at(
            beside, "wanted an object with the gold set's metadata, got {got}", got=json_kind(head)
        )
    return head


def write_head(path: Path, head: Mapping[str, Any]) -> Path:
    beside = head_path(path)
    write_atomically(beside, [json.dumps(head, ensure_ascii=False, indent=1).encode() + b"\n"])
    return beside
