"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import RelationWords, without_seeds
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, TextScores, Weights
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached
from tiny_graph_rag.retrieval.query import Reader, TextWords
from tiny_graph_rag.retrieval.reasons import HELD, PathReasons
from tiny_graph_rag.retrieval.walk import Prices
from tiny_graph_rag.run import Run

SCORED_UP_TO = 1_000_000  # entities; of more, paths alone rank: a question would read columns as long as all
SIZES = 64  # more than any power of two of a count of relations
CANDIDATES = 100  # of each question, the cheapest, at least, that texts re-rank; all where types say nothing


@retriever("bfs", "paths from the seeds, ranked by their lowest cost")
class BfsRetriever(Retriever):
    """Every entity within the hops of a seed, by its cost: the score is 1 / (1 + cost), in (0, 1]."""

    batch = 1024

    def __init__(self, task: Task) -> None:
        graph, config = task.graph, task.config
        self.graph, self.settings, self.ranking = graph, config.retrieval, config.ranking
        self.filters = Filters.of(graph, self.settings)
        self.weights = Weights.of(graph)
        index = graph.shared(TextIndex, lambda: TextIndex(graph))
        types = RelationWords.of(graph, self.ranking)
        self.reader = graph.shared(
            (Reader, types),
            lambda: Reader(
                types,
                TextWords(graph, index, graph.vocabulary, self.ranking),
                self.ranking,
                typed=self.weights.typed,
            ),
        )
        self.texts: TextScores | None = None
        if len(graph) <= SCORED_UP_TO:
            adjacency = self.filters.walked(graph)
            self.texts = graph.shared(
                (TextScores, adjacency), lambda: TextScores(index, adjacency, self.weights)
            )
        self.paths = CheapestPaths(
            graph,
            walked_columns(graph, self.filters),
            Prices.of(self.ranking, typed=self.weights.typed),
            wanted=max(CANDIDATES, self.settings.depth) if self.weights.typed else len(graph),
            exclude_seeds=self.settings.exclude_seeds,
            may_compile=config.running.compiled,
        )
        self._memory = np.zeros((3, len(graph)), np.int64)  # of random walks; not for two threads
        self._explained: tuple[LinkedQuestion, PathReasons] | None = None

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk serves all limits: paths of one hop more go on from those of one less. Questions that
        differ by their seeds alone are ranked one after the other: what they ask for is looked up once."""
        alike = sorted(range(len(questions)), key=lambda row: without_seeds(questions[row]))
        runs = {
            row: self._runs(questions[row], hops, more=len(questions) - place - 1)
            for place, row in enumerate(alike)
        }
        for limit in range(len(hops)):
            yield Run.concatenated([runs[row][limit] for row in range(len(questions))])

    def _runs(self, question: LinkedQuestion, hops: Sequence[int], more: int) -> list[Run]:
        """Its run within each limit. more: questions that follow."""
        reached = self.paths.rank((question, self.reader.read(question)), hops, more=more)
        costs = [self._of_a_bit(within) for within in reached]
        if self.texts is not None and any(costs):
            bits = self.texts.of(question, self._memory if self.paths.is_compiled else None)
            for within, of_a_bit in zip(reached, costs, strict=True):
                within.parts[:, 2:] = self._lacking(bits[:, within.entities], of_a_bit)
        return [self._run(within) for within in reached]

    def _of_a_bit(self, reached: Reached) -> int:
        """Cost of one bit: the more, the more of the question the cheapest path leaves unexplained; all of it
        where relation types say nothing."""
        if self.texts is None or not len(reached.entities):
            return 0
        steps = 2 * self.paths.prices.step * MILLI * reached.hops
        unexplained = int((reached.cost - steps).min()) if self.weights.typed else UNIT
        if unexplained <= self.ranking.explained * UNIT:
            return 0
        return round(self.ranking.text_bit * unexplained)

    def _lacking(self, bits: Column, of_a_bit: int) -> Column:
        """(entities, 3): what each lacks to the most bits that one of them has, as costs. bits: (3,
        entities), in thousandths."""
        missing = bits.max(axis=1, keepdims=True, initial=0) - bits
        weights = np.array([MILLI, self.weights.neighbour, self.weights.pagerank])
        costs: Column = (missing.T * of_a_bit * weights) // (MILLI * MILLI)
        return costs

    def _run(self, reached: Reached) -> Run:
        """Of equal costs, the entity of fewer relations comes first (by powers of two), then hop and name."""
        cost, entities = reached.cost, reached.entities
        indptr = self.paths.graph.indptr
        sizes = np.frexp(indptr[entities + 1] - indptr[entities])[1]
        names = self.graph.name_rank[entities]
        best = np.lexsort((names, reached.hops, sizes, cost))[: self.settings.depth]
        scores = (UNIT / (UNIT + cost + sizes / SIZES))[best]
        if self.settings.min_score > 0:
            best, scores = best[scores >= self.settings.min_score], scores[scores >= self.settings.min_score]
        return Run(
            np.array([0, len(best)]), entities[best], scores, reached.hops[best], reached.paths[best],
            parts=reached.parts[best].astype(np.int32),
        )  # fmt: skip

    # ---- why

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        """What the path explains and what it leaves unexplained, which adds up to the part `path`; and the
        words of the question that the entity's own texts hold."""
        if run.parts is None:
            return ()
        if self._explained is None or self._explained[0] is not question:  # kept for the question's ranks
            read = question, self.reader.read(question)
            self._explained = question, PathReasons(self.graph, self.paths, read, self.settings.hops)
        entity = int(run.entities[row])
        why = self._explained[1].reasons(entity)
        if self.texts is not None and (words := self.texts.words_in(question, entity)):
            why.append(Reason(HELD, words, 0.0))
        return tuple(why)
