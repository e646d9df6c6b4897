"""Linking by the names and aliases that stand in the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tiny_graph_rag.dataset.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, Seed
from tiny_graph_rag.text import fold


class NameLinker(Linker):
    """Longest name first, from word start to word end, not overlapping."""

    name: ClassVar[str] = "names"

    def __init__(self, names: NameIndex) -> None:
        self.names = names
        self.longest = max(map(len, names.bearers), default=0)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [replace(self._linked(example.query), id=example.id) for example in examples]

    def _linked(self, text: str) -> LinkedQuestion:
        starts = [
            i for i in range(len(text)) if not text[i].isspace() and (i == 0 or not text[i - 1].isalnum())
        ]
        taken = [False] * len(text)
        found: list[Seed] = []
        spans = [
            (end - start, start, end)
            for start in starts
            for end in range(start + 1, min(len(text), start + 2 * self.longest) + 1)
        ]
        for _, start, end in sorted(spans, key=lambda span: (-span[0], span[1])):
            if any(taken[start:end]) or not _ends_here(text, end):
                continue
            entities, level = (
                self.names.resolve(text[start:end])
                if fold(text[start:end]) in self.names.bearers
                else ((), None)
            )
            if entities:
                taken[start:end] = [True] * (end - start)
                found.extend(
                    Seed(entity, text[start:end], start, end, level or "", 1 / len(entities))
                    for entity in entities
                )
        return LinkedQuestion(text, tuple(sorted(found, key=lambda seed: (seed.start or 0, seed.entity))))


def _ends_here(text: str, end: int) -> bool:
    return end == len(text) or not text[end].isalnum() or "가" <= text[end - 1] <= "힣"
