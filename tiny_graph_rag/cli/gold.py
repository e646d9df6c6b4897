"""`dataset` and `generate`: what becomes of gold sets, and one from a graph alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiny_graph_rag.cli.asking import CommandLinker, Model
from tiny_graph_rag.cli.command import Commands, app, command
from tiny_graph_rag.cli.drafts import draft_output, tell_draft
from tiny_graph_rag.cli.help import OPTIONS
from tiny_graph_rag.cli.options import Chosen, Graph, GraphAlone, argument, option, settings, to_file
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import FoundProblems, UsageError, amount
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.gold.drafts import draft_lines
from tiny_graph_rag.formats.writing import GOLD_FORMS, ending_for, form_of, format_of, lost, written
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.generate import SHARES, Wanted, generate, names_an_answer, parse_hops, parse_shapes
from tiny_graph_rag.gold.keep import merge, parse_shares, split
from tiny_graph_rag.gold.pin import is_as_generated, pin_path, write_pin
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.gold.rewrite import rewrite_call, rewritten
from tiny_graph_rag.gold.versions import history_of, is_current, record, say_entry, versions_path
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.llm.chat import require_api
from tiny_graph_rag.messages import counted, listed, said, t
from tiny_graph_rag.outputs import refuse_dash
from tiny_graph_rag.report.terminal.checks import generated_lines
from tiny_graph_rag.study.bridge import ACCEPTED, bridged, check_accept

if TYPE_CHECKING:
    from tiny_graph_rag.llm.base import Call

sets = typer.Typer(
    name="dataset",
    help="Merge, split, convert and version gold sets, and draft them from answers.",
    no_args_is_help=True,
    cls=Commands,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(sets)

Sets = Annotated[list[Path], argument("Gold sets in any supported format.")]
One = Annotated[Path, argument("Gold set in any supported format.")]
Format = Annotated[str | None, option("One of jsonl, json, sheet and trec.", default="by the file's suffix")]


@command("merge", of=sets)
def merge_command(
    session: Session,
    several: Sets,
    prefer: Annotated[
        str,
        option(
            "For an id with different questions or judgments: keep the first or the last.",
            default="an error",
        ),
    ] = "",
    format: Format = None,
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir; - for standard output.", "FIRST-merged.jsonl"),
    ] = None,
) -> None:
    """Merge gold sets. An id with different contents is an error until --prefer decides."""
    if prefer not in ("", "first", "last"):
        raise UsageError("--prefer: wanted first or last, got {prefer}", prefer=repr(prefer))
    if len(several) < 2:
        raise UsageError("wanted at least two gold sets to merge")
    read = [read_any(session, path) for path in several]
    if output is not None and not Path(output).suffix:
        format = format or format_of(read[0].path)
    out = gold_output(session, output, format, f"{read[0].name}-merged.jsonl")
    found = merge(read, prefer)  # type: ignore[arg-type]
    write_gold(out, found.examples, format)
    session.say(
        "Merged {all} questions into {n}: {agreed} duplicate ids, {settled} conflicts settled",
        all=f"{sum(map(len, read)):,}",
        n=f"{len(found.examples):,}",
        agreed=f"{found.agreed:,}",
        settled=f"{found.settled:,}",
    )
    for one, other in found.doubled[:12]:
        session.warn("{other} is the same question as {one}; both are kept", other=other, one=one)
    if len(found.doubled) > 12:
        session.warn("… and more pairs that ask the same: {n}", n=f"{len(found.doubled) - 12:,}")
    _tell(out, found.examples, format)


@command("split", of=sets)
def split_command(
    session: Session,
    dataset: One,
    share: Annotated[str, option("Shares of the parts in percent.")] = "50/25/25",
    format: Format = None,
    output: Annotated[
        str | None,
        to_file(
            "File that the parts are named after, under --dataset-dir: SET.jsonl → SET-dev.jsonl.",
            "the name of the gold set",
        ),
    ] = None,
) -> None:
    """Split a gold set into parts: tags are balanced, and the questions of a group stay together."""
    refuse_dash(output or "")
    shares = parse_shares(share)
    called = PART_NAMES.get(len(shares)) or tuple(f"part{n + 1}" for n in range(len(shares)))
    examples = read_any(session, dataset)
    parts = split(examples, shares, session.config.evaluation.seed)
    named = output or f"{examples.name}.jsonl"
    named += examples.name if named.endswith("/") else ""
    suffix = Path(named).suffix
    if not suffix:  # then parts are what the set is
        format = format or format_of(examples.path)
        suffix = ending_for(format, examples.path)
    names = [f"{named.removesuffix(suffix)}-{part}{suffix}" for part in called]
    outs = [gold_output(session, None if output is None else name, format, name) for name in names]
    for out, part in zip(outs, parts, strict=True):
        write_gold(out, part, format)
        tags = ", ".join(f"{tag} {sum(tag in item.tags for item in part):,}" for tag in examples.tags[:8])
        questions = amount(len(part), "question")
        session.say(
            "{path}: {questions}{tags}", path=out.path, questions=questions, tags=tags and f" ({tags})"
        )


PART_NAMES = {2: ("dev", "test"), 3: ("train", "dev", "test")}


@command("convert", of=sets)
def convert_command(
    session: Session,
    dataset: One,
    output: Annotated[str, to_file("Gold set to write, under --dataset-dir; - for standard output.")],
    format: Format = None,
) -> None:
    """Convert a gold set to another format and list what that format can't store."""
    examples = read_any(session, dataset)
    out = gold_output(session, output, format, output)
    write_gold(out, examples.examples, format)
    _tell(out, examples.examples, format)


