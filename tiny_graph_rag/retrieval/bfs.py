"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, found_in, unique
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.text_index import MILLI, TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.linking.question_words import RelationWords, milli
from tiny_graph_rag.messages import counted
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates, Filters, walked_columns
from tiny_graph_rag.retrieval.cost import UNIT, Column, Costs, TextScores, lacking
from tiny_graph_rag.retrieval.explain import Explanation
from tiny_graph_rag.retrieval.paths import (
    TIE_BITS,
    CheapestPaths,
    Mentions,
    Most,
    WeighedMention,
)
from tiny_graph_rag.retrieval.query import Reader, Reading, TextWords
from tiny_graph_rag.retrieval.walk import Prices
from tiny_graph_rag.run import Run

TIES = (1 << TIE_BITS) - 1  # of a key of paths: the part that orders equal costs
SCORED_UP_TO = 1_000_000  # entities; of more, paths alone rank: a question would read columns as long as all
CANDIDATES = 500  # of each seed list that texts re-rank, at most; the cheapest. All where types say nothing
KNOWN_PATHS = 1 << 9  # rankings from text seeds that are kept


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """What one question's paths reach within a hop limit.

    parts: (entities, 5), the costs in millionths; ties: the part
    of the score below them; hops: of the path shown, 0 of a seed; paths: (entities, hops) relations from the
    seed, filled up with NO_STEP.
    """

    entities: NDArray[np.int32]
    parts: Column
    ties: Column
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.entities, self.parts, self.ties, self.hops, self.paths

    @property
    def cost(self) -> Column:
        cost: Column = self.parts.sum(axis=1)
        return cost

    def of(self, rows: NDArray[Any] | slice) -> Reached:
        """rows: places, or a mask."""
        return Reached(*(column[rows] for column in self.columns))


