"""The results file of `score`, written while the run passes by: the same fields as `eval`'s.

Questions come first and the summary last, because nothing but columns of scores is kept in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import latency_of, rows_by_tag, summary_fields
from tiny_graph_rag.measures.textual import TextMatch
from tiny_graph_rag.report.json import with_lines
from tiny_graph_rag.results import Question, Ranked, Reference, as_read, encoded
from tiny_graph_rag.run import NO_HOP
from tiny_graph_rag.scoring.stretches import Collected, ScoreColumns, Stretch
from tiny_graph_rag.study.waterfall import (
    Limits,
    Verdict,
    by_verdict,
    listed_verdicts,
    ranks_of_items,
    verdict_table,
    waterfalls,
)


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """What is wanted of each stretch. also: measures of which the mean alone is; cutoff: of tp, fp and fn;
    shown: ranks that are written; match: how texts are compared where there is no graph."""

    measures: tuple[Measure, ...]
    also: tuple[Measure, ...]
    cutoff: int
    shown: int
    match: TextMatch | None = None


def document_parts(
    head: dict[str, Any],
    sources: Callable[[], dict[str, Any]],
    stretches: Iterable[Stretch],
    wish: Wish,
    collected: Collected,
    graph: KnowledgeGraph | None,
    usage: dict[str, int],
) -> Iterator[bytes]:
    """The file, piece by piece; `collected` is filled on the way. sources: more of the head, that is known
    when all has passed by.
    """
    mentioned: set[str] = set()

    def lines() -> Iterator[bytes]:
        for stretch in stretches:
            ranks, verdicts, table = None, None, None
            if stretch.has_name is not None:  # scored on its graph
                ranks = ranks_of_items(stretch.judged, len(stretch.has_name))
                verdicts = listed_verdicts(ranks, stretch.has_name, wish.cutoff)
                table = verdict_table(verdicts, stretch.judged.relevant)
            columns = ScoreColumns.of(stretch, (*wish.measures, *wish.also), table)
            collected.parts.append(columns)
            scores = {str(measure): columns.scores[measure] for measure in wish.measures}
            for question in questions_of(stretch, scores, wish, ranks, verdicts):
                if graph is not None:
                    mentioned.update(entity.id for entity in question.ranked)
                    mentioned.update(*(reference.entity_ids for reference in question.references))
                yield encoded(question)

    def rest() -> dict[str, Any]:
        known = {}
        if graph is not None:
            from tiny_graph_rag.report.json.results import entities

            known = entities(graph, [row for row, id_ in enumerate(graph.entities.ids) if id_ in mentioned])
        return {**sources(), "summary": summary(collected, wish.cutoff, usage), "entities": known}

    return with_lines(head, "results", lines(), rest)


def summary(collected: Collected, cutoff: int, usage: dict[str, int]) -> dict[str, Any]:
    """`summary` of the file, when all has passed by."""
    found, took = collected.found, collected.seconds.tolist()
    fields = {
        **summary_fields(found, cutoff, lambda measure: mean_of(collected.whole.scores[measure]).mean, usage),
        "latency": latency_of(collected.seconds),
        **({"questions_per_second": len(took) / sum(took)} if sum(took) > 0 else {}),
        **_why(collected.whole, cutoff),
    }
    return dict(as_read(fields))


def _why(columns: ScoreColumns, cutoff: int) -> dict[str, Any]:
    """Verdicts and where recall was lost, for a run that was scored on its graph."""
    if columns.verdicts is None:
        return {}
    relevant, limits = columns.relevant, Limits(walks=False, hops=None)
    parts = {"": np.arange(len(relevant)), **rows_by_tag(columns.tags)}
    steps = waterfalls(columns.verdicts, relevant, limits, cutoff, parts)
    return {
        "verdicts": by_verdict(columns.verdicts.sum(axis=0)),
        "waterfall": steps.pop(""),
        "waterfall_by_tag": steps,
    }


def questions_of(
    stretch: Stretch,
    columns: dict[str, Column],
    wish: Wish,
    ranks: NDArray[np.int32] | None,
    verdicts: NDArray[np.int8] | None,
) -> Iterator[Question]:
    """One object of `results` a question. ranks, verdicts: of its references, where they are known.

    Of large runs, whose files say rankings and references themselves, both are left out.
    """
    judged, is_brief, cutoff = stretch.judged, stretch.missed is not None, wish.cutoff
    rows = judged.rows[:, : cutoff if is_brief else wish.shown]
    labels = iter(stretch.labels(rows[rows != NO_ROW]))
    counts = (rows != NO_ROW).sum(axis=1).tolist()
    items = judged.items[:, :cutoff].tolist()
    first_item = np.concatenate([[0], np.cumsum(judged.relevant)]).tolist()
    is_filled = np.zeros(first_item[-1], dtype=bool)
    is_filled[judged.items[:, :cutoff][judged.items[:, :cutoff] != NO_ITEM]] = True
    missed = iter(() if stretch.missed is None else stretch.missed(np.flatnonzero(~is_filled)))
    filled, values = is_filled.tolist(), zip(*(column.tolist() for column in columns.values()), strict=True)
    seconds = [math.nan] * len(judged) if judged.seconds is None else judged.seconds.tolist()
    for place, question in enumerate(stretch.ids):
        ranked = [next(labels) for _ in range(counts[place])]
        names = [name for _, name, _ in ranked]
        references = () if is_brief else stretch.references[place]
        if judged.found is not None:  # a text fills every reference that it contains
            best = {key for key, _, _ in ranked[:cutoff]}
            for _, _, ids, _, item in references:
                filled[first_item[place] + item] |= not best.isdisjoint(ids)
        sharing = Counter(item for *_, item in references)
        first, last = first_item[place], first_item[place + 1]
        yield Question(
            id=question,
            query=stretch.queries[place] if stretch.queries else "",
            tags=list(stretch.tags[place]) if stretch.tags else [],
            group=(stretch.groups[place] if stretch.groups else None) or UNSET,
            linked=[],
            ranked=[] if is_brief else [Ranked(key, name, score, NO_HOP) for key, name, score in ranked],
            references=[
                Reference(
                    name,
                    grade,
                    ids,
                    level,
                    len(ids) > 1,
                    sharing[item] > 1,
                    verdict=UNSET if verdicts is None else str(Verdict(verdicts[first + item])),
                    rank=UNSET if ranks is None else int(ranks[first + item]) or None,
                    hop=UNSET if ranks is None else None,
                )
                for name, grade, ids, level, item in references
            ],
            metrics=dict(zip(columns, next(values, ()), strict=True)),
            tp=[name for name, item in zip(names, items[place], strict=False) if item != NO_ITEM],
            fp=[name for name, item in zip(names, items[place], strict=False) if item == NO_ITEM],
            fn=[next(missed) for item in range(first, last) if not filled[item]]
            if is_brief
            else [name for name, *_, item in references if not filled[first + item]],
            latency_seconds=seconds[place],
        )
