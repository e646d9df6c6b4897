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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.question_words import types_say_something

UNIT = 1_000_000  # a cost of 1
MILLI = 1000
Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weights:
    """What a bit of each text score counts, in thousandths; mentioned: of words inside the question's
    mentions."""

    mentioned: int
    neighbour: int
    pagerank: int


# A path explains a question through relation types, so what else speaks for an entity depends on what its
# graph's types are: a vocabulary; so many that each is one extractor's phrase; or one for all.
# docs/retrieval.md measures.
VOCABULARY = Weights(mentioned=250, neighbour=1000, pagerank=1000)
FREE_TEXT = Weights(mentioned=0, neighbour=1000, pagerank=2000)
UNTYPED = Weights(mentioned=500, neighbour=300, pagerank=1000)
MOST_OF_A_VOCABULARY = 1000  # relation types; more of them are free text


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of one graph. typed: whether its relation types say something."""

    typed: bool
    weights: Weights
    ranking: RankingPrices

    @classmethod
    def of(cls, graph: KnowledgeGraph, ranking: RankingPrices) -> Costs:
        if not types_say_something(graph):
            return cls(False, UNTYPED, ranking)
        many = len(graph.relations.types.names) > MOST_OF_A_VOCABULARY
        return cls(True, FREE_TEXT if many else VOCABULARY, ranking)

    @property
    def may_explain(self) -> bool:
        """Whether a path often explains a whole question, so that texts needn't be asked."""
        return self.weights is VOCABULARY

    def path(self, energies: Column, hops: NDArray[np.signedinteger[Any]]) -> Column:
        """costs: of the cheapest explanations, in thousandths; hops: of their paths."""
        if self.typed:
            return energies * (UNIT // MILLI)
        return round(self.ranking.untyped_hop * UNIT) * hops.astype(np.int64)

    def link(self, named: int) -> int:
        """Of a text seed in a question that names so many things: a path from it leaves out all of them."""
        if not self.typed:
            return round(self.ranking.untyped_text_seed * UNIT)
        return round((self.ranking.text_seed + self.ranking.other_seed * max(0, named - 1)) * UNIT)

    def of_a_bit(self, reached: Column, hops: NDArray[np.signedinteger[Any]]) -> int:
        """Cost of one bit: the more, the more of the question the cheapest path leaves unexplained.

        reached: link and walk of every reached entity.
        """
        if not self.typed:
            return round(self.ranking.untyped_text_bit * UNIT)
        unexplained = (reached - round(2 * self.ranking.step * UNIT) * hops).min() / UNIT
        return (
            round(self.ranking.text_bit * unexplained * UNIT) if unexplained > self.ranking.explained else 0
        )


def lacking(bits: Column, of_a_bit: int, weight: int = MILLI) -> Column:
    """What each entity's bits (in thousandths) lack to the most among them, as a cost."""
    cost: Column = (int(bits.max(initial=0)) - bits) * of_a_bit * weight // (MILLI * MILLI)
    return cost
