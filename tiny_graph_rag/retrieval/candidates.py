"""What retrievers may walk and return, and in which order.

The filters of `retrieval.relations`, `retrieval.types` …; the adjacency as paths follow it; and
what the baselines share (`Candidates`): what the settings let in, the tie-break order, and walks for what is
ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.config.sections import Retrieval
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.gold.resolve import note_of_several
from tiny_graph_rag.graph.bfs import BreadthFirst, Neighbourhood, paths_back
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex, entities_returned
from tiny_graph_rag.graph.tables import SLOTS_AT_ONCE, Adjacency, entity_ranges
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.messages import listed, said
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.walk import WalkedGraph
from tiny_graph_rag.run import NO_HOP, Run

if TYPE_CHECKING:
    from tiny_graph_rag.formats.runs import Retrieved

LISTED = 8  # known names in a message where none is near


class Filters(Struct, frozen=True, eq=False):
    """relations: bool (relations,), which may be walked. returned: bool (entities,), which may be answers.
    Each is None where all may.
    out, against: whether relations are walked in their own direction and against it.
    """

    relations: NDArray[np.bool_] | None = None
    returned: NDArray[np.bool_] | None = None
    out: bool = True
    against: bool = True

    @classmethod
    def of(cls, graph: KnowledgeGraph, settings: Retrieval) -> Filters:
        """Raises UsageError for an unknown type, with the nearest names."""
        kinds = graph.relations.types
        wanted = _codes(settings.relations, kinds.names, "retrieval.relations", said("relation type"))
        unwanted = _codes(
            settings.not_relations, kinds.names, "retrieval.not_relations", said("relation type")
        )
        types = _codes(settings.types, graph.entities.types.names, "retrieval.types", said("entity type"))
        limits = []
        if wanted:
            limits.append(np.isin(kinds.codes, wanted))
        if unwanted:
            limits.append(~np.isin(kinds.codes, unwanted))
        if settings.min_weight > 0:
            limits.append(graph.relations.weights >= settings.min_weight)
        walked = np.logical_and.reduce(limits) if limits else None
        return cls(
            relations=None if walked is None or walked.all() else walked,
            returned=np.isin(graph.entities.types.codes, types) if types else None,
            out=settings.direction != "in" or graph.origin.is_undirected,
            against=settings.direction != "out" or graph.origin.is_undirected,
        )

    def slots(self, graph: KnowledgeGraph) -> NDArray[np.bool_] | None:
        """(slots,), False where the slot's relation may not be walked that way; None where all may."""
        if self.relations is None and self.out and self.against:
            return None
        may = np.where(graph.adjacency.forward, self.out, self.against)
        return may if self.relations is None else may & self.relations[graph.adjacency.relations]

    def walked(self, graph: KnowledgeGraph) -> Adjacency:
        """The slots that may be walked; the graph's own adjacency where all may."""
        slots = self.slots(graph)
        return graph.adjacency if slots is None else graph.adjacency.only(slots)


def _codes(wanted: str, known: Sequence[str], flag: str, what: str) -> list[int]:
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    by_fold = {name.casefold(): place for place, name in enumerate(known)}
    found = []
    for name in names:
        place = known.index(name) if name in known else by_fold.get(name.casefold())
        if place is None:
            has = said(". The graph has: {names}", names=listed(known, LISTED))
            choices = has if known else said(": the graph has none")
            raise UsageError(
                "{flag}: no {what} {name}{near}",
                flag=flag,
                what=what,
                name=repr(name),
                near=nearest(name, known) or choices,
            )
        found.append(place)
    return found


def walked_columns(graph: KnowledgeGraph, filters: Filters) -> WalkedGraph:
    """The adjacency as paths follow it."""
    adjacency = filters.walked(graph)
    arrays: Mapping[str, Any]
    if adjacency is graph.adjacency:
        arrays = graph.derived("slots", lambda: slot_columns(graph, adjacency))
    else:
        arrays = slot_columns(graph, adjacency)
    returned = np.ones(len(graph), np.bool_) if filters.returned is None else filters.returned
    return WalkedGraph(**arrays, name_rank=graph.name_rank, returned=returned)


def slot_columns(graph: KnowledgeGraph, adjacency: Adjacency) -> dict[str, NDArray[Any]]:
    """The first arrays of WalkedGraph. SLOTS_AT_ONCE are sorted at a time."""
    codes, width = graph.relations.types.codes, 2 * max(len(graph.relations.types.names), 1)
    count = len(adjacency.neighbours)
    kind = np.empty(count, np.int16 if width - 1 <= np.iinfo(np.int16).max else np.int32)
    neighbours, relations = np.empty(count, np.int32), np.empty(count, np.int32)
    for low, high in entity_ranges(adjacency.indptr, SLOTS_AT_ONCE):
        part = slice(int(adjacency.indptr[low]), int(adjacency.indptr[high]))
        starts = np.repeat(np.arange(high - low), np.diff(adjacency.indptr[low : high + 1]))
        kinds = 2 * codes[adjacency.relations[part]].astype(np.int64) + ~adjacency.forward[part]
        order = np.argsort(starts * width + kinds, kind="stable")
        kind[part] = kinds[order]
        neighbours[part] = adjacency.neighbours[part][order]
        relations[part] = adjacency.relations[part][order]
    wide = np.int32 if count <= np.iinfo(np.int32).max else np.int64
    indptr = adjacency.indptr.astype(wide)
    return {"indptr": indptr, "kind": kind, "neighbours": neighbours, "relations": relations}


