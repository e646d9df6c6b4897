"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import RelationWords, without_seeds
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, TextScores, Weights
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached, Read
from tiny_graph_rag.retrieval.query import OFFERED, Reader, TextWords
from tiny_graph_rag.retrieval.walk import NO_PATH, Prices
from tiny_graph_rag.run import Run

SCORED_UP_TO = 1_000_000  # entities; of more, paths alone rank: a question would read columns as long as all
SIZES = 64  # more than any power of two of a count of relations
CANDIDATES = 100  # of each question, the cheapest, at least, that texts re-rank; all where types say nothing

# The parts that are not a step of a path, as they are shown.
OPTION = "one of the options in the question"
OTHER_RELATION = "no hop is over the relation asked for"
NAMED = "named in the question, which asks for something else"
OTHER_KIND = "not of the kind asked for"
UNEXPLAINED = "left unexplained"
HELD = "words in its texts"
REFERRED = "a pronoun refers to it; the question asks for something else"
WITHOUT_PATH = "no path from other names in the question"


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


class PathReasons:
    """Why the entities that one question's paths reach stand where they do: in words, the parts of a cost by
    paths, each with its price."""

    def __init__(self, graph: KnowledgeGraph, paths: CheapestPaths, read: Read, hops: int) -> None:
        self.graph, self.relations, self.prices = graph, paths.graph.relations, paths.prices
        (self.question, self.reading), walks = read, paths.walk(read, [hops])
        self.states, self.joined, self.asked = walks.states, paths.joined(walks, hops), walks.asked
        self.by_text = walks.starts.by_text

    def reasons(self, entity: int) -> list[Reason]:
        """The parts of an entity's cost; they add up to it. One path of each mention that explains it, the
        one shown first; then what is paid at the end."""
        row = int(np.searchsorted(self.joined.entity, entity))
        shown = int(self.joined.shown[row])
        # What is left out next to a path from a text seed is a part of `link`.
        mentions = 0 if self.by_text[self.states.walk[shown]] else int((~self.by_text).sum()) - 1
        is_seed = self.states.steps[shown] == 0
        return list(self._of_seed(entity, mentions) if is_seed else self._of_row(row, mentions))

    def _of_seed(self, entity: int, others: int) -> Iterator[Reason]:
        own = int(self.asked.entities[entity]) if self.asked.words else 0
        if self.reading.named == OFFERED:
            yield Reason(OPTION, (), 0.0)
        else:
            is_off = own == 0 or (self.reading.head and not own & self.reading.head)
            is_named = any(seed.entity == entity for seed in self.question.named)
            price = self.reading.named if is_named else min(self.reading.named, self.prices.off_focus)
            if price and is_off:
                yield self._part(NAMED, 0, price)
            yield from self._left(own, others)
        if any(seed.is_reference and seed.entity == entity for seed in self.question.seeds):
            yield self._part(REFERRED, 0, self.prices.referred)

    def _of_row(self, row: int, others: int) -> Iterator[Reason]:
        shown, more = int(self.joined.shown[row]), self.joined.more[self.joined.of_row == row].tolist()
        mask = 0
        for state in (shown, *more):
            mask |= int(self.states.mask[state])
            yield from self._steps(state)
        if self.reading.focus and not mask & self.reading.focus:
            yield self._part(OTHER_RELATION, self.reading.focus, self.prices.off_focus)
        for_kind = (
            self.states.total[shown] - self.states.cost[shown] - self.asked.end[self.states.mask[shown]]
        )
        if for_kind:
            yield self._part(OTHER_KIND, self.reading.head, int(for_kind))
        yield from self._left(mask, others - len(more))

    def _steps(self, state: int) -> Iterator[Reason]:
        """The steps of a state's path, from the seed on."""
        states, steps = self.states, []
        while (before := int(states.before[state])) != NO_PATH:
            filled = int(states.mask[state]) & ~int(states.mask[before])
            cost = int(states.cost[state] - states.cost[before])
            steps.append(
                self._part(self._arrow(int(states.slot[state]), int(states.entity[state])), filled, cost)
            )
            state = before
        return reversed(steps)

    def _arrow(self, slot: int, entity: int) -> str:
        relations, relation = self.graph.relations, int(self.relations[slot])
        arrow = "—{}→ {}" if int(relations.targets[relation]) == entity else "←{}— {}"
        return arrow.format(relations.types[relation], self.graph.entities.names[entity])

    def _left(self, mask: int, mentions: int) -> Iterator[Reason]:
        """What is paid for slots that are not in the mask, and for so many mentions left out."""
        for place, slot in enumerate(self.reading.slots):
            if slot.weight and not mask >> place & 1:
                yield self._part(UNEXPLAINED, 1 << place, slot.weight)
        if mentions > 0 and self.prices.other_seed:
            yield self._part(WITHOUT_PATH, 0, mentions * self.prices.other_seed)

    def _part(self, what: str, mask: int, price: int) -> Reason:
        """mask: of the slots whose words it explains or leaves."""
        filled = [slot.words for place, slot in enumerate(self.reading.slots) if mask >> place & 1]
        return Reason(what, tuple(dict.fromkeys(word for words in filled for word in words)), price / 1000)
