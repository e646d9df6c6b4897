"""The retrieved subgraph as numbered facts, best ranked first, to a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.llm.tokens import TokenCounter

NO_FACTS = "(no facts were found)"
# A description that holds the fence's own words would end it; broken ones end nothing.
_FENCE = re.compile(r"<(?=\s*/?\s*graph\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fact:
    """number: from 1, as cited. entities: the rows that it speaks of, one or two."""

    number: int
    text: str
    entities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """facts: what fits the budget. tokens: of `text`. left_out: whether the subgraph holds more."""

    facts: tuple[Fact, ...]
    text: str
    tokens: int
    left_out: bool

    def entities(self, number: int) -> tuple[int, ...]:
        """What fact `number` speaks of; nothing for a number that no fact has."""
        return self.facts[number - 1].entities if 1 <= number <= len(self.facts) else ()


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
        relations = graph.relations
        loops = np.flatnonzero(relations.sources == relations.targets)  # the adjacency has no slot for them
        self._loops = {int(relations.sources[row]): [] for row in loops}  # type: dict[int, list[int]]
        for row in loops.tolist():
            self._loops[int(relations.sources[row])].append(row)

    def make(self, seeds: Sequence[int], ranked: Sequence[int]) -> Context:
        """seeds: entity rows; ranked: returned entity rows, best first."""
        facts: list[Fact] = []
        lines: list[str] = []
        tokens = 0
        for text, entities in self._facts(seeds, ranked):
            line = f"[{len(facts) + 1}] {text}"
            took = self.counter.count(line + "\n")
            if tokens + took > self.budget:
                return Context(tuple(facts), "\n".join(lines) or NO_FACTS, tokens, left_out=True)
            tokens += took
            facts.append(Fact(len(facts) + 1, text, entities))
            lines.append(line)
        return Context(tuple(facts), "\n".join(lines) or NO_FACTS, tokens, left_out=False)

    def _facts(self, seeds: Sequence[int], ranked: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Entities in rank order (unreturned seeds first), each followed by its relations to those before."""
        returned = set(ranked)
        order = [*dict.fromkeys(seed for seed in seeds if seed not in returned), *dict.fromkeys(ranked)]
        for place, entity in enumerate(order):
            yield self.entity(entity), (entity,)
            for relation in self._relations(entity, np.array(order[:place], dtype=np.int32)):
                source, target = (
                    int(self.graph.relations.sources[relation]),
                    int(self.graph.relations.targets[relation]),
                )
                yield self._relation(relation), tuple(dict.fromkeys((source, target)))

    def _relations(self, entity: int, before: NDArray[np.int32]) -> list[int]:
        """Rows of the relations between an entity and those before it, loops included, in file order."""
        adjacency = self.graph.adjacency
        slots = slice(int(adjacency.indptr[entity]), int(adjacency.indptr[entity + 1]))
        found = adjacency.relations[slots][np.isin(adjacency.neighbours[slots], before)].tolist()
        rows = sorted({*found, *self._loops.get(entity, ())})
        return rows if self.allowed is None else [row for row in rows if self.allowed[row]]

    def entity(self, entity: int) -> str:
        """One line: name, type, description."""
        known = self.graph.entities
        kind = f" ({known.types[entity]})" if known.types[entity] else ""
        description = f": {known.descriptions[entity]}" if known.descriptions[entity] else ""
        return _one_line(f"{known.names[entity]}{kind}{description}")

    def _relation(self, relation: int) -> str:
        known, names = self.graph.relations, self.graph.entities.names
        source, target = int(known.sources[relation]), int(known.targets[relation])
        description = f": {known.descriptions[relation]}" if known.descriptions[relation] else ""
        return _one_line(f"{names[source]} —{known.types[relation]}→ {names[target]}{description}")


def _one_line(text: str) -> str:
    """A fact is one line, so that no description can pass for another fact or leave the fence."""
    return _FENCE.sub("‹", " ".join(text.split()))
