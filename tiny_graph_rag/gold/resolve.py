"""What a gold set means on a graph: references (names) become relevant entities with a grade.

The conventions are the design's: a name with several matching entities is filled by the first of them in a
ranking; references that mean the same entities are one relevant item; a reference that means nothing stays
in the denominator.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, found_in, stretches
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.references import Reference, References
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.shown import short_repr


@dataclass(frozen=True, slots=True, eq=False)
class Judgments:
    """The relevant items of each question, and which entities can fill them.

    item_offsets: int64 (questions + 1,); grades: int32 (items,), the grade of each item, unresolved ones too.
    pair_keys: int64 (pairs,), ascending, question * universe + entity; pair_items: int64 (pairs,), the
    item that the entity can fill, as a row of `grades`. An entity that can fill several items of a question
    has several pairs. irrelevant_keys: int64, ascending, entities judged 0.
    """

    universe: int
    item_offsets: NDArray[np.int64]
    grades: NDArray[np.int32]
    pair_keys: NDArray[np.int64]
    pair_items: NDArray[np.int64]
    irrelevant_keys: NDArray[np.int64]
    references: References

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.item_offsets) - 1

    @property
    def relevant(self) -> NDArray[np.int64]:
        """(questions,): how many relevant items each question has."""
        return np.diff(self.item_offsets)

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(pairs,): the question and the entity of each."""
        universe = max(self.universe, 1)
        return self.pair_keys // universe, self.pair_keys % universe

    def of_questions(self, questions: NDArray[np.int64]) -> Judgments:
        """Only these questions, in this order."""
        counts = self.relevant[questions]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        pairs, owner = self._rows_of(self.pair_keys, questions)
        moved = offsets[:-1] - self.item_offsets[questions]
        bad, bad_owner = self._rows_of(self.irrelevant_keys, questions)
        universe = max(self.universe, 1)
        return Judgments(
            self.universe,
            offsets,
            self.grades[stretches(self.item_offsets[questions], counts)],
            owner * universe + self.pair_keys[pairs] % universe,
            self.pair_items[pairs] + moved[owner],
            bad_owner * universe + self.irrelevant_keys[bad] % universe,
            self.references.of_questions(questions),
        )

    def _rows_of(
        self, keys: NDArray[np.int64], questions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of these questions in a column of keys, and whose each is: its place in `questions`."""
        low, high = np.searchsorted(keys, np.stack([questions, questions + 1]) * self.universe)
        return stretches(low, high - low), np.repeat(np.arange(len(questions)), high - low)

    @classmethod
    def of(
        cls,
        references: Sequence[tuple[Reference, ...]] | References,
        universe: int,
        irrelevant: Sequence[Iterable[int]] = (),
    ) -> Judgments:
        """universe: the number of entities. irrelevant: for each question the entities judged 0."""
        columns = references if isinstance(references, References) else References.of(references)
        question, item = columns.questions, columns.items.astype(np.int64)
        offsets = np.zeros(len(columns) + 1, dtype=np.int64)
        np.maximum.at(offsets, question + 1, item + 1)
        np.cumsum(offsets, out=offsets)
        item += offsets[question]
        grades = np.zeros(offsets[-1], dtype=np.int32)
        np.maximum.at(grades, item, columns.grades)
        bearers, entities = columns.bearers()
        keys, items = np.repeat(question, bearers) * universe + entities, np.repeat(item, bearers)
        order = np.lexsort((items, keys))
        keys, items = keys[order], items[order]
        fresh = begins(keys, items)
        keys, items = keys[fresh], items[fresh]
        bad = sorted(
            {question * universe + entity for question, row in enumerate(irrelevant) for entity in row}
        )
        judged_bad = np.array(bad, dtype=np.int64)
        bad_keys = judged_bad[~found_in(keys, judged_bad)]
        return cls(
            universe,
            offsets,
            grades,
            keys,
            items,
            bad_keys,
            columns,
        )


def resolve(examples: EvalSet, names: NameIndex, universe: int) -> Judgments:
    """Judgments of a gold set on a graph. universe: its number of entities."""
    good = [question.relevant_entities for question in examples]
    bad = [question.irrelevant_entities for question in examples]
    meanings = names.resolve_all(chain(chain.from_iterable(good), chain.from_iterable(bad)))
    meanings.update((name, examples.meanings[name]) for name in meanings.keys() & examples.meanings.keys())
    references = References.resolved(good, _grades(examples), meanings)
    irrelevant = [[entity for name in row for entity in meanings[name][0]] for row in bad]
    return Judgments.of(references, universe, irrelevant)


def _grades(examples: Sequence[Example]) -> NDArray[np.int32]:
    """1 for each reference, 2 for each highly relevant one, question after question."""
    counts = [
        (len(question.reference_entities), len(question.highly_relevant_entities)) for question in examples
    ]
    return np.repeat(
        np.tile(np.array([1, 2], dtype=np.int32), len(counts)), list(chain.from_iterable(counts))
    )