@command("from", settings(("--linker", OPTIONS, "how names are found in the texts")), of=sets)
def from_command(
    session: Session,
    dataset: Annotated[Path, argument("Questions with answers, evidence or contexts, in any format.")],
    chosen: Chosen,
    graph: Graph = None,
    accept: Annotated[
        str | None,
        option(
            "Which entities to accept as references: named in the answer and the evidence (both), the "
            "whole answer (exact), or named in the answer (answer).",
            default="nothing: all are reviewed in `curate`",
        ),
    ] = None,
    max_cost: Annotated[float | None, option("Most USD that `--linker llm` may cost.", min=0.0)] = None,
    output: Annotated[
        str | None, to_file("Draft to write, under --dataset-dir; - for standard output.", "NAME-draft.jsonl")
    ] = None,
) -> None:
    """Find references in answers and evidence, and write a draft that needs review."""
    accepted = check_accept(accept)
    source = find_input(dataset, Path(session.config.storage.dataset_dir), "questions")
    examples = session.questions(source, chosen)
    out = draft_output(session, source, output)
    linking = CommandLinker.of(session, cap_usd=max_cost)
    knowledge = session.graph(graph, examples)
    finder = linking.maker(knowledge, NameIndex.of(knowledge), session.config)
    found = bridged(knowledge, examples, finder, accepted)
    linking.conclude()
    out.write(draft_lines(found.drafts))
    session.say(
        "{questions}: {found} name an entity in answer or evidence that the question does not name, "
        "{silent} name none",
        questions=amount(len(examples), "question"),
        found=f"{found.found:,}",
        silent=f"{len(found.silent):,}",
    )
    if accepted:
        session.say(
            "accepted ({how}): {references} of {questions}",
            how=", ".join(t(ACCEPTED[part]) for part in accepted),
            references=amount(found.references, "reference"),
            questions=amount(found.accepted, "question"),
        )
    if found.long and accepted:
        session.say(
            counted(
                found.long,
                "{n} question has a long answer; nothing was accepted from it",
                "{n} questions have a long answer; nothing was accepted from them",
            )
        )
    if found.silent:
        session.say("nothing found for: {ids}", ids=listed(found.silent, 12))
    tell_draft(out, graph)


@command("version", of=sets)
def version_command(
    session: Session,
    dataset: One,
    note: Annotated[str | None, option("Note on what changed. Records a new version.", short="-m")] = None,
) -> None:
    """Record a version of a gold set next to it (version, SHA-256, changelog), or show those there are."""
    examples = read_any(session, dataset)
    if note is None:
        history = history_of(examples)
        for decision in history:
            session.say(say_entry(decision))
        if not history:
            raise FoundProblems("{name}: no version is recorded; record one with --note", name=examples.name)
        if not is_current(examples, history):
            raise FoundProblems(
                "{name} has changed since version {version}; record the change with --note",
                name=examples.name,
                version=history[-1].version,
            )
        return
    session.outputs.claim(versions_path(examples), is_own=True)
    entry, path = record(examples, note)
    session.say(say_entry(entry))
    session.say("changelog: {path}", path=path)


def _tell(out: Output, examples: object, format: str | None) -> None:
    session, path = out.session, out.path or Path("set.jsonl")
    gone = lost(examples, path, format)  # type: ignore[arg-type]
    if gone:
        fields = ", ".join(f"{field} ({count:,})" for field, count in gone.items())
        better = "" if format == "sheet" else said("; --format sheet or jsonl can store more")
        session.warn(
            "this format can't store everything; left out (questions): {fields}{better}",
            fields=fields,
            better=better,
        )
    if out.path is not None:
        session.say("gold set: {path}", path=path)


