"""What an entity costs: five named parts that add up, and what each weighs.

    cost = link + path + text + neighbour + pagerank        score = 1 / (1 + cost)

The parts, in the order of `run.COST_PARTS`:

link       0 from a seed that the question names; more from a seed by text
path       the cheapest explanation by a path from that seed (docs/retrieval.md); where relation types say
           nothing, its hops
text       what the entity's own text score lacks to the best one's among the reached entities
neighbour  the same of the best text score among its neighbours
pagerank   the same of its personalised PageRank from the seeds

Texts only count as far as paths leave the question unexplained: where a path explains it, the last three are
0. All in millionths, so that threads, compilation and the order of a file change nothing.

`TextScores` is what texts say of the entities that a question reached: their own, their neighbours', and
PageRank from the seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import beyond, expanded, found_in, summed
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.tables import Adjacency
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.language.words import words_of
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.names import words_held
from tiny_graph_rag.linking.question_words import (
    MOST_OF_A_VOCABULARY,
    content_stems_of,
    tokens,
    types_say_something,
    without_seeds,
)
from tiny_graph_rag.retrieval.pagerank import Guide, RandomWalk, SynonymEdges
from tiny_graph_rag.retrieval.query import mentions_of

UNIT = 1_000_000  # a cost of 1
Column = NDArray[np.int64]
NarrowColumn = NDArray[np.int32]


class Weights(Struct, frozen=True):
    """What a bit of each text score counts on one kind of graph, in thousandths; mentioned: of words inside
    the question's mentions. typed: whether its relation types say something."""

    typed: bool
    mentioned: int
    neighbour: int
    pagerank: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Weights:
        if not types_say_something(graph):
            return UNTYPED
        return FREE_TEXT if len(graph.relations.types.names) > MOST_OF_A_VOCABULARY else VOCABULARY


# A path explains a question through relation types, so what else speaks for an entity depends on what its
# graph's types are: a vocabulary; so many that each is one extractor's phrase; or one for all.
# docs/retrieval.md measures.
VOCABULARY = Weights(True, mentioned=250, neighbour=1000, pagerank=1000)
FREE_TEXT = Weights(True, mentioned=0, neighbour=1000, pagerank=2000)
UNTYPED = Weights(False, mentioned=500, neighbour=300, pagerank=1000)

KNOWN_SCORES = 1 << 23  # scores that are kept: for as many sets of words as these are
KEPT_QUESTIONS = 200  # for which it is kept what relations they speak of
MOST_SLOTS = 1 << 15  # relations looked at for the best neighbour
PLAIN = 1000  # weight of a relation that the question doesn't speak of
GUIDE = 3, 10  # of the bits that speak for a relation, so much is added to its weight, in thousandths


class TextScores:
    """Scores the questions of one graph. adjacency: the relations that may be walked."""

    def __init__(self, index: TextIndex, adjacency: Adjacency, weights: Weights) -> None:
        self.index, self.graph, self.adjacency = index, index.graph, adjacency
        # By neighbours' names and relation types too, where paths say nothing of these.
        self._mentioned, self._bits_of = weights.mentioned, index.own_bits if weights.typed else index.bits
        self.random_walk = RandomWalk(adjacency, SynonymEdges.of(index.graph))
        self._by_words = lru_cache(max(1, KNOWN_SCORES // max(1, len(self.graph))))(self._by_words_of)
        self._guide = lru_cache(KEPT_QUESTIONS)(self._guide_of)

    def of(self, question: LinkedQuestion, memory: Column | None = None) -> Column:
        """(3, entities): own, neighbour and near, in thousandths of bits. A name that is repeated counts each
        time.

        memory: as of `RandomWalk.bits`.
        """
        outside = tuple(content_stems_of(tokens(without_seeds(question))[0].values()))
        mentions = [seed.mention for seed in question.named if seed.start is not None]
        inside = content_stems_of(word for mention in mentions for word, *_ in words_of(mention))
        columns = np.zeros((3, len(self.graph)), np.int64)
        columns[:2] = self._by_words(outside)
        mentioned = self.index.total(self._bits_of(stem) for stem in inside if stem not in outside)
        columns[0, mentioned.rows] += mentioned.sums * self._mentioned // MILLI
        for mention, times in Counter(mentions_of(question.starts)).items():
            at, bits = self.random_walk.bits((*mention, self._guide(outside)), memory)
            columns[2, at] += times * bits
        return columns

    def _by_words_of(self, stems: tuple[str, ...]) -> tuple[NarrowColumn, NarrowColumn]:
        """What words outside the mentions say of all entities and of their neighbours; kept, for questions
        that differ by the names in them share it."""
        own, total = np.zeros(len(self.graph), np.int32), self.index.total(map(self.index.bits, stems))
        own[total.rows] = total.sums
        return own, self._neighbour(total.rows, total.sums).astype(np.int32)

    def words_in(self, question: LinkedQuestion, entity: int) -> tuple[str, ...]:
        """The question's words outside its mentions that the entity's own texts hold, in order."""
        words = tokens(without_seeds(question))[0].values()
        return words_held(self.index.own_bits, words, np.array([entity]))[0]

    def _neighbour(self, rows: NDArray[np.int64], bits: Column) -> Column:
        """The most that a neighbour has, of those neighbours with so much that looking at them is cheap."""
        first = self.adjacency.indptr[rows]
        degrees = self.adjacency.indptr[rows + 1] - first
        best = bits > beyond(bits, degrees, MOST_SLOTS)
        owner, slots = expanded(first[best], degrees[best])
        column = np.zeros(len(self.graph), dtype=np.int64)
        np.maximum.at(column, self.adjacency.neighbours[slots], bits[best][owner])
        return column

    def _guide_of(self, stems: Sequence[str]) -> Guide:
        """Which relations the words speak of."""
        codes = self.graph.relations.types.codes
        of_type = np.full(len(self.graph.relations.types.names) + 1, PLAIN)
        more: list[tuple[NDArray[np.int32], Column]] = []
        for stem in stems:
            types, _ = self.index.holding(stem, self.index.of_types)
            relations, _ = self.index.holding(stem, self.index.told)
            if not len(types) and not len(relations):
                continue
            if len(types) and len(relations):
                relations = relations[~found_in(types, codes[relations])]
            count = len(relations) + int(self._of_type[types].sum())
            added = (
                round(math.log2(1 + (len(codes) - count + 0.5) / (count + 0.5)) * MILLI)
                * GUIDE[0]
                // GUIDE[1]
            )
            of_type[types] += added
            more.append((relations, np.full(len(relations), added)))
        return Guide(codes, of_type, *summed(more, len(codes)))

    @cached_property
    def _of_type(self) -> Column:
        types = self.graph.relations.types
        return np.bincount(types.codes, minlength=len(types.names) + 1)