LAST_HOP = np.iinfo(np.int32).max  # what no walk reached stands behind what one did


class Candidates:
    """The entities that a task's settings let a retriever return, and the relations that it may walk."""

    def __init__(self, task: Task) -> None:
        self.graph, self.settings = task.graph, task.config.retrieval
        self.filters = Filters.of(task.graph, self.settings)
        self.adjacency = self.filters.walked(task.graph)

    def reached(
        self, questions: Sequence[LinkedQuestion], *, nearest: bool = False, every_seed: bool = False
    ) -> Iterator[Neighbourhood]:
        """What lies within the hops of each question's seeds, over the relations that may be walked; searched
        when it is asked for, and not kept.

        every_seed: from seeds by text also where a question has named ones. nearest: whole hops as far as the
        depth is filled, where a ranking takes what is nearest.
        """
        search = BreadthFirst(self.adjacency)
        for question in questions:
            seeds = {seed.entity for seed in (question.seeds if every_seed else question.starts)}
            enough = 0
            if nearest and self.filters.returned is None:
                enough = self.settings.depth + (len(seeds) if self.settings.exclude_seeds else 0)
            yield search.reach(list(seeds), self.settings.hops, enough=enough)

    def ranked(
        self,
        question: LinkedQuestion,
        entities: NDArray[np.int32],
        scores: NDArray[np.float64],
        hops: NDArray[np.int32] | None = None,
    ) -> Run:
        """One question's run: what the settings return of `entities`, best first, cut at the depth.

        hops: of each entity, None where nothing was walked.
        """
        kept = self._returned(question, entities, scores)
        entities, scores = entities[kept], scores[kept]
        hops = np.full(len(entities), NO_HOP, dtype=np.int32) if hops is None else hops[kept]
        order = self._first(entities, scores, hops)
        offsets = np.array([0, len(order)], dtype=np.int64)
        return Run(offsets, entities[order], scores[order], hops[order])

    def walked(
        self, question: LinkedQuestion, reached: Neighbourhood, scores: NDArray[Any], *, paths: bool = True
    ) -> Run:
        """One question's run of all that was reached, with its hops and, if wanted, a shortest walk to each.

        scores: a number for each of `reached.entities`.
        """
        run = self.ranked(question, reached.entities, scores.astype(np.float64), reached.hops)
        return replace(run, walks=self.walks(reached, run.entities)) if paths else run

    def _returned(
        self, question: LinkedQuestion, entities: NDArray[np.int32], scores: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        kept = (
            scores >= self.settings.min_score if self.settings.min_score > 0 else np.ones(len(scores), bool)
        )
        if self.filters.returned is not None:
            kept &= self.filters.returned[entities]
        if self.settings.exclude_seeds:
            kept &= ~np.isin(entities, [seed.entity for seed in question.named])
        return kept

    def _first(
        self, entities: NDArray[np.int32], scores: NDArray[np.float64], hops: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The places up to the depth by (-score, hop, NFC name, id); what no walk reached stands behind."""
        places, depth = np.arange(len(entities)), self.settings.depth
        if len(entities) > 4 * depth:  # sorting everything would take longer than finding what to sort
            worst = np.partition(scores, len(scores) - depth)[len(scores) - depth]
            places = np.flatnonzero(scores >= worst)
        chosen, behind = entities[places], np.where(hops[places] == NO_HOP, LAST_HOP, hops[places])
        order = np.lexsort((self.graph.name_rank[chosen], behind, -scores[places]))
        return places[order[:depth]]

    def walks(self, reached: Neighbourhood, entities: NDArray[np.int32]) -> NDArray[np.int32]:
        """(entities, hops): a shortest walk to each of `entities`, all of them reached."""
        if not hasattr(self, "_levels"):
            self._levels = np.zeros(len(self.graph), np.int32)
        self._levels[reached.entities] = reached.hops + 1
        walks = paths_back(self._backwards, self._levels, entities, self.graph.name_rank, self.settings.hops)
        self._levels[reached.entities] = 0
        return walks

    @cached_property
    def _backwards(self) -> Adjacency:
        """The relations that lead to an entity; the same as those from it unless one direction is walked."""
        both_ways = self.filters.out and self.filters.against
        return self.adjacency if both_ways else self.adjacency.reversed()


class ReturnedNames:
    """Which entities another retriever's names and ids mean. strangers: names that the graph lacks, numbered
    behind its entities; several: names that several entities have."""

    def __init__(self, task: Task) -> None:
        self.known = len(task.graph)
        self.strangers: dict[str, int] = {}
        self.several: dict[str, None] = {}
        self._graph, self._names = task.graph, NameIndex.of(task.graph)

    def ranking(self, places: Iterable[Retrieved]) -> dict[int, Retrieved]:
        """The entities in order, each with the first place that means it."""
        ranking: dict[int, Retrieved] = {}
        for place in places:
            name = place.name or place.id
            entities = entities_returned(self._graph, self._names, place.id, place.name)
            if len(entities) > 1:
                self.several[name] = None
            if not entities:
                entities = (self.known + self.strangers.setdefault(name, len(self.strangers)),)
            ranking.setdefault(entities[0], place)
        return ranking

    def note(self) -> list[str]:
        """How ambiguous names were read."""
        return note_of_several(self.several)
