"""docs/measures.md, made from the registry by `python -m tiny_graph_rag.metrics.reference`."""

from __future__ import annotations

import math

from tiny_graph_rag.metrics import KINDS
from tiny_graph_rag.metrics.base import MeasureKind


def spelling(kind: MeasureKind) -> str:
    """`ndcg@k`, `mrr[@k]` where the cutoff may be left out, `rprec` where there is none."""
    return kind.name + {"required": "@k", "optional": "[@k]", "none": ""}[kind.cutoff]


def span(kind: MeasureKind) -> str:
    """`0–1`, with ↓ where less is better."""
    high = "∞" if math.isinf(kind.high) else f"{kind.high:g}"
    return f"{kind.low:g}–{high}{'' if kind.higher_is_better else ' ↓'}"


def reference() -> str:
    """docs/measures.md: `python -m tiny_graph_rag.metrics.reference > docs/measures.md`."""
    lines = [
        "# Measures",
        "",
        "Made from the registry by `uv run python -m tiny_graph_rag.metrics.reference`; `measures` lists the",
        'same, `--measures "ndcg@5,recall@{1,3,5,10},mrr"` chooses. [@k] may be left out.',
        "",
        "A question without gold is undefined (null in files, in no mean) unless the definition says else;",
        "one that retrieved nothing scores 0. Every mean has the number of questions behind it and a 95 %",
        "interval: Wilson's where all values are 0 or 1, else the percentiles of a seeded bootstrap over",
        "questions (above 1,000 of them from mean, spread and skewness: what the bootstrap tends to). Below",
        "30 questions it is marked: it can't be relied on.",
        "",
        "| measure | definition | range | source |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{spelling(each)}` | {each.definition} | {span(each)} | {each.source} |"
        for each in KINDS.values()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
