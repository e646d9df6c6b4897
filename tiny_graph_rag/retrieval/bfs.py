"""Breadth-first retrieval, ranked by the cheapest explanation: docs/retrieval.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from os import cpu_count
from typing import TYPE_CHECKING, Self

import numpy as np

from tiny_graph_rag.columns.compiled import worth_compiling
from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval import search_fast
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import LAST_HOP, Candidates
from tiny_graph_rag.retrieval.cheapest import CheapestWalks, Ranked, WeighedMention
from tiny_graph_rag.retrieval.filters import Filters
from tiny_graph_rag.retrieval.reading import Reader, Reading
from tiny_graph_rag.retrieval.search import Trail
from tiny_graph_rag.retrieval.text_evidence import Prices, TextEvidence, Weighed, told_alone, weighed
from tiny_graph_rag.retrieval.text_index import TextIndex
from tiny_graph_rag.retrieval.typed_adjacency import Runs
from tiny_graph_rag.retrieval.word_claims import Texts, TypeNames, milli
from tiny_graph_rag.run import NO_HOP, NO_STEP, Run

if TYPE_CHECKING:  # loaded where it is asked for
    from tiny_graph_rag.retrieval.dense import Nearness
    from tiny_graph_rag.retrieval.meaning import Meanings

WORDS, EMBEDDINGS = "words", "embeddings"  # of --relation-similarity and --text-similarity
UNIT = 1000 << search_fast.TIE_BITS  # of a key: an energy of 1
THREADED_FROM = 64  # questions; fewer are not worth a second thread
WEIGHED_UP_TO = 1_000_000  # entities; of more, walks alone rank: a question would read columns as long as all
STEPS_A_RELATION = 8  # of a seed
STEPS_A_QUESTION = 20_000  # innermost iterations on a graph that is large enough


@retriever("bfs", "walks from the seeds, ranked by the cheapest explanation")
class BfsRetriever(Retriever):
    """Every entity within the hops by what its cheapest explanation costs: 1 / (1 + energy), in (0, 1]."""

    def __init__(self, task: Task) -> None:
        graph, config = task.graph, task.config
        self.graph, self.settings, self.running = graph, config.retrieval, config.running
        self.ranking = config.ranking
        self.threads = self.running.threads or cpu_count() or 1
        meanings = _meanings(graph.relations.types.names, config)
        self.filters = Filters.of(graph, self.settings)
        self.runs = Runs.of(graph, self.filters)
        if meanings is None:
            words = (Reader, self.ranking, *((each, *said) for each, said in graph.vocabulary.items()))
            self.reader = graph.shared(words, lambda: self._reads(None))
        else:
            self.reader = self._reads(meanings)
        self.evidence: TextEvidence | None = None
        if len(graph) <= WEIGHED_UP_TO:
            index = graph.shared(TextIndex, lambda: TextIndex(graph))
            self.evidence = TextEvidence(index, Candidates(task).adjacency, _near(task))
        self._walkers: dict[bool, list[CheapestWalks]] = {False: [], True: []}
        self._within: dict[int, BfsRetriever] = {}
        self._last: tuple[LinkedQuestion, Weighed | None] | None = None
        self._trailed: tuple[LinkedQuestion, dict[int, Trail]] | None = None

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def _reads(self, meanings: Meanings | None) -> Reader:
        graph, vocabulary = self.graph, self.graph.vocabulary
        types = TypeNames(
            graph.relations.types.names,
            vocabulary,
            self.ranking,
            lambda make: graph.derived("relation-words", make),
        )
        return Reader(types, Texts(graph, vocabulary, self.ranking), self.ranking, meanings)

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        if self.settings.embeds:
            self._learn(linked())

    def _learn(self, questions: Sequence[LinkedQuestion]) -> None:
        self.reader.prepare(questions)
        if self.near is not None:
            self.near.learn(questions)

    @property
    def near(self) -> Nearness | None:
        return None if self.evidence is None else self.evidence.near

    def notes(self) -> list[str]:
        return [each.note() for each in (self.reader.meanings, self.near) if each is not None]

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self._learn(questions)
        size = min(len(self.runs.neighbours), STEPS_A_QUESTION)
        steps = size * len(questions) + sum(map(self._hub_steps, questions))
        fast = worth_compiling(steps, allowed=self.running.compiled)
        threads = self.threads
        if self.evidence is not None:
            self.evidence.fast = fast
        if not fast or threads == 1 or len(questions) < THREADED_FROM:
            walker = self._walker(0, fast)
            return self._run([self._ranked(walker, question) for question in questions])
        share = -(-len(questions) // threads)
        walkers = [self._walker(each, fast) for each in range(threads)]

        def work(each: int) -> list[Ranked]:
            part = questions[each * share : (each + 1) * share]
            return [self._ranked(walkers[each], question) for question in part]

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            return self._run([ranked for part in pool.map(work, range(threads)) for ranked in part])

    def _hub_steps(self, question: LinkedQuestion) -> int:
        """Steps around the seeds: of a hub, more than a question takes at most."""
        seeds = [seed.entity for seed in question.seeds]
        indptr = self.graph.adjacency.indptr
        return STEPS_A_RELATION * sum(int(indptr[each + 1]) - int(indptr[each]) for each in seeds)

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """The graph in runs and the reading of words are shared; a walk's price depends on the hops left."""
        for each in hops:
            if each not in self._within:
                limited = copy(self)
                limited.settings = replace(self.settings, hops=each)
                limited._walkers = {False: [], True: []}
                limited._last = limited._trailed = None
                self._within[each] = limited
            yield self._within[each].retrieve(questions)

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        from tiny_graph_rag.retrieval.explain import reasons

        entity = int(run.entities[row])
        reading, found = self.reader.read(question), self._found(question)
        if found is None:
            return tuple(reasons(self.graph, reading, self._trails(question)[entity]))
        place, before, told = found.reasons(entity, Prices.of(self.ranking))
        if place >= 0:
            return (*reasons(self.graph, reading, self._trails(question)[entity]), *told)
        why = (
            "no walk leads to it: as dear as most" if question.seeds else "nothing in the question is linked"
        )
        return (Reason(why, (), before / 1000), *told)

    def _trails(self, question: LinkedQuestion) -> dict[int, Trail]:
        """Of each ranked entity; kept for the ranks of one question."""
        if self._trailed is None or self._trailed[0] is not question:
            walker = self._walker(0, bool(self._walkers[True]))
            trails = walker.trails(mentions_of(question), self.reader.read(question))
            self._trailed = question, trails
        return self._trailed[1]

    def _found(self, question: LinkedQuestion) -> Weighed | None:
        """What texts made of a question's candidates; kept for the ranks of one question."""
        if self._last is None or self._last[0] is not question:
            mentions, reading = mentions_of(question), self.reader.read(question)
            walker = self._walker(0, bool(self._walkers[True]))
            ranked = walker.rank(mentions, reading) if mentions else nothing(self.settings.hops)
            self._last = question, self._weighed(question, mentions, reading, ranked, explained=True)
        return self._last[1]

    def _walker(self, each: int, fast: bool) -> CheapestWalks:
        walkers = self._walkers[fast]
        while len(walkers) <= each:
            walkers.append(
                CheapestWalks(
                    self.graph,
                    self.runs,
                    self.filters,
                    prices(self.ranking),
                    hops=self.settings.hops,
                    depth=min(self.settings.depth, len(self.graph)),  # room is made for each
                    exclude_seeds=self.settings.exclude_seeds,
                    fast=fast,
                    most_steps=self.running.max_steps,
                    most_states=self.running.max_states,
                )
            )
        return walkers[each]

    def _ranked(self, walker: CheapestWalks, question: LinkedQuestion) -> Ranked:
        """By explanations, then by what texts add to them."""
        mentions, reading = mentions_of(question), self.reader.read(question)
        ranked = walker.rank(mentions, reading) if mentions else nothing(self.settings.hops)
        found = self._weighed(question, mentions, reading, ranked)
        return ranked if found is None else self._in_order(ranked, found)

    def _weighed(
        self,
        question: LinkedQuestion,
        mentions: Sequence[WeighedMention],
        reading: Reading,
        ranked: Ranked,
        *,
        explained: bool = False,
    ) -> Weighed | None:
        """explained: with the evidence itself, for `reasons`."""
        prices = Prices.of(self.ranking)
        energies = ranked.keys >> search_fast.TIE_BITS
        if self.evidence is None or not prices.bit:
            return None
        if question.seeds and not prices.unexplained(energies, ranked.hops):
            return None
        depth = self.settings.depth
        may = (
            np.ones(len(self.graph), bool) if self.filters.returned is None else self.filters.returned.copy()
        )
        if not question.seeds:
            return told_alone(self.evidence.of(question, reading, mentions), prices, may, depth)
        if self.settings.exclude_seeds:
            may[[seed.entity for seed in question.seeds]] = False
        evidence = self.evidence.of(question, reading, mentions) if explained else None
        total = self.evidence.total(question, reading, mentions) if evidence is None else evidence.total
        return weighed(ranked.entities, ranked.hops, energies, total, prices, may, depth, evidence)

    def _in_order(self, ranked: Ranked, found: Weighed) -> Ranked:
        """Ties go to the greater damped mass; what no walk reached has none, and stands behind."""
        walked = found.rows >= 0
        rows = found.rows[walked]
        ties = np.full(len(walked), (1 << search_fast.TIE_BITS) - 1)
        ties[walked] = ranked.keys[rows] & ((1 << search_fast.TIE_BITS) - 1)
        keys = (found.energies << search_fast.TIE_BITS) + ties
        hops = np.full(len(walked), NO_HOP, dtype=np.int32)
        hops[walked] = ranked.hops[rows]
        masks = np.zeros(len(walked), dtype=np.int64)
        masks[walked] = ranked.masks[rows]
        walks = np.full((len(walked), self.settings.hops), NO_STEP, dtype=np.int32)
        walks[walked] = ranked.walks[rows]
        behind = np.where(walked, hops, LAST_HOP)
        order = np.lexsort((self.graph.name_rank[found.entities], behind, keys))[: self.settings.depth]
        return Ranked(found.entities[order], hops[order], keys[order], masks[order], walks[order], ranked.cut)

    def _run(self, ranked: Sequence[Ranked]) -> Run:
        if not ranked:
            return Run.concatenated([])
        scores = UNIT / (UNIT + np.concatenate([each.keys for each in ranked]).astype(np.float64))
        run = Run(
            np.concatenate([[0], np.cumsum([len(each.keys) for each in ranked])]).astype(np.int64),
            np.concatenate([each.entities for each in ranked]),
            scores,
            np.concatenate([each.hops for each in ranked]),
            np.concatenate([each.walks for each in ranked]),
            {row: each.cut for row, each in enumerate(ranked) if each.cut is not None},
        )
        return run if self.settings.min_score <= 0 else run.where(scores >= self.settings.min_score)


