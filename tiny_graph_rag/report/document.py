"""Results files read back as they stand, for reports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tiny_graph_rag.errors import InputError, json_kind
from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said
from tiny_graph_rag.study.upstream_results import upstream_document
from tiny_graph_rag.version import SCHEMA_VERSION

Json = dict[str, Any]

# What every report leans on, by kind; the schema says all the rest.
NEEDED = {
    "eval": ("dataset", "summary", "results"),
    "score": ("dataset", "summary", "results"),
    "sweep": ("settings",),
    "comparison": ("systems", "measures"),
}


class _Named(msgspec.Struct):
    id: str
    name: str


class _Reference(msgspec.Struct):
    name: str
    entity_ids: list[str]


class _Question(msgspec.Struct):
    id: str
    query: str
    tags: list[str]
    linked: list[_Named]
    ranked: list[_Named]
    references: list[_Reference]
    metrics: dict[str, float | None]


class _Mean(msgspec.Struct):
    mean: float | None
    n: int


class _Summary(msgspec.Struct):
    k: int
    questions: int
    measures: dict[str, _Mean]
    by_tag: dict[str, Json]


class _Result(msgspec.Struct):
    dataset: Json
    summary: _Summary
    results: list[_Question]


class _Sweep(msgspec.Struct):
    settings: list[Json]


class _Comparison(msgspec.Struct):
    systems: list[Json]
    measures: dict[str, list[Json]]


SHAPES = {"eval": _Result, "score": _Result, "sweep": _Sweep, "comparison": _Comparison}


@dataclass(frozen=True, slots=True)
class Document:
    """A results file. content: the JSON object as written. name: the file's, without its ending. title: what
    reports are headed with, "" for the gold set's name. since: earlier results, to say what changed."""

    path: Path
    content: dict[str, Any]
    title: str = ""
    since: Path | None = None

    @property
    def kind(self) -> str:
        return str(self.content["kind"])

    @property
    def name(self) -> str:
        return nfc(self.path.name).removesuffix(".gz").removesuffix(".json")

    @property
    def has_questions(self) -> bool:
        return self.kind in ("eval", "score")


def read_document(path: Path) -> Document:
    """Raises InputError where the file is no results file, says of which version it is, or lacks a part."""
    theirs = upstream_document(path)
    if theirs is not None:
        return Document(path, theirs)
    try:
        content = msgspec.json.decode(read_bytes(path))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            said(
                "{path}: wanted a results file (JSON), but it doesn't read as one: {error}",
                path=path,
                error=error,
            )
        ) from error
    if not isinstance(content, dict):
        raise InputError(
            said("{path}: wanted a results file, an object; got {got}", path=path, got=json_kind(content))
        )
    kind = content.get("kind")
    if not isinstance(kind, str) or kind not in NEEDED:
        raise InputError(
            said(
                "{path}: wanted a file that eval, score, sweep or compare wrote; its 'kind' is {got}",
                path=path,
                got=json_kind(kind),
            )
        )
    if content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(
            said(
                "{path}: wanted schema_version {wanted}, got {got}; make the file again with this version",
                path=path,
                wanted=SCHEMA_VERSION,
                got=json_kind(content.get("schema_version")),
            )
        )
    missing = [part for part in NEEDED[kind] if part not in content]
    if missing:
        raise InputError(
            said(
                "{path}: '{missing}' is missing from this {kind} file; it was cut or changed",
                path=path,
                missing=missing[0],
                kind=kind,
            )
        )
    try:
        msgspec.convert(content, SHAPES[kind])
    except msgspec.ValidationError as error:
        raise InputError(
            said(
                "{path}: this {kind} file was changed and can't be shown: {error}",
                path=path,
                kind=kind,
                error=error,
            )
        ) from error
    for setting in content["settings"] if kind == "sweep" else ():
        setting.setdefault("system", setting.get("retriever"))  # as files had it that vary nothing else
    return Document(path, content)
