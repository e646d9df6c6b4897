"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, found_in, unique
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.linking.question_words import RelationWords, milli
from tiny_graph_rag.messages import counted
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates, Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, Costs, TextScores, lacking
from tiny_graph_rag.retrieval.paths import (
    SIZES,
    CheapestPaths,
    Mentions,
    RankedPaths,
    ToRank,
    WeighedMention,
    rank_of,
)
from tiny_graph_rag.retrieval.query import ONE_OF_SEEDS, OTHERS, Reader, TextWords
from tiny_graph_rag.retrieval.walk import NO_PATH, Prices
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


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """What the paths of some questions reach within a hop limit, in the order of questions.

    question: number of each row's; parts: (rows, 5), the costs in millionths; hops: of the path shown, 0 of a
    seed; paths: (rows, hops) relations from the seed, filled up with NO_STEP.
    """

    question: NDArray[np.int64]
    entities: NDArray[np.int32]
    parts: Column
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.question, self.entities, self.parts, self.hops, self.paths

    @property
    def cost(self) -> Column:
        cost: Column = self.parts @ np.ones(5, np.int64)  # quicker than a sum over short rows
        return cost

    def of(self, rows: NDArray[Any] | slice) -> Reached:
        """rows: places, or a mask."""
        return Reached(*(column[rows] for column in self.columns))

    def of_question(self, number: int) -> slice:
        """Its rows."""
        return slice(*np.searchsorted(self.question, [number, number + 1]).tolist())


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
            adjacency = Candidates(task).adjacency
            self.texts = graph.shared((TextScores, adjacency), lambda: TextScores(index, adjacency))
        wanted = max(CANDIDATES, self.settings.depth) if self.costs.typed else len(graph)
        self.wanted = min(wanted, len(graph))
        self.enough = min(wanted, self.settings.depth)  # where a path explains the question
        self.paths = CheapestPaths(
            graph,
            walked_columns(graph, self.filters),
            prices(self.ranking),
            explained=self.costs.explained(self.settings.hops),
            exclude_seeds=self.settings.exclude_seeds,
            may_compile=config.running.compiled,
        )
        self._explained: tuple[LinkedQuestion, dict[bool, PathReasons]] | None = None

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk serves all limits: paths of one hop more go on from those of one less."""
        limits = tuple(sorted(set(hops)))
        asked = [structs.replace(question, id="") for question in questions]
        different = list(dict.fromkeys(asked))  # a question that is given twice is ranked once
        place, runs, done = {question: row for row, question in enumerate(different)}, [], 0
        while done < len(different):
            part = different[done : done + self.paths.at_once]
            done += len(part)
            ranked = self._ranked(part, limits, more=len(different) - done)
            runs.append([self._run(within, len(part)) for within in ranked])
        chosen = np.array([place[question] for question in asked], np.int64)
        for limit in hops:
            run = Run.concatenated([of_part[limits.index(limit)] for of_part in runs])
            yield run if len(different) == len(asked) else run.of(chosen)

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
        reached = self._by_path(given, limits, more)
        if referred:  # a question asks for another than those that pronouns stand for
            reached = [self._referred_to(referred, within) for within in reached]
        links = np.array([self.costs.link(len(mentions)) for mentions in named])
        lacks = [self._lacks(within, len(questions)) for within in reached]
        rows = [row for row in np.flatnonzero(np.logical_or.reduce(lacks)).tolist() if text[row]]
        if rows:
            also = [ToRank(text[row], readings[row], self.wanted, self.wanted) for row in rows]
            by_text = self._by_path(also, limits, links=links[rows])
            by_text = [replace(other, question=np.array(rows)[other.question]) for other in by_text]
            reached = [
                _cheaper(within, other.of(lacking_here[other.question]))
                for within, other, lacking_here in zip(reached, by_text, lacks, strict=True)
            ]
        return self._by_cost(
            questions, [one or other for one, other in zip(named, text, strict=True)], reached
        )

    # ---- 2. Walk

    def _by_path(
        self, given: Sequence[ToRank], limits: Limits, more: int = 0, links: Column | None = None
    ) -> list[Reached]:
        """What lies within each limit of the mentions' seeds, by the cost of the link and of the path.

        links: cost of each question's, None for 0."""
        reached = []
        for ranked in self.paths.rank(given, limits, more=more):
            parts = np.zeros((len(ranked.entities), 5), dtype=np.int64)
            if links is not None:
                parts[:, 0] = links[ranked.question]
            parts[:, 1] = self.costs.path(ranked.costs, ranked.hops)
            reached.append(Reached(ranked.question, ranked.entities, parts, ranked.hops, ranked.paths))
        return reached

    def _referred_to(self, referred: dict[int, set[int]], reached: Reached) -> Reached:
        parts = reached.parts.copy()
        for row, entities in referred.items():
            is_meant = (reached.question == row) & found_in(np.array(sorted(entities)), reached.entities)
            parts[is_meant, 1] += round(self.ranking.referred * UNIT)
        return replace(reached, parts=parts)

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
        reached = [self._returned(within, questions) for within in reached]
        for row in np.flatnonzero(np.any(of_a_bit, axis=0)).tolist():
            own = [within.of_question(row) for within in reached]
            rows = unique(
                np.concatenate([within.entities[its] for within, its in zip(reached, own, strict=True)])
            )
            weights = self.costs.weights
            assert self.texts is not None  # else no bit costs anything
            scores = self.texts.of(
                questions[row],
                mentions[row],
                rows,
                mentioned=weights.mentioned,
                every_text=not self.costs.typed,
            )
            counts = MILLI, weights.neighbour, weights.pagerank
            for within, its, bits_cost in zip(reached, own, of_a_bit, strict=True):
                at = np.searchsorted(rows, within.entities[its])
                for part, (bits, weight) in enumerate(zip(scores, counts, strict=True), 2):
                    within.parts[its, part] = lacking(bits[at], int(bits_cost[row]), weight)
        return [self._ordered(within, len(questions)) for within in reached]

    def _ordered(self, reached: Reached, count: int) -> Reached:
        name_rank, sizes = self.graph.name_rank[reached.entities], self.paths.graph.size_of(reached.entities)
        order = np.lexsort((name_rank, reached.hops, sizes, reached.cost, reached.question))
        return reached.of(order[rank_of(reached.question, count) < self.settings.depth])

    def _of_a_bit(self, reached: Reached, count: int) -> Column:
        """(questions,)."""
        costs = np.zeros(count, np.int64)
        if self.texts is not None and len(reached.question):
            firsts = np.flatnonzero(begins(reached.question))
            costs[reached.question[firsts]] = self.costs.of_a_bit(reached.cost, reached.hops, firsts)
        return costs

    def _returned(self, reached: Reached, questions: Sequence[LinkedQuestion]) -> Reached:
        """What of it the settings let through."""
        if self.filters.returned is not None:
            reached = reached.of(self.filters.returned[reached.entities])
        if self.settings.exclude_seeds:
            size = len(self.graph)
            named = [row * size + seed.entity for row, one in enumerate(questions) for seed in one.named]
            pairs = reached.question * size + reached.entities
            reached = reached.of(~found_in(np.array(sorted(set(named)), np.int64), pairs))
        return reached

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
            given = ToRank(mentions, self.reader.read(question), self.wanted, self.enough)
            (ranked,) = self.paths.rank([given], [self.settings.hops])
            explained[by_text] = PathReasons(self.graph, self.paths, ranked)
        return explained[by_text]


