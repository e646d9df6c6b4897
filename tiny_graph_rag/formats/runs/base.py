"""What a run format is, and what it gives.

To add one, write a RunFormat under `@run_format(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.run_formats`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.registry import Registry


class Retrieved(NamedTuple):
    """One place of a ranking. Of id and name at least one is not empty."""

    name: str
    id: str = ""
    score: float | None = None
    text: str = ""
    type: str = ""
    source: str = ""

    @property
    def key(self) -> str:
        return self.id or self.name


@dataclass(frozen=True, slots=True)
class WrittenRun:
    """A run as its file has it. rankings: question → places, best first, duplicates and all.

    latency_seconds: of the questions that say it. usage: token counts of a question, as written.
    """

    rankings: dict[str, list[Retrieved]]
    format: str = ""
    latency_seconds: dict[str, float] = field(default_factory=dict)
    usage: dict[str, dict[str, Any]] = field(default_factory=dict)


class RunFormat(ABC):
    @abstractmethod
    def fit(self, head: Head) -> Fit:
        """How well the head of a file fits."""

    @abstractmethod
    def read(self, path: Path) -> WrittenRun:
        """The run. Raises RunError with every problem: file, line, what was wanted, what came."""


RUN_FORMATS: Registry[RunFormat] = Registry("run format", "tiny_graph_rag.formats.runs", first=("rows",))
F = TypeVar("F", bound=RunFormat)


def run_format(name: str, line: str) -> Callable[[type[F]], type[F]]:
    """Register a RunFormat class. line: what such a file holds, for `--help` and the docs."""

    def register(made: type[F]) -> type[F]:
        RUN_FORMATS.add(name, made(), made)
        return made

    return register
