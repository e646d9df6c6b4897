"""Linking by what the gold set says: retrieval judged apart from linking, or without any seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.linking.base import LinkedQuestion, Linker, LinkerTask, Seed, in_text_order, linker
from tiny_graph_rag.linking.names import NameLinker

SHOWN = 5  # ids of questions without seeds that the message lists


@linker("gold", "the gold set's seed_entities; measures retrieval alone")
class GoldLinker(Linker):
    """The entities of `seed_entities`, at the places where `names` links them or would.

    With the same entities its seeds are those of `names`, so that both are ranked the same. An entity that no
    place of the question names gives a seed without a place; a name that the graph lacks gives none.
    """

    def __init__(self, named: NameLinker) -> None:
        """named: says where the question names an entity, and what its pronouns stand for."""
        self.named, self.finder = named, named.finder

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls(NameLinker.of(task))

    def check(self, examples: Sequence[Example]) -> None:
        """Raises UsageError with a count where questions have no 'seed_entities' (an empty list is one)."""
        missing = [example.id for example in examples if example.seed_entities is None]
        if missing:
            more = ", …" if len(missing) > SHOWN else ""
            raise UsageError(
                "--linker gold needs 'seed_entities' on every question; {missing} of {examples} "
                "have none ({names}{more}). Add the names that each question mentions, or use "
                "--linker names.",
                missing=f"{len(missing):,}",
                examples=f"{len(examples):,}",
                names=", ".join(missing[:SHOWN]),
                more=more,
            )

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return self.from_linked(examples, self.named.link(examples))

    def from_linked(
        self, examples: Sequence[Example], linked: Sequence[LinkedQuestion]
    ) -> list[LinkedQuestion]:
        """The same for questions that are linked already. linked: by names, one an example, in order."""
        meanings = self.finder.names.resolve_all(
            name for example in examples for name in example.seed_entities or ()
        )
        gold = []
        for example, question in zip(examples, linked, strict=True):
            meant = [(name, meanings[name][0]) for name in example.seed_entities or ()]
            seeds = self._seeds(question, meant)
            tried = () if seeds else (example.seed_entities or ())
            gold.append(LinkedQuestion(example.query, seeds, example.id, tried=tried))
        return gold

    def _seeds(
        self, linked: LinkedQuestion, meant: Sequence[tuple[str, tuple[int, ...]]]
    ) -> tuple[Seed, ...]:
        """meant: each name of the gold set with its entities."""
        wanted = {entity for _, entities in meant for entity in entities}
        seeds = []
        for seed in linked.seeds:
            if seed.entity in wanted:
                # Of several entities with one name, the gold set may mean some: they share what all had.
                together = [
                    other for other in linked.seeds if (other.start, other.end) == (seed.start, seed.end)
                ]
                share = len(together) / sum(other.entity in wanted for other in together)
                seeds.append(replace(seed, rule="gold", weight=seed.weight * share))
        missing = wanted - {seed.entity for seed in seeds}
        if missing:
            taken = [
                (seed.start, seed.end) for seed in seeds if seed.start is not None and seed.end is not None
            ]
            for mention in self.finder.places_of(linked.text, missing, taken):
                words = linked.text[mention.start : mention.end]
                seeds += Seed.sharing(mention.entities, words, mention.start, mention.end, "gold")
                missing.difference_update(mention.entities)
        for name, entities in meant:
            of_name = Seed.sharing(entities, name, None, None, "gold")
            seeds += [seed for seed in of_name if seed.entity in missing]
            missing.difference_update(entities)
        return in_text_order(seeds)


@linker("none", "no seeds, for retrievers that don't need them")
class NoLinker(Linker):
    """No seeds, for retrievers that need none."""

    @classmethod
    def of(cls, task: LinkerTask) -> Self:
        return cls()

    def link(self, examples: Sequence[Example]) -> list[LinkedQuestion]:
        return [LinkedQuestion(example.query, (), example.id) for example in examples]