class PathReasons:
    """Why the entities that one question's paths rank stand where they do: in words, the parts of a cost by
    paths, each with its price."""

    def __init__(self, graph: KnowledgeGraph, paths: CheapestPaths, ranked: RankedPaths) -> None:
        """ranked: by `paths`."""
        self.graph, self.relations, self.prices = graph, paths.graph.relations, paths.prices
        self.questions, self.states, self.joined = ranked.questions, ranked.walks.states, ranked.joined
        self.reading, self.asked = self.questions.given[0].reading, self.questions.asked.of(0)
        self._mentions = len(self.questions.starts)
        self._rows = dict(zip(ranked.entities.tolist(), ranked.row.tolist(), strict=True))

    def reasons(self, entity: int) -> list[Reason]:
        """The parts of an entity's cost; they add up to it. One path of each mention that explains it, the
        one shown first; then what is paid at the end."""
        row = self._rows[entity]
        return list(self._of_seed(entity) if row < 0 else self._of_row(row))

    def _of_seed(self, entity: int) -> Iterator[Reason]:
        if self.reading.asks == ONE_OF_SEEDS:
            yield Reason(OFFERED, (), 0.0)
            return
        own, head = int(self.questions.own[self.questions.seed.tolist().index(entity)]), int(self.asked.head)
        if self.reading.asks == OTHERS and (own == 0 or (head and not own & head)):
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


def prices(ranking: RankingPrices) -> Prices:
    return Prices(*(milli(getattr(ranking, name)) for name in Prices._fields))


def mentions_of(seeds: Sequence[Seed]) -> Mentions:
    """Seeds by the mention that names them, in the order of the text; all text seeds are one mention."""
    spans: dict[tuple[int | None, int | None, str], dict[int, float]] = {}
    for seed in seeds:
        span = (None, None, "") if seed.is_text else (seed.start, seed.end, seed.mention)
        shares = spans.setdefault(span, {})
        shares[seed.entity] = max(seed.weight, shares.get(seed.entity, 0.0))
    return tuple(
        WeighedMention(tuple(sorted(shares)), tuple(shares[entity] / total for entity in sorted(shares)))
        for shares, total in ((shares, sum(shares.values())) for shares in spans.values())
    )


def _cheaper(reached: Reached, more: Reached) -> Reached:
    """With what else these questions reach: each entity by its cheaper path."""
    both = Reached(*map(np.concatenate, zip(reached.columns, more.columns, strict=True)))
    order = np.lexsort((both.cost, both.entities, both.question))
    return both.of(order[begins(both.question[order], both.entities[order])])
