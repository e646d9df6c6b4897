"""Linking by what the gold set says: retrieval judged apart from linking, or without any seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, LinkerTask, Seed, in_text_order, linker
from tiny_graph_rag.messages import said

SHOWN = 5  # ids of questions without seeds that the message lists


@linker("gold", "the gold set's seed_entities: retrieval judged alone")
class GoldLinker(Linker):
    """The entities of `seed_entities`. A name that the graph doesn't bear gives no seed."""

    def __init__(self, names: NameIndex) -> None:
        self.names = names

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(task.names)

    def check(self, examples: Sequence[Example]) -> None:
        """Raises UsageError with a count where questions have no 'seed_entities' (an empty list is one)."""
        missing = [example.id for example in examples if example.seed_entities is None]
        if missing:
            more = ", …" if len(missing) > SHOWN else ""
            raise UsageError(
                said(
                    "--linker gold needs 'seed_entities' on every question; {missing} of {examples} "
                    "have none ({names}{more}). Add the names that each question mentions, or use "
                    "--linker names.",
                    missing=f"{len(missing):,}",
                    examples=f"{len(examples):,}",
                    names=", ".join(missing[:SHOWN]),
                    more=more,
                )
            )

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        meanings = self.names.resolve_all(
            name for example in examples for name in example.seed_entities or ()
        )
        linked = []
        for example in examples:
            seeds: dict[int, Seed] = {}
            for name in example.seed_entities or ():
                place = example.query.find(name)
                start, end = (place, place + len(name)) if place >= 0 else (None, None)
                entities = meanings[name][0]
                for entity in entities:
                    seeds.setdefault(entity, Seed(entity, name, start, end, "gold", 1 / len(entities)))
            tried = () if seeds else (example.seed_entities or ())
            found = in_text_order([*seeds.values()])
            linked.append(LinkedQuestion(example.query, found, example.id, tried=tried))
        return linked


@linker("none", "no seeds, for retrievers that need none")
class NoLinker(Linker):
    """No seeds, for retrievers that need none."""

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls()

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [LinkedQuestion(example.query, (), example.id) for example in examples]