def _meanings(types: Sequence[str], config: Config) -> Meanings | None:
    """What --relation-similarity asks for. Raises UsageError for a missing service."""
    if config.retrieval.relation_similarity == WORDS:
        return None
    from tiny_graph_rag.llm.embeddings import make_embedder
    from tiny_graph_rag.retrieval.meaning import Meanings

    embedder = make_embedder(config, f"--relation-similarity {EMBEDDINGS}")
    return Meanings(types, embedder, config.ranking, config.embeddings.usd_per_million_embedded)


def _near(task: Task) -> Nearness | None:
    """What --text-similarity asks for. Raises UsageError for a missing service."""
    if task.config.retrieval.text_similarity == WORDS:
        return None
    from tiny_graph_rag.llm.embeddings import make_embedder
    from tiny_graph_rag.retrieval.dense import Nearness

    return Nearness(task, make_embedder(task.config, f"--text-similarity {EMBEDDINGS}"))


def prices(ranking: RankingPrices) -> list[int]:
    """In the places of search_fast.Prices."""
    return [
        milli(each)
        for each in (
            ranking.step, ranking.against, ranking.unexplained, ranking.again, ranking.early,
            ranking.off_focus, ranking.off_head, ranking.other_seed,
        )
    ]  # fmt: skip


def mentions_of(question: LinkedQuestion) -> list[WeighedMention]:
    """Seeds by the mention that names them, in the order of the text; readings of one mention share it."""
    spans: dict[tuple[int | None, int | None, str], dict[int, float]] = {}
    for seed in question.seeds:
        shares = spans.setdefault((seed.start, seed.end, seed.mention), {})
        shares[seed.entity] = max(seed.weight, shares.get(seed.entity, 0.0))
    return [
        WeighedMention(tuple(sorted(shares)), tuple(shares[each] / total for each in sorted(shares)))
        for shares, total in ((each, sum(each.values())) for each in spans.values())
    ]


def nothing(hops: int) -> Ranked:
    empty = np.zeros(0, dtype=np.int32)
    wide = np.zeros(0, dtype=np.int64)
    return Ranked(empty, empty, wide, wide, np.zeros((0, hops), dtype=np.int32))
