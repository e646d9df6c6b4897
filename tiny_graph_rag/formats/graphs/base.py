"""What a graph format is.

To add one, write a GraphFormat under `@graph_format(…)` in a module of this folder, or in another package
with an entry point in the group `tiny_graph_rag.graph_formats`. Import what only reading needs inside `read`:
a graph from the cache needs none of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.detection import Fit, Head
from tiny_graph_rag.registry import Choice, Registry

if TYPE_CHECKING:
    from tiny_graph_rag.graph.model import KnowledgeGraph


class GraphFormat(ABC):
    @abstractmethod
    def fit(self, head: Head) -> Fit:
        """How well the head of a file, or a folder, fits."""

    @abstractmethod
    def read(self, path: Path) -> KnowledgeGraph:
        """The graph, without name and SHA-256, which the caller adds.

        Raises GraphError with every problem: file, line or field, what was wanted, what came.
        """

    def write(self, graph: KnowledgeGraph) -> Iterator[bytes]:
        """The file, piece by piece, for formats that can. Raises UsageError for those that can't."""
        raise UsageError("this graph format can only be read")


GRAPH_FORMATS: Registry[GraphFormat] = Registry(
    "graph format", "tiny_graph_rag.formats.graphs", first=("kg_json",)
)
F = TypeVar("F", bound=GraphFormat)


def graph_format(name: str, line: str, *, suffixes: tuple[str, ...]) -> Callable[[type[F]], type[F]]:
    """Register a GraphFormat class. line: what such a file holds, for `--help` and the docs.

    suffixes: plain strings, in small letters: ends of the names of such files. Formats may share one.
    """

    def register(made: type[F]) -> type[F]:
        GRAPH_FORMATS.add(name, made(), made)
        return made

    return register


def suffixes(choices: Mapping[str, Choice]) -> dict[str, list[str]]:
    """Suffix → the formats of such files, longest suffix first; no format is imported."""
    found: dict[str, list[str]] = {}
    for name, choice in choices.items():
        for each in choice.settings.get("suffixes", ()):
            found.setdefault(each, []).append(name)
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))
