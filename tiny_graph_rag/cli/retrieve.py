"""`retrieve`: a run for questions that nobody has judged."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.asking import Linking
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import OUTPUT
from tiny_graph_rag.cli.options import RETRIEVING, Chosen, Graph, argument, option, to_file
from tiny_graph_rag.cli.output import Output, warn_unlisted
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import amount
from tiny_graph_rag.formats.runs.writing import run_parts
from tiny_graph_rag.formats.writing import RUN_WRITERS, form_of
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.messages import counted, listed
from tiny_graph_rag.retrieval import check_retrieval
from tiny_graph_rag.study.evaluate import evaluate


@command("retrieve", RETRIEVING)
def retrieve_command(
    session: Session,
    questions: Annotated[Path, argument("Questions: text (one per line), or a file in any gold format.")],
    chosen: Chosen,
    graph: Graph = None,
    output: Annotated[
        str | None,
        to_file(
            "Run to write, under --results-dir: .trec, .jsonl, .csv, .parquet; - for standard output.",
            "NAME.trec",
        ),
    ] = None,
    format: Annotated[
        str | None,
        option(
            "trec, jsonl, csv, parquet, or contest (one object per line with eval_id and topk).",
            OUTPUT,
            default="by the file's suffix",
        ),
    ] = None,
    names: Annotated[bool, option("Write names of entities in place of ids.", OUTPUT)] = False,
) -> None:
    """Retrieve entities for questions without references and write a run, for a contest or a later review."""
    session = session.using(latency_sample=0)
    config = session.config
    check_retrieval(config)
    source = find_input(questions, Path(config.storage.dataset_dir), "questions")
    suffix = "jsonl" if format == "contest" else format or "trec"
    out = Output.of(session, output, f"{bare_name(source)}.{suffix}", ending="")
    form = form_of(RUN_WRITERS, out.path or Path("run.jsonl"), format, "--format")
    examples = session.questions(source, chosen)
    linking = Linking.of(session)
    knowledge = session.graph(graph, examples)
    with session.progress("questions", len(examples)) as bar:
        found = evaluate(knowledge, examples, config, (), bar, linker_for=linking.maker)
    entities = found.graph.entities
    ids = entities.names if names else entities.ids
    asked = [example.written_id for example in examples]
    out.write(run_parts(found.run, asked, ids, entities.names, form))
    empty = [
        str(asked[row])
        for row in range(len(found.run))
        if found.run.rows(row).start == found.run.rows(row).stop
    ]
    session.say(
        "{questions}, {entities} retrieved by {retriever}",
        questions=amount(len(examples), "question"),
        entities=amount(len(found.run.entities), "entity", "entities"),
        retriever=config.retrieval.retriever,
    )
    if empty:
        one, many = "{n} question retrieved nothing", "{n} questions retrieved nothing"
        session.say(f"{counted(len(empty), one, many)}: {listed(empty, 12)}")
        warn_unlisted(session, form, len(empty))
    twice = _doubled([str(ids[entity]) for entity in found.run.entities.tolist()], found.run.offsets.tolist())
    if twice:
        one, many = "{n} name stands more than once in a list", "{n} names stand more than once in a list"
        session.warn(counted(twice, one, many))
    if out.path is not None:
        session.say("run: {path}", path=out.path)
    linking.conclude(found.linked)


def _doubled(entities: list[str], offsets: list[int]) -> int:
    """How many entries repeat an earlier one of their question."""
    rows = pairwise(offsets)
    return sum(stop - start - len(set(entities[start:stop])) for start, stop in rows)
