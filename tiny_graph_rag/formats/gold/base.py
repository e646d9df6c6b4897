"""What a gold format is, and what it gives.

To add one, write a GoldFormat under `@gold_format(…)` in a module of this folder, or in another package with
an entry point in the group `tiny_graph_rag.gold_formats`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

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


@dataclass(frozen=True, slots=True)
class GoldSet:
    questions: tuple[GoldQuestion, ...]
    name: str
    sha256: str
    format: str
    selection: dict[str, Any] | None = field(default=None)


class GoldFormat(ABC):
    has_splits: ClassVar[bool] = False
    """Whether `--split` can choose a part of such a file."""

    @abstractmethod
    def fit(self, head: Head) -> Fit:
        """How well the head of a file fits."""

    @abstractmethod
    def read(self, path: Path, split: str | None = None) -> list[GoldQuestion]:
        """The questions. Raises DatasetError with every problem: file, line, what was wanted, what came."""


GOLD_FORMATS: Registry[GoldFormat] = Registry(
    "gold format", "tiny_graph_rag.formats.gold", first=("json_forms",)
)
F = TypeVar("F", bound=GoldFormat)


def gold_format(name: str, line: str) -> Callable[[type[F]], type[F]]:
    """Register a GoldFormat class. line: what such a file holds, for `--help` and the docs."""

    def register(made: type[F]) -> type[F]:
        GOLD_FORMATS.add(name, made(), made)
        return made

    return register
