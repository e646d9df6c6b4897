"""What a gold set means on a graph: references (names) become relevant entities with a grade.

The conventions are the design's: a name with several matching entities is filled by the first of them in a
ranking; references that mean the same entities are one relevant item; a reference that means nothing stays
in the denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, distinct, found_in, short_repr, stretches
from tiny_graph_rag.gold.examples import HIGHEST, EvalSet
from tiny_graph_rag.graph.names import Meanings, NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.messages import said


class Reference(Struct, frozen=True):
    """One reference as written. item: which relevant item of its question it belongs to (from 0).

    resolved_by: "name", "alias", "folded", "form" (another form of the name), or None where no entity has
    it. shares_entity: another reference of the question means the same.
    """

    name: str
    grade: int
    entities: tuple[int, ...]
    resolved_by: str | None
    item: int
    shares_entity: bool = False


class Named(Struct, frozen=True):
    """A name of the gold set with the entities that have it, and the rule that found them."""

    name: str
    entities: tuple[int, ...]
    resolved_by: str | None


@dataclass(frozen=True, slots=True, eq=False)
class References(Sequence[tuple[Reference, ...]]):
    """The references of each question, one row a reference.

    offsets: int64 (questions + 1,) into the rows. named: each different name once. codes: int32 (rows,), of
    `named`. grades, items: int32 (rows,), and shares: bool (rows,), as Reference has them.
    """

    offsets: NDArray[np.int64]
    named: Sequence[Named]
    codes: NDArray[np.int32]
    grades: NDArray[np.int32]
    items: NDArray[np.int32]
    shares: NDArray[np.bool_]

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        rows = slice(self.offsets[range(len(self))[row]], self.offsets[1:][row])
        columns = (column[rows].tolist() for column in (self.codes, self.grades, self.items, self.shares))
        references = []
        for code, grade, item, shares in zip(*columns, strict=True):
            named = self.named[code]
            references.append(Reference(named.name, grade, named.entities, named.resolved_by, item, shares))
        return tuple(references)

    @property
    def questions(self) -> NDArray[np.int64]:
        """(rows,): the question of each."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def unresolved(self) -> list[str]:
        """The names that no entity has, each once, in the order of the gold set."""
        codes, firsts = distinct(self.codes)
        named = map(self.named.__getitem__, codes[np.argsort(firsts)].tolist())
        return list(dict.fromkeys(reference.name for reference in named if not reference.entities))

    def bearers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many entities have each row's name (rows,), and these entities, row after row."""
        counts = np.array([len(reference.entities) for reference in self.named], dtype=np.int64)
        every = np.fromiter(
            chain.from_iterable(reference.entities for reference in self.named), dtype=np.int64
        )
        counted = counts[self.codes]
        return counted, every[stretches((np.cumsum(counts) - counts)[self.codes], counted)]

    def of_questions(self, questions: NDArray[np.int64]) -> References:
        """Only these questions, in this order."""
        lengths = np.diff(self.offsets)[questions]
        rows = stretches(self.offsets[questions], lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        grades, items, shares = self.grades[rows], self.items[rows], self.shares[rows]
        return References(offsets, self.named, self.codes[rows], grades, items, shares)

    @classmethod
    def resolved(cls, grades: Sequence[Mapping[str, int]], meanings: Meanings) -> References:
        """grades: of each question name → grade. Of a question names that mean the same entities are one
        item, and so are names that mean nothing and fold to the same."""
        meant = {name: entities or fold(name) for name, (entities, _) in meanings.items()}
        codes = {name: code for code, name in enumerate(meanings)}
        items, shares = list[int](), list[bool]()
        for its_meant in ([meant[name] for name in row] for row in grades):
            names_of = Counter(its_meant)
            item = {meaning: number for number, meaning in enumerate(names_of)}
            items += [item[meaning] for meaning in its_meant]
            shares += [names_of[meaning] > 1 for meaning in its_meant]
        return cls(
            np.cumsum([0, *map(len, grades)], dtype=np.int64),
            [Named(name, *meaning) for name, meaning in meanings.items()],
            np.array([codes[name] for row in grades for name in row], dtype=np.int32),
            np.array([grade for row in grades for grade in row.values()], dtype=np.int32),
            np.array(items, dtype=np.int32),
            np.array(shares, dtype=bool),
        )

    @classmethod
    def of(cls, rows: Sequence[Sequence[Reference]]) -> References:
        """The same records in columns."""
        every = list(chain.from_iterable(rows))
        codes: dict[Named, int] = {}
        named = [codes.setdefault(Named(e.name, e.entities, e.resolved_by), len(codes)) for e in every]
        return cls(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            list(codes),
            np.array(named, dtype=np.int32),
            np.array([reference.grade for reference in every], dtype=np.int32),
            np.array([reference.item for reference in every], dtype=np.int32),
            np.array([reference.shares_entity for reference in every], dtype=bool),
        )


class Judgments(Struct, frozen=True, eq=False):
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

    def pairs_of(self, question: int) -> slice:
        """The pairs of one question."""
        ends = np.array([question, question + 1]) * self.universe
        return slice(*np.searchsorted(self.pair_keys, ends).tolist())

    @property
    def contested(self) -> list[int]:
        """The questions of which an entity can fill several items."""
        twice = self.pair_keys[1:][self.pair_keys[1:] == self.pair_keys[:-1]]
        questions: list[int] = distinct(twice // max(self.universe, 1))[0].tolist()
        return questions

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
        return cls(universe, offsets, grades, keys, items, bad_keys, columns)


def resolve(examples: EvalSet, names: NameIndex, universe: int) -> Judgments:
    """Judgments of a gold set on a graph. universe: its number of entities."""
    good = [question.relevant_entities for question in examples]
    bad = [question.irrelevant_entities for question in examples]
    meanings = names.resolve_references(chain(chain.from_iterable(good), chain.from_iterable(bad)))
    meanings.update((name, examples.meanings[name]) for name in meanings.keys() & examples.meanings.keys())
    grades = [
        dict.fromkeys(question.reference_entities, 1)
        | dict.fromkeys(question.highly_relevant_entities, HIGHEST)
        for question in examples
    ]
    irrelevant = [[entity for name in row for entity in meanings[name][0]] for row in bad]
    return Judgments.of(References.resolved(grades, meanings), universe, irrelevant)


def note_of_several(names: Iterable[str]) -> list[str]:
    """How many of the names that a run or a retriever returned several entities have; [] without one."""
    several = list(dict.fromkeys(names))
    if not several:
        return []
    return [
        said(
            "ambiguous on this graph: {n} of the names in the run (such as {such}), each read as the first "
            "entity that has it; return ids instead",
            n=f"{len(several):,}",
            such=", ".join(several[:3]),
        )
    ]
