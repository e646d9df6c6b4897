"""Scoring from Python: dictionaries or pandas in, pandas out.

Only the documents that are judged are looked up; the others count by their scores alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tiny_graph_rag.errors import MissingExtraError, UsageError
from tiny_graph_rag.metrics import Measure, means, parse_measures, score, weights
from tiny_graph_rag.metrics.judged import NO_ITEM, NO_ROW, Judged

if TYPE_CHECKING:
    import pandas

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


def evaluate(run: Any, gold: Any, measures: str | Sequence[Measure], *, seed: int = 0) -> Scored:
    """Score a run against a gold set; both as {question: {document: number}} or as a DataFrame.

    run: also {question: [(document, score), …]}; DataFrame columns query_id, doc_id, score. Equal scores keep
    the order in which they came. Questions of the gold set that the run lacks count as nothing retrieved.
    Raises UsageError for an unknown measure and NaN scores, MissingExtraError without pandas.
    """
    frames = _pandas()
    wanted = parse_measures(measures) if isinstance(measures, str) else tuple(measures)
    grades = _as_dicts(gold)
    judged = judged_dicts(_as_dicts(run), grades)
    columns = score(judged, wanted)
    found = means(
        columns,
        weights=weights(judged, wanted),
        shares={each for each in wanted if each.is_share},
        seed=seed,
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
    if split is not None:
        qrels = qrels[qrels["split"] == split]
    gold = _as_dicts(qrels)
    judged = judged_dicts(_as_dicts(preds), {question: gold.get(question, {}) for question in preds})
    rows = []
    for k in ks:
        values = {name: Measure(kind, k).compute(judged) for name, kind in PREDICTED.items()}
        rows.append({"k": k, **{name: float(np.nan_to_num(each).mean()) for name, each in values.items()}})
    return frames.DataFrame(rows, columns=["k", *PREDICTED])


def judged_dicts(run: Mapping[str, Scores], gold: Mapping[str, Grades]) -> Judged:
    """What measures see, for the questions of `gold`, in its order. Raises UsageError for a NaN score."""
    rankings = [run.get(question) or {} for question in gold]
    lengths = np.fromiter(map(len, rankings), dtype=np.int64, count=len(rankings))
    ends = np.cumsum(lengths)
    starts = ends - lengths
    scores = np.fromiter(chain.from_iterable(each.values() for each in rankings), dtype=np.float64)
    if np.isnan(scores).any():
        raise UsageError("a score of the run is NaN; NaN has no place in an order")
    n, width = len(rankings), int(lengths.max(initial=0))
    most = max(map(len, gold.values()), default=0)
    grades, ideal = np.zeros((n, width), dtype=np.int32), np.zeros((n, most), dtype=np.int32)
    items = np.full((n, width), NO_ITEM, dtype=np.int64)
    irrelevant = np.zeros((n, width), dtype=bool)
    relevant, bad = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    number = 0
    for row, (judgments, ranking) in enumerate(zip(gold.values(), rankings, strict=True)):
        best = sorted((grade for grade in judgments.values() if grade > 0), reverse=True)
        ideal[row, : len(best)] = best
        relevant[row] = len(best)
        bad[row] = sum(grade == 0 for grade in judgments.values())
        mine = scores[starts[row] : ends[row]]
        for document, grade in judgments.items():
            own = ranking.get(document)
            if own is not None and grade >= 0:
                rank = int(np.count_nonzero(mine > own))
                if np.count_nonzero(mine == own) > 1:
                    place = list(ranking).index(document)
                    rank += int(np.count_nonzero(mine[:place] == own))
                grades[row, rank], irrelevant[row, rank] = grade, grade == 0
                items[row, rank] = number if grade else NO_ITEM
            number += grade > 0
    answered = np.array([question in run for question in gold], dtype=bool)
    rows = np.full((n, width), NO_ROW, dtype=np.int64)
    return Judged(grades, irrelevant, items, rows, lengths, relevant, bad, ideal, grades > 0, answered)


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
        question: row if isinstance(row, Mapping) else _best_of(row)  # type: ignore[misc]
        for question, row in table.items()
    }


def _best_of(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for document, value in sorted(pairs, key=lambda pair: -pair[1]):
        found.setdefault(document, value)
    return found


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("scoring into tables", "pandas", "pandas") from error
    return pandas
