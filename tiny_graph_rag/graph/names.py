"""Names and aliases → entities: the index behind gold-set resolution."""

from __future__ import annotations

from dataclasses import dataclass

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.text import fold, nfc


@dataclass(frozen=True, slots=True)
class Bearer:
    """An entity that bears a name, with the spelling under which the graph knows it."""

    entity: int
    spelling: str
    is_alias: bool


@dataclass(frozen=True, slots=True, eq=False)
class NameIndex:
    """Folded spelling → its bearers. Build once a graph with `NameIndex.of`."""

    bearers: dict[str, tuple[Bearer, ...]]

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> NameIndex:
        found: dict[str, list[Bearer]] = {}
        for row, name in enumerate(graph.entities.names):
            found.setdefault(fold(name), []).append(Bearer(row, name, is_alias=False))
        aliases = graph.entities.aliases
        for row in (aliases.offsets[1:] > aliases.offsets[:-1]).nonzero()[0].tolist():
            for alias in aliases[row]:
                found.setdefault(fold(alias), []).append(Bearer(row, alias, is_alias=True))
        return cls({key: tuple(each) for key, each in found.items() if key})

    def resolve(self, name: str) -> tuple[tuple[int, ...], str | None]:
        """All entities that `name` means, ascending, and the rule that found them.

        By exact name ("name"), else exact alias ("alias"), else folded name or alias ("folded"); the first
        level that finds anything decides. Nothing found: ((), None).
        """
        candidates = self.bearers.get(fold(name), ())
        written = nfc(name)
        exact = [each for each in candidates if nfc(each.spelling) == written]
        levels = (
            ("name", [each for each in exact if not each.is_alias]),
            ("alias", exact),
            ("folded", candidates),
        )
        for level, found in levels:
            if found:
                return tuple(sorted({each.entity for each in found})), level
        return (), None
