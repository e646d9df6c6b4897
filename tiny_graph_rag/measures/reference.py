"""docs/measures.md, made from the registry by `python -m tiny_graph_rag.measures.reference`."""

from __future__ import annotations

import math

from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.measures.base import MeasureKind

CUTOFFS = {"required": "@k", "optional": "[@k]", "none": ""}


def listed() -> list[tuple[str, str, str, str]]:
    """(spelling, range, definition, source) of every measure."""
    return [(spelling(kind), span(kind), defined(kind), kind.source) for _, kind in KINDS.items()]


def spelling(kind: MeasureKind) -> str:
    """`ndcg@k`, `mrr[@k]` where the cutoff may be left out, `rprec` where there is none, `rbp[(p=0.8)]…`."""
    given = ",".join(f"{name}={parameter.default:g}" for name, parameter in kind.parameters.items())
    return kind.name + (f"[({given})]" if given else "") + CUTOFFS[kind.cutoff]


def defined(kind: MeasureKind) -> str:
    """The definition, then its parameters."""
    more = (
        f"{name}: {parameter.meaning}, {parameter.bounds}." for name, parameter in kind.parameters.items()
    )
    return " ".join((kind.definition, *more))


def span(kind: MeasureKind) -> str:
    """`0–1`, with ↓ where less is better."""
    high = "∞" if math.isinf(kind.high) else f"{kind.high:g}"
    return f"{kind.low:g}–{high}{'' if kind.higher_is_better else ' ↓'}"


def reference() -> str:
    """docs/measures.md: `python -m tiny_graph_rag.measures.reference > docs/measures.md`."""
    lines = [
        "# Measures",
        "",
        "Made from the registry by `uv run python -m tiny_graph_rag.measures.reference`; `measures` lists",
        'the same, `--measures "ndcg@5,recall@{1,3,5,10},mrr"` chooses. What stands in square',
        "brackets may be left out.",
        "",
        "A question without gold is undefined (null in files, in no mean) unless the definition says else or",
        "asks for no entities (but types, sources, relationships: where a question has these it counts);",
        "one that retrieved nothing scores 0. Every mean has the number of questions behind it and a 95 %",
        "interval, which is marked with ? where it can't be relied on: [statistics.md](statistics.md).",
        "",
        "| measure | definition | range | source |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {meaning} | {its_span} | {source} |" for name, its_span, meaning, source in listed()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
