"""The results file of `score`, written while the run passes by: the same fields as `eval`'s.

Questions come first and the summary last, because nothing but columns of scores is kept in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW, Judged
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import latency_document, number, summary_fields
from tiny_graph_rag.report.json.spelled import packed, steps_json
from tiny_graph_rag.scoring.stretches import Collected, Names, ScoreColumns, Stretch
from tiny_graph_rag.study.waterfall import (
    NO_RANK,
    Limits,
    Verdict,
    by_verdict,
    listed_verdicts,
    losses,
    ranks_of_items,
    verdict_table,
    waterfalls,
)

if TYPE_CHECKING:
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.measures.textual import TextMatch
    from tiny_graph_rag.results import Question
    from tiny_graph_rag.scoring.matching import Matching

_ENCODER = msgspec.json.Encoder(enc_hook=str)  # texts of errors are a kind of str


def document_parts(
    head: dict[str, Any],
    sources: Callable[[], dict[str, Any]],
    passing: Iterable[Written],
    collected: Collected,
    graph: KnowledgeGraph | None,
    *,
    cutoff: int,
    usage: dict[str, int],
) -> Iterator[bytes]:
    """The file, piece by piece; `collected` is filled on the way. sources: more of the head, that is known
    when all has passed by.
    """
    yield packed(head).removesuffix(b"}") + b',\n"results": ['
    mentioned: dict[str, None] = {}
    first = True
    for part in passing:
        collected.parts.append(part.columns)
        mentioned.update(dict.fromkeys(part.mentioned))
        if part.lines:
            yield (b"\n" if first else b",\n") + b",\n".join(part.lines)
            first = False
    known: dict[str, dict[str, str]] = {}
    if graph is not None:
        from tiny_graph_rag.report.json.results import entities

        known = entities(graph, [row for row, id_ in enumerate(graph.entities.ids) if id_ in mentioned])
    found = {
        **sources(),
        "summary": summary(collected, cutoff, usage),
        "entities": known,
    }
    yield b"\n],\n" + packed(found).removeprefix(b"{") + b"\n"


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """What is wanted of each stretch. also: measures of which the mean alone is; cutoff: of tp, fp and fn;
    shown: ranks that are written; match: how texts are compared where there is no graph; ambiguous: how a
    name that several entities of the graph have is read."""

    measures: tuple[Measure, ...]
    also: tuple[Measure, ...]
    cutoff: int
    shown: int
    match: TextMatch | None = None
    matching: Matching | None = None
    ambiguous: str = "first"


@dataclass(frozen=True, slots=True, eq=False)
class Written:
    """What becomes of a stretch. lines: one JSON object a question; mentioned: ids of entities in them."""

    lines: list[bytes]
    mentioned: list[str]
    columns: ScoreColumns


def written(stretch: Stretch, wish: Wish) -> Written:
    why = None if stretch.has_name is None else Why.of(stretch.judged, stretch.has_name, wish.cutoff)
    table = None if why is None else verdict_table(why.verdicts, stretch.judged.relevant)
    columns = ScoreColumns.of(stretch, (*wish.measures, *wish.also), table)
    scores = {measure: columns.scores[measure] for measure in wish.measures}
    if stretch.names is not None:
        return Written(brief_lines(stretch, stretch.names, scores, wish.cutoff), [], columns)
    lines, mentioned = [], dict[str, None]()
    for item in question_rows(stretch, scores, wish.cutoff, wish.shown, why):
        if why is not None:
            mentioned.update(dict.fromkeys(entity.id for entity in item.ranked))
            for reference in item.references:
                mentioned.update(dict.fromkeys(reference.entity_ids))
        lines.append(packed(item))
    return Written(lines, list(mentioned), columns)


def summary(collected: Collected, cutoff: int, usage: dict[str, int]) -> dict[str, Any]:
    """`summary` of the file, when all has passed by."""
    found, took = collected.found, collected.seconds.tolist()
    return {
        **summary_fields(found, cutoff, lambda measure: mean_of(collected.whole.scores[measure]).mean, usage),
        "latency": latency_document(collected.seconds),
        **({"questions_per_second": len(took) / sum(took)} if sum(took) > 0 else {}),
        **_why(collected.whole, cutoff),
    }


def _why(columns: ScoreColumns, cutoff: int) -> dict[str, Any]:
    """Verdicts and where recall was lost, for a run that was scored on its graph."""
    if columns.verdicts is None:
        return {}
    lost = losses(columns.verdicts, Limits(walks=False, hops=None), cutoff)
    whole, by_tag = waterfalls(lost, columns.beside.relevant, columns.tags)
    counts = by_verdict(columns.verdicts.sum(axis=0))
    return {
        "verdicts": {verdict: count for verdict, count in counts.items() if count},
        "waterfall": steps_json(whole),
        "waterfall_by_tag": {tag: steps_json(slice_) for tag, slice_ in by_tag.items()},
    }


class Brief(msgspec.Struct, gc=False):
    """A question of `results` in large runs, whose files say the rankings and references themselves."""

    id: str
    metrics: msgspec.Struct
    tp: Sequence[str]
    fp: Sequence[str]
    fn: Sequence[str]
    query: str = ""
    tags: Sequence[str] = ()
    linked: Sequence[str] = ()
    ranked: Sequence[str] = ()
    references: Sequence[str] = ()
    answer: None = None
    latency_seconds: None = None


@cache
def _metrics(spellings: tuple[str, ...]) -> Callable[..., msgspec.Struct]:
    """The record of a question's values, given in this order; NaN is written as null."""
    names = {f"m{place}": spelling for place, spelling in enumerate(spellings)}
    return msgspec.defstruct("Metrics", [(name, float) for name in names], rename=names, gc=False)


