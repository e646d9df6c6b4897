"""Linking by the names and aliases that stand in the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tiny_graph_rag.dataset.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, Seed
from tiny_graph_rag.linking.coreference import from_context, is_telling
from tiny_graph_rag.linking.mentions import Mention, MentionFinder


class NameLinker(Linker):
    """Names in the question; pronouns and what is left unsaid from its context."""

    name: ClassVar[str] = "names"

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.finder = MentionFinder(graph, names)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        texts = [example.query for example in examples]
        for example in examples:
            texts.extend(example.context)
        found = self.finder.find(texts)
        linked, turn = [], len(examples)
        for example, mentions in zip(examples, found, strict=False):
            seeds: list[Seed] = []
            if example.context:
                turns = [
                    tuple(filter(is_telling, each)) for each in found[turn : turn + len(example.context)]
                ]
                turn += len(example.context)
                telling = tuple(filter(is_telling, mentions))
                seeds = from_context(example.query, telling, turns, self.finder.kinds)
                mentions = telling if seeds else mentions
            seeds += _seeds(example.query, mentions)
            seeds.sort(key=lambda seed: -1 if seed.start is None else seed.start)
            linked.append(LinkedQuestion(example.query, tuple(seeds)))
        return linked


def _seeds(text: str, mentions: Sequence[Mention]) -> list[Seed]:
    return [
        Seed(entity, text[each.start : each.end], each.start, each.end, each.rule, 1 / len(each.entities))
        for each in mentions
        for entity in each.entities
    ]