@retriever("bfs", "paths from the seeds, ranked by their lowest cost")
class BfsRetriever(Retriever):
    """Every entity within the hops of a seed, by its cost: the score is 1 / (1 + cost), in (0, 1]."""

    batch = 1024
    beside_linking = True

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
        wanted = min(wanted, len(graph))
        self.most = Most(wanted, min(wanted, self.settings.depth))
        self.paths = CheapestPaths(
            graph,
            walked_columns(graph, self.filters),
            prices(self.ranking),
            explained=self.costs.explained(self.settings.hops),
            exclude_seeds=self.settings.exclude_seeds,
            may_compile=config.running.compiled,
        )
        self._from_text = lru_cache(KNOWN_PATHS)(self._from_text_of)
        self._explained: tuple[LinkedQuestion, dict[bool, Explanation]] | None = None

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return next(self.retrieve_within(questions, [self.settings.hops]))

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """One walk serves all limits: paths of one hop more go on from those of one less."""
        limits = tuple(sorted(set(hops)))
        asked = [replace(question, id="") for question in questions]
        ranked: dict[LinkedQuestion, list[Reached]] = {}  # a question that is given twice is ranked once
        for row, question in enumerate(asked, start=1):
            if question not in ranked:
                ranked[question] = self._ranked(question, limits, more=len(asked) - row)
        for limit in hops:
            yield self._run([ranked[question][limits.index(limit)] for question in asked])

    def _ranked(self, question: LinkedQuestion, limits: tuple[int, ...], more: int) -> list[Reached]:
        """One question's ranking within each limit. more: questions that follow."""
        reading, named = self.reader.read(question), mentions_of(question.named)
        most, referred = self.most, _referred(question)
        if referred:  # what they cost more is added later
            most = Most(most.wanted, most.wanted)
        reached = self._by_path(named, reading, most, limits, more)
        if referred:  # a question asks for another than those that pronouns stand for
            reached = [self._referred_to(referred, within) for within in reached]
        text, link = mentions_of(question.by_text), self.costs.link(len(named))
        if text and not all(self._suffices(within, link) for within in reached):
            by_text = self._from_text(text[0], reading, link, limits)
            reached = [
                within if self._suffices(within, link) else _cheaper(within, other)
                for within, other in zip(reached, by_text, strict=True)
            ]
        return self._by_cost(question, named, text, reached)

    # ---- 2. Walk

    def _from_text_of(
        self, mention: WeighedMention, reading: Reading, link: int, limits: tuple[int, ...]
    ) -> list[Reached]:
        """What lies within the hops of the text seeds; kept, for questions that differ by the names in them
        have the same ones."""
        return self._by_path((mention,), reading, Most(self.most.wanted, self.most.wanted), limits, 0, link)

    def _by_path(
        self,
        mentions: Mentions,
        reading: Reading,
        most: Most,
        limits: Sequence[int],
        more: int,
        link: int = 0,
    ) -> list[Reached]:
        """What lies within each limit of the mentions' seeds, by the cost of the link and of the path."""
        reached = []
        for ranked in self.paths.rank(mentions, reading, most, limits, more=more):
            parts = np.zeros((len(ranked.entities), 5), dtype=np.int64)
            parts[:, 0] = link
            parts[:, 1] = self.costs.path(ranked.keys >> TIE_BITS, ranked.hops)
            ties = ranked.keys & TIES
            reached.append(Reached(ranked.entities, parts, ties, ranked.hops, ranked.paths))
        return reached

    def _referred_to(self, referred: set[int], reached: Reached) -> Reached:
        parts = reached.parts.copy()
        rows = found_in(np.array(sorted(referred)), reached.entities)
        parts[rows, 1] += round(self.ranking.referred * UNIT)
        return replace(reached, parts=parts)

    def _suffices(self, reached: Reached, beyond: int) -> bool:
        """Whether it explains the question and fills the depth with less cost than `beyond`, so that nothing
        which costs more can be among the best."""
        best = reached.of(slice(self.settings.depth))
        return (
            len(best.entities) == self.settings.depth
            and int(best.cost.max()) < beyond
            and not self._of_a_bit(best)
        )

    # ---- 3. Rank

    def _by_cost(
        self, question: LinkedQuestion, named: Mentions, text: Mentions, reached: Sequence[Reached]
    ) -> list[Reached]:
        """What one question reached within each limit, by all parts of its cost, as far as the settings let
        it through."""
        of_a_bit = [self._of_a_bit(within) for within in reached]
        reached = [self._returned(within, named) for within in reached]
        if self.texts is not None and any(of_a_bit):
            rows = unique(np.concatenate([within.entities for within in reached]))
            weights = self.costs.weights
            scores = self.texts.of(
                question,
                named or text,
                rows,
                mentioned=weights.mentioned,
                every_text=not self.costs.typed,
            )
            counts = MILLI, weights.neighbour, weights.pagerank
            for place, bit in enumerate(of_a_bit):
                if bit:
                    within = reached[place]
                    at, parts = np.searchsorted(rows, within.entities), within.parts.copy()
                    for part, (bits, weight) in enumerate(zip(scores, counts, strict=True), 2):
                        parts[:, part] = lacking(bits[at], bit, weight)
                    reached[place] = replace(within, parts=parts)
        return [self._ordered(within) for within in reached]

    def _ordered(self, reached: Reached) -> Reached:
        name_rank = self.graph.name_rank[reached.entities]
        order = np.lexsort((name_rank, reached.hops, reached.ties, reached.cost))
        return reached.of(order[: self.settings.depth])

    def _of_a_bit(self, reached: Reached) -> int:
        if self.texts is None or not len(reached.entities):
            return 0
        return self.costs.of_a_bit(reached.cost, reached.hops)

    def _returned(self, reached: Reached, named: Mentions) -> Reached:
        """What of it the settings let through."""
        if self.filters.returned is not None:
            reached = reached.of(self.filters.returned[reached.entities])
        if self.settings.exclude_seeds:
            seeds = sorted({seed for mention in named for seed in mention.seeds})
            reached = reached.of(~found_in(np.array(seeds, dtype=np.int64), reached.entities))
        return reached

    def _run(self, ranked: Sequence[Reached]) -> Run:
        if not ranked:
            return Run.concatenated([])
        parts = np.concatenate([one.parts for one in ranked])
        ties = np.concatenate([one.ties for one in ranked])
        scores = UNIT / (UNIT + parts.sum(axis=1) + ties / (TIES + 1))
        run = Run(
            np.concatenate([[0], np.cumsum([len(one.entities) for one in ranked])]).astype(np.int64),
            np.concatenate([one.entities for one in ranked]),
            scores,
            np.concatenate([one.hops for one in ranked]),
            np.concatenate([one.paths for one in ranked]),
            parts=parts.astype(np.int32),
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
            why.append(
                Reason("a pronoun stands for it: the question asks for another", (), self.ranking.referred)
            )
        if self.texts is not None and (words := self.texts.words_in(question, entity)):
            why.append(Reason("its texts hold", words, 0.0))
        return tuple(why)

    def _explanation(self, question: LinkedQuestion, *, by_text: bool) -> Explanation:
        """Of what paths from the named or from the text seeds reach; kept for the ranks of one question."""
        if self._explained is None or self._explained[0] is not question:
            self._explained = question, {}
        explained = self._explained[1]
        if by_text not in explained:
            mentions = mentions_of(question.by_text if by_text else question.named)
            (ranked,) = self.paths.rank(mentions, self.reader.read(question), self.most, [self.settings.hops])
            explained[by_text] = Explanation(self.graph, self.paths, ranked)
        return explained[by_text]


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


def _cheaper(one: Reached, other: Reached) -> Reached:
    """What both reached, each entity by its cheaper path."""
    columns = map(np.concatenate, zip(one.columns, other.columns, strict=True))
    both = Reached(*columns)
    order = np.lexsort((both.ties, both.cost, both.entities))
    return both.of(order[begins(both.entities[order])])
