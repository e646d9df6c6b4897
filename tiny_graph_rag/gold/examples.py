"""The gold set as written: one record a question."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import said
from tiny_graph_rag.run import Relation

LONGEST_LIST = 40  # characters of tags or ids in a file's name
PATTERN = "asks"  # the field of a question whose references follow the graph
_NO_FILE_NAME = re.compile(r"[^\w.,-]")


HIGHEST = 2  # grade of a question of ours; what is higher stands under `grades`
GRADED = ("trec", "table", "contest")  # formats that hold grades alone


@dataclass(frozen=True, slots=True)
class Example:
    """A question of a gold set. Only `query` and `reference_entities` are required in the file.

    reference_entities have grade 1, highly_relevant_entities grade 2, irrelevant_entities are judged 0.
    No reference at all means that nothing should be retrieved, unless `judged` is False: then the file does
    not say what is relevant. group: shared by variants of one question, which intervals and tests then take
    as one observation. reference_chunks: ids of passages; reference_relations: with two ends, or an id alone.
    line: where it stands in the file, from 1. record: as it stands there. order: of names that a file grades.
    """

    id: str
    query: str
    reference_entities: tuple[str, ...]
    ground_truth: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    highly_relevant_entities: tuple[str, ...] = ()
    irrelevant_entities: tuple[str, ...] = ()
    expected_types: tuple[str, ...] = ()
    reference_texts: tuple[str, ...] = ()
    reference_chunks: tuple[str, ...] = ()
    reference_relations: tuple[Relation, ...] = ()
    seed_entities: tuple[str, ...] | None = None
    context: tuple[str, ...] = ()
    group: str | None = None
    unknown: dict[str, Any] = field(default_factory=dict)
    line: int = 0
    judged: bool = True
    record: Any = field(default=None, compare=False, repr=False)
    order: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        """Questions are read composed, whoever typed them."""
        object.__setattr__(self, "query", nfc(self.query))
        object.__setattr__(self, "context", tuple(map(nfc, self.context)))

    @property
    def follows_graph(self) -> bool:
        """Whether it holds a pattern that the graph in use answers (gold/patterns.py), and no names."""
        named = isinstance(self.record, Mapping) and "reference_entities" in self.record
        return PATTERN in self.unknown and not named and not self.reference_entities

    @property
    def relevant_entities(self) -> tuple[str, ...]:
        """The references as written, highly relevant ones last."""
        return (*self.reference_entities, *self.highly_relevant_entities)

    @property
    def grades(self) -> dict[str, int]:
        """Name → grade: 0 judged irrelevant, 1 a reference, 2 highly relevant, more where `grades` says so;
        in the file's order where the file grades each name."""
        given = self.unknown.get("grades")
        higher = given if isinstance(given, dict) else {}
        graded = {
            **dict.fromkeys(self.irrelevant_entities, 0),
            **dict.fromkeys(self.reference_entities, 1),
            **dict.fromkeys(self.highly_relevant_entities, HIGHEST),
        }
        graded |= {
            name: higher[name]
            for name in self.highly_relevant_entities
            if isinstance(higher.get(name), int) and higher[name] > HIGHEST
        }
        order = [name for name in self.order if name in graded]
        return {name: graded[name] for name in dict.fromkeys([*order, *graded])}

    def with_grades(self, grades: Mapping[str, int]) -> Example:
        """The same question, its names judged so; below 0 a name is not judged."""
        return replace(
            self,
            reference_entities=tuple(name for name, grade in grades.items() if grade == 1),
            highly_relevant_entities=tuple(name for name, grade in grades.items() if grade >= HIGHEST),
            irrelevant_entities=tuple(name for name, grade in grades.items() if grade == 0),
            judged=True,
        )

    @property
    def written_id(self) -> str | int:
        """The id with the JSON type that it has in its file."""
        values = self.record.values() if isinstance(self.record, dict) else ()
        return next((value for value in values if type(value) is int and str(value) == self.id), self.id)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which questions of a gold set are asked; what is left empty keeps all. Raises UsageError for a limit
    below 1."""

    limit: int | None = None
    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UsageError("--limit must be 1 or more, got {limit}", limit=self.limit)

    def named(self, name: str) -> str:
        """What files made from this part are called, so that a part never replaces the whole: `NAME-limit-5`,
        `NAME-tags-a,b`; a long list is given by a hash."""
        parts = [name]
        if self.limit is not None:
            parts.append(f"limit-{self.limit}")
        for what, values in (("tags", self.tags), ("ids", self.ids)):
            if values:
                listed = _NO_FILE_NAME.sub("_", ",".join(values))
                if len(listed) > LONGEST_LIST or listed != ",".join(values):
                    digest = hashlib.sha256("\0".join(values).encode()).hexdigest()[:8]
                    listed = f"{listed[:LONGEST_LIST]}~{digest}"
                parts.append(f"{what}-{listed}")
        return "-".join(parts)

    def __bool__(self) -> bool:
        return self.limit is not None or bool(self.tags) or bool(self.ids)


@dataclass(frozen=True, slots=True)
class EvalSet(Sequence[Example]):
    """All questions, in file order. sha256: of the file's bytes. selection: what narrowed it, if anything.
    format: of the file. notes: what a reader of the file should know, a line each. meanings: names whose
    meaning on the graph is fixed beforehand, as `NameIndex.resolve` gives it: rows of the graph that the set
    is asked of."""

    examples: tuple[Example, ...]
    name: str = ""
    path: Path | None = None
    sha256: str = ""
    selection: Selection = field(default_factory=Selection)
    format: str = ""
    notes: tuple[str, ...] = ()
    meanings: Mapping[str, tuple[tuple[int, ...], str | None]] = field(default_factory=dict)

    @classmethod
    def of_question(cls, text: str) -> EvalSet:
        """One question that nobody has judged."""
        return cls((Example("query", text, (), judged=False),))

    def __repr__(self) -> str:
        return f"EvalSet({self.name!r}, {len(self):,} questions)"

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def questions(self) -> tuple[Example, ...]:
        return self.examples

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        return self.examples[row]

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag once, in the order of first appearance."""
        return tuple(dict.fromkeys(tag for example in self.examples for tag in example.tags))

    @property
    def file_name(self) -> str:
        """The gold set's name, and what was selected of it."""
        return self.selection.named(self.name)

    def select(self, selection: Selection) -> EvalSet:
        """The questions that carry one of the tags and one of the ids, at most `limit`, in file order.

        Raises UsageError for a tag or id that the set does not have, and where nothing is left.
        """
        if not selection:
            return self
        known_tags, known_ids = self.tags, [example.id for example in self.examples]
        for wanted, known, what in ((selection.tags, known_tags, "tag"), (selection.ids, known_ids, "id")):
            for name in wanted:
                if name not in known:
                    listed = (
                        said("; there are: {names}", names=", ".join(known[:12]))
                        if what == "tag" and known
                        else ""
                    )
                    raise UsageError(
                        "{name}: no question has the {what} {each}{near}",
                        name=self.name or said("gold set"),
                        what=said(what),
                        each=repr(name),
                        near=nearest(name, known) or listed,
                    )
        kept = [
            example
            for example in self.examples
            if (not selection.tags or set(selection.tags) & set(example.tags))
            and (not selection.ids or example.id in selection.ids)
        ][: selection.limit]
        if not kept:
            raise UsageError("no question has one of these tags and one of these ids; change --tags or --ids")
        return replace(self, examples=tuple(kept), selection=selection)
