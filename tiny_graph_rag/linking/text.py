"""Seeds by text: the entities whose own texts match most of what a question says outside its mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import TextIndex, content_stem
from tiny_graph_rag.linking.base import TEXT, LinkedQuestion, Linker, LinkerTask, Seed, linker
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.linking.question_words import content_stems_of, tokens, without_seeds
from tiny_graph_rag.linking.relation_words import RelationWords, milli

# Questions whose text seeds are kept: those that differ by the names in them have the same.
KNOWN_QUESTIONS = 1 << 14


@linker("names+text", "names, plus entities whose texts match other words")
class NameAndTextLinker(Linker):
    """The seeds of `names`, then up to `ranking.text_seeds` seeds by text, the best match first.

    Every text seed has the rule `text`, the words that it matches as its mention, and the same weight.
    """

    def __init__(self, names: Linker, graph: KnowledgeGraph, ranking: RankingPrices) -> None:
        self.names, self.graph, self.ranking = names, graph, ranking
        self.index = graph.shared(TextIndex, lambda: TextIndex(graph))
        self.types = RelationWords.of(graph, ranking)
        self._known: dict[tuple[tuple[str, ...], bool], tuple[Seed, ...]] = {}

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(NameLinker.of(task), task.graph, task.config.ranking)

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [self._with_text_seeds(question) for question in self.names.link(examples)]

    def _with_text_seeds(self, question: LinkedQuestion) -> LinkedQuestion:
        words, named = tuple(tokens(without_seeds(question))[0].values()), bool(question.seeds)
        seeds = self._known.get((words, named))
        if seeds is None:
            if len(self._known) >= KNOWN_QUESTIONS:
                self._known.clear()
            seeds = self._known[words, named] = self._seeds(words, named=named)
        if not seeds:
            return question
        return replace(question, seeds=(*question.seeds, *seeds), tried=())

    def _seeds(self, words: Sequence[str], *, named: bool) -> tuple[Seed, ...]:
        stems = content_stems_of(words)
        if not stems or not (named or self._is_told(words)):
            return ()
        entities, bits = self.index.total(map(self.index.own_bits, stems))
        best = np.lexsort((self.graph.name_rank[entities], -bits))[: self.ranking.text_seeds]
        return tuple(
            Seed(entity, " ".join(words_held(self.index, words, entity)), None, None, TEXT, 1 / len(best))
            for entity in entities[best].tolist()
        )

    def _is_told(self, words: Sequence[str]) -> bool:
        """Whether some entity's texts hold enough of a question that names nothing. A word that relation
        types claim says no more than its type does."""
        stems = content_stems_of(word for word in words if not len(self.types.claims(word)))
        scores = [self.index.bits(stem) for stem in stems]
        asked = sum(score.most or milli(self.index.rarity(1)) for score in scores)
        best = int(self.index.total(scores).sums.max(initial=0))
        return best > 0 and best * 1000 >= milli(self.ranking.told_least) * asked


def words_held(index: TextIndex, words: Iterable[str], entity: int) -> tuple[str, ...]:
    """Those of the words that an entity's own texts hold, each once, in order."""
    stems = ((word, content_stem(word)) for word in dict.fromkeys(words))
    return tuple(word for word, stem in stems if stem is not None and index.own_bits(stem).of(entity))
