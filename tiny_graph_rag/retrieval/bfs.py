"""Link → walk → rank: the default retriever, as docs/retrieval.md explains it.

1. Link. The seeds come with the question: those that it names, and those whose texts match its other words.
2. Walk. Paths of at most `--hops` relations from a seed; nothing else is returned, and `--hops 0` returns the
seeds. 3. Rank. Each entity by its cost, five parts that add up (retrieval/cost.py); the score is 1 / (1 +
cost).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from os import cpu_count
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, found_in, worth_compiling
from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sections import RankingPrices
from tiny_graph_rag.graph.text_index import TextIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Seed
from tiny_graph_rag.linking.question_words import RelationWords, milli
from tiny_graph_rag.messages import counted
from tiny_graph_rag.retrieval import search_fast
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, retriever
from tiny_graph_rag.retrieval.candidates import Candidates, Filters, Runs
from tiny_graph_rag.retrieval.cheapest import CheapestWalks, WeighedMention
from tiny_graph_rag.retrieval.cost import UNIT, Column, Costs, TextScores, lacking
from tiny_graph_rag.retrieval.query import Reader, Reading, TextWords
from tiny_graph_rag.retrieval.search import Trail
from tiny_graph_rag.run import Cut, Run

if TYPE_CHECKING:  # loaded where it is asked for
    from tiny_graph_rag.retrieval.dense import Nearness
    from tiny_graph_rag.retrieval.meaning import Meanings

WORDS, EMBEDDINGS = "words", "embeddings"  # of --relation-similarity and --text-similarity
TIES = (1 << search_fast.TIE_BITS) - 1  # of a search key: the part that orders equal costs
SHARE = 64  # questions that a thread ranks at once; no more are not worth a second thread
SCORED_UP_TO = 1_000_000  # entities; of more, paths alone rank: a question would read columns as long as all
CANDIDATES = 500  # of each walk that texts re-rank, at most; the cheapest ones. All where types say nothing
KNOWN_WALKS = 1 << 9  # that are kept
SHORT_WALK = 1000  # entities
STEPS_A_QUESTION = 20_000  # innermost iterations on a graph that is large enough


Mentions = tuple[WeighedMention, ...]
# A walk: from these seeds, the question read so; what it costs from the start, and of how many entities.
Walked = tuple[Mentions, Reading, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """One question's entities, best first. cut: where a limit ended a walk early. parts: (entities, 5), the
    costs in millionths; ties: the part of the score below them; hops: of the path shown, 0 of a seed; paths:
    (entities, hops) relations from the seed, filled up with NO_STEP."""

    cut: Cut | None
    entities: NDArray[np.int32]
    parts: Column
    ties: Column
    hops: NDArray[np.int32]
    paths: NDArray[np.int32]

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return self.entities, self.parts, self.ties, self.hops, self.paths

    def of(self, rows: NDArray[Any] | slice) -> Ranked:
        """rows: places, or a mask."""
        return Ranked(self.cut, *(column[rows] for column in self.columns))


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A question as it is ranked. named, text: by mention, the seeds that it names and those by text.
    referred: the entities that pronouns stand for."""

    question: LinkedQuestion
    reading: Reading
    named: Mentions
    text: Mentions
    referred: set[int]

    @classmethod
    def of(cls, question: LinkedQuestion, reading: Reading) -> _Asked:
        named, text = mentions_of(question.named), mentions_of(question.by_text)
        return cls(question, reading, named, text, _referred(question))


