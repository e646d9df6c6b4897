"""What a gold format is, and what it gives.

To add one, write a reader under `@gold_format(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.gold_formats`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.registry import Registry


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """grades: document (a name or an id) → grade in file order; 0 is judged irrelevant, below 0 not judged.

    texts: what to match by text. relationships: (source, target, type). seeds: what the question names.
    """

    id: str
    grades: dict[str, int]
    query: str = ""
    tags: tuple[str, ...] = ()
    expected_types: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    relationships: tuple[tuple[str, str, str], ...] = ()
    seeds: tuple[str, ...] = ()
    group: str | None = None
    unknown: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoldSet:
    questions: tuple[GoldQuestion, ...]
    name: str
    sha256: str
    format: str
    selection: dict[str, Any] | None = field(default=None)


GoldReader = Callable[[Path, str | None], list[GoldQuestion]]


@dataclass(frozen=True, slots=True)
class GoldFormat:
    """example: a sound file, small. fit: how well the head of a file fits. read: (path, split or None) →
    questions; raises DatasetError with every problem: file, line, what was wanted, what came. has_splits:
    whether `--split` chooses a part.
    """

    name: str
    example: str
    fit: Callable[[Head], Fit]
    read: GoldReader
    has_splits: bool = False


GOLD_FORMATS: Registry[GoldFormat] = Registry(
    "gold format", "tiny_graph_rag.formats.gold", first=("json_forms",)
)


def gold_format(
    name: str, line: str, fit: Callable[[Head], Fit], *, example: str, has_splits: bool = False
) -> Callable[[GoldReader], GoldReader]:
    """Register the reader below. line: what such a file holds, for `--help` and the docs.

    example: a small file with a line or more; the contract tests read it, and what is left when it is cut.
    """

    def register(reader: GoldReader) -> GoldReader:
        GOLD_FORMATS.add(name, GoldFormat(name, example, fit, reader, has_splits), reader)
        return reader

    return register


def looks_like_a_run(value: Any) -> bool:
    """Whether the first JSON value of a file speaks of a run, which somebody took for a gold set."""
    return isinstance(value, dict) and ("entities" in value or "topk" in value)
