"""What each question retrieved, as entities and relations: the subgraph that measures of it look at.

Of a built-in retriever it is what a model would be sent: the facts about the seeds and the first k entities
that fit `generation.context_tokens`. Of anyone else's it is what was returned, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import tokenizer_folder
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures.judged import (
    NO_ITEM,
    Ends,
    RelationReference,
    RetrievedContext,
    matched_in_order,
)
from tiny_graph_rag.run import Relation, Run

if TYPE_CHECKING:
    from tiny_graph_rag.answers.context import Context, ContextMaker

Subgraph = tuple[frozenset[int], Sequence[Relation] | None]
"""Entities and relations that one question retrieved; None where the retriever returns no relations."""


class SentContexts:
    """Of a built-in retriever, by question; each is made once."""

    def __init__(
        self, graph: KnowledgeGraph, run: Run, seeds: Sequence[frozenset[int]], config: Config
    ) -> None:
        self.graph, self.run, self.seeds, self.config = graph, run, seeds, config
        self._made: dict[int, Context] = {}

    @cached_property
    def _maker(self) -> ContextMaker:
        """Made, and its modules loaded, when a context is asked for: other measures need none."""
        from tiny_graph_rag.answers.context import ContextMaker
        from tiny_graph_rag.llm.cost import TokenCounter
        from tiny_graph_rag.retrieval.candidates import Filters

        try:
            counter = TokenCounter.for_model(self.config.openai.model, tokenizer_folder())
        except ImportError:  # without the extra tokens are estimated
            counter = TokenCounter(None, "estimate")
        allowed = Filters.of(self.graph, self.config.retrieval).relations
        return ContextMaker(self.graph, counter, self.config.generation.context_tokens, allowed)

    def context(self, question: int) -> Context:
        if question not in self._made:
            most = self.config.evaluation.top_k
            ranked = self.run.entities[self.run.rows(question)][:most].tolist()
            self._made[question] = self._maker.make(sorted(self.seeds[question]), ranked)
        return self._made[question]

    def subgraph(self, question: int) -> Subgraph:
        context = self.context(question)
        return frozenset(entity for fact in context.facts for entity in fact), self._relations(question)

    def relations(self) -> tuple[tuple[Relation, ...], ...]:
        """The relations of each question's context, in its order."""
        return tuple(map(self._relations, range(len(self.run))))

    def _relations(self, question: int) -> tuple[Relation, ...]:
        """Under the ids of their ends."""
        known, ids = self.graph.relations, self.graph.entities.ids
        return tuple(
            Relation(ids[int(known.sources[row])], ids[int(known.targets[row])], known.types[row])
            for row in self.context(question).relations
        )


def returned_subgraph(run: Run) -> Callable[[int], Subgraph]:
    """Of somebody else's retriever."""
    return lambda question: (
        frozenset(run.entities[run.rows(question)].tolist()),
        None if run.relations is None else run.relations[question],
    )


def contexts_of(
    graph: KnowledgeGraph,
    names: NameIndex,
    questions: Sequence[Example],
    judgments: Judgments,
    seeds: Sequence[frozenset[int]],
    subgraph: Callable[[int], Subgraph],
) -> Callable[[int], RetrievedContext]:
    """What each question retrieved, held against what the gold set expects: worked out question by question
    when a measure asks, and kept for the next measure.

    seeds: of each question, where paths begin. subgraph: what a question retrieved.
    """
    ends, ends_of_reference = ends_on(graph, names)

    @cache
    def context(question: int) -> RetrievedContext:
        entities, listed = subgraph(question)
        relations = None if listed is None else tuple(RelationReference.of(one, ends) for one in listed)
        references = tuple(
            RelationReference.of(relation, ends_of_reference)
            for relation in questions[question].reference_relations
        )
        keys = judgments.pair_keys[judgments.pairs_of(question)]
        relevant = frozenset((keys - question * judgments.universe).tolist())
        return RetrievedContext(
            seeds[question],
            entities,
            relevant,
            _filled(judgments, question, entities & relevant),
            relations,
            references,
            tuple(_held(relations or (), reference) for reference in references),
        )

    return context


def _filled(judgments: Judgments, question: int, entities: frozenset[int]) -> int:
    """Several matching entities of one reference fill it once."""
    keys = np.array(sorted(entities), dtype=np.int64) + question * judgments.universe
    return sum(item != NO_ITEM for item in matched_in_order(keys, judgments))


def _held(relations: Sequence[RelationReference], reference: RelationReference) -> tuple[int, ...]:
    return tuple(place for place, relation in enumerate(relations) if reference.is_met_by(relation))


def ends_on(graph: KnowledgeGraph, names: NameIndex) -> tuple[Ends, Ends]:
    """Which entities the end of a relation means: of a returned one the one with this id, else those with
    this name; of a reference those with this name. A returned end that the graph does not have is an entity
    of its own, the same one wherever it is named."""
    known: dict[str, frozenset[int]] = {}
    strangers: dict[str, int] = {}

    def ends(name: str) -> frozenset[int]:
        if name not in known:
            row = graph.row_of_id.get(name)
            entities = (row,) if row is not None else names.resolve(name)[0]
            known[name] = frozenset(entities or (-1 - strangers.setdefault(fold(name), len(strangers)),))
        return known[name]

    return ends, lambda name: names.meant_by((name,))