@retriever("bfs", "paths from the seeds, ranked by their lowest cost")
class BfsRetriever(Retriever):
    """Every entity within the hops of a seed, by its cost: the score is 1 / (1 + cost), in (0, 1]."""

    batch = 1024
    beside_linking = True

    def __init__(self, task: Task) -> None:
        graph, config = task.graph, task.config
        self.graph, self.settings, self.running, self.ranking = (
            graph, config.retrieval, config.running, config.ranking,
        )  # fmt: skip
        self.threads = self.running.threads or cpu_count() or 1
        self.filters = Filters.of(graph, self.settings)
        self.runs = Runs.of(graph, self.filters)
        self.costs = Costs.of(graph, self.ranking)
        index = graph.shared(TextIndex, lambda: TextIndex(graph))
        self.reader = Reader(
            RelationWords.of(graph, self.ranking),
            TextWords(graph, index, graph.vocabulary, self.ranking),
            self.ranking,
            _meanings(graph.relations.types.names, config),
            typed=self.costs.typed,
        )
        self.texts: TextScores | None = None
        if len(graph) <= SCORED_UP_TO:
            self.texts = TextScores(index, Candidates(task).adjacency, _similar(task))
        self._walkers: dict[tuple[int, bool, int], CheapestWalks] = {}
        self._walks: dict[Walked, Ranked] = {}
        self._within: dict[int, BfsRetriever] = {}
        self._trailed: tuple[LinkedQuestion, dict[bool, dict[int, Trail]]] | None = None

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    # ---- the ranking

    def _ranked(self, questions: Sequence[LinkedQuestion], thread: int, fast: bool) -> list[Ranked]:
        asked = [_Asked.of(question, self.reader.read(question)) for question in questions]
        candidates = self._candidates
        most = self.settings.depth if self.costs.may_explain else candidates
        reached = self._reached(asked, most, thread, fast)
        if most < candidates:  # texts may bring any of them to the front
            again = [row for row, walks in enumerate(reached) if self._of_a_bit(walks)]
            more = self._reached([asked[row] for row in again], candidates, thread, fast)
            reached = list({**dict(enumerate(reached)), **dict(zip(again, more, strict=True))}.values())
        return list(map(self._by_cost, asked, reached))

    @property
    def _candidates(self) -> int:
        """Entities of a walk among which the ranked ones are."""
        if not self.costs.typed:
            return len(self.graph)
        return min(max(CANDIDATES, self.settings.depth), len(self.graph))

    def _by_cost(self, asked: _Asked, reached: Ranked) -> Ranked:
        """What one question's walks reached, by all parts of its cost, as far as the settings let it
        through."""
        of_a_bit = self._of_a_bit(reached)
        reached = self._returned(reached, asked)
        reached = replace(reached, parts=reached.parts.copy())  # others may have the same walk
        if self.texts is not None and of_a_bit and len(reached.entities):
            weights = self.costs.weights
            own, neighbour, pagerank = self.texts.of(
                asked.question,
                asked.named or asked.text,
                reached.entities,
                mentioned=weights.mentioned,
                every_text=not self.costs.typed,
            )
            reached.parts[:, 2] = lacking(own, of_a_bit)
            reached.parts[:, 3] = lacking(neighbour, of_a_bit, weights.neighbour)
            reached.parts[:, 4] = lacking(pagerank, of_a_bit, weights.pagerank)
        order = np.lexsort(
            (self.graph.name_rank[reached.entities], reached.hops, reached.ties, reached.parts.sum(axis=1))
        )
        return reached.of(order[: self.settings.depth])

    def _reached(self, asked: Sequence[_Asked], most: int, thread: int, fast: bool) -> list[Ranked]:
        """Of each question what lies within the hops of the named seeds and of the text seeds, each by its
        cheaper path.

        most: entities of each walk.
        """
        walker = self._walker(thread, fast, min(most, len(self.graph)))
        # Who asks one question at a time may ask it again without its text seeds.
        named: list[Walked] = [(question.named, question.reading, 0, walker.depth) for question in asked]
        reached = self._walked(walker, named, keep=len(asked) == 1 and walker.depth <= SHORT_WALK)
        for row, question in enumerate(asked):
            if question.referred:  # a question asks for another than those that pronouns stand for
                walk = reached[row]
                parts = walk.parts.copy()
                referred = found_in(np.array(sorted(question.referred)), walk.entities)
                parts[referred, 1] += round(self.ranking.referred * UNIT)
                reached[row] = replace(walk, parts=parts)
        links = [self.costs.link(len(question.named)) for question in asked]
        rows = [
            row
            for row, question in enumerate(asked)
            if question.text and not self._suffices(reached[row], links[row])
        ]
        # Kept, for questions that differ by the names in them have the same text seeds.
        from_text: list[Walked] = [
            (asked[row].text[:1], asked[row].reading, links[row], walker.depth) for row in rows
        ]
        by_text = self._walked(walker, from_text, keep=True)
        for row, walk in zip(rows, by_text, strict=True):
            reached[row] = _cheaper(reached[row], walk)
        return reached

    def _suffices(self, walk: Ranked, beyond: int) -> bool:
        """Whether what a walk reached explains the question and fills the depth with less cost than
        `beyond`, so that nothing which costs more can be among the best."""
        best = walk.of(slice(self.settings.depth))
        return (
            len(best.entities) == self.settings.depth
            and int(best.parts.sum(axis=1).max()) < beyond
            and not self._of_a_bit(best)
        )

    def _walked(self, walker: CheapestWalks, wanted: Sequence[Walked], *, keep: bool) -> list[Ranked]:
        """Walks as they are wanted, each done once. keep: for others that want the same."""
        walks = {key: walk for key in wanted if (walk := self._walks.get(key)) is not None}
        new = [key for key in dict.fromkeys(wanted) if key not in walks]
        asked = [(mentions, reading) for mentions, reading, *_ in new]
        for key, found in zip(new, walker.rank(asked), strict=True):
            parts = np.zeros((len(found.entities), 5), dtype=np.int64)
            parts[:, 0] = key[2]
            parts[:, 1] = self.costs.path(found.keys >> search_fast.TIE_BITS, found.hops)
            walks[key] = Ranked(found.cut, found.entities, parts, found.keys & TIES, found.hops, found.walks)
        if keep:
            if len(self._walks) >= KNOWN_WALKS:
                self._walks.clear()
            self._walks |= walks
        return [walks[key] for key in wanted]

    def _of_a_bit(self, reached: Ranked) -> int:
        if self.texts is None or not len(reached.entities):
            return 0
        return self.costs.of_a_bit(reached.parts.sum(axis=1), reached.hops)

    def _returned(self, reached: Ranked, asked: _Asked) -> Ranked:
        """What of it the settings let through."""
        if self.filters.returned is not None:
            reached = reached.of(self.filters.returned[reached.entities])
        if self.settings.exclude_seeds:
            named = np.array(
                sorted({seed for mention in asked.named for seed in mention.seeds}), dtype=np.int64
            )
            reached = reached.of(~found_in(named, reached.entities))
        return reached

    def _walker(self, thread: int, fast: bool, depth: int) -> CheapestWalks:
        key = thread, fast, depth
        if key not in self._walkers:
            self._walkers[key] = CheapestWalks(
                self.graph,
                self.runs,
                self.filters,
                prices(self.ranking),
                hops=self.settings.hops,
                depth=depth,
                exclude_seeds=self.settings.exclude_seeds,
                fast=fast,
                may_compile=self.running.compiled,
                most_steps=self.running.max_steps,
                most_states=self.running.max_states,
            )
        return self._walkers[key]

    # ---- many questions

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        if self.settings.embeds:
            self._learn(linked())

    def _learn(self, questions: Sequence[LinkedQuestion]) -> None:
        self.reader.prepare(questions)
        if self.similar is not None:
            self.similar.learn(questions)

    @property
    def similar(self) -> Nearness | None:
        return None if self.texts is None else self.texts.similar

    def notes(self) -> list[str]:
        return [asked.note() for asked in (self.reader.meanings, self.similar) if asked is not None]

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        self._learn(questions)
        steps = min(len(self.runs.neighbours), STEPS_A_QUESTION) * len(questions)
        fast = worth_compiling(steps, allowed=self.running.compiled)
        threads = self.threads
        if not fast or threads == 1 or len(questions) <= SHARE:
            return self._run(self._ranked(questions, 0, fast))
        # Small shares, which whoever is free takes: one thread ranks while the other is busy in Python.
        firsts = iter(range(0, len(questions), SHARE))
        ranked: dict[int, list[Ranked]] = {}

        def work(thread: int) -> None:
            for first in firsts:
                ranked[first] = self._ranked(questions[first : first + SHARE], thread, fast)

        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        return self._run([one for first in sorted(ranked) for one in ranked[first]])

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """The graph and the reading of words are shared; a path's cost depends on the hops left."""
        for limit in hops:
            if limit not in self._within:
                limited = copy(self)
                limited.settings = replace(self.settings, hops=limit)
                limited._walkers, limited._walks, limited._trailed = {}, {}, None
                self._within[limit] = limited
            yield self._within[limit].retrieve(questions)

    def _run(self, ranked: Sequence[Ranked]) -> Run:
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
            {row: one.cut for row, one in enumerate(ranked) if one.cut is not None},
            parts=parts.astype(np.int32),
        )
        return run if self.settings.min_score <= 0 else run.where(scores >= self.settings.min_score)

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        """What the path explains and what it leaves unexplained, which adds up to the part `path`; and the
        words of the question that the entity's own texts hold."""
        from tiny_graph_rag.retrieval.explain import reasons

        if run.parts is None:
            return ()
        entity, link, walk = int(run.entities[row]), int(run.parts[row, 0]), int(run.parts[row, 1])
        why: list[Reason] = []
        if self.costs.typed:
            reading = self.reader.read(question)
            why += reasons(self.graph, reading, self._trails(question, by_text=link > 0)[entity])
        elif run.hops[row]:
            why.append(Reason(counted(int(run.hops[row]), "{n} hop", "{n} hops"), (), walk / UNIT))
        if not run.hops[row] and entity in _referred(question):
            why.append(
                Reason("a pronoun stands for it: the question asks for another", (), self.ranking.referred)
            )
        if self.texts is not None and (words := self.texts.words_in(question, entity)):
            why.append(Reason("its texts hold", words, 0.0))
        return tuple(why)

    def _trails(self, question: LinkedQuestion, *, by_text: bool) -> dict[int, Trail]:
        """Of each entity that paths from the named or from the text seeds reach; kept for the ranks of one
        question."""
        if self._trailed is None or self._trailed[0] is not question:
            self._trailed = question, {}
        trails = self._trailed[1]
        if by_text not in trails:
            walker = self._walker(0, False, self._candidates)
            seeds = question.by_text if by_text else question.named
            trails[by_text] = walker.trails((mentions_of(seeds), self.reader.read(question)))
        return trails[by_text]


