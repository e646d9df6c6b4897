"""Scoring from Python: dictionaries or pandas in, pandas out.

Only the documents that are judged are looked up; the others count by their scores alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import MissingExtraError, UsageError
from tiny_graph_rag.measures import Measure, means, parse_measures, weights
from tiny_graph_rag.measures import score as columns_of
from tiny_graph_rag.measures.judged import NO_ITEM, NO_ROW, Judged

if TYPE_CHECKING:
    import pandas

Ints = NDArray[np.int64]
Scores = Mapping[str, float]
Grades = Mapping[str, int]
PREDICTED = {"MRR": "mrr", "nDCG": "ndcg", "MAP": "map", "Recall": "recall", "Precision": "precision"}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """questions: a row a question of the gold set, a column a measure. means: a row a measure, with columns
    mean, low, high (95 % interval), n and reliable.
    """

    questions: pandas.DataFrame
    means: pandas.DataFrame


def score(run: Any, gold: Any, measures: str | Sequence[Measure]) -> Scored:
    """Score a run against a gold set; both as {question: {document: number}} or as a DataFrame.

    run: also {question: [(document, score), …]}; DataFrame columns query_id, doc_id, score. Equal scores keep
    the order in which they came. Questions of the gold set that the run lacks count as nothing retrieved.
    Raises UsageError for an unknown measure, one that needs more than ids, and NaN scores; MissingExtraError
    without pandas.
    """
    frames = _pandas()
    wanted = parse_measures(measures) if isinstance(measures, str) else tuple(measures)
    for each in wanted:
        if each.kind.needs:
            raise UsageError(
                f"measure {each} looks at more than ids and grades ({each.kind.needs}); "
                "the command `score` reads that from the run's file or a graph"
            )
    grades = _as_dicts(gold)
    judged = judged_dicts(_as_dicts(run), grades)
    columns = columns_of(judged, wanted)
    found = means(
        columns,
        weights=weights(judged, wanted),
        bounds={each: each.bounds for each in wanted},
    )
    table = frames.DataFrame({str(each): column for each, column in columns.items()}, index=list(grades))
    rows = [(each.mean, each.low, each.high, each.n, each.reliable) for each in found.values()]
    names = ["mean", "low", "high", "n", "reliable"]
    return Scored(table, frames.DataFrame(rows, index=[str(each) for each in found], columns=names))


def evaluate_predictions(
    preds: Mapping[str, Iterable[tuple[str, float]]],
    qrels: pandas.DataFrame,
    ks: Sequence[int] = (1, 3, 5, 10),
    split: str | None = None,
) -> pandas.DataFrame:
    """A row a cutoff with k, MRR, nDCG, MAP, Recall, Precision, averaged over the questions in `preds`.

    qrels: columns query_id, doc_id, score and, where `split` is given, split. nDCG gains the score, the rest
    count score > 0. A question without qrels counts 0 here.
    """
    frames = _pandas()
    if not preds:
        raise UsageError("there is no prediction; wanted {query_id: [(doc_id, score), …]}")
    cutoffs = [Measure.parse(f"recall@{k}").cutoff for k in ks]
    if split is not None:
        qrels = _of_split(qrels, split)
    gold = _as_dicts(qrels)
    judged = judged_dicts(_as_dicts(preds), {question: gold.get(question, {}) for question in preds})
    rows = []
    for k in cutoffs:
        values = {name: Measure(kind, k).compute(judged) for name, kind in PREDICTED.items()}
        rows.append({"k": k, **{name: float(np.nan_to_num(each).mean()) for name, each in values.items()}})
    return frames.DataFrame(rows, columns=["k", *PREDICTED])


def judged_dicts(run: Mapping[str, Scores], gold: Mapping[str, Grades]) -> Judged:
    """What measures see, for the questions of `gold`, in its order. Raises UsageError for a NaN score."""
    rankings = [run.get(question) or {} for question in gold]
    sizes = np.fromiter(map(len, gold.values()), dtype=np.int64, count=len(gold))
    values = chain.from_iterable(each.values() for each in gold.values())
    judgments = np.fromiter(values, dtype=np.float64, count=int(sizes.sum()))
    owner = np.repeat(np.arange(len(gold)), sizes)
    n = len(rankings)
    at, their_ranks = _looked_up(rankings, gold.values())
    known = judgments[at] >= 0
    at, their_ranks = at[known], their_ranks[known]
    good = judgments > 0
    lengths = np.fromiter(map(len, rankings), dtype=np.int64, count=n)
    shape = (n, int(lengths.max(initial=0)))
    cells = (owner[at], their_ranks)
    found, irrelevant = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=bool)
    found[cells], irrelevant[cells] = judgments[at], ~good[at]
    items = np.full(shape, NO_ITEM, dtype=np.int64)
    items[cells] = np.where(good, np.cumsum(good) - 1, NO_ITEM)[at]
    ideal = np.zeros((n, int(sizes.max(initial=0))), dtype=np.int32)
    ideal[owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = np.maximum(
        judgments, 0
    )
    return Judged(
        grades=found,
        irrelevant=irrelevant,
        items=items,
        rows=np.broadcast_to(np.int64(NO_ROW), shape),
        retrieved=lengths,
        relevant=np.bincount(owner[good], minlength=n),
        judged_irrelevant=np.bincount(owner[judgments == 0], minlength=n),
        ideal=-np.sort(-ideal, axis=1),
        submitted=found > 0,
        answered=np.array([question in run for question in gold], dtype=bool),
    )


def _looked_up(rankings: Iterable[Scores], gold: Iterable[Grades]) -> tuple[Ints, Ints]:
    """Of the gold set's documents, numbered one after the other, those that the run has, and their ranks
    from 0.
    """
    places: list[int] = []
    ranks: list[int] = []
    first = 0
    for grades, ranking in zip(gold, rankings, strict=True):
        ascending = sorted(ranking.values())
        if isnan(sum(ascending)) and any(map(isnan, ascending)):  # infinite scores add up to NaN, too
            raise UsageError("a score of the run is NaN; NaN has no place in an order")
        length = len(ascending)
        for place, document in enumerate(grades, start=first):
            own = ranking.get(document)
            if own is None:
                continue
            rank = length - bisect_right(ascending, own)
            if length - rank > 1 and ascending[-rank - 2] == own:  # equal scores keep their order
                before = islice(ranking.values(), list(ranking).index(document))
                rank += sum(each == own for each in before)
            places.append(place)
            ranks.append(rank)
        first += len(grades)
    return np.array(places, dtype=np.int64), np.array(ranks, dtype=np.int64)


def _as_dicts(table: Any) -> dict[str, dict[str, Any]]:
    """{question: {document: number}} of a DataFrame, of dictionaries, or of lists of pairs; the first of
    duplicates counts.
    """
    if hasattr(table, "columns"):
        missing = [name for name in ("query_id", "doc_id", "score") if name not in table.columns]
        if missing:
            raise UsageError(f"the table has no column {missing[0]!r}; it has: {', '.join(table.columns)}")
        found: dict[str, dict[str, Any]] = {}
        triples = zip(*(table[name].tolist() for name in ("query_id", "doc_id", "score")), strict=True)
        for question, document, value in triples:
            found.setdefault(question, {}).setdefault(document, value)
        return found
    return {
        question: row if isinstance(row, (dict, Mapping)) else _best_of(row)  # type: ignore[misc]
        for question, row in table.items()
    }


def _best_of(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    try:
        for document, value in sorted(pairs, key=lambda pair: -pair[1]):
            found.setdefault(document, value)
    except (TypeError, ValueError, IndexError) as error:
        raise UsageError("wanted (document, score) pairs, each score a number") from error
    return found


def _of_split(qrels: pandas.DataFrame, split: str) -> pandas.DataFrame:
    if "split" not in qrels.columns:
        raise UsageError("the table has no column 'split'; leave split= out")
    kept = qrels[qrels["split"] == split]
    if not len(kept):
        known = sorted(map(str, set(qrels["split"].tolist())))
        raise UsageError(f"no row has the split {split!r}; there are: {', '.join(known)}")
    return kept


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("scoring into tables", "pandas", "pandas") from error
    return pandas
