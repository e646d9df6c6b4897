"""A graph's rows as results files hold them: ids and names, looked up once; paths, seeds and rankings; and
what every file begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from tiny_graph_rag.results import Cost, Ranked, Reason, Seed, Step, encoded
from tiny_graph_rag.run import NO_STEP, Run
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.linking.base import LinkedQuestion
    from tiny_graph_rag.messages import Said

Made = Mapping[str, Any]
"""`made`: when and how a file was made, and `patch` where one was applied."""

MILLION = 1_000_000

T = TypeVar("T")


def head(kind: str, made: Made | None = None, **fields: Any) -> dict[str, Any]:
    """The first fields of a file of this kind, then the given ones."""
    versions = {"schema_version": SCHEMA_VERSION, "package_version": __version__}
    return {**versions, "kind": kind, **(made or {}), **fields}


def laid_out(fields: Mapping[str, Any]) -> bytes:
    """A document on as many lines as people want to read."""
    return msgspec.json.format(encoded(fields), indent=2)


def with_lines(
    fields: Mapping[str, Any],
    name: str,
    rows: Iterable[bytes],
    rest: Callable[[], Mapping[str, Any]] = dict,
) -> Iterator[bytes]:
    """A file, piece by piece: `fields`, a list of which each of `rows` is a line, so that people can read and
    diff it, and what is known when the rows have passed by."""
    yield laid_out(fields).removesuffix(b"\n}") + f',\n  "{name}": ['.encode()
    before = b"\n    "
    for row in rows:
        yield before + row
        before = b",\n    "
    found = rest()
    yield b"\n  ]"
    yield b"," + laid_out(found).removeprefix(b"{") if found else b"\n}"
    yield b"\n"


def lines_of(document: Mapping[str, Any], name: str) -> Iterator[bytes]:
    """The file of a document, piece by piece, its list `name` at the end with a line a row."""
    fields = {field: part for field, part in document.items() if field != name}
    return with_lines(fields, name, map(encoded, document[name]))


def dataset_json(examples: EvalSet) -> dict[str, Any]:
    """`dataset` of a results file: which gold set, and the selection from it, null where all was asked."""
    return {"name": examples.name, "sha256": examples.sha256, "selection": examples.selection or None}


def said_json(sentence: Said) -> dict[str, Any]:
    """A sentence with names in braces, and what stands there: for showing it in another language."""
    return {"said": sentence.template, "values": sentence.values}


class Remembered(dict[int, T], Generic[T]):
    """What `make` gives for a row, made once; its keys are the rows that somebody asked for."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self.make = make

    def __missing__(self, row: int) -> T:
        value = self[row] = self.make(row)
        return value


class Spelled:
    """ids, names: by entity. An entity whose id was asked for is `mentioned`, ends of steps included."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.ids: Remembered[str] = Remembered(graph.entities.ids.__getitem__)
        self.names: Remembered[str] = Remembered(graph.entities.names.__getitem__)
        self.cost = lru_cache(1 << 14)(  # of its parts; many entities have the same
            lambda *parts: Cost(*(part / MILLION for part in (sum(parts), *parts)))
        )
        known = graph.relations  # memory views give Python single numbers faster than arrays do
        self._sources, self._targets = known.sources.data, known.targets.data
        self._types, self._codes = known.types.names, known.types.codes.data

    @property
    def mentioned(self) -> list[int]:
        """Ascending."""
        return sorted(self.ids)

    def names_by_id(self) -> dict[str, str]:
        """Of every entity that is mentioned."""
        return {self.ids[row]: self.names[row] for row in self.mentioned}

    def path(self, entity: int, relations: Sequence[int]) -> list[Step]:
        """The path of these relations from its seed to `entity`. relations: filled up with NO_STEP."""
        steps = []
        for row in reversed(relations):
            if row != NO_STEP:
                source, target = self._sources[row], self._targets[row]
                before = source if target == entity else target
                type = self._types[self._codes[row]]
                steps.append(Step(self.ids[before], type, self.ids[entity], target == entity))
                entity = before
        steps.reverse()
        return steps


def linked_seeds(linked: LinkedQuestion, spelled: Spelled) -> list[Seed]:
    """A question's seeds, with what else is known of each in the order of its fields."""
    ids, names = spelled.ids, spelled.names
    return [Seed(ids[seed.entity], names[seed.entity], *astuple(seed)[1:]) for seed in linked.seeds]


def ranking(
    run: Run,
    question: int,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Reason]] = (),
) -> list[Ranked]:
    """The first `most` entities of a question, each with its path and what its cost is made of.

    reasons: by rank; fewer may be given than are written.
    """
    rows, columns = run.rows(question), (run.entities, run.scores, run.hops, run.parts, run.walks)
    lists = (repeat(None) if column is None else column[rows][:most].tolist() for column in columns)
    ranked = []
    for entity, score, hop, parts, walk in zip(*lists, strict=False):
        cost = UNSET if parts is None else spelled.cost(*parts)
        path = UNSET if walk is None else spelled.path(entity, walk)
        hop = len(path or ()) or hop
        ranked.append(Ranked(spelled.ids[entity], spelled.names[entity], score, hop, cost, path))
    for one, its_reasons in zip(ranked, reasons, strict=False):
        one.reasons = list(its_reasons)
    return ranked
