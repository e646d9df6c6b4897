"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import RelationWords, without_seeds
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, TextScores, Weights
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached, Read, best_of
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

Limits = tuple[int, ...]


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
        self._explained: tuple[LinkedQuestion, PathReasons] | None = None

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk serves all limits: paths of one hop more go on from those of one less. Questions that
        differ by their seeds alone are ranked next to each other: what they ask for is looked up once."""
        limits, runs, done = tuple(sorted(set(hops))), [], 0
        texts = np.array([without_seeds(question) for question in questions], object)
        order = np.argsort(texts, kind="stable")
        while done < len(questions):
            part = [questions[row] for row in order[done : done + self.paths.at_once].tolist()]
            done += len(part)
            ranked = self._ranked(part, limits, more=len(questions) - done)
            runs.append([self._run(within, len(part)) for within in ranked])
        for limit in hops:
            run = Run.concatenated([of_part[limits.index(limit)] for of_part in runs])
            yield run.of(np.argsort(order))

    def _ranked(self, questions: Sequence[LinkedQuestion], limits: Limits, more: int) -> list[Reached]:
        """The questions' rankings within each limit. more: questions that follow."""
        given = [(question, self.reader.read(question)) for question in questions]
        reached = self.paths.rank(given, limits, more=more)
        of_a_bit = [self._of_a_bit(within, len(questions)) for within in reached]
        rows = np.flatnonzero(np.any(of_a_bit, axis=0)).tolist()
        if rows and self.texts is not None:
            asked = [questions[row] for row in rows]
            columns_of = self.texts.of(asked, may_compile=self.paths.may_compile)
            for row, columns in zip(rows, columns_of, strict=True):
                for within, costs in zip(reached, of_a_bit, strict=True):
                    its = within.of_question(row)
                    within.parts[its, 2:] = self._lacking(columns[:, within.entities[its]], costs[row])
        return [self._ordered(within) for within in reached]

    def _lacking(self, bits: Column, of_a_bit: int) -> Column:
        """(entities, 3): what each lacks to the most bits that one of them has, as costs. bits: (3,
        entities), in thousandths."""
        missing = bits.max(axis=1, keepdims=True, initial=0) - bits
        weights = np.array([MILLI, self.weights.neighbour, self.weights.pagerank])
        costs: Column = (missing.T * of_a_bit * weights) // (MILLI * MILLI)
        return costs

    def _ordered(self, reached: Reached) -> Reached:
        key = (reached.cost * SIZES + self._sizes(reached)) * (1 + self.settings.hops) + reached.hops
        names = self.graph.name_rank[reached.entities]
        return reached.of(best_of(reached.question, self.settings.depth, key, names))

    def _sizes(self, reached: Reached) -> NDArray[np.int32]:
        """How many relations each entity has, as a power of two: of equal costs, the smaller comes first."""
        indptr, entities = self.paths.graph.indptr, reached.entities
        sizes: NDArray[np.int32] = np.frexp(indptr[entities + 1] - indptr[entities])[1]
        return sizes

    def _of_a_bit(self, reached: Reached, count: int) -> Column:
        """(questions,): cost of one bit: the more, the more of the question the cheapest path leaves
        unexplained; all of it where relation types say nothing."""
        costs = np.zeros(count, np.int64)
        if self.texts is not None and len(reached.question):
            firsts = np.flatnonzero(begins(reached.question))
            unexplained = np.full(len(firsts), UNIT)
            if self.weights.typed:
                steps = 2 * self.paths.prices.step * MILLI * reached.hops
                unexplained = np.minimum.reduceat(reached.cost - steps, firsts)
            bits = np.rint(self.ranking.text_bit * unexplained)
            costs[reached.question[firsts]] = np.where(unexplained > self.ranking.explained * UNIT, bits, 0)
        return costs

    def _run(self, ranked: Reached, count: int) -> Run:
        scores = UNIT / (UNIT + ranked.cost + self._sizes(ranked) / SIZES)
        counts = np.bincount(ranked.question, minlength=count)
        run = Run(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            ranked.entities,
            scores,
            ranked.hops,
            ranked.paths,
            parts=ranked.parts.astype(np.int32),
        )
        return run if self.settings.min_score <= 0 else run.where(scores >= self.settings.min_score)

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
        (self.question, self.reading), walks = read, paths.walk([read], [hops])
        self.states, self.joined, self.asked = walks.states, paths.joined(walks, hops), walks.asked.of(0)
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
