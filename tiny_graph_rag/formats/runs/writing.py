"""Writing a run so that every other program ranks it as we do."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.formats.tables import TableWriter, encoded, guarded
from tiny_graph_rag.formats.writing import Form
from tiny_graph_rag.run import Passage, Relation, Run

TREC_TAG = "tiny-graph-rag"
COLUMNS = ("query_id", "doc_id", "rank", "score", "name")
LISTS_EMPTY = ("jsonl", "contest")  # the forms in which a question that retrieved nothing has a line


class RankedQuestion(NamedTuple):
    """One question of a run. question: its id, with the type that it has in its file. ids, names, scores: of
    its entities, best first; scores fall strictly. relations, passages: None where the run has none."""

    question: str | int
    ids: Sequence[str]
    names: Sequence[str]
    scores: Sequence[float]
    relations: Sequence[Relation] | None
    passages: Sequence[Passage] | None
    returns_entities: bool


def ordered_scores(run: Run) -> NDArray[np.float64]:
    """Scores that put the entities of each question into the run's order everywhere.

    Other tools break ties by document id, and some compare in float32. A question whose scores fall strictly
    in float32 keeps them; another one gets how many entities follow, plus one.
    """
    lengths = np.diff(run.offsets)
    question = run.questions
    single = run.scores.astype(np.float32)
    level = (single[1:] >= single[:-1]) & (question[1:] == question[:-1])
    tied = np.zeros(len(run), dtype=bool)
    tied[question[1:][level]] = True
    tied[question[~np.isfinite(single)]] = True
    return np.where(
        tied[question], np.repeat(run.offsets[1:], lengths) - np.arange(len(question)), run.scores
    )


def run_parts(
    run: Run, questions: Sequence[str | int], ids: Sequence[str], names: Sequence[str], form: str
) -> Iterable[bytes]:
    """The file, piece by piece. questions: their ids, which JSON holds with the type that they have. ids,
    names: of entities, by row. What is listed twice stays: the contest's rule counts each."""
    return RUN_FORMS[form].write(_ranked(run, questions, ids, names))


def _ranked(
    run: Run, questions: Sequence[str | int], ids: Sequence[str], names: Sequence[str]
) -> Iterator[RankedQuestion]:
    scores = ordered_scores(run)
    for row, question in enumerate(questions):
        part = slice(int(run.offsets[row]), int(run.offsets[row + 1]))
        entities = run.entities[part].tolist()
        yield RankedQuestion(
            question,
            [ids[entity] for entity in entities],
            [names[entity] for entity in entities],
            scores[part].tolist(),
            None if run.relations is None else run.relations[row],
            None if run.passages is None else run.passages[row],
            run.returns_entities,
        )


def trec(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """TREC: question, Q0, document, rank, score, tag."""
    for one in ranked:
        lines = (
            f"{encoded(str(one.question))} Q0 {encoded(id)} {rank} {score!r} {TREC_TAG}\n"
            for rank, (id, score) in enumerate(zip(one.ids, one.scores, strict=True), start=1)
        )
        yield "".join(lines).encode()


def jsonl(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """An object a question, with relations and passages."""
    for one in ranked:
        line: dict[str, Any] = {"id": one.question}
        if one.returns_entities:
            line["entities"] = [
                {"id": id, "name": name, "score": score}
                for id, name, score in zip(one.ids, one.names, one.scores, strict=True)
            ]
        for kind, items in (("relations", one.relations), ("passages", one.passages)):
            if items is not None:
                line[kind] = [item._asdict() for item in items]
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


def csv(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    yield f"{','.join(COLUMNS)}\n".encode()
    for one in ranked:
        text = io.StringIO()
        TableWriter(text).writerows(
            [guarded(str(one.question)), guarded(id), rank, repr(score), guarded(name)]
            for rank, (id, score, name) in enumerate(zip(one.ids, one.scores, one.names, strict=True), 1)
        )
        yield text.getvalue().encode()


def contest(ranked: Iterable[RankedQuestion]) -> Iterator[bytes]:
    """An object per line with `eval_id` and `topk`."""
    for one in ranked:
        line = {"eval_id": one.question, "topk": one.ids}
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"


RUN_FORMS = {
    "trec": Form(trec, (".trec",)),
    "jsonl": Form(jsonl, (".jsonl",)),
    "csv": Form(csv, (".csv",)),
    "contest": Form(contest, (".contest",)),
}
