"""`query` and `retrieve`: one question in detail, and a run for questions that nobody has judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tiny_graph_rag.cli.asking import CommandLinker, Model
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import ANSWERS, INPUT, OUTPUT
from tiny_graph_rag.cli.options import (
    CUTTING,
    PATCHING,
    RETRIEVING,
    Chosen,
    Graph,
    argument,
    option,
    settings,
    to_file,
)
from tiny_graph_rag.cli.output import Output, Written, end_with, run_output, write_run
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import MissingExtraError, ServiceError, TinyGraphRagError, UsageError, amount
from tiny_graph_rag.gold.examples import EvalSet, Example, Selection
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.messages import listed
from tiny_graph_rag.report.json import Spelled, ranking
from tiny_graph_rag.report.json.results import question
from tiny_graph_rag.report.tables import walk_in_words
from tiny_graph_rag.report.terminal.question import costs_lines, question_lines
from tiny_graph_rag.results import as_read
from tiny_graph_rag.retrieval import check_retrieval
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.evaluate import evaluate


@command("query", RETRIEVING, CUTTING, settings(("--model", ANSWERS)), PATCHING)
def query(
    session: Session,
    graph: Graph = None,
    question: Annotated[str | None, argument("Question.", default=False)] = None,
    dataset: Annotated[Path | None, option("Gold set that contains the question.", INPUT)] = None,
    id: Annotated[str | None, option("Id of the question in the gold set.", INPUT)] = None,
    explain: Annotated[bool, option("Show the five parts of each cost and what they mean.", OUTPUT)] = False,
    skip_generation: Annotated[bool, option("Show retrieval only.", ANSWERS)] = False,
    output: Written = None,
) -> None:
    """Show one question in detail: its seeds, what is retrieved, the paths, and a model's answer."""
    session = session.using(save_reasons=explain or None, latency_sample=0)
    out = Output.of(session, output)
    check_retrieval(session.config)
    if (question is None) == (id is None) or (id is not None) != (dataset is not None):
        raise UsageError('wanted either a question in quotes ("Who …?") or --dataset FILE --id ID')
    if question is not None and not question.strip():
        raise UsageError("the question is empty")
    shown = session.config.evaluation.shown_ranks
    if dataset is None:
        examples = EvalSet.of_question(str(question))
    else:
        examples = session.eval_set(dataset).select(Selection(ids=(str(id),)))
    found, spelled, asked = _asked(session, graph, examples)
    names = spelled.names_by_id()
    for entity in found["ranked"]:
        entity["walk_text"] = walk_in_words(entity.get("walk", []), names)
    session.show(question_lines(found, names, shown))
    if explain:
        session.show(costs_lines(found, names, shown))
    failed: list[TinyGraphRagError] = []
    if not skip_generation:
        try:
            found |= _answered(session, spelled, *asked)
        except ServiceError as error:  # what was retrieved is shown and written all the same
            failed.append(error)
    known = {"name": spelled.graph.name, "sha256": spelled.graph.sha256}
    out.document("query", graph=known, config=session.config.as_dict(), question=found)
    end_with(failed)


Retrieved = tuple["Example", "LinkedQuestion", "Run"]


def _answered(
    session: Session, spelled: Spelled, example: Example, linked: LinkedQuestion, run: Run
) -> dict[str, Any]:
    """The model's answer from what was retrieved, said and as `eval` writes it; nothing where no API is set.

    Raises ServiceError where the API gives none.
    """
    config = session.config
    if not (config.api_key or config.openai.base_url):  # before anything of the API is loaded
        return {}
    from tiny_graph_rag.answers.answering import answer_all, answer_template
    from tiny_graph_rag.cli.answering import answering_task
    from tiny_graph_rag.report.json.answers import answer as answer_json

    try:
        model = Model.of(session, "answers")
    except MissingExtraError as error:
        session.warn("no answer: {error}", error=error)
        return {}
    template = answer_template(config.generation.prompt)
    task = answering_task(model, template, spelled.graph, [example], [linked], run, [()])
    answers = answer_all(task, model.chat)
    (answer,) = answers.rows
    if answer.error is not None:
        raise ServiceError("no answer: {error}", error=answer.error)
    session.say(f"\n{answer.text}\n")
    session.say(
        "answered by {model} from {facts} facts · {price}",
        model=config.openai.model,
        facts=f"{answer.facts:,}",
        price=model.tariff.describe(config.openai.model),
    )
    model.say_paid()
    return {"answer": as_read(answer_json(answers, 0, spelled))}


def _asked(
    session: Session, graph: Path | None, examples: EvalSet
) -> tuple[dict[str, Any], Spelled, Retrieved]:
    """What is shown of one question, next to its references where it comes from a gold set."""
    linking = CommandLinker.of(session)
    knowledge, examples = session.patched(session.graph(graph, examples), examples)
    measures = default_measures(session.config.evaluation.top_k)
    evaluation = evaluate(knowledge, examples, session.config, measures, linker_for=linking.maker)
    linking.conclude(evaluation.linked)
    spelled = Spelled(knowledge)
    record = question(evaluation, 0, spelled)
    if record.references:  # one of them may have a rank that isn't shown
        reasons = () if evaluation.reasons is None else evaluation.reasons[0]
        record.ranked = ranking(evaluation.run, 0, session.config.retrieval.depth, spelled, reasons)
    found = as_read(record) | {"tried": evaluation.linked[0].tried}
    if not examples.examples[0].judged:  # it comes alone: nothing that it retrieves is right or wrong
        found = {name: found[name] for name in ("query", "linked", "tried", "ranked", "references")}
    return found, spelled, (examples.examples[0], evaluation.linked[0], evaluation.run)


@command("retrieve", RETRIEVING)
def retrieve_command(
    session: Session,
    questions: Annotated[Path, argument("Questions: text (one per line), or a file in any gold format.")],
    chosen: Chosen,
    graph: Graph = None,
    output: Annotated[
        str | None,
        to_file(
            "Run to write, under --results-dir: .trec, .jsonl, .csv; - for standard output.",
            "NAME.trec",
        ),
    ] = None,
    format: Annotated[
        str | None,
        option(
            "One of trec, jsonl, csv and contest (one object per line with eval_id and topk).",
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
    out, form = run_output(session, output, f"{bare_name(source)}.{suffix}", format)
    examples = session.questions(source, chosen)
    linking = CommandLinker.of(session)
    knowledge = session.graph(graph, examples)
    with session.progress("questions", len(examples)) as bar:
        found = evaluate(knowledge, examples, config, (), bar, linker_for=linking.maker)
    write_run(out, found, form, names=names)
    nothing = np.flatnonzero(np.diff(found.run.offsets) == 0).tolist()
    empty = [str(examples[row].written_id) for row in nothing if row not in found.run.failures]
    session.say(
        "{questions}, {entities} retrieved by {retriever}",
        questions=amount(len(examples), "question"),
        entities=amount(len(found.run.entities), "entity", "entities"),
        retriever=config.retrieval.retriever,
    )
    if empty:
        n, ids = amount(len(empty), "question"), listed(empty, 12)
        session.say("retrieved nothing for {n}: {ids}", n=n, ids=ids)
    linking.conclude(found.linked)
