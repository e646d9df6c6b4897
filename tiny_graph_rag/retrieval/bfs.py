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

from tiny_graph_rag.columns.arrays import begins, found_in
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import RelationWords
from tiny_graph_rag.messages import counted
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, Costs, TextScores
from tiny_graph_rag.retrieval.paths import CheapestPaths, Reached, ToRank, best_of
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Mentions, Reader, TextWords, mentions_of
from tiny_graph_rag.retrieval.walk import NO_PATH, SIZES
from tiny_graph_rag.run import Run

SCORED_UP_TO = 1_000_000  # entities; of more, paths alone rank: a question would read columns as long as all
CANDIDATES = 200  # of each seed list that texts re-rank, at most; the cheapest. All where types say nothing

# The parts that are not a step of a path, as they are shown.
OFFERED = "one of the options in the question"
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
        self.costs = Costs.of(graph, self.ranking)
        index = graph.shared(TextIndex, lambda: TextIndex(graph))
        types = RelationWords.of(graph, self.ranking)
        self.reader = graph.shared(
            (Reader, types),
            lambda: Reader(
                types,
                TextWords(graph, index, graph.vocabulary, self.ranking),
                self.ranking,
                typed=self.costs.typed,
            ),
        )
        self.texts: TextScores | None = None
        if len(graph) <= SCORED_UP_TO:
            adjacency = self.filters.walked(graph)
            self.texts = graph.shared(
                (TextScores, adjacency), lambda: TextScores(index, adjacency, self.costs)
            )
        wanted = max(CANDIDATES, self.settings.depth) if self.costs.typed else len(graph)
        self.wanted = min(wanted, len(graph))
        self.enough = min(wanted, self.settings.depth)  # where a path explains the question
        self.paths = CheapestPaths(
            graph,
            walked_columns(graph, self.filters),
            self.costs,
            hops=self.settings.hops,
            exclude_seeds=self.settings.exclude_seeds,
            may_compile=config.running.compiled,
        )
        self._explained: tuple[LinkedQuestion, dict[bool, PathReasons]] | None = None

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk serves all limits: paths of one hop more go on from those of one less."""
        limits, runs, done = tuple(sorted(set(hops))), [], 0
        while done < len(questions):
            part = questions[done : done + self.paths.at_once]
            done += len(part)
            ranked = self._ranked(part, limits, more=len(questions) - done)
            runs.append([self._run(within, len(part)) for within in ranked])
        for limit in hops:
            yield Run.concatenated([of_part[limits.index(limit)] for of_part in runs])

    def _ranked(self, questions: Sequence[LinkedQuestion], limits: Limits, more: int) -> list[Reached]:
        """The questions' rankings within each limit. more: questions that follow."""
        readings = [self.reader.read(question) for question in questions]
        named = [mentions_of(question.named) for question in questions]
        text = [mentions_of(question.by_text) for question in questions]
        referred = {row: meant for row, question in enumerate(questions) if (meant := _referred(question))}
        given = [
            # What pronouns stand for costs more, which is added later.
            ToRank(*pair, self.wanted, self.wanted if row in referred else self.enough)
            for row, pair in enumerate(zip(named, readings, strict=True))
        ]
        reached = self.paths.rank(given, limits, more=more)
        if referred:  # a question asks for another than those that pronouns stand for
            reached = [self._referred_to(referred, within) for within in reached]
        links = np.array([self.costs.link(len(mentions)) for mentions in named])
        lacks = [self._lacks(within, len(questions)) for within in reached]
        rows = [row for row in np.flatnonzero(np.logical_or.reduce(lacks)).tolist() if text[row]]
        if rows:
            also = [ToRank(text[row], readings[row], self.wanted, self.wanted) for row in rows]
            by_text = self.paths.rank(also, limits)
            reached = [
                _cheaper(within, other._replace(question=np.array(rows)[other.question]), links, its_lacks)
                for within, other, its_lacks in zip(reached, by_text, lacks, strict=True)
            ]
        return self._by_cost(
            questions, [one or other for one, other in zip(named, text, strict=True)], reached
        )

    def _referred_to(self, referred: dict[int, set[int]], reached: Reached) -> Reached:
        parts = reached.parts.copy()
        for row, entities in referred.items():
            is_meant = (reached.question == row) & found_in(np.array(sorted(entities)), reached.entities)
            parts[is_meant, 1] += round(self.ranking.referred * UNIT)
        return reached._replace(parts=parts)

    def _lacks(self, reached: Reached, count: int) -> NDArray[np.bool_]:
        """(questions,): where it does not explain the question or not fill the depth."""
        counts = np.bincount(reached.question, minlength=count)
        lacks: NDArray[np.bool_] = (counts < self.settings.depth) | (self._of_a_bit(reached, count) > 0)
        return lacks

    # ---- 3. Rank

    def _by_cost(
        self, questions: Sequence[LinkedQuestion], mentions: Sequence[Mentions], reached: Sequence[Reached]
    ) -> list[Reached]:
        """What the questions reached within each limit, by all parts of its cost, as far as the settings let
        it through. mentions: where each one's random walks start."""
        of_a_bit = [self._of_a_bit(within, len(questions)) for within in reached]
        if self.settings.exclude_seeds:
            reached = [self._without_named(within, questions) for within in reached]
        rows = np.flatnonzero(np.any(of_a_bit, axis=0)).tolist()
        if rows and self.texts is not None:
            bits = [np.zeros((3, len(within.question)), np.int64) for within in reached]
            columns_of = self.texts.of([questions[row] for row in rows], [mentions[row] for row in rows])
            for row, columns in zip(rows, columns_of, strict=True):
                for within, its_bits in zip(reached, bits, strict=True):
                    its = within.of_question(row)
                    its_bits[:, its] = columns[:, within.entities[its]]
            for within, its_bits, cost in zip(reached, bits, of_a_bit, strict=True):
                within.parts[:, 2:] = self._lacking(within.question, its_bits, cost)
        return [self._ordered(within, len(questions)) for within in reached]

    def _lacking(self, question: Column, bits: Column, of_a_bit: Column) -> Column:
        """(rows, 3): what each entity lacks to the most bits that one of its question has, as costs. bits:
        (3, rows), in thousandths."""
        firsts = np.flatnonzero(begins(question))
        if not len(firsts):
            return bits.T
        most = np.maximum.reduceat(bits, firsts, axis=1)
        missing = np.repeat(most, np.diff(firsts, append=len(question)), axis=1) - bits
        weights = np.array([MILLI, self.costs.weights.neighbour, self.costs.weights.pagerank])
        costs: Column = (missing.T * of_a_bit[question, None] * weights) // (MILLI * MILLI)
        return costs

    def _ordered(self, reached: Reached, count: int) -> Reached:
        size, depth = self.paths.graph.size_of(reached.entities), np.full(count, self.settings.depth)
        key = (reached.cost * SIZES + size) * (1 + self.settings.hops) + reached.hops
        return reached.of(best_of(reached.question, depth, key, self.graph.name_rank[reached.entities]))

    def _of_a_bit(self, reached: Reached, count: int) -> Column:
        """(questions,)."""
        costs = np.zeros(count, np.int64)
        if self.texts is not None and len(reached.question):
            firsts = np.flatnonzero(begins(reached.question))
            costs[reached.question[firsts]] = self.costs.of_a_bit(reached.cost, reached.hops, firsts)
        return costs

    def _without_named(self, reached: Reached, questions: Sequence[LinkedQuestion]) -> Reached:
        size = len(self.graph)
        named = [row * size + seed.entity for row, one in enumerate(questions) for seed in one.named]
        pairs = reached.question * size + reached.entities
        return reached.of(~found_in(np.array(sorted(set(named)), np.int64), pairs))

    def _run(self, ranked: Reached, count: int) -> Run:
        scores = UNIT / (UNIT + ranked.cost + self.paths.graph.size_of(ranked.entities) / SIZES)
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
        entity, link, walk = int(run.entities[row]), int(run.parts[row, 0]), int(run.parts[row, 1])
        why: list[Reason] = []
        if self.costs.typed:
            why += self._explanation(question, by_text=link > 0).reasons(entity)
        elif run.hops[row]:
            why.append(Reason(counted(int(run.hops[row]), "{n} hop", "{n} hops"), (), walk / UNIT))
        if not run.hops[row] and entity in _referred(question):
            why.append(Reason(REFERRED, (), self.ranking.referred))
        if self.texts is not None and (words := self.texts.words_in(question, entity)):
            why.append(Reason(HELD, words, 0.0))
        return tuple(why)

    def _explanation(self, question: LinkedQuestion, *, by_text: bool) -> PathReasons:
        """Of what paths from the named or from the text seeds reach; kept for the ranks of one question."""
        if self._explained is None or self._explained[0] is not question:
            self._explained = question, {}
        explained = self._explained[1]
        if by_text not in explained:
            mentions = mentions_of(question.by_text if by_text else question.named)
            given = ToRank(mentions, self.reader.read(question), self.wanted, self.wanted)
            explained[by_text] = PathReasons(self.graph, self.paths, given, self.settings.hops)
        return explained[by_text]


