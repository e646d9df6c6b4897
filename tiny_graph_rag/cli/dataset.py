"""`dataset`: what becomes of gold sets: merged, split, converted, drafted from answers, versioned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiny_graph_rag.cli.asking import Linking
from tiny_graph_rag.cli.command import Commands, app, command
from tiny_graph_rag.cli.drafts import draft_output
from tiny_graph_rag.cli.gold_files import gold_output, read_any, write_gold
from tiny_graph_rag.cli.help import OPTIONS
from tiny_graph_rag.cli.options import Chosen, Graph, argument, option, settings, to_file
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, shell_command
from tiny_graph_rag.errors import FoundProblems, UsageError, amount
from tiny_graph_rag.formats.gold.drafts import draft_lines
from tiny_graph_rag.formats.gold.exchange import ending_for, format_of, lost
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.gold.keep import merge, parse_shares, split
from tiny_graph_rag.gold.versions import history_of, is_current, record, say_entry, versions_path
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.messages import counted, listed, said, t
from tiny_graph_rag.study.bridge import ACCEPTED, bridged, check_accept

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
Format = Annotated[str | None, option("jsonl, json, sheet, trec or table.", default="by the file's suffix")]


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
        session.warn("… and {n} more pairs that ask the same", n=f"{len(found.doubled) - 12:,}")
    _tell(out, found.examples, format)


@command("split", of=sets)
def split_command(
    session: Session,
    dataset: One,
    share: Annotated[str, option("Shares of the parts.")] = "50/25/25",
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
    if output == "-":
        raise UsageError("-o -: several parts can't all go to standard output; give a file name")
    shares = parse_shares(share)
    called = PART_NAMES.get(len(shares)) or tuple(f"part{n + 1}" for n in range(len(shares)))
    examples = read_any(session, dataset)
    parts = split(examples, shares, session.config.evaluation.seed)
    stem, format = _stem(output, examples, format)
    names_of_parts = [f"{stem[0]}-{part}{stem[1]}" for part in called]
    outs = [gold_output(session, None if output is None else name, format, name) for name in names_of_parts]
    for out, part in zip(outs, parts, strict=True):
        write_gold(out, part, format)
        tags = ", ".join(f"{tag} {sum(tag in item.tags for item in part):,}" for tag in examples.tags[:8])
        questions = amount(len(part), "question")
        session.say(
            "{path}: {questions}{tags}", path=out.path, questions=questions, tags=tags and f" ({tags})"
        )


def _stem(output: str | None, examples: EvalSet, format: str | None) -> tuple[tuple[str, str], str | None]:
    """What stands before and behind the names of the parts, and their format: by `-o` and --format, else that
    of the set itself. A folder takes files of the set's name."""
    if output is None:
        return (examples.name, ".jsonl"), format
    suffix = Path(output).suffix
    before = output.removesuffix(suffix)
    if output.endswith("/") or Path(output).is_dir():
        before, suffix = f"{output.rstrip('/')}/{examples.name}", ""
    if suffix:
        return (before, suffix), format
    format = format or format_of(examples.path)
    return (before, ending_for(format, examples.path)), format


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
    linking = Linking.of(session, cap_usd=max_cost)
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
    if out.path is not None:
        judges = shell_command("curate", dataset=out.path, graph=graph)
        session.say("draft (needs review): {path}; review it with: {command}", path=out.path, command=judges)


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
