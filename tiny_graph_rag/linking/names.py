"""Linking by the names and aliases that stand in the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.tokens import words_tried
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, LinkerTask, Seed, in_text_order, linker
from tiny_graph_rag.linking.coreference import from_context, is_telling
from tiny_graph_rag.linking.mentions import Mention, MentionFinder


@linker("names", "names, aliases, pronouns; similar names with --fuzzy")
class NameLinker(Linker):
    """Names in the question; pronouns and what is left unsaid from its context; then, if wanted, near names.

    fuzzy: how similar a misspelt name must be, in (0, 1]; None for exact names only.
    """

    def __init__(self, graph: KnowledgeGraph, names: NameIndex, fuzzy: float | None = None) -> None:
        self.finder = MentionFinder(graph, names)
        self.near = None
        if fuzzy is not None:
            from tiny_graph_rag.linking.fuzzy import NearNames

            self.near = NearNames(graph, names, fuzzy)

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(task.graph, task.names, task.config.retrieval.fuzzy)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        texts = [example.query for example in examples]
        for example in examples:
            texts.extend(example.context)
        linked_texts = self.finder.find(texts)
        linked, turn = [], len(examples)
        for example, mentions in zip(examples, linked_texts, strict=False):
            turns = linked_texts[turn : turn + len(example.context)]
            turn += len(example.context)
            seeds = self._seeds(example, mentions, turns)
            tried = () if seeds else words_tried((example.query, *example.context))
            linked.append(LinkedQuestion(example.query, seeds, example.id, tried=tried))
        return linked

    def _seeds(
        self, example: Example, mentions: Sequence[Mention], turns: Sequence[Sequence[Mention]]
    ) -> tuple[Seed, ...]:
        near = self.near.seeds(example.query, mentions) if self.near else []
        from_turns: list[Seed] = []
        if turns:
            telling = [mention for mention in mentions if is_telling(mention)]
            earlier = [[mention for mention in turn if is_telling(mention)] for turn in turns]
            from_turns = from_context(example.query, telling, earlier, self.finder.kinds, unsaid=not near)
            mentions = telling if from_turns else mentions
        if near:
            mentions = [mention for mention in mentions if is_telling(mention)]
        named: list[Seed] = []
        for mention in mentions:
            start, end = mention.start, mention.end
            named += Seed.sharing(mention.entities, example.query[start:end], start, end, mention.rule)
        return in_text_order([*named, *from_turns, *near])
