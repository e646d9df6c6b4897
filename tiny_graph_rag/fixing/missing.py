"""What only the graph's owner can say: relations and entities that questions need and the graph lacks.

Nothing here is applied. A relation is asked for where the gold set names it, or where a text names two
entities that no relation joins and a question would reach its reference by it. An entity is asked for where a
reference means nothing, with the texts of the graph that mention it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from tiny_graph_rag.fixing.patch import Ask
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.bfs import BreadthFirst
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.nearest import LIKE_ENOUGH, NearestNames
from tiny_graph_rag.graph.tables import Entities, Relations
from tiny_graph_rag.language.function_words import stands_in
from tiny_graph_rag.linking.mentions import MentionFinder
from tiny_graph_rag.linking.names import NameLinker
from tiny_graph_rag.messages import t

MOST_ASKED = 50  # questions to the owner; more are not read
MOST_TEXTS = 3  # passages shown with one
MOST_AROUND = 100  # relations of an entity whose neighbours a new relation may start from
FAR = 3  # hops from which on a reference counts as out of reach
LONGEST_TEXT = 300  # characters of a passage


@dataclass(frozen=True, slots=True)
class _Passage:
    """A description. named: the entities that it names, and those that it is of."""

    text: str
    chunks: tuple[str, ...]
    named: frozenset[int]


def propose_asks(graph: KnowledgeGraph, questions: EvalSet, older: KnowledgeGraph | None = None) -> list[Ask]:
    """What to ask the owner, the answers first that most questions would gain from; at most MOST_ASKED.

    older: an earlier version of the graph, which may say what a lost reference was."""
    names = NameIndex.of(graph)
    texts = _Texts(graph, names, older)
    asks = [*_relations(graph, names, questions, texts), *_references(graph, names, questions, texts)]
    asks.sort(key=lambda ask: (-ask.lifts, not ask.texts, ask.reference, ask.entity_ids))
    return asks[:MOST_ASKED]


def _relations(graph: KnowledgeGraph, names: NameIndex, questions: EvalSet, texts: _Texts) -> Iterator[Ask]:
    """Relations that the gold set names, or that would bring a reference within reach."""
    lifted: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    types: dict[tuple[int, int], dict[str, None]] = defaultdict(dict)
    for example in questions:
        for one, other, type in _stated(example, names):
            if not graph.adjacency.are_joined(one, other):
                types[min(one, other), max(one, other)][type] = None
                lifted[min(one, other), max(one, other)][example.id] = None
    for example, one, other in _joining(graph, names, questions, texts):
        lifted[min(one, other), max(one, other)][example.id] = None
    ids, spelt = graph.entities.ids, graph.entities.names
    for (one, other), asking in lifted.items():
        named = ", ".join(type for type in types[one, other] if type)
        question = t(
            "Is there a relation {types} between {one} and {other}?"
            if named
            else "How are {one} and {other} related?",
            types=named,
            one=spelt[one],
            other=spelt[other],
        )
        evidence = [t("the gold set names this relation")] if types[one, other] else []
        yield _ask(question, (ids[one], ids[other]), texts.naming_both(one, other), asking, evidence)


def _ask(
    question: str,
    ids: tuple[str, ...],
    passages: Sequence[_Passage],
    asking: Iterable[str],
    evidence: list[str],
    reference: str = "",
) -> Ask:
    if passages:
        evidence.append(t("texts of the graph mention it" if reference else "texts of the graph name both"))
    return Ask(
        question=question,
        entity_ids=ids,
        reference=reference,
        texts=tuple(passage.text for passage in passages[:MOST_TEXTS]),
        chunks=tuple(dict.fromkeys(chunk for passage in passages for chunk in passage.chunks)),
        evidence=tuple(evidence),
        questions=tuple(asking),
        lifts=len(tuple(asking)),
    )


def _stated(example: Example, names: NameIndex) -> Iterator[tuple[int, int, str]]:
    """The relations that a question is reported to need, both ends of which the graph has."""
    for relation in example.reference_relations:
        sources, targets = names.resolve(relation.source)[0], names.resolve(relation.target)[0]
        if len(sources) == 1 and len(targets) == 1 and sources != targets:
            yield sources[0], targets[0], relation.type


def _joining(
    graph: KnowledgeGraph, names: NameIndex, questions: EvalSet, texts: _Texts
) -> Iterator[tuple[Example, int, int]]:
    """Of questions whose reference lies FAR from all seeds: pairs that a text names together and no relation
    joins, one at a seed or next to it, the other at the reference or next to it, so that a relation between
    them would bring the reference nearer."""
    search = BreadthFirst(graph.adjacency)
    linked = NameLinker(graph, names).link(questions.examples)
    for example, question in zip(questions, linked, strict=True):
        given = names.meant_by(example.seed_entities or ())
        seeds = sorted(given or {seed.entity for seed in question.named})
        references = names.meant_by(example.relevant_entities) if seeds else ()
        near = set(search.reach(seeds, FAR - 1).entities.tolist()) if references else set()
        starts = {**{row: 1 for seed in seeds for row in _around(graph, seed)}, **dict.fromkeys(seeds, 0)}
        for reference in sorted(set(references) - near):
            ends = {**dict.fromkeys(_around(graph, reference), 1), reference: 0}
            for start, hops in starts.items():
                for end in texts.named_with(start) & ends.keys():
                    if hops + 1 + ends[end] < FAR and not graph.adjacency.are_joined(start, end):
                        yield example, start, end


def _around(graph: KnowledgeGraph, row: int) -> list[int]:
    neighbours = graph.adjacency.neighbours[graph.adjacency.slots(row)]
    return sorted(set(neighbours.tolist())) if len(neighbours) <= MOST_AROUND else []


def _references(graph: KnowledgeGraph, names: NameIndex, questions: EvalSet, texts: _Texts) -> Iterator[Ask]:
    """References that mean nothing, with what mentions them."""
    lost: dict[str, dict[str, None]] = defaultdict(dict)
    for example in questions:
        for name in example.relevant_entities:
            if not names.resolve_reference(name)[0]:
                lost[name][example.id] = None
    if not lost:
        return
    nearest = NearestNames(graph).of_all(lost)
    for name, asking in lost.items():
        near = next((near for near in nearest[name] if near.likeness >= LIKE_ENOUGH), None)
        question = t(
            "What is {reference}? The graph has no entity of this name."
            if near is None
            else "Is {reference} the same as {name}, or is it missing?",
            reference=name,
            name=near and near.name,
        )
        ids = () if near is None else (graph.entities.ids[near.entity],)
        yield _ask(question, ids, texts.mentioning(name), asking, texts.was(name), name)


class _Texts:
    """The descriptions of a graph's entities and relations, and which entities they name."""

    def __init__(self, graph: KnowledgeGraph, names: NameIndex, older: KnowledgeGraph | None) -> None:
        self.graph, self.names, self.older = graph, names, older
        self._at: dict[int, list[_Passage]] = {}

    @cached_property
    def _finder(self) -> MentionFinder:
        return MentionFinder(self.graph, self.names)

    @cached_property
    def _in_small_letters(self) -> list[tuple[Entities | Relations, int, str]]:
        tables: tuple[Entities | Relations, ...] = (self.graph.entities, self.graph.relations)
        return [
            (table, row, text.lower())
            for table in tables
            for row, text in enumerate(table.descriptions)
            if text
        ]

    def _passage(self, table: Entities | Relations, row: int, owners: frozenset[int]) -> _Passage:
        text = table.descriptions[row]
        mentions = self._finder.find(text) if text and owners else ()
        named = {mention.entities[0] for mention in mentions if len(mention.entities) == 1}
        return _Passage(text[:LONGEST_TEXT], tuple(table.source_chunks[row]), owners | named)

    def at(self, entity: int) -> list[_Passage]:
        """The texts at an entity: its own, and those of its relations where they are few."""
        if entity not in self._at:
            adjacency, relations = self.graph.adjacency, self.graph.relations
            rows = adjacency.relations[adjacency.slots(entity)].tolist()
            self._at[entity] = [self._passage(self.graph.entities, entity, frozenset({entity}))]
            for row in rows if len(rows) <= MOST_AROUND else ():
                ends = frozenset({int(relations.sources[row]), int(relations.targets[row])})
                self._at[entity].append(self._passage(relations, row, ends))
        return self._at[entity]

    def named_with(self, entity: int) -> frozenset[int]:
        """The entities that texts at `entity` name next to it."""
        return frozenset().union(*(passage.named for passage in self.at(entity))) - {entity}

    def naming_both(self, one: int, other: int) -> list[_Passage]:
        passages = dict.fromkeys([*self.at(one), *self.at(other)])
        return [passage for passage in passages if {one, other} <= passage.named]

    def mentioning(self, name: str) -> list[_Passage]:
        """Texts in which a name stands that is no entity's."""
        wanted = name.lower()
        places = (
            (table, row)
            for table, row, text in self._in_small_letters
            if wanted in text and stands_in(name, table.descriptions[row])
        )
        return [self._passage(table, row, frozenset()) for table, row in islice(places, MOST_TEXTS)]

    def was(self, name: str) -> list[str]:
        """What the older graph says of an entity that this one lacks."""
        if self.older is None:
            return []
        were = self.older.entities
        texts = [
            were.descriptions[row] or were.types[row] for row in NameIndex.of(self.older).resolve(name)[0]
        ]
        return [t("the older graph has it: {text}", text=text[:LONGEST_TEXT]) for text in texts]
