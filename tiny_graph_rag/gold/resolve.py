"""What a gold set means on a graph: references (names) become relevant entities with a grade.

The conventions are the design's: a name with several bearers is filled by the first of them in a ranking;
references that mean the same entities are one relevant item; a reference that means nothing stays in the
denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import found_in, stretches
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.graph.names import Meanings, NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.shown import short_repr


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference as written. item: which relevant item of its question it belongs to (from 0).

    resolved_by: "name", "alias", "folded", or None where no entity bears the name. shares_entity: another
    reference of the question means the same.
    """

    name: str
    grade: int
    entities: tuple[int, ...]
    resolved_by: str | None
    item: int
    shares_entity: bool = False

    @property
    def is_ambiguous(self) -> bool:
        return len(self.entities) > 1


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
    references: tuple[tuple[Reference, ...], ...] = ()

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.item_offsets) - 1

    @property
    def relevant(self) -> NDArray[np.int64]:
        """(questions,): how many relevant items each question has."""
        return np.diff(self.item_offsets)

    def of_questions(self, questions: NDArray[np.int64]) -> Judgments:
        """Only these questions, in this order; without their references as written."""
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
        references: Sequence[tuple[Reference, ...]],
        universe: int,
        irrelevant: Sequence[Iterable[int]] = (),
    ) -> Judgments:
        """universe: the number of entities. irrelevant: for each question the entities judged 0."""
        every = [each for row in references for each in row]
        question = np.repeat(np.arange(len(references)), [len(row) for row in references])
        item = np.array([each.item for each in every], dtype=np.int64)
        offsets = np.zeros(len(references) + 1, dtype=np.int64)
        np.maximum.at(offsets, question + 1, item + 1)
        np.cumsum(offsets, out=offsets)
        item += offsets[question]
        grades = np.zeros(offsets[-1], dtype=np.int32)
        np.maximum.at(grades, item, np.array([each.grade for each in every], dtype=np.int32))
        bearers = [len(each.entities) for each in every]
        entities = np.array([entity for each in every for entity in each.entities], dtype=np.int64)
        keys, items = np.repeat(question, bearers) * universe + entities, np.repeat(item, bearers)
        order = np.lexsort((items, keys))
        keys, items = keys[order], items[order]
        fresh = np.ones(len(keys), dtype=bool)
        fresh[1:] = (keys[1:] != keys[:-1]) | (items[1:] != items[:-1])
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
            tuple(references),
        )


def resolve(examples: EvalSet, names: NameIndex, universe: int) -> Judgments:
    """Judgments of a gold set on a graph. universe: its number of entities."""
    meanings = names.resolve_all(name for example in examples for name in _names_in(example))
    references = [_references(example, meanings) for example in examples]
    irrelevant = [
        [entity for name in example.irrelevant_entities for entity in meanings[name][0]]
        for example in examples
    ]
    return Judgments.of(references, universe, irrelevant)


def resolve_references(example: Example, names: NameIndex) -> tuple[Reference, ...]:
    """The references of one question in file order, highly relevant ones last unless named before."""
    return _references(example, names.resolve_all(_names_in(example)))


def _names_in(example: Example) -> tuple[str, ...]:
    return (*example.reference_entities, *example.highly_relevant_entities, *example.irrelevant_entities)


def _references(example: Example, meanings: Meanings) -> tuple[Reference, ...]:
    grade: dict[str, int] = dict.fromkeys(example.reference_entities, 1)
    grade.update(dict.fromkeys(example.highly_relevant_entities, 2))
    items: dict[object, int] = {}
    rows = []
    for name in grade:
        entities, level = meanings[name]
        meaning: object = entities or ("unresolved", fold(name))
        rows.append((name, entities, level, items.setdefault(meaning, len(items))))
    if len(items) == len(rows):
        return tuple(
            Reference(name, grade[name], entities, level, item) for name, entities, level, item in rows
        )
    sharing = Counter(item for *_, item in rows)
    return tuple(
        Reference(name, grade[name], entities, level, item, shares_entity=sharing[item] > 1)
        for name, entities, level, item in rows
    )
