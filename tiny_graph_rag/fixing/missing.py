"""What only the graph's owner can say: relations and entities that questions need and the graph lacks.

Nothing here is applied. A relation is asked for where the gold set names it, or where a text names two
entities that no relation joins and a question would reach its reference by it. An entity is asked for where a
reference means nothing, with the texts of the graph that mention it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tiny_graph_rag.columns.arrays import distinct, rows_holding
from tiny_graph_rag.fixing.patch import Ask
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.bfs import NOT_REACHED, Columns, hops_between
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.namesakes import abbreviations
from tiny_graph_rag.graph.nearest import LIKE_ENOUGH, NearestNames
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.mentions import MentionFinder, occurrences
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

MOST_ASKED = 50  # questions to the owner; more are not read
MOST_MENTIONS = 20  # texts that mention a lost reference
MOST_TEXTS = 3  # passages shown with one
MOST_AROUND = 100  # relations of an entity whose neighbours a new relation may start from
FAR = 3  # hops from which on a reference counts as out of reach
LONGEST_TEXT = 300  # characters of a passage


@dataclass(slots=True)
class _Reasons:
    """Why a relation is asked for. questions: ids. texts: passages that name both. types: that the gold set
    gives it."""

    questions: dict[str, None] = field(default_factory=dict)
    texts: dict[str, None] = field(default_factory=dict)
    types: dict[str, None] = field(default_factory=dict)


def propose_asks(graph: KnowledgeGraph, questions: EvalSet) -> list[Ask]:
    """What to ask the owner, the answers first that most questions would gain from; at most MOST_ASKED."""
    names = NameIndex.of(graph)
    linked = NameLinker(graph, names).link(questions.examples)
    texts = _Texts(graph, names)
    asks = [*_relations(graph, names, questions, linked, texts), *_references(graph, names, questions, texts)]
    asks.sort(key=lambda ask: (-ask.lifts, not ask.texts, ask.reference, ask.entity_ids))
    return [*_letters(graph), *asks][:MOST_ASKED]


def _letters(graph: KnowledgeGraph) -> Iterator[Ask]:
    """Entities called by letters that two long forms of the graph share: which is meant?"""
    longs: dict[int, dict[str, int]] = defaultdict(dict)
    for abbreviation in abbreviations(graph):
        for row in abbreviation.unclear:
            longs[row][abbreviation.long] = abbreviation.source
    ids, names = graph.entities.ids, graph.entities.names
    for row, sources in longs.items():
        yield Ask(
            question=t(
                "{short} is the abbreviation of {longs}: which does it mean?",
                short=names[row],
                longs=", ".join(sources),
            ),
            entity_ids=(ids[row], *(ids[source] for source in sources.values())),
        )


def _relations(
    graph: KnowledgeGraph,
    names: NameIndex,
    questions: EvalSet,
    linked: Sequence[LinkedQuestion],
    texts: _Texts,
) -> Iterator[Ask]:
    pairs: dict[tuple[int, int], _Reasons] = defaultdict(_Reasons)
    for example in questions:
        for one, other, type in _stated(example, names):
            if not texts.are_joined(one, other):
                reasons = pairs[min(one, other), max(one, other)]
                reasons.questions[example.id] = None
                reasons.types[type] = None
    for example, seeds, references in _out_of_reach(graph, names, questions, linked):
        for one, other in _joining(graph, seeds, references, texts):
            pairs[min(one, other), max(one, other)].questions[example.id] = None
    ids, spelt = graph.entities.ids, graph.entities.names
    for (one, other), reasons in pairs.items():
        both = texts.naming_both(one, other)
        types = ", ".join(type for type in reasons.types if type)
        question = t(
            "Is there a relation {types} between {one} and {other}?"
            if types
            else "How are {one} and {other} related?",
            types=types,
            one=spelt[one],
            other=spelt[other],
        )
        evidence = [t("the gold set names this relation")] if reasons.types else []
        if both:
            evidence.append(t("texts of the graph name both"))
        yield Ask(
            question=question,
            entity_ids=(ids[one], ids[other]),
            texts=tuple(text for text, _ in both[:MOST_TEXTS]),
            chunks=tuple(dict.fromkeys(chunk for _, chunks in both for chunk in chunks)),
            evidence=tuple(evidence),
            questions=tuple(reasons.questions),
            lifts=len(reasons.questions),
        )


def _stated(example: Example, names: NameIndex) -> Iterator[tuple[int, int, str]]:
    """The relations that a question is reported to need, both ends of which the graph has."""
    for relation in example.reference_relationships:
        sources, targets = names.resolve(relation.source)[0], names.resolve(relation.target)[0]
        if len(sources) == 1 and len(targets) == 1 and sources != targets:
            yield sources[0], targets[0], relation.type


def _out_of_reach(
    graph: KnowledgeGraph, names: NameIndex, questions: EvalSet, linked: Sequence[LinkedQuestion]
) -> Iterator[tuple[Example, list[int], list[int]]]:
    """Questions with the seeds they name and the references that lie FAR from all of them."""
    starts: list[list[int]] = []
    wanted: list[list[int]] = []
    for example, question in zip(questions, linked, strict=True):
        given = names.meant_by(example.seed_entities or ())
        starts.append(sorted(given or {seed.entity for seed in question.named}))
        meant = (rows for rows, _ in names.resolve_all(example.relevant_entities).values() if len(rows) == 1)
        wanted.append(sorted({rows[0] for rows in meant}) if starts[-1] else [])
    hops = iter(hops_between(graph.adjacency, _columns(starts), _columns(wanted)).tolist())
    for example, seeds, references in zip(questions, starts, wanted, strict=True):
        far = [row for row in references if (hop := next(hops)) == NOT_REACHED or hop >= FAR]
        if far:
            yield example, seeds, far


def _columns(rows: Sequence[Sequence[int]]) -> Columns:
    """(question, entity) columns."""
    counts = [len(row) for row in rows]
    flat = [entity for row in rows for entity in row]
    return np.repeat(np.arange(len(rows)), counts), np.array(flat, dtype=np.int64)


def _joining(
    graph: KnowledgeGraph, seeds: Iterable[int], references: Sequence[int], texts: _Texts
) -> Iterator[tuple[int, int]]:
    """Pairs that a text names together and no relation joins, one at a seed or next to it, the other at a
    reference or next to it, so that a relation between them would bring the reference nearer than FAR."""
    for reference in references:
        ends = {reference: 0, **dict.fromkeys(_around(graph, reference), 1)}
        for seed in seeds:
            starts = {**dict.fromkeys(_around(graph, seed), 1), seed: 0}
            for start, hop in starts.items():
                for end in texts.named_with(start) & ends.keys():
                    if end != start and hop + 1 + ends[end] < FAR and not texts.are_joined(start, end):
                        yield start, end


def _around(graph: KnowledgeGraph, row: int) -> list[int]:
    neighbours = graph.adjacency.neighbours[graph.adjacency.slots(row)]
    return distinct(neighbours)[0].tolist() if len(neighbours) <= MOST_AROUND else []


def _references(graph: KnowledgeGraph, names: NameIndex, questions: EvalSet, texts: _Texts) -> Iterator[Ask]:
    """References that mean nothing, with what mentions them."""
    lost: dict[str, dict[str, None]] = defaultdict(dict)
    for example in questions:
        for name in example.relevant_entities:
            if not names.resolve_reference(name)[0]:
                lost[name][example.id] = None
    if not lost:
        return
    nearest = NearestNames.of(graph.entities).of_all(lost)
    for name, ids in lost.items():
        mentions = texts.mentioning(name)
        near = next((near for near in nearest[name] if near.likeness >= LIKE_ENOUGH), None)
        question = t(
            "What is {reference}? The graph has no entity of this name."
            if near is None
            else "Is {reference} the same as {name}, or is it missing?",
            reference=name,
            name=near and near.name,
        )
        yield Ask(
            question=question,
            entity_ids=(graph.entities.ids[near.entity],) if near is not None else (),
            reference=name,
            texts=tuple(text for text, _ in mentions[:MOST_TEXTS]),
            chunks=tuple(dict.fromkeys(chunk for _, chunks in mentions for chunk in chunks)),
            evidence=(t("texts of the graph mention it"),) if mentions else (),
            questions=tuple(ids),
            lifts=len(ids),
        )


class _Texts:
    """The descriptions of a graph's entities and relations, and which entities they name."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex) -> None:
        self.graph, self.names = graph, names
        self._named: dict[tuple[str, int], frozenset[int]] = {}
        self._with: dict[int, frozenset[int]] = {}
        self._bytes: dict[str, bytes] = {}

    @cached_property
    def finder(self) -> MentionFinder:
        return MentionFinder(self.graph, self.names)

    def are_joined(self, one: int, other: int) -> bool:
        adjacency = self.graph.adjacency
        return bool((adjacency.neighbours[adjacency.slots(one)] == other).any())

    def _of(self, row: int) -> Iterator[tuple[str, int]]:
        """The texts at an entity: its own, and those of its relations."""
        yield "entity", row
        relations = self.graph.adjacency.relations[self.graph.adjacency.slots(row)].tolist()
        if len(relations) <= MOST_AROUND:
            yield from (("relation", relation) for relation in relations)

    def _named_in(self, kind: str, row: int) -> frozenset[int]:
        """The entities that a text names, and those that it is of."""
        if (kind, row) not in self._named:
            if kind == "entity":
                text, owners = self.graph.entities.descriptions[row], {row}
            else:
                relations = self.graph.relations
                text = relations.descriptions[row]
                owners = {int(relations.sources[row]), int(relations.targets[row])}
            mentions = self.finder.find([text])[0] if text else ()
            meant = {mention.entities[0] for mention in mentions if len(mention.entities) == 1}
            self._named[kind, row] = frozenset(meant | owners)
        return self._named[kind, row]

    def named_with(self, row: int) -> frozenset[int]:
        """The entities that the texts at `row` name next to it, without those that only its relations
        join."""
        if row not in self._with:
            named = (self._named_in(kind, place) for kind, place in self._of(row))
            self._with[row] = frozenset().union(*named) - {row}
        return self._with[row]

    def naming_both(self, one: int, other: int) -> list[tuple[str, tuple[str, ...]]]:
        """Texts that name both, each with the chunks that it comes from."""
        places = dict.fromkeys((*self._of(one), *self._of(other)))
        return [self._text(*place) for place in places if {one, other} <= self._named_in(*place)]

    def mentioning(self, name: str) -> list[tuple[str, tuple[str, ...]]]:
        """Texts in which a name stands that is no entity's."""
        found = []
        for kind, descriptions in (
            ("entity", self.graph.entities.descriptions),
            ("relation", self.graph.relations.descriptions),
        ):
            if kind not in self._bytes:
                self._bytes[kind] = descriptions.data.tobytes().lower()
            wanted, ends = name.encode().lower(), descriptions.offsets[1:]
            rows = rows_holding(self._bytes[kind], wanted, ends, MOST_MENTIONS)
            found += [self._text(kind, row) for row in rows if occurrences(descriptions[row], name)]
        return list(dict.fromkeys(found))

    def _text(self, kind: str, row: int) -> tuple[str, tuple[str, ...]]:
        table = self.graph.entities if kind == "entity" else self.graph.relations
        return table.descriptions[row][:LONGEST_TEXT], tuple(table.source_chunks[row])