def _referred(question: LinkedQuestion) -> set[int]:
    """The entities that pronouns stand for."""
    return {seed.entity for seed in question.seeds if seed.is_reference}


def _meanings(types: Sequence[str], config: Config) -> Meanings | None:
    """What --relation-similarity asks for. Raises UsageError for a missing service."""
    if config.retrieval.relation_similarity == WORDS:
        return None
    from tiny_graph_rag.llm.embeddings import make_embedder
    from tiny_graph_rag.retrieval.meaning import Meanings

    embedder = make_embedder(config, f"--relation-similarity {EMBEDDINGS}")
    return Meanings(types, embedder, config.ranking, config.embeddings.usd_per_million_embedded)


def _similar(task: Task) -> Nearness | None:
    """What --text-similarity asks for. Raises UsageError for a missing service."""
    if task.config.retrieval.text_similarity == WORDS:
        return None
    from tiny_graph_rag.llm.embeddings import make_embedder
    from tiny_graph_rag.retrieval.dense import Nearness

    return Nearness(task, make_embedder(task.config, f"--text-similarity {EMBEDDINGS}"))


def prices(ranking: RankingPrices) -> list[int]:
    """As search_fast.Prices has them."""
    return [
        milli(price)
        for price in (
            ranking.step, ranking.against, ranking.unexplained, ranking.again, ranking.early,
            ranking.off_focus, ranking.off_head, ranking.other_seed,
        )
    ]  # fmt: skip


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


def _cheaper(one: Ranked, other: Ranked) -> Ranked:
    """What both reached, each entity by its cheaper path."""
    columns = map(np.concatenate, zip(one.columns, other.columns, strict=True))
    both = Ranked(one.cut or other.cut, *columns)
    order = np.lexsort((both.ties, both.parts.sum(axis=1), both.entities))
    return both.of(order[begins(both.entities[order])])
