"""Scoring from Python: dictionaries or pandas in, pandas out.

Grades may be fractions here, and ids anything that can be a key.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import isnan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import UsageError, optional
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.measures import Mean, Measure, default_measures, measures_of
from tiny_graph_rag.measures import score as columns_of
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.judged import NO_ITEM, Hits, Judged, tabled
from tiny_graph_rag.measures.summary import summarise
from tiny_graph_rag.messages import said
from tiny_graph_rag.results import as_read
from tiny_graph_rag.scoring.stretches import counted
from tiny_graph_rag.version import SCHEMA_VERSION, __version__

if TYPE_CHECKING:
    import pandas

    from tiny_graph_rag.graph.model import KnowledgeGraph

Scores = Mapping[str, float]
Grades = Mapping[str, float]
USUAL_CUTOFF = 5  # where measures cut unless named, as the commands do
MOST = 1 << 31  # whole grades below are kept as such
UNRANKED = -1
PREDICTED = {"MRR": "mrr", "nDCG": "ndcg", "MAP": "map", "Recall": "recall", "Precision": "precision"}


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """questions: a row a question of the gold set, a column a measure. means: a row a measure, with columns
    mean, low, high (95 % interval), n and reliable. gold_name, gold_sha256: of the gold set's file, or of
    what was in memory.
    """

    questions: pandas.DataFrame
    means: pandas.DataFrame
    gold_name: str = "gold"
    gold_sha256: str = ""

    def to_pandas(self) -> pandas.DataFrame:
        """A row a question, as `Result.to_pandas` has them."""
        return self.questions

    def _repr_html_(self) -> str:
        return str(self.means.round(3).to_html())


def scored_content(scored: Scored) -> dict[str, Any]:
    """As the content of a results file, for comparing: values by question and their means."""
    names = list(map(str, scored.questions.columns))
    means = scored.means.to_dict("index")
    content = {
        "schema_version": SCHEMA_VERSION,
        "package_version": __version__,
        "kind": "score",
        "dataset": {"name": scored.gold_name, "sha256": scored.gold_sha256},
        "config": {},
        "summary": {
            "k": None,
            "questions": len(scored.questions),
            "measures": {str(measure): mean for measure, mean in means.items()},
            "by_tag": {},
        },
        "results": [
            {"id": str(id), "query": str(id), "metrics": dict(zip(names, values, strict=True))}
            for id, *values in scored.questions.itertuples(name=None)
        ],
    }
    return dict(as_read(content))


def score(
    run: Any,
    gold: Any,
    measures: str | Sequence[Measure | str] | None = None,
    *,
    match: str | None = None,
    graph: KnowledgeGraph | None = None,
    ties: str = "list",
) -> Scored:
    """Score a run against a gold set: `score("run.trec", "qrels.txt", "ndcg@10,map")`.

    Both are paths of files in any known format, {question: {document: number}}, or DataFrames with the
    columns query_id, doc_id and score. run: also {question: [(document, score), …]}. measures: the four that
    the command `score` reports where None. Two files are scored as that command does it: match, graph and
    ties are its `--match`, `-g` and `--ties`, and groups of questions widen the intervals.

    In memory, equal scores keep the order in which they came; a document that stands there twice counts once,
    with its best score. Questions of the gold set that the run lacks get the worst value of every measure.
    Grades may be fractions: nDCG gains them as they are, the others count what is above 0. Warns of questions
    that only one side knows and of documents' ids of another type.
    Raises RunError for a run of other questions, UsageError for an unknown measure, one that needs more than
    is given, scores that are no numbers or NaN, grades that are no numbers or contradict each other;
    MissingExtraError without pandas.
    """
    frames = pandas_for(said("scoring into tables"))
    is_free = measures is None
    wanted = measures_of(default_measures(USUAL_CUTOFF) if measures is None else measures)
    are_paths = [isinstance(given, str | PathLike) for given in (run, gold)]
    if all(are_paths):
        return _score_files(frames, Path(run), Path(gold), wanted, match, graph, ties, is_free=is_free)
    if match is not None or graph is not None or ties != "list":
        raise UsageError("match, graph and ties are for a run and a gold set that are files")
    for name in wanted:
        if name.kind.needs_graph:
            raise UsageError(
                "measure {name} needs the relations of a graph; score files, with graph=", name=name
            )
    gold_name = bare_name(Path(gold)) if are_paths[1] else "gold"
    run, gold = _from_file(run, gold)
    grades, rankings = _as_dicts(gold, must_agree=True), _as_dicts(run)
    _say_what_differs(rankings, grades)
    judged = judged_dicts(rankings, grades)
    columns = columns_of(judged, wanted)
    found = summarise(columns, judged, [()] * len(judged)).overall.measures
    return _tabled(frames, list(grades), columns, found, gold_name, _sha256(grades))


def _score_files(
    frames: Any,
    run: Path,
    gold: Path,
    measures: Sequence[Measure],
    match: str | None,
    graph: KnowledgeGraph | None,
    ties: str,
    *,
    is_free: bool,
) -> Scored:
    """What the command `score` computes of these files. is_free: nobody has said which measures."""
    from tiny_graph_rag.config import Config
    from tiny_graph_rag.files import sha256_of
    from tiny_graph_rag.inputs import find_input
    from tiny_graph_rag.measures.textual import TextMatch
    from tiny_graph_rag.scoring.opening import Request, attempts, check_needs
    from tiny_graph_rag.scoring.stretches import Collected, ScoreColumns
    from tiny_graph_rag.scoring.trec import AnotherWay

    check_needs(measures, has_graph=graph is not None)
    usual = Config().evaluation
    text_match = None if match is None or graph is not None else TextMatch(match, usual.rouge_threshold)
    of_passages = usual.match if match in (None, "name") else match
    request = Request(
        find_input(run, Path(), "run"),
        find_input(gold, Path(), "gold set"),
        ties=ties,
        passage_match=TextMatch.of_passages(of_passages, usual.rouge_threshold),
    )
    for opened in attempts(request, graph, text_match):
        measures = opened.usual(measures) if is_free else measures
        collected, ids = Collected(measures), list[str]()
        try:
            for stretch in opened.stretches:
                collected.parts.append(ScoreColumns.of(stretch, measures))
                ids.extend(stretch.ids)
        except AnotherWay:
            continue
        break
    for line in opened.notes():
        warnings.warn(line, stacklevel=3)
    found = collected.found.overall.measures
    ids = [ids[row] for row in collected.order.tolist()]
    return _tabled(frames, ids, collected.whole.scores, found, opened.gold_name, sha256_of(request.gold))


def _tabled(
    frames: Any,
    ids: list[Any],
    columns: Mapping[Measure, Column],
    found: Mapping[Measure, Mean],
    gold_name: str,
    gold_sha256: str,
) -> Scored:
    table = frames.DataFrame({str(measure): columns[measure] for measure in found}, index=ids)
    rows = [(item.mean, item.low, item.high, item.n, item.reliable) for item in found.values()]
    names = ["mean", "low", "high", "n", "reliable"]
    means = frames.DataFrame(rows, index=[str(item) for item in found], columns=names)
    return Scored(table, means, gold_name, gold_sha256)


def _sha256(grades: Mapping[Any, Mapping[Any, Any]]) -> str:
    """Of a gold set in memory, whatever the order of its documents."""
    rows = [
        [str(key), sorted((str(doc), float(grade)) for doc, grade in row.items())]
        for key, row in grades.items()
    ]
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()


def _from_file(run: Any, gold: Any) -> tuple[Any, Any]:
    """The one that is a path becomes what the file holds; what is in memory stays."""
    from tiny_graph_rag.formats.gold import read_gold
    from tiny_graph_rag.formats.runs import read_run
    from tiny_graph_rag.inputs import find_input

    if isinstance(gold, str | PathLike):
        questions = read_gold(find_input(Path(gold), Path(), "gold set")).questions
        gold = {question.id: dict(question.grades) for question in questions}
    if isinstance(run, str | PathLike):
        run = {
            question: [
                (place.key, -float(rank) if place.score is None else place.score)
                for rank, place in enumerate(places)
            ]
            for question, places in read_run(find_input(Path(run), Path(), "run")).rankings.items()
        }
    return run, gold


def evaluate_predictions(
    preds: Mapping[str, Iterable[tuple[str, float]]],
    qrels: pandas.DataFrame,
    ks: Sequence[int] = (1, 3, 5, 10),
) -> pandas.DataFrame:
    """A row a cutoff with k, MRR, nDCG, MAP, Recall, Precision, averaged over the questions in `preds`.

    qrels: columns query_id, doc_id, score. nDCG gains the score, the rest count score > 0. A question without
    qrels counts 0 here.
    """
    frames = pandas_for(said("scoring into tables"))
    if not preds:
        raise UsageError("there is no prediction; wanted {query_id: [(doc_id, score), …]}")
    cutoffs = [Measure.parse(f"recall@{k}").cutoff for k in ks]
    gold, rankings = _as_dicts(qrels, must_agree=True), _as_dicts(preds)
    _say_what_differs(rankings, gold, all_of_gold=False)
    judged = judged_dicts(rankings, {question: gold.get(question, {}) for question in preds})
    rows = []
    for k in cutoffs:
        values = {name: Measure(kind, k).compute(judged) for name, kind in PREDICTED.items()}
        rows.append({"k": k, **{name: float(np.nan_to_num(value).mean()) for name, value in values.items()}})
    return frames.DataFrame(rows, columns=["k", *PREDICTED])


def judged_dicts(run: Mapping[str, Scores], gold: Mapping[str, Grades]) -> Judged:
    """What measures see, for the questions of `gold`, in its order. Raises UsageError for a NaN score."""
    rankings = [run.get(question) or {} for question in gold]
    sizes = np.fromiter(map(len, gold.values()), dtype=np.int64, count=len(gold))
    grades = _grades(gold, int(sizes.sum()))
    owner = np.repeat(np.arange(len(gold)), sizes)
    ranked = zip(map(_ranks, rankings), gold.values(), strict=True)
    ranks = np.array([ranks.get(document, UNRANKED) for ranks, row in ranked for document in row], dtype=int)
    at = np.flatnonzero((ranks != UNRANKED) & (grades >= 0))
    good = grades > 0
    whole = bool((grades == np.floor(grades)).all()) and float(np.abs(grades).max(initial=0)) < MOST
    gains = grades.astype(np.int32) if whole else grades
    items = np.where(good, np.cumsum(good) - 1, NO_ITEM)
    return tabled(
        Hits(owner[at], ranks[at], gains[at], items[at]),
        np.fromiter(map(len, rankings), dtype=np.int64, count=len(rankings)),
        owner,
        gains,
        np.array([question in run for question in gold], dtype=bool),
    )


def _ranks(ranking: Scores) -> dict[str, int]:
    """Document → rank from 0; equal scores keep their order. Raises UsageError for what can't be ranked."""
    try:
        if any(map(isnan, ranking.values())):
            raise UsageError("a score of the run is NaN, which can't be ranked")
        ordered = sorted(ranking, key=ranking.__getitem__, reverse=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError("a score of the run is not a number: {error}", error=error) from error
    return dict(zip(ordered, range(len(ordered)), strict=True))


def _grades(gold: Mapping[str, Grades], count: int) -> NDArray[np.float64]:
    """All grades, one question after the other. Raises UsageError for one that is no number."""
    values = chain.from_iterable(value.values() for value in gold.values())
    with suppress(TypeError, ValueError, OverflowError):
        grades = np.fromiter(values, dtype=np.float64, count=count)
        if np.isfinite(grades).all():
            return grades
    triples = ((question, *pair) for question, row in gold.items() for pair in row.items())
    number, most = (int, float, np.number), float(np.finfo(np.float64).max)
    question, document, grade = next(
        triple for triple in triples if not (isinstance(triple[2], number) and abs(triple[2]) <= most)
    )
    raise UsageError(
        "the grade of {document} for question {question} is {grade}; wanted a number",
        document=repr(document),
        question=repr(question),
        grade=grade,
    )


def _say_what_differs(
    run: Mapping[Any, Mapping[Any, Any]], gold: Mapping[Any, Mapping[Any, Any]], *, all_of_gold: bool = True
) -> None:
    """Warnings as the command line has them: questions that only one side knows, ids of another type.

    all_of_gold: whether a question that the run lacks counts. Raises RunError where they share no question.
    """
    from tiny_graph_rag.formats.runs import check_shared

    lines: list[str] = []
    check_shared(run, gold)
    if all_of_gold:
        missing = [str(question) for question in gold if question not in run]
        lines = counted([str(item) for item in run if item not in gold], len(missing), missing[:3], 0)
    if not any(document in run.get(question, ()) for question, row in gold.items() for document in row):
        types = [{type(item).__name__ for row in side.values() for item in row} for side in (gold, run)]
        if all(types) and types[0].isdisjoint(types[1]):
            names = [" and ".join(sorted(side)) for side in types]
            lines.append(
                f"document ids are {names[0]} in the gold set, {names[1]} in the run: none can match"
            )
    for line in lines:
        warnings.warn(line, stacklevel=3)


def _as_dicts(table: Any, *, must_agree: bool = False) -> dict[str, dict[str, Any]]:
    """{question: {document: number}} of a DataFrame, of dictionaries, or of lists of pairs; of duplicates the
    best counts. must_agree: raise UsageError where duplicates say different things.
    """
    if hasattr(table, "columns"):
        missing = [name for name in ("query_id", "doc_id", "score") if name not in table.columns]
        if missing:
            raise UsageError(
                "the table has no column {missing}; it has: {names}",
                missing=repr(missing[0]),
                names=", ".join(table.columns),
            )
        pairs: dict[str, list[tuple[str, Any]]] = {}
        triples = zip(*(table[name].tolist() for name in ("query_id", "doc_id", "score")), strict=True)
        for question, document, value in triples:
            pairs.setdefault(question, []).append((document, value))
        return {question: _of_pairs(row, question, must_agree) for question, row in pairs.items()}
    if not isinstance(table, Mapping):
        raise UsageError(
            "wanted {{question: {{document: number}}}} or a DataFrame with query_id, doc_id and "
            "score; got {kind}",
            kind=type(table).__name__,
        )
    return {
        question: row if isinstance(row, (dict, Mapping)) else _of_pairs(row, question, must_agree)  # type: ignore[misc]
        for question, row in table.items()
    }


def _of_pairs(pairs: Iterable[tuple[str, float]], question: Any, must_agree: bool) -> dict[str, float]:
    """Of a document that stands there twice the best score, where that came. NaN stays, to be refused in its
    own words."""
    found: dict[str, float] = {}
    try:
        for document, value in pairs:
            first = found.setdefault(document, value)
            if first is value or first != first or first == value:
                continue
            if must_agree and value == value:
                raise UsageError(
                    "{document} has grades {first} and {value} for question {question}; wanted one",
                    document=repr(document),
                    first=first,
                    value=value,
                    question=repr(question),
                )
            if not value <= first:
                del found[document]
                found[document] = value
        sum(found.values())  # fails for what is no number: of bare documents of two letters, say
    except (TypeError, ValueError) as error:
        raise UsageError("wanted (document, score) pairs, each score a number") from error
    return found


def pandas_for(what: str) -> Any:
    """Raises MissingExtraError without pandas."""
    return optional("pandas", what, "pandas")
