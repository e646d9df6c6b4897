"""Results files read back: what a comparison needs of each question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import RunError, json_kind
from tiny_graph_rag.files import mapped
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.results import KINDS, Json, Latency, Question, Reference, Results, Summary, part
from tiny_graph_rag.version import SCHEMA_VERSION

# Settings that change no figure: where files lie, what results keep, how many calls go out at once.
INDIFFERENT = (
    *("storage.kg_dir", "storage.dataset_dir", "storage.results_dir"),
    *("evaluation.save_reasons", "evaluation.latency_sample", "evaluation.seed"),
    *("openai.concurrency", "openai.timeout", "embeddings.embeddings_batch"),
)
ENDINGS = (".gz", ".json", "-results")
WRITTEN_BY = {"eval": "eval", "score": "score", "sweep": "sweep", "comparison": "compare"}  # kind → command
MEASURED = ("eval", "score")


@cache  # made when first read: most commands read no earlier results
def _compared() -> Any:
    """What a comparison needs of a results file."""
    reference: Any = part(Reference, "name", verdict=None)
    question: Any = part(
        Question,
        *("id", "metrics"),
        **{"query": "", "tags": [], "references": [], "group": None},
        types={"references": list[reference]},
    )
    summary: Any = part(
        Summary,
        **{"k": None, "measures": {}, "latency": None, "failed": 0, "questions_per_second": None},
        types={"measures": Json},
    )
    return part(
        Results,
        *("kind", "dataset", "summary", "results"),
        **{"graph": None, "config": {}, "run": None, "package_version": None, "patch": None, "made": None},
        types={"summary": summary, "results": list[question]},
    )


class OtherFileError(RunError):
    """No results file, or one of a command that isn't wanted."""


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Version(msgspec.Struct):
    kind: Any = None
    schema_version: Any = None


def read_results(path: Path, record: Any = None) -> Any:
    """A file of `eval` or `score` as `record`, a type of tiny_graph_rag.results or a `part` of one; None: as
    its own kind's. Raises as `decoded`."""
    return decoded(path, MEASURED, record)[1]


def decoded(path: Path, commands: Sequence[str], record: Any = None) -> tuple[bytes | memoryview, Any]:
    """The JSON of a results file and what it was decoded into. commands: whose files are wanted.

    Raises RunError for what is no results file, of another command or version, or lacks a part.
    """
    raw: bytes | memoryview = memoryview(mapped(path))
    try:
        version = msgspec.json.decode(raw, type=_Version)
    except UNREADABLE as error:
        raise RunError(
            "{path}: not a results file: {error}. `eval` and `score` write one", path=path, error=error
        ) from error
    if not isinstance(version.kind, str) or WRITTEN_BY.get(version.kind) not in commands:
        raise OtherFileError(
            "{path}: wanted a results file of {commands}; its 'kind' is {kind}",
            path=path,
            commands=", ".join(commands),
            kind=repr(version.kind) if isinstance(version.kind, str) else json_kind(version.kind),
        )
    if version.schema_version != SCHEMA_VERSION:
        raise RunError(
            "{path}: wanted schema_version {wanted}, got {got}; write the file again with this version",
            path=path,
            wanted=SCHEMA_VERSION,
            got=json_kind(version.schema_version),
        )
    try:
        return raw, msgspec.json.decode(raw, type=record or KINDS[version.kind])
    except UNREADABLE as error:
        raise changed_file(path, version.kind, error) from error


def changed_file(path: Path, kind: str, error: Exception) -> RunError:
    return RunError("{path}: this {kind} file was cut or changed: {error}", path=path, kind=kind, error=error)


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """One results file. name: what `--label` called it, else the file's. columns: measure as spelled →
    float64 (questions,), NaN where undefined.

    verdicts: of each question's references, name → verdict; empty where the file holds none. settings: what
    it was made with, `retrieval.hops` → value. speed: as `speeds` has it. groups: of
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
    return _system(read_results(path, _compared()), path)


def system_of(content: Json, path: Path) -> System:
    """The same of a document in memory. path: names it. Raises RunError where it was changed."""
    try:
        return _system(msgspec.convert(content, _compared()), path)
    except msgspec.ValidationError as error:
        raise RunError(
            "{path}: this results document was changed: {error}", path=path, error=error
        ) from error


def _system(found: Any, path: Path) -> System:
    ids = [row.id for row in found.results]
    if len(set(ids)) < len(ids):
        twice = next(id_ for id_ in ids if ids.count(id_) > 1)
        raise RunError(
            "{path}: question {id} is in the file twice; keep one of them", path=path, id=repr(twice)
        )
    measures = list(found.summary.measures) or sorted(
        {metric for row in found.results for metric in row.metrics}
    )
    return System(
        name=(found.made.label if found.made else None) or short_name(path),
        path=path,
        dataset_name=found.dataset.name,
        dataset_sha256=found.dataset.sha256,
        graph_sha256=found.graph.sha256 if found.graph else "",
        selection=msgspec.to_builtins(found.dataset.selection),
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
        speed=speeds(found.summary.latency or Latency(), found.summary.questions_per_second),
        groups=tuple(row.group for row in found.results),
        failed=found.summary.failed,
    )


def short_name(path: Path) -> str:
    """The file's, without its endings."""
    name = nfc(path.name)
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name


def speeds(latency: Latency, questions_per_second: float | None) -> dict[str, float]:
    """Seconds per question and questions per second, those of them that a results file holds."""
    figures = {
        "latency.mean": latency.mean,
        "latency.p50": latency.p50,
        "latency.p95": latency.p95,
        "throughput": questions_per_second,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _settings(found: Any) -> dict[str, Any]:
    """What decides the figures, spelled as in config.yaml; an external run was not made by our settings."""
    always = {"graph": found.graph.name if found.graph else None, "package version": found.package_version}
    if found.kind == "score":
        return {"run": found.run.name if found.run else None} | always
    return dict(_deciding(found.config)) | always | {"patch": found.patch.name if found.patch else None}


def _deciding(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for section, values in config.items():
        for name, value in (values if isinstance(values, dict) else {}).items():
            if f"{section}.{name}" not in INDIFFERENT:
                yield f"{section}.{name}", value


def _column(rows: Sequence[Any], measure: str) -> NDArray[np.float64]:
    values = (row.metrics.get(measure) for row in rows)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
