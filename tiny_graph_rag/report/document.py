"""Results files read back as they stand, for reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.study.results_file import UNREADABLE, WRITTEN_BY, changed_file, decoded


@dataclass(frozen=True, slots=True)
class Document:
    """A results file. content: the JSON object as written. name: the file's, without its ending."""

    path: Path
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def name(self) -> str:
        return nfc(self.path.name).removesuffix(".gz").removesuffix(".json")

    @property
    def has_questions(self) -> bool:
        return self.kind in ("eval", "score")


def joint_name(documents: Sequence[Document]) -> str:
    """What a report of all of them is called: the first one's name, and how many more results there are."""
    results = [document for document in documents if document.has_questions]
    counted = results if len(results) > 1 else documents
    if len(counted) == 1:
        return counted[0].name
    return f"{counted[0].name.removesuffix('-results')}-and-{len(counted) - 1}-more"


def read_document(path: Path) -> Document:
    """Raises RunError where the file is no results file, says of which version it is, or lacks a part."""
    raw, record = decoded(path, (*WRITTEN_BY.values(),))
    try:
        content = msgspec.json.decode(raw)
    except UNREADABLE as error:  # in a part that no type names
        raise changed_file(path, record.kind, error) from error
    return Document(path, content)
