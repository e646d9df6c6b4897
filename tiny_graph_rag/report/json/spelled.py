"""A graph's rows as results files spell them: ids, names and walks, each encoded once; seeds and rankings.

A results file says the same names and steps thousands of times. Here each is JSON once, and a question's
part of the file is a join of such pieces: nothing is built that is only there to be encoded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise, repeat
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, stretches
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.linking.base import TEXT, LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason
from tiny_graph_rag.run import COST_PARTS, NO_STEP, Run

MSGSPEC_FROM = 500  # questions

K = TypeVar("K")
T = TypeVar("T")


def plain_json(value: Any) -> bytes:
    """What msgspec writes, but for how exponents are spelled: 1e-07 for 1e-7."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
            "utf-8", "replace"
        )
    except ValueError:  # a number that is not finite: null
        return encoder(MSGSPEC_FROM)(value)


def encoder(questions: int) -> Callable[[Any], bytes]:
    """For a file of so many questions: loading msgspec takes longer than it saves on a few."""
    if questions < MSGSPEC_FROM:
        return plain_json
    import msgspec

    return msgspec.json.Encoder().encode


def cut_json(run: Run, row: int) -> dict[str, Any]:
    """`walks_cut` of a question whose walks a limit ended."""
    return {"walks_cut": asdict(run.cuts[row])} if row in run.cuts else {}


class Remembered(dict[K, T], Generic[K, T]):
    """What `make` gives for a key, made once; its keys are those that somebody asked for."""

    def __init__(self, make: Callable[[K], T]) -> None:
        self.make = make

    def __missing__(self, key: K) -> T:
        value = self[key] = self.make(key)
        return value


class Spelled:
    """ids, names: by entity; id_json, name_json: the same as JSON. An entity whose id was asked for is
    `mentioned`, ends of steps included."""

    def __init__(self, graph: KnowledgeGraph, encoded: Callable[[Any], bytes] = plain_json) -> None:
        self.graph, self.encoded = graph, encoded
        self.ids: Remembered[int, str] = Remembered(graph.entities.ids.__getitem__)
        self.names: Remembered[int, str] = Remembered(graph.entities.names.__getitem__)
        self.id_json: Remembered[int, bytes] = Remembered(lambda row: encoded(self.ids[row]))
        self.name_json: Remembered[int, bytes] = Remembered(lambda row: encoded(self.names[row]))
        self.entity_json: Remembered[int, bytes] = Remembered(self._entity)
        self._from: Remembered[int, bytes] = Remembered(self._leaves)
        self._relation: Remembered[int, bytes] = Remembered(self._walks_along)
        self._to: Remembered[int, bytes] = Remembered(self._arrives)
        self.shown: Remembered[str, bytes] = Remembered(encoded)
        self._known = np.zeros(len(graph), dtype=bool)
        self._kept: dict[str, Remembered[Any, Any]] = {}

    def remembered(self, what: str, make: Callable[[K], T]) -> Remembered[K, T]:
        """What `make` gives, kept for the whole file under this name."""
        return self._kept.setdefault(what, Remembered(make))

    def mention(self, rows: NDArray[np.integer[Any]]) -> None:
        """Learn the ids and names of these entities, those that are new, all at once."""
        new = distinct(rows[~self._known[rows]])[0]
        if not len(new):
            return
        self._known[new] = True
        keys, known = new.tolist(), self.graph.entities
        ids, names = known.ids.take(new), known.names.take(new)
        self.ids.update(zip(keys, ids, strict=True))
        self.names.update(zip(keys, names, strict=True))
        self.id_json.update(zip(keys, map(self.encoded, ids), strict=True))
        self.name_json.update(zip(keys, map(self.encoded, names), strict=True))

    @property
    def mentioned(self) -> list[int]:
        """Ascending."""
        return sorted(self.ids)

    def names_by_id(self) -> dict[str, str]:
        """Of every entity that is mentioned."""
        return {self.ids[row]: self.names[row] for row in self.mentioned}

    def walks(self, entities: NDArray[np.int32], walks: NDArray[np.int32]) -> list[bytes]:
        """JSON of the walks that end at `entities`, from their seeds: `{"from", "relation", "to", "forward"}`
        a step. walks: (rows, hops), as Run.walks has them."""
        known, at = self.graph.relations, entities.astype(np.int64)
        walked = walks != NO_STEP
        before, after, forward = (np.zeros(walks.shape, dtype=np.int64) for _ in range(3))
        for hop in range(walks.shape[1] - 1, -1, -1):
            rows = np.flatnonzero(walked[:, hop])
            relation = walks[rows, hop]
            source, target = known.sources[relation], known.targets[relation]
            forward[rows, hop] = at[rows] == target
            after[rows, hop] = at[rows]
            at[rows] = before[rows, hop] = np.where(forward[rows, hop], source, target)
        self.mention(np.concatenate([before[walked], after[walked]]))
        steps, first = walked.sum(axis=1), np.zeros(walks.shape, dtype=np.int64)
        first[:, :1] = 1
        pieces: list[bytes] = [b""] * (3 * int(steps.sum()))
        pieces[0::3] = map(self._from.__getitem__, (2 * before + first)[walked].tolist())
        pieces[1::3] = map(self._relation.__getitem__, known.types.codes[walks[walked]].tolist())
        pieces[2::3] = map(self._to.__getitem__, (2 * after + forward)[walked].tolist())
        bounds = pairwise([0, *(3 * np.cumsum(steps)).tolist()])
        return [b"".join(pieces[low:high]) + b"]" if high > low else b"[]" for low, high in bounds]

    def _entity(self, row: int) -> bytes:
        return b'{"id":%b,"name":%b,"score":' % (self.id_json[row], self.name_json[row])

    def _leaves(self, key: int) -> bytes:
        """A step's beginning: twice the entity that it leaves, plus one where it is the first of its walk."""
        row, is_first = divmod(key, 2)
        return b'%b{"from":%b' % (b"[" if is_first else b",", self.id_json[row])

    def _walks_along(self, code: int) -> bytes:
        """A step's middle: its relation's type."""
        return b',"relation":%b,"to":' % self.shown[self.graph.relations.types.names[code]]

    def _arrives(self, key: int) -> bytes:
        """A step's end: twice the entity that it comes to, plus one where it goes with the relation."""
        row, forward = divmod(key, 2)
        return b'%b,"forward":%b}' % (self.id_json[row], b"true" if forward else b"false")


