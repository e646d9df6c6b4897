"""A graph's rows as results files hold them: ids and names, looked up once; paths, seeds and rankings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, stretches
from tiny_graph_rag.measures.summary import number
from tiny_graph_rag.results import Cost, Ranked, Seed, Step
from tiny_graph_rag.results import Reason as WrittenReason
from tiny_graph_rag.run import NO_STEP, Run
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import Selection
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.linking.base import LinkedQuestion
    from tiny_graph_rag.messages import Said
    from tiny_graph_rag.retrieval.base import Reason
    from tiny_graph_rag.study.waterfall import WaterfallStep

Made = Mapping[str, Any]
"""`at` (UTC, ISO 8601), `command` and `label` (null where none) of the run that made a file; `patch` where
one was applied."""

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # texts of errors are a kind of str


def head(kind: str, made: Made | None = None, **fields: Any) -> dict[str, Any]:
    """The first fields of a file of this kind, then the given ones. made: when and how, where known."""
    known: dict[str, Any] = {}
    if made is not None:
        known["made"] = {name: value for name, value in made.items() if name != "patch"}
        known |= {"patch": made["patch"]} if "patch" in made else {}
    return {"schema_version": SCHEMA_VERSION, "package_version": __version__, "kind": kind, **known, **fields}


def whole(document: Mapping[str, Any]) -> bytes:
    """A document that is small enough to be made at once."""
    return (json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode(
        "utf-8", "replace"
    )


def packed(record: Any) -> bytes:
    """JSON in one line; a number that is not finite is null, and what is no UTF-8 in a name is `?`."""
    try:
        return _ENCODER.encode(record)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(record, enc_hook=str)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def opened(fields: Mapping[str, Any]) -> bytes:
    """A document's first fields, for more to follow before `}`."""
    return (
        json.dumps(fields, ensure_ascii=False, indent=2, allow_nan=False)
        .removesuffix("\n}")
        .encode("utf-8", "replace")
    )


def closed_with_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A document's last field: objects, one a line."""
    yield f',\n  "{name}": ['.encode("utf-8", "replace")
    for place, row in enumerate(rows):
        line = json.dumps(row, ensure_ascii=False, allow_nan=False)
        yield (",\n    " if place else "\n    ").encode() + line.encode()
    yield b"\n  ]\n}\n"


def selection_json(chosen: Selection | None) -> dict[str, Any] | None:
    """`selection` of a gold set: null where all of it was asked."""
    return {"limit": chosen.limit, "tags": list(chosen.tags), "ids": list(chosen.ids)} if chosen else None


def said_json(sentence: Said) -> dict[str, Any]:
    """A sentence with names in braces, and what stands there: for showing it in another language."""
    return {"said": sentence.template, "values": dict(sentence.values)}


def steps_json(steps: Sequence[WaterfallStep]) -> list[dict[str, Any]]:
    """A waterfall as results files hold it."""
    return [
        {
            "step": step.name,
            "recall": number(step.recall),
            "loss": number(step.loss),
            "references": step.references,
        }
        for step in steps
    ]


K = TypeVar("K")
T = TypeVar("T")


class Remembered(dict[K, T], Generic[K, T]):
    """What `make` gives for a key, made once; its keys are those that somebody asked for."""

    def __init__(self, make: Callable[[K], T]) -> None:
        self.make = make

    def __missing__(self, key: K) -> T:
        value = self[key] = self.make(key)
        return value


