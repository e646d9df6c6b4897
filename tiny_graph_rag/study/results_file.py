"""Results files read back: what a comparison needs of each question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import RunError, json_kind
from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said
from tiny_graph_rag.study.gates import speeds
from tiny_graph_rag.study.upstream_results import upstream_document
from tiny_graph_rag.version import SCHEMA_VERSION

# Settings that change no figure: where files lie, what results keep, how many calls go out at once.
INDIFFERENT = (
    *("storage.kg_dir", "storage.dataset_dir", "storage.results_dir"),
    *("evaluation.save_reasons", "evaluation.latency_sample", "evaluation.seed"),
    *("openai.concurrency", "openai.timeout", "openai.largest_reply", "embeddings.embeddings_batch"),
)
ENDINGS = (".gz", ".json", "-results")


class _Reference(msgspec.Struct):
    name: str
    verdict: str | None = None


class _Question(msgspec.Struct):
    id: str
    metrics: dict[str, float | None]
    query: str = ""
    tags: list[str] = []
    references: list[_Reference] = []
    group: str | None = None


class _File(msgspec.Struct):
    name: str
    sha256: str = ""
    selection: dict[str, Any] | None = None


class _Summary(msgspec.Struct):
    k: int | None = None
    measures: dict[str, Any] = {}
    latency: dict[str, float | None] = {}
    failed: int = 0
    questions_per_second: float | None = None


class _Document(msgspec.Struct):
    dataset: _File
    summary: _Summary
    results: list[_Question]
    graph: _File | None = None
    config: dict[str, Any] = {}
    run: dict[str, Any] = {}
    kind: str = "eval"
    schema_version: int | None = None
    package_version: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """One results file. columns: measure as spelled → float64 (questions,), NaN where undefined.

    verdicts: of each question's references, name → verdict; empty where the file holds none. settings: what
    it was made with, `retrieval.hops` → value. speed: SPEEDS → figure, where the file holds it. groups: of
    each question, None where it stands for itself. failed: questions without an answer, which count as the
    worst there is.
    """

    name: str
    path: Path
    dataset_name: str
    dataset_sha256: str
    graph_sha256: str
    selection: dict[str, Any] | None
    k: int | None
    ids: tuple[str, ...]
    queries: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    columns: dict[str, NDArray[np.float64]]
    verdicts: tuple[dict[str, str], ...]
    settings: dict[str, Any] = field(default_factory=dict)
    speed: dict[str, float] = field(default_factory=dict)
    groups: tuple[str | None, ...] = ()
    failed: int = 0


def read_system(path: Path) -> System:
    """Raises RunError where the file is no results file of `eval` or `score`."""
    theirs = upstream_document(path)
    try:
        if theirs is None:
            found = msgspec.json.decode(read_bytes(path), type=_Document)
        else:
            found = msgspec.convert(theirs, _Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(
            said(
                "{path}: wanted a results file that `eval` or `score` wrote, but it doesn't read "
                "as one: {error}",
                path=path,
                error=error,
            )
        ) from error
    return _system(found, path)


def system_of(content: dict[str, Any], path: Path) -> System:
    """The same of a document in memory. path: names it. Raises RunError where it is no results document."""
    try:
        return _system(msgspec.convert(content, _Document), path)
    except msgspec.ValidationError as error:
        raise RunError(
            said("{path}: this results document was changed: {error}", path=path, error=error)
        ) from error


def _system(found: _Document, path: Path) -> System:
    if found.kind not in ("eval", "score"):
        raise RunError(
            said(
                "{path}: wanted what `eval` or `score` wrote; its 'kind' is {kind}",
                path=path,
                kind=repr(found.kind),
            )
        )
    if found.schema_version != SCHEMA_VERSION:
        raise RunError(
            said(
                "{path}: wanted schema_version {wanted}, got {got}; make the file again with this version",
                path=path,
                wanted=SCHEMA_VERSION,
                got=json_kind(found.schema_version),
            )
        )
    ids = [row.id for row in found.results]
    if len(set(ids)) < len(ids):
        twice = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise RunError(said("{path}: question {id} stands in the file twice", path=path, id=repr(twice)))
    name = nfc(path.name)
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    measures = list(found.summary.measures) or sorted(
        {metric for row in found.results for metric in row.metrics}
    )
    return System(
        name=name,
        path=path,
        dataset_name=found.dataset.name,
        dataset_sha256=found.dataset.sha256,
        graph_sha256=found.graph.sha256 if found.graph else "",
        selection=found.dataset.selection,
        k=found.summary.k,
        ids=tuple(ids),
        queries=tuple(row.query for row in found.results),
        tags=tuple(tuple(row.tags) for row in found.results),
        columns={measure: _column(found.results, measure) for measure in measures},
        verdicts=tuple(
            {reference.name: reference.verdict for reference in row.references if reference.verdict}
            for row in found.results
        ),
        settings=_settings(found),
        speed=speeds(found.summary.latency, found.summary.questions_per_second),
        groups=tuple(row.group for row in found.results),
        failed=found.summary.failed,
    )


def _settings(found: _Document) -> dict[str, Any]:
    """What decides the figures, spelled as in config.yaml; a foreign run was not made by our settings."""
    always = {"graph": found.graph.name if found.graph else None, "package version": found.package_version}
    if found.kind == "score":
        return {"run": found.run.get("name")} | always
    return dict(_deciding(found.config)) | always


def _deciding(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in config.items():
        for name, value in (values if isinstance(values, dict) else {}).items():
            if f"{section}.{name}" not in INDIFFERENT:
                yield f"{section}.{name}", value


def _column(rows: list[_Question], measure: str) -> NDArray[np.float64]:
    values = (row.metrics.get(measure) for row in rows)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