@command("generate", settings(("--model", OPTIONS, "model that rewords questions")))
def generate_command(
    session: Session,
    graph: GraphAlone = None,
    n: Annotated[int, option("Number of questions to generate.")] = 200,
    shapes: Annotated[
        str | None,
        option("Shapes and variants: chain,alias-noise.", default="all of them"),
    ] = None,
    hops: Annotated[str, option("Hops of the questions: 2, or 1-3.")] = "1-3",
    rewrite: Annotated[bool, option("Let a model reword the questions as people would ask them.")] = False,
    dry_run: Annotated[bool, option("Show calls, tokens and cost of --rewrite; call nothing.")] = False,
    max_cost: Annotated[float | None, option("Most USD that --rewrite may cost.", min=0.0)] = None,
    resume: Annotated[bool, option("Continue an interrupted --rewrite from its journal.")] = False,
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir; - for standard output.", "GRAPH-generated.jsonl"),
    ] = None,
) -> None:
    """Generate a gold set from a graph: questions whose answers are computed on the graph.

    They are in the language of `--lang`, else in the graph's."""
    format = None if output is None or Path(output).suffix else "jsonl"
    if rewrite and not dry_run:
        require_api(session.config, "--rewrite")
    wanted = Wanted(
        n,
        parse_shapes(shapes) if shapes is not None else tuple(SHARES),
        parse_hops(hops),
        session.common.lang or "",
        session.config.evaluation.seed,
    )
    knowledge = session.graph(graph)
    out = gold_output(session, output, format, f"{knowledge.name}-generated.jsonl")
    rewriting = None
    if rewrite:
        journal = None if dry_run else _journal(out)
        rewriting = Model.of(session, "rewriting", cap_usd=max_cost, journal=journal, resume=resume)
    names = NameIndex.of(knowledge)
    found = generate(knowledge, names, wanted)
    if not found.questions:
        raise FoundProblems(
            "{graph}: no question can be made from {relations}; every one was trivial, ambiguous or "
            "beyond --hops",
            graph=knowledge.name,
            relations=amount(len(knowledge.relations), "relation"),
        )
    session.show(generated_lines(found, wanted.n, knowledge.name))
    if rewriting is not None:
        calls = _calls(session, knowledge, found.questions)
        if dry_run:
            _forecast(rewriting, calls)
            return
        found = replace(found, questions=_rewritten(rewriting, found.questions, calls))
    write_gold(out, found.questions, format)
    if out.path is not None:
        pin(out, format, knowledge, names)
        session.say("gold set: {path}", path=out.path)


def _journal(out: Output) -> Path:
    """Of `--rewrite`: next to the gold set, else in the folder of gold sets."""
    from tiny_graph_rag.llm.kept import journal_path

    path = out.path or Path(out.session.config.storage.dataset_dir, "generated.jsonl")
    return journal_path(path.with_name(f"{path.stem}-rewrite.json"))


def _calls(session: Session, graph: KnowledgeGraph, questions: Sequence[Example]) -> list[Call]:
    """What a model is asked for each question; a reply that names an answer is no question."""
    names, settings = NameIndex.of(graph), session.config.openai
    rows = {
        question.id: [names.resolve(name)[0][0] for name in question.reference_entities]
        for question in questions
    }
    return [
        rewrite_call(question, settings, lambda one, text: names_an_answer(graph, text, rows[one.id]))
        for question in questions
    ]


def _forecast(model: Model, calls: Sequence[Call]) -> None:
    from tiny_graph_rag.llm.cost import forecast
    from tiny_graph_rag.report.terminal.answers import forecast_lines

    name = model.session.config.openai.model
    found = forecast(calls, model.tariff.counter(name))
    model.session.show(forecast_lines([("rewriting", found, found.cost_usd(model.tariff.price(name)))]))


def _rewritten(model: Model, questions: Sequence[Example], calls: Sequence[Call]) -> tuple[Example, ...]:
    """The questions in the model's words. Raises ServiceError where the API can't be used at all."""
    try:
        with model.progress("rewriting", len(calls)) as done:
            outcomes = model.chat.ask(calls, done)
    finally:
        model.close()
    made, kept = rewritten(questions, calls, outcomes)
    model.session.say(
        "questions rewritten: {made}, left as they were: {kept}",
        made=f"{len(made) - kept:,}",
        kept=f"{kept:,}",
    )
    model.say_paid()
    return made


def gold_output(session: Session, given: str | None, format: str | None, derived: str) -> Output:
    """Where a gold set goes; refused before any work where it can't be written or would destroy an input, and
    where a set that somebody may have changed has the derived name. format: of --format."""
    out = Output.of(session, given, derived, ending="", folder="dataset_dir", may_replace=is_as_generated)
    if out.path is not None:
        form_of(GOLD_FORMS, out.path, format)
    return out


def write_gold(out: Output, examples: Sequence[Example], format: str | None) -> None:
    """format: of --format, None for what the file's suffix says."""
    path = out.path or Path("set.jsonl")
    out.write(written(examples, path, format))


def pin(out: Output, format: str | None, graph: KnowledgeGraph, names: NameIndex) -> None:
    """Pin the gold set to the graph it was made from, so that `validate` detects later changes."""
    if out.path is not None and form_of(GOLD_FORMS, out.path, format) == "jsonl" and out.path.is_file():
        examples = read_eval_set(out.path)
        out.session.outputs.claim(pin_path(examples), is_own=True)
        write_pin(graph, examples, resolve(examples, names, len(graph)), generated=True)


def read_any(session: Session, dataset: Path) -> EvalSet:
    """A gold set of any known format, with what that format holds. Raises DatasetError."""
    return session.told(read_gold(find_input(dataset, Path(session.config.storage.dataset_dir), "gold set")))
