"""Writing a run so that every other program ranks it as we do."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.errors import MissingExtraError, unknown
from tiny_graph_rag.formats.tables import TableWriter, encoded, guarded
from tiny_graph_rag.messages import said
from tiny_graph_rag.run import Run

FORMS = ("trec", "jsonl", "csv", "parquet", "contest")
TREC_TAG = "tiny-graph-rag"


def form_of(path: Path, given: str | None, *, option: str = "--save-run") -> str:
    """The form of a run: `given`, else by suffix. option: that names the file, for the message.

    Raises UsageError.
    """
    form = given or path.suffix.removeprefix(".").lower()
    if form not in FORMS:
        naming = "--format" if option == "-o" else f"{option}-format"
        option = naming if given else f"{option} (by suffix; or name it with {naming})"
        raise unknown(said("form of {option}", option=option), form, FORMS)
    if form == "parquet":
        try:
            import pyarrow.parquet  # noqa: F401 - asked for before the work, not after it
        except ImportError as error:
            raise MissingExtraError(said("writing Parquet"), "pyarrow", "parquet") from error
    return form


def ordered_scores(run: Run) -> NDArray[np.float64]:
    """Scores that put the entities of each question into the run's order everywhere.

    Other tools break ties by document id, and some compare in float32. A question whose scores fall strictly
    in float32 keeps them; another one gets how many entities follow, plus one.
    """
    lengths = np.diff(run.offsets)
    question = np.repeat(np.arange(len(run)), lengths)
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
) -> Iterator[bytes]:
    """The file, piece by piece. questions: their ids, which JSON holds with the type that they have. ids,
    names: of entities, by row. What is listed twice stays: the contest's rule counts each."""
    scores = ordered_scores(run)
    if form == "parquet":
        yield _parquet(run, list(map(str, questions)), ids, names, scores)
        return
    if form == "csv":
        yield b"query_id,doc_id,rank,score,name\n"
    for row, question in enumerate(questions):
        start, stop = int(run.offsets[row]), int(run.offsets[row + 1])
        entities = run.entities[start:stop].tolist()
        pairs = zip(entities, scores[start:stop].tolist(), strict=True)
        if form == "trec":
            lines = [
                f"{encoded(str(question))} Q0 {encoded(ids[entity])} {rank} {score!r} {TREC_TAG}\n"
                for rank, (entity, score) in enumerate(pairs, start=1)
            ]
            yield "".join(lines).encode()
        elif form == "jsonl":
            line: dict[str, Any] = {"id": question}
            if run.returns_entities:
                line["entities"] = [
                    {"id": ids[entity], "name": names[entity], "score": score} for entity, score in pairs
                ]
            if run.relations is not None:
                line["relations"] = [relation._asdict() for relation in run.relations[row]]
            if run.passages is not None:
                line["passages"] = [passage._asdict() for passage in run.passages[row]]
            yield json.dumps(line, ensure_ascii=False).encode() + b"\n"
        elif form == "contest":
            topk = [ids[entity] for entity in entities]
            yield json.dumps({"eval_id": question, "topk": topk}, ensure_ascii=False).encode() + b"\n"
        else:
            text = io.StringIO()
            TableWriter(text).writerows(
                [guarded(str(question)), guarded(ids[entity]), rank, repr(score), guarded(names[entity])]
                for rank, (entity, score) in enumerate(pairs, start=1)
            )
            yield text.getvalue().encode()


def _parquet(
    run: Run,
    questions: Sequence[str],
    ids: Sequence[str],
    names: Sequence[str],
    scores: NDArray[np.float64],
) -> bytes:
    import pyarrow
    import pyarrow.parquet

    lengths = np.diff(run.offsets)
    rank = np.arange(len(run.entities)) - np.repeat(run.offsets[:-1], lengths) + 1
    entities = run.entities.tolist()
    table = pyarrow.table(
        {
            "query_id": [
                question for question, n in zip(questions, lengths.tolist(), strict=True) for _ in range(n)
            ],
            "doc_id": pyarrow.array([ids[entity] for entity in entities], pyarrow.string()),
            "rank": rank,
            "score": scores,
            "name": pyarrow.array([names[entity] for entity in entities], pyarrow.string()),
        }
    )
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink)
    return bytes(sink.getvalue())
