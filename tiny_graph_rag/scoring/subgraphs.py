"""What each question retrieved, as entities and relations: the context that measures of it look at.

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
from tiny_graph_rag.measures.judged import NO_ITEM, Facts, RetrievedContext, matched_in_order
from tiny_graph_rag.run import Relation, Run
from tiny_graph_rag.scoring.kinds import Ends

if TYPE_CHECKING:
    from tiny_graph_rag.answers.context import Context, ContextMaker


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

    def entities(self, question: int) -> frozenset[int]:
        """That the question's context speaks of."""
        return frozenset(entity for fact in self.context(question).facts for entity in fact)

    def relations(self) -> tuple[tuple[Relation, ...], ...]:
        """The relations of each question's context, in its order, under the ids of their ends."""
        known, ids = self.graph.relations, self.graph.entities.ids
        return tuple(
            tuple(
                Relation(ids[int(known.sources[row])], ids[int(known.targets[row])], known.types[row])
                for row in self.context(question).relations
            )
            for question in range(len(self.run))
        )


def facts_of(
    graph: KnowledgeGraph,
    questions: Sequence[Example],
    run: Run,
    judgments: Judgments,
    seeds: Sequence[frozenset[int]],
    retrieved: Callable[[int], frozenset[int]] | None = None,
) -> Facts:
    """What measures need of a run over a graph; entities beyond the graph's have no type and no source.

    seeds: of each question. retrieved: the entities of a question's context, those of its ranking without it.
    Worked out question by question when a measure asks, and kept for the next measure.
    """

    @cache
    def context(question: int) -> RetrievedContext:
        ranked = frozenset(run.entities[run.rows(question)].tolist())
        entities = ranked if retrieved is None else retrieved(question)
        keys = judgments.pair_keys[judgments.pairs_of(question)]
        relevant = frozenset((keys - question * judgments.universe).tolist())
        filled = _filled(judgments, question, entities & relevant)
        return RetrievedContext(seeds[question], entities, relevant, filled)

    def type_of(row: int) -> str:
        entity = int(run.entities[row])
        return fold(graph.entities.types[entity]) if entity < len(graph) else ""

    def sources_of(row: int) -> Sequence[str]:
        entity = int(run.entities[row])
        return graph.entities.source_chunks[entity] if entity < len(graph) else ()

    expected = [frozenset(map(fold, question.expected_types)) for question in questions]
    return Facts(expected, type_of, sources_of, context)


def _filled(judgments: Judgments, question: int, entities: frozenset[int]) -> int:
    """Several matching entities of one reference fill it once."""
    keys = np.array(sorted(entities), dtype=np.int64) + question * judgments.universe
    return sum(item != NO_ITEM for item in matched_in_order(keys, judgments))


def ends_on(graph: KnowledgeGraph, names: NameIndex) -> Ends:
    """Which entities the end of a relation means: the one with this id, else those with this name. An end
    that the graph does not have is an entity of its own, the same one wherever it is named."""
    known: dict[str, frozenset[int]] = {}
    strangers: dict[str, int] = {}

    def ends(name: str) -> frozenset[int]:
        if name not in known:
            row = graph.row_of_id.get(name)
            entities = (row,) if row is not None else names.resolve(name)[0]
            known[name] = frozenset(entities or (-1 - strangers.setdefault(fold(name), len(strangers)),))
        return known[name]

    return ends
