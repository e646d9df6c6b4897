"""The retrieved subgraph as numbered facts, best ranked first, to a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.llm.cost import TokenCounter

NO_FACTS = "(no facts were found)"
CACHED = 1 << 15  # facts kept as text: some 10 MB
# A description that holds the fence's own words would end it; broken ones end nothing.
_FENCE = re.compile(r"<(?=\s*+(?:/\s*+)?graph\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """text: one line without its number. entities: the one or two rows that it speaks of. tokens: of text.
    relation: its row, None of a fact about an entity."""

    text: str
    entities: tuple[int, ...]
    tokens: int
    relation: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """facts: the entities of each fact that fits the budget. tokens: of `text`. left_out: there is more.
    relations: rows of the relations among the facts, in their order."""

    facts: tuple[tuple[int, ...], ...]
    text: str
    tokens: int
    left_out: bool
    relations: tuple[int, ...] = ()

    def entities(self, number: int) -> tuple[int, ...]:
        """What fact `number` (from 1, as cited) speaks of; nothing for a number that no fact has."""
        return self.facts[number - 1] if 1 <= number <= len(self.facts) else ()


class ContextMaker:
    """Made once for a graph. allowed: bool (relations,), those that pass the filters; None for all."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        counter: TokenCounter,
        budget: int,
        allowed: NDArray[np.bool_] | None = None,
    ) -> None:
        self.graph, self.counter, self.budget, self.allowed = graph, counter, budget, allowed
        sources = graph.relations.sources
        self._loops: dict[int, list[int]] = {}  # the adjacency has no slot for them
        for row in np.flatnonzero(sources == graph.relations.targets).tolist():
            self._loops.setdefault(int(sources[row]), []).append(row)
        # Questions of one gold set meet the same entities and relations again and again.
        self._entity_fact = lru_cache(CACHED)(self._make_entity_fact)
        self._relation_fact = lru_cache(CACHED)(self._make_relation_fact)
        self._number_tokens = lru_cache(CACHED)(lambda number: counter.count(f"[{number}]"))

    def make(self, seeds: Sequence[int], ranked: Sequence[int]) -> Context:
        """seeds: entity rows; ranked: returned entity rows, best first."""
        facts: list[Fact] = []
        tokens, left_out = 0, False
        for fact in self._facts(seeds, ranked):
            took = self._number_tokens(len(facts) + 1) + fact.tokens
            if tokens + took > self.budget:
                left_out = True
                break
            tokens += took
            facts.append(fact)
        lines = [f"[{number}] {fact.text}" for number, fact in enumerate(facts, start=1)]
        return Context(
            tuple(fact.entities for fact in facts),
            "\n".join(lines) or NO_FACTS,
            tokens,
            left_out,
            tuple(fact.relation for fact in facts if fact.relation is not None),
        )

    def entity(self, entity: int) -> str:
        """One line: name, type, description."""
        return self._entity_fact(entity).text

    def _facts(self, seeds: Sequence[int], ranked: Sequence[int]) -> Iterator[Fact]:
        """Entities in rank order (unreturned seeds first), each followed by its relations to those before."""
        returned = set(ranked)
        order = [*dict.fromkeys(seed for seed in seeds if seed not in returned), *dict.fromkeys(ranked)]
        before: set[int] = set()
        for entity in order:
            yield self._entity_fact(entity)
            for relation in self._relations(entity, before):
                yield self._relation_fact(relation)
            before.add(entity)

    def _relations(self, entity: int, before: set[int]) -> list[int]:
        """Rows of the relations between an entity and those before it, loops included, in file order."""
        adjacency = self.graph.adjacency
        slots = adjacency.slots(entity)
        met = np.isin(adjacency.neighbours[slots], list(before))
        found = set(adjacency.relations[slots][met].tolist())
        rows = sorted(found.union(self._loops.get(entity, ())))
        return rows if self.allowed is None else [row for row in rows if self.allowed[row]]

    def _make_entity_fact(self, entity: int) -> Fact:
        known = self.graph.entities
        kind = f" ({known.types[entity]})" if known.types[entity] else ""
        return self._fact(f"{known.names[entity]}{kind}", known.descriptions[entity], entity)

    def _make_relation_fact(self, relation: int) -> Fact:
        known, names = self.graph.relations, self.graph.entities.names
        source, target = int(known.sources[relation]), int(known.targets[relation])
        said = f"{names[source]} —{known.types[relation]}→ {names[target]}"
        return replace(self._fact(said, known.descriptions[relation], source, target), relation=relation)

    def _fact(self, said: str, description: str, *entities: int) -> Fact:
        text = f"{said}: {description}" if description else said
        # One line, so that no description can pass for another fact or leave the fence.
        text = _FENCE.sub("‹", " ".join(text.split()))
        return Fact(text, tuple(dict.fromkeys(entities)), self.counter.count(f" {text}\n"))
