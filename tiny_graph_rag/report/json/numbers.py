"""What every results file has in common: its head, rows one a line, means, counts and seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.measures import Mean, Measure
from tiny_graph_rag.measures.statistics import percentiles
from tiny_graph_rag.measures.summary import Slice
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

Made = Mapping[str, Any]
"""`at` (UTC, ISO 8601), `command` and `label` (null where none) of the run that made a file; `patch` where
one was applied."""

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # texts of errors are a kind of str

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import Selection
    from tiny_graph_rag.messages import Said
    from tiny_graph_rag.study.waterfall import Step


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


def number(value: float) -> float | None:
    """JSON has no NaN: undefined is null."""
    return None if math.isnan(value) else float(value)


def mean_fields(mean: Mean) -> dict[str, Any]:
    """A mean as results files hold it."""
    return {
        "mean": number(mean.mean),
        "low": number(mean.low),
        "high": number(mean.high),
        "n": mean.n,
        "reliable": mean.reliable,
    }


def selection_json(chosen: Selection) -> dict[str, Any] | None:
    """`selection` of a gold set: null where all of it was asked."""
    return {"limit": chosen.limit, "tags": list(chosen.tags), "ids": list(chosen.ids)} if chosen else None


def said_json(sentence: Said) -> dict[str, Any]:
    """A sentence with names in braces, and what stands there: for showing it in another language."""
    return {"said": sentence.template, "values": dict(sentence.values)}


def token_fields(usage: Mapping[str, int]) -> dict[str, Any]:
    """`total_token_usage`, the one number that scripts read, and the same by kind."""
    return {"total_token_usage": usage["total_tokens"], "token_usage": dict(usage)}


def headline(
    found: Mapping[Measure, Mean], cutoff: int, mean: Callable[[Measure], float]
) -> dict[str, float | None]:
    """The four means under their fixed names. mean: of a measure that was not asked for."""
    fixed = {
        "mean_precision_at_k": Measure("precision", cutoff),
        "mean_recall_at_k": Measure("recall", cutoff),
        "mean_mrr": Measure("mrr"),
        "mean_ndcg_at_k": Measure("ndcg", cutoff),
    }
    return {name: number(found[part].mean if part in found else mean(part)) for name, part in fixed.items()}


def latency_document(seconds: NDArray[np.float64]) -> dict[str, Any]:
    """Seconds a question, over those that were timed."""
    timed = seconds[~np.isnan(seconds)]
    if not len(timed):
        return {"mean": None, "p50": None, "p95": None, "n": 0}
    p50, p95 = percentiles(np.sort(timed)[:, None], (0.5, 0.95))[0].tolist()
    return {"mean": float(timed.mean()), "p50": p50, "p95": p95, "n": len(timed)}


def slice_document(part: Slice) -> dict[str, Any]:
    """Counts and means of all questions or of one tag."""
    return {
        "questions": part.questions,
        "scored": part.questions - part.without_gold,
        "without_gold": part.without_gold,
        "rightly_empty": part.rightly_empty,
        "nothing_retrieved": part.nothing_retrieved,
        "failed": part.failed,
        "failed_without_gold": part.failed_without_gold,
        **({"groups": part.groups} if part.groups is not None else {}),
        "measures": {str(measure): mean_fields(mean) for measure, mean in part.measures.items()},
    }


def steps_json(steps: Sequence[Step]) -> list[dict[str, Any]]:
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