def brief_lines(stretch: Stretch, names: Names, columns: dict[Measure, Column], cutoff: int) -> list[bytes]:
    """The same without `ranked` and `references`: of large runs, whose files say both. One piece or none."""
    judged = stretch.judged
    n = len(judged)
    rows, items = judged.rows[:, :cutoff], judged.items[:, :cutoff]
    question, rank = np.nonzero(rows != NO_ROW)
    right = items[question, rank] != NO_ITEM
    order = np.argsort(2 * question + ~right, kind="stable")  # of each question the right ones first
    retrieved = names.retrieved(rows[question[order], rank[order]])
    ends = np.cumsum(np.bincount(question, minlength=n))
    turns = (ends - np.bincount(question[~right], minlength=n)).tolist()
    is_open = np.ones(int(judged.relevant.sum()), dtype=bool)
    is_open[items[items != NO_ITEM]] = False
    missed = names.wanted(np.flatnonzero(is_open))
    missed_ends = np.concatenate([[0], np.cumsum(is_open)])[np.cumsum(judged.relevant)]
    metrics = map(_metrics(tuple(map(str, columns))), *(column.tolist() for column in columns.values()))
    written = map(
        Brief,
        stretch.ids,
        metrics,
        _slices(retrieved, [0, *ends.tolist()], turns),
        _slices(retrieved, turns, ends.tolist()),
        _slices(missed, [0, *missed_ends.tolist()], missed_ends.tolist()),
    )
    # Line ends within a text are escaped, so that each that is left stands between two questions.
    lines = _ENCODER.encode_lines(list(written)).removesuffix(b"\n").replace(b"\n", b",\n")
    return [lines] if lines else []


def _slices(texts: list[str], starts: Iterable[int], ends: Iterable[int]) -> Iterator[list[str]]:
    return map(texts.__getitem__, map(slice, starts, ends))


@dataclass(frozen=True, slots=True, eq=False)
class Why:
    """What became of each relevant item of a run that was scored on its graph."""

    verdicts: NDArray[np.int8]
    ranks: NDArray[np.int32]

    @classmethod
    def of(cls, judged: Judged, has_name: NDArray[np.bool_], cutoff: int) -> Why:
        """has_name: as Stretch has it."""
        ranks = ranks_of_items(judged, len(has_name))
        return cls(listed_verdicts(ranks, has_name, cutoff), ranks)

    def of_item(self, item: int) -> dict[str, Any]:
        """What a reference says of it."""
        rank = int(self.ranks[item])
        return {
            "verdict": str(Verdict(self.verdicts[item])),
            "rank": rank if rank != NO_RANK else None,
            "hop": None,
        }


def question_rows(
    stretch: Stretch,
    columns: dict[Measure, Column],
    cutoff: int,
    shown: int,
    why: Why | None = None,
) -> Iterator[Question]:
    """One object of `results` a question. why: verdicts of its references, where they are known."""
    from tiny_graph_rag.results import Question, Ranked, Reference  # a large run's brief lines need none
    from tiny_graph_rag.run import NO_HOP

    judged = stretch.judged
    rows = judged.rows[:, :shown]
    labelled = iter(stretch.labels(rows[rows != NO_ROW]))
    counts = np.minimum(judged.retrieved, shown).tolist()
    hit = (judged.grades[:, :cutoff] > 0).tolist()
    items = judged.items[:, :cutoff].tolist()
    first_item = np.concatenate([[0], np.cumsum(judged.relevant)]).tolist()
    spellings = [str(column) for column in columns]
    values = np.stack(list(columns.values()), axis=1).tolist() if columns else [[]] * len(stretch.ids)
    seconds = [None] * len(judged) if judged.seconds is None else list(map(number, judged.seconds.tolist()))
    for place, question in enumerate(stretch.ids):
        ranked = [next(labelled) for _ in range(counts[place])]
        names = [name for _, name, _ in ranked[:cutoff]]
        filled = {item - first_item[place] for item in items[place] if item != NO_ITEM}
        references = stretch.references[place]
        if judged.found is not None:  # a text fills every reference that it contains
            first = {key for key, _, _ in ranked[:cutoff]}
            filled |= {item for _, _, ids, _, item in references if first.intersection(ids)}
        sharing = Counter(item for *_, item in references)
        yield Question(
            id=question,
            query=stretch.queries[place] if stretch.queries else "",
            tags=list(stretch.tags[place]) if stretch.tags else [],
            group=(stretch.groups[place] if stretch.groups else None) or UNSET,
            linked=[],
            ranked=[
                Ranked(key, name, points if math.isfinite(points) else None, NO_HOP)
                for key, name, points in ranked
            ],
            references=[
                Reference(
                    name,
                    grade,
                    ids,
                    level,
                    len(ids) > 1,
                    sharing[item] > 1,
                    **({} if why is None else why.of_item(first_item[place] + item)),
                )
                for name, grade, ids, level, item in references
            ],
            metrics=dict(zip(spellings, map(number, values[place]), strict=True)),
            tp=[name for name, relevant in zip(names, hit[place], strict=False) if relevant],
            fp=[name for name, relevant in zip(names, hit[place], strict=False) if not relevant],
            fn=[name for name, *_, item in references if item not in filled],
            latency_seconds=seconds[place],
        )