class Spelled:
    """ids, names: by entity. An entity whose id was asked for is `mentioned`, ends of steps included."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self.graph = graph
        self.ids: Remembered[int, str] = Remembered(graph.entities.ids.__getitem__)
        self.names: Remembered[int, str] = Remembered(graph.entities.names.__getitem__)
        self._steps: dict[int, Step] = {}
        self._known = np.zeros(len(graph), dtype=bool)

    def mention(self, rows: NDArray[np.integer[Any]]) -> None:
        """Learn the ids and names of these entities, those that are new, all at once."""
        new = distinct(rows[~self._known[rows]])[0]
        if not len(new):
            return
        self._known[new] = True
        keys, known = new.tolist(), self.graph.entities
        self.ids.update(zip(keys, known.ids.take(new), strict=True))
        self.names.update(zip(keys, known.names.take(new), strict=True))

    @property
    def mentioned(self) -> list[int]:
        """Ascending."""
        return sorted(self.ids)

    def names_by_id(self) -> dict[str, str]:
        """Of every entity that is mentioned."""
        return {self.ids[row]: self.names[row] for row in self.mentioned}

    def walks(self, entities: NDArray[np.int32], walks: NDArray[np.int32]) -> list[list[Step]]:
        """The walks that end at `entities`, from their seeds. walks: (rows, hops), as Run.walks has them."""
        known, at = self.graph.relations, entities.astype(np.int64)
        walked = walks != NO_STEP
        forward = np.zeros(walks.shape, dtype=np.int64)
        for hop in range(walks.shape[1] - 1, -1, -1):
            rows = np.flatnonzero(walked[:, hop])
            relation = walks[rows, hop]
            source, target = known.sources[relation], known.targets[relation]
            forward[rows, hop] = at[rows] == target
            at[rows] = np.where(forward[rows, hop], source, target)
        keys = (2 * walks[walked].astype(np.int64) + forward[walked]).tolist()
        new = [key for key in dict.fromkeys(keys) if key not in self._steps]
        self._steps.update(zip(new, self._made(np.array(new, dtype=np.int64)), strict=True))
        steps = list(map(self._steps.__getitem__, keys))
        ends = np.cumsum(walked.sum(axis=1)).tolist()
        return [steps[low:high] for low, high in pairwise([0, *ends])]

    def _made(self, keys: NDArray[np.int64]) -> Iterator[Step]:
        """keys: twice the relation, plus one where it is walked in its own direction."""
        known, relations, forward = self.graph.relations, keys // 2, keys % 2 == 1
        sources, targets = known.sources[relations], known.targets[relations]
        self.mention(np.concatenate([sources, targets]))
        return map(
            Step,
            map(self.ids.__getitem__, np.where(forward, sources, targets).tolist()),
            map(known.types.names.__getitem__, known.types.codes[relations].tolist()),
            map(self.ids.__getitem__, np.where(forward, targets, sources).tolist()),
            forward.tolist(),
        )


def linked_seeds(linked: LinkedQuestion, spelled: Spelled) -> list[Seed]:
    """A question's seeds."""
    return [
        Seed(
            spelled.ids[seed.entity],
            spelled.names[seed.entity],
            seed.mention,
            seed.start,
            seed.end,
            seed.rule,
            seed.weight,
        )
        for seed in linked.seeds
    ]


def numbers(values: NDArray[np.floating[Any]]) -> list[float | None]:
    """NaN is None."""
    found: list[float | None] = values.astype(np.float64).tolist()
    for place in np.flatnonzero(np.isnan(values)).tolist():
        found[place] = None
    return found


def rankings(
    run: Run,
    questions: range,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Sequence[Reason]]] | None = None,
    *,
    walks: bool = True,
) -> Iterator[list[Ranked]]:
    """The first `most` entities of each question, each with its path and what its cost is made of.

    reasons: by question of the run, and by rank; fewer may be given than are written. walks: write paths and
    costs.
    """
    starts = run.offsets[questions.start : questions.stop]
    lengths = np.minimum(run.offsets[questions.start + 1 : questions.stop + 1] - starts, most)
    rows = stretches(starts, lengths)
    entities = run.entities[rows]
    spelled.mention(entities)
    keys = entities.tolist()
    absent = [UNSET] * len(keys)
    said: list[list[WrittenReason] | UnsetType] = [UNSET] * len(keys)
    if reasons is not None:
        said = [
            _reasons(reasons[question][rank]) if rank < len(reasons[question]) else UNSET
            for question, length in zip(questions, lengths.tolist(), strict=True)
            for rank in range(length)
        ]
    ranked = list(
        map(
            Ranked,
            map(spelled.ids.__getitem__, keys),
            map(spelled.names.__getitem__, keys),
            numbers(run.scores[rows]),
            run.steps(rows).tolist(),
            _costs(run.parts[rows]) if walks and run.parts is not None else absent,
            spelled.walks(entities, run.walks[rows]) if walks and run.walks is not None else absent,
            said,
        )
    )
    for low, high in pairwise([0, *np.cumsum(lengths).tolist()]):
        yield ranked[low:high]


def _costs(parts: NDArray[np.int32]) -> Iterator[Cost]:
    """The parts add up to the total to the last of their six digits."""
    columns = [parts.sum(axis=1, dtype=np.int64), *parts.T]
    return map(Cost, *((column / 1_000_000).tolist() for column in columns))


def _reasons(reasons: Sequence[Reason]) -> list[WrittenReason]:
    return [WrittenReason(part.what, list(part.words), part.price) for part in reasons]


def ranked_json(
    run: Run,
    row: int,
    most: int,
    spelled: Spelled,
    reasons: Sequence[Sequence[Reason]] | None = None,
) -> list[dict[str, Any]]:
    """`rankings` of one question, as JSON has them. reasons: by rank."""
    by_question = None if reasons is None else (*[()] * row, reasons)
    (ranked,) = rankings(run, range(row, row + 1), most, spelled, by_question)
    found: list[dict[str, Any]] = msgspec.to_builtins(ranked, enc_hook=str)
    return found