class PathReasons:
    """Why the entities that one question's paths reach stand where they do: in words, the parts of a cost by
    paths, each with its price."""

    def __init__(self, graph: KnowledgeGraph, paths: CheapestPaths, given: ToRank, hops: int) -> None:
        self.graph, self.relations, self.prices = graph, paths.graph.relations, paths.prices
        walks = paths.walk([given], [hops])
        self.states, self.joined, self.asked = walks.states, paths.joined(walks, hops), walks.asked.of(0)
        self.reading, self._mentions = given.reading, len(walks.starts.question)

    def reasons(self, entity: int) -> list[Reason]:
        """The parts of an entity's cost; they add up to it. One path of each mention that explains it, the
        one shown first; then what is paid at the end."""
        row = int(np.searchsorted(self.joined.entity, entity))
        is_seed = self.states.steps[self.joined.shown[row]] == 0
        return list(self._of_seed(entity) if is_seed else self._of_row(row))

    def _of_seed(self, entity: int) -> Iterator[Reason]:
        if self.reading.asks == ONE_OF_SEEDS:
            yield Reason(OFFERED, (), 0.0)
            return
        own = int(self.asked.entities[entity]) if self.asked.words else 0
        if self.reading.asks == OTHERS and (own == 0 or (self.reading.head and not own & self.reading.head)):
            yield self._part(NAMED, 0, self.prices.off_focus)
        yield from self._left(own, self._mentions - 1)

    def _of_row(self, row: int) -> Iterator[Reason]:
        shown, taken = int(self.joined.shown[row]), self.joined.taken[row]
        mask, states = 0, taken[taken >= 0].tolist()
        for state in sorted(states, key=lambda state: state != shown):
            mask |= int(self.states.mask[state])
            yield from self._steps(state)
        if self.reading.focus and not mask & self.reading.focus:
            yield self._part(OTHER_RELATION, self.reading.focus, self.prices.off_focus)
        for_kind = (
            self.states.total[shown] - self.states.cost[shown] - self.asked.end[self.states.mask[shown]]
        )
        if for_kind:
            yield self._part(OTHER_KIND, self.reading.head, int(for_kind))
        yield from self._left(mask, self._mentions - len(states))

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
        if mentions > 0:
            yield self._part(WITHOUT_PATH, 0, mentions * self.prices.other_seed)

    def _part(self, what: str, mask: int, price: int) -> Reason:
        """mask: of the slots whose words it explains or leaves."""
        filled = [slot.words for place, slot in enumerate(self.reading.slots) if mask >> place & 1]
        return Reason(what, tuple(dict.fromkeys(word for words in filled for word in words)), price / 1000)


def _referred(question: LinkedQuestion) -> set[int]:
    """The entities that pronouns stand for."""
    return {seed.entity for seed in question.seeds if seed.is_reference}


def _cheaper(reached: Reached, more: Reached, links: Column, lacks: NDArray[np.bool_]) -> Reached:
    """With what questions that lack some reach by text: each entity by its cheaper path. links: (questions,),
    what a path from a seed by text costs besides."""
    more = more.of(lacks[more.question])
    more.parts[:, 0] = links[more.question]
    both = reached.followed_by(more)
    order = np.lexsort((both.cost, both.entities, both.question))
    return both.of(order[begins(both.question[order], both.entities[order])])