def linked_json(linked: LinkedQuestion, spelled: Spelled) -> list[dict[str, Any]]:
    """A question's seeds."""
    return [
        {
            "id": spelled.ids[seed.entity],
            "name": spelled.names[seed.entity],
            "mention": seed.mention,
            "start": seed.start,
            "end": seed.end,
            "rule": seed.rule,
            "weight": seed.weight,
        }
        for seed in linked.seeds
    ]


def numbers_json(values: NDArray[np.floating[Any]], spelled: Spelled) -> list[bytes]:
    """Each as JSON; NaN is null."""
    numbers: list[float | None] = values.astype(np.float64).tolist()
    for place in np.flatnonzero(np.isnan(values)).tolist():
        numbers[place] = None
    return spelled.encoded(numbers)[1:-1].split(b",") if numbers else []


def rankings_json(
    run: Run,
    questions: range,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Sequence[Reason]]] | None = None,
    *,
    walks: bool = True,
) -> Iterator[bytes]:
    """JSON of the first `most` entities of each question, each with its path and what its cost is made of.

    reasons: by question of the run, and by rank; fewer may be given than are written. walks: write paths and
    costs.
    """
    starts = run.offsets[questions.start : questions.stop]
    lengths = np.minimum(run.offsets[questions.start + 1 : questions.stop + 1] - starts, most)
    rows = stretches(starts, lengths)
    entities = run.entities[rows]
    spelled.mention(entities)
    hops: Remembered[int, bytes] = Remembered(lambda hop: b',"hop":%d' % hop)
    parts: list[Iterable[bytes]] = [
        map(spelled.entity_json.__getitem__, entities.tolist()),
        numbers_json(run.scores[rows], spelled),
        map(hops.__getitem__, run.steps(rows).tolist()),
    ]
    if walks and run.parts is not None:
        parts.append(_costs_json(run.parts[rows]))
    if walks and run.walks is not None:
        parts += [repeat(b',"walk":', len(rows)), spelled.walks(entities, run.walks[rows])]
    if reasons is not None:
        parts.append(
            [
                _reasons_json(reasons[question][place], spelled) if place < len(reasons[question]) else b""
                for question, length in zip(questions, lengths.tolist(), strict=True)
                for place in range(length)
            ]
        )
    ranked = list(map(b"".join, zip(*parts, strict=True)))
    for low, high in pairwise([0, *np.cumsum(lengths).tolist()]):
        yield b"[%b}]" % b"},".join(ranked[low:high]) if high > low else b"[]"


def _costs_json(parts: NDArray[np.int32]) -> list[bytes]:
    """`cost` of each row: the parts add up to the total to the last of their six digits."""
    written: Remembered[int, bytes] = Remembered(lambda millionths: plain_json(millionths / 1_000_000))
    columns = [parts.sum(axis=1, dtype=np.int64), *parts.T]
    names = b",".join(b'"%b":%%b' % name.encode() for name in ("total", *COST_PARTS))
    costs = zip(*(map(written.__getitem__, column.tolist()) for column in columns), strict=True)
    return [b',"cost":{' + names % cost + b"}" for cost in costs]


def _reasons_json(reasons: Sequence[Reason], spelled: Spelled) -> bytes:
    written = [{"what": part.what, "words": list(part.words), "price": part.price} for part in reasons]
    return b',"reasons":' + spelled.encoded(written)


def ranked_json(
    run: Run,
    row: int,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Reason]] | None = None,
) -> list[dict[str, Any]]:
    """`rankings_json` of one question, read back. reasons: by rank."""
    by_question = None if reasons is None else (*[()] * row, reasons)
    found: list[dict[str, Any]] = json.loads(
        *rankings_json(run, range(row, row + 1), most, spelled, by_question)
    )
    return found


def seed_of(ranked: Mapping[str, Any], linked: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The seed at which an entity's path starts, itself where it is one; None where no path is known.

    linked: the question's seeds; both as results files have them. An entity may be a seed by name and by
    text: the cost of its link says which of them the path starts from.
    """
    if ranked.get("hop") is None or ranked["hop"] < 0:
        return None
    walk = ranked.get("walk") or ()
    start = walk[0]["from"] if walk else ranked["id"]
    by_text = ranked.get("cost", {}).get("link", 0) > 0
    seeds = [seed for seed in linked if seed["id"] == start]
    return min(seeds, key=lambda seed: (seed["rule"] == TEXT) != by_text, default=None)


def walk_in_words(walk: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    """`A —OWNS→ B ←FEEDS— C`; "" for a seed itself. walk: as results files have it; names: by id."""
    if not walk:
        return ""
    parts = [names[walk[0]["from"]]]
    for step in walk:
        parts.append(f"—{step['relation']}→" if step["forward"] else f"←{step['relation']}—")
        parts.append(names[step["to"]])
    return " ".join(parts)
