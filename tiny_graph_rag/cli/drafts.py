"""`recommend` and `curate`: a draft for questions that have no gold, and its review on a page on loopback."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tiny_graph_rag.cli.asking import CommandLinker
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import RETRIEVING, Graph, comma_list, option, to_file
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, shell_command
from tiny_graph_rag.errors import UsageError, amount, optional
from tiny_graph_rag.formats.gold.drafts import Draft, draft_lines, is_draft, judged_in, read_drafts
from tiny_graph_rag.gold.curation import Curation, DraftJournal, journal_path, judged_otherwise
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.messages import counted, listed, said, t
from tiny_graph_rag.outputs import output_path
from tiny_graph_rag.retrieval import check_retrieval
from tiny_graph_rag.study.recommend import recommend

if TYPE_CHECKING:
    from tiny_graph_rag.report.curation import CurationServer


DEFAULT = ("bfs", "pagerank", "bm25")
SHOWN, LISTED = 30, 5  # ids of questions a line, and in an error
TO_JUDGE = "{n} to review first, because the retrievers differ most on them"
REMARKS: tuple[tuple[str, str, Callable[[Draft], bool]], ...] = (
    (
        "{n} question is like an earlier one",
        "{n} questions are like an earlier one",
        lambda one: bool(one.like),
    ),
    ("{n} question names no entity", "{n} questions name no entity", lambda one: one.no_seed),
    ("{n} question has no candidate", "{n} questions have no candidate", lambda one: not one.candidates),
)
FAVOURS = (
    "a gold set made from this draft favours {retrievers}: to compare another retriever on it, add that "
    "one to --retrievers first"
)
LEAVES_THE_MEANS = (
    "questions without a reference are left out of the means, which raises them: search all entities in "
    "`curate` before you accept a question as empty"
)


@command("recommend", {name: one for name, one in RETRIEVING.items() if name != "retriever"})
def recommend_command(
    session: Session,
    dataset: Annotated[Path, option("Questions: text (one per line), CSV, JSON or JSONL.")],
    graph: Graph = None,
    retrievers: Annotated[
        str | None,
        option(
            "Retrievers that propose candidates: built-in ones, run:FILE, or your own.",
            default=",".join(DEFAULT),
        ),
    ] = None,
    pool: Annotated[int, option("Candidates per retriever.", min=1)] = 10,
    output: Annotated[
        str | None, to_file("Draft to write, under --dataset-dir; - for standard output.", "NAME-draft.jsonl")
    ] = None,
) -> None:
    """Propose references for questions that have none, and write a draft that needs review."""
    session = session.using(depth=max(pool, 10))
    chosen = comma_list(retrievers) or DEFAULT
    for item in chosen:
        check_retrieval(session.config.override(retriever=item))
    source = find_input(dataset, Path(session.config.storage.dataset_dir), "questions")
    out = draft_output(session, source, output)  # refused before any work
    examples = session.questions(source)
    if out.path is not None:
        _check_judgments(out.path, examples)
    linking = CommandLinker.of(session)
    knowledge = session.graph(graph, examples)
    with session.progress("retrievers", len(chosen), least=2) as bar:
        drafts, silent = recommend(
            knowledge, examples, session.config, chosen, pool, linker_for=linking.maker, progress=bar
        )
    linking.conclude()
    out.write(draft_lines(drafts))
    for name in silent:
        session.warn("{retriever} found nothing for any question", retriever=name)
    session.say(
        "{questions}, {candidates} from {retrievers}",
        questions=amount(len(drafts), "question"),
        candidates=amount(sum(len(draft.candidates) for draft in drafts), "candidate"),
        retrievers=", ".join(chosen),
    )
    first = sorted(
        (one for one in drafts if one.judge_first is not None), key=lambda one: one.judge_first or 0
    )
    remarks = ((one, many, [draft for draft in drafts if holds(draft)]) for one, many, holds in REMARKS)
    for one, many, those in (*remarks, (TO_JUDGE, TO_JUDGE, first)):
        if those:
            ids = listed([draft.example.id for draft in those], SHOWN)
            session.say(f"{counted(len(those), one, many)}: {ids}")
    session.say(t(FAVOURS, retrievers=", ".join(chosen)))
    session.say(t(LEAVES_THE_MEANS))
    tell_draft(out, graph)


def tell_draft(out: Output, graph: Path | None) -> None:
    """Where a draft was written, and how to review it."""
    if out.path is not None:
        judges = shell_command("curate", dataset=out.path, graph=graph, **out.session.common.again)
        out.session.say(
            "draft (needs review): {path}; review it with: {command}", path=out.path, command=judges
        )


def draft_output(session: Session, source: Path, given: str | None) -> Output:
    """Where a draft goes. A file of the derived name is replaced where it is a draft too."""
    name = f"{bare_name(source)}-draft.jsonl"
    return Output.of(session, given, name, ending="", folder="dataset_dir", may_replace=is_draft)


def _check_judgments(path: Path, examples: EvalSet) -> None:
    """Before any work. Raises UsageError where a draft of this name was judged, by hand or in `curate`, and
    the judgments would be lost or count for other questions."""
    now = {example.id: example for example in examples}
    before = judged_in(path)
    by_hand = [id for id, names in before.items() if names - (now[id].grades if id in now else {}).keys()]
    if by_hand:
        raise UsageError(
            "{path}: holds judgments of {ids} that would be lost; name another draft with -o",
            path=path,
            ids=listed(by_hand, LISTED),
        )
    journal = journal_path(path)
    moved = judged_otherwise(journal, {id: example.query for id, example in now.items()})
    if moved:
        raise UsageError(
            "{journal}: holds decisions on {ids}, which would stand for other questions now. Give "
            "the questions ids of their own, or name another draft with -o",
            journal=journal,
            ids=listed(moved, LISTED),
        )


FEW_IDS = 10
EMPTY = (
    "questions without a reference leave every mean, which raises it; look at them again under "
    "“show: no reference”: {n} ({ids})"
)


@command("curate")
def curate_command(
    session: Session,
    dataset: Annotated[Path, option("Draft of `recommend` or `dataset from`, or questions.")],
    graph: Graph = None,
    annotator: Annotated[str, option("Name of the reviewer.", default="entered on the page")] = "",
    port: Annotated[
        int | None, option("Port on loopback.", default="by the draft's name", min=1, max=65535)
    ] = None,
    export: Annotated[bool, option("Write the gold set from the journal without opening the page.")] = False,
    output: Annotated[
        str | None,
        to_file("Gold set to write, under --dataset-dir.", "next to NAME-draft.jsonl NAME-eval.jsonl"),
    ] = None,
) -> None:
    """Review a draft in the browser. Each decision is saved immediately."""
    for package in ("starlette", "uvicorn"):
        optional(package, said("curate"), "curate")
    from tiny_graph_rag.report.curation import CurationServer

    source = find_input(dataset, Path(session.config.storage.dataset_dir), "draft")
    name = bare_name(source)
    derived = f"{name.removesuffix('-draft')}-eval" if name.endswith("-draft") else f"{name}-judged"
    beside = source.with_name(f"{derived}.jsonl")
    path = beside if output is None else output_path(output, Path(session.config.storage.dataset_dir))
    session.outputs.claim(path)
    journal_file = session.outputs.claim(journal_path(source), is_own=True)
    drafts = read_drafts(source)
    undecided = [draft for draft in drafts if draft.candidates or not draft.example.relevant_entities]
    if not undecided and not export and not journal_file.exists():
        raise UsageError(
            "{path}: nothing to decide, because every question has references and none has candidates. "
            "`recommend` proposes candidates",
            path=source,
        )
    examples = {draft.example.id: draft.example for draft in drafts}
    base = name.removesuffix("-draft").removesuffix("-questions")
    knowledge = session.graph(graph, EvalSet(tuple(examples.values()), name=base))
    rows = {str(id): row for row, id in enumerate(knowledge.entities.ids)}

    def name_of(entity: str) -> str | None:
        row = rows.get(entity)
        return None if row is None else str(knowledge.entities.names[row])

    journal = DraftJournal(journal_file)
    try:
        curation = Curation(examples, journal, name_of)
        server = CurationServer(
            knowledge,
            {draft.example.id: draft for draft in drafts},
            curation,
            source,
            path,
            rows,
            annotator.strip(),
            gold_named=output is not None,
        )
        if not server.may_replace():  # said before anybody judges, not after
            raise UsageError(
                "{path} already exists and was not written from this draft; choose another name with -o",
                path=path,
            )
        if strays := [*curation.lost, *curation.reworded]:
            session.warn(
                "{journal} has judgments of {questions} that {name} doesn't have, or has in other words "
                "({ids}); they stay in the journal and don't count",
                journal=journal_file.name,
                questions=amount(len(strays), "question"),
                name=source.name,
                ids=listed(strays, LISTED),
            )
        if not export:
            _serve(session, server, port, len(drafts), len(journal.events))
        found = server.export()
    finally:
        journal.close()
    _tell(session, found)


def _serve(session: Session, server: CurationServer, port: int | None, drafts: int, decisions: int) -> None:
    """Until somebody ends it. drafts, decisions: how many there are."""
    listening = server.listen(port)  # what comes from now on waits for the server
    # However early somebody ends it, the gold set is next.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        session.say("questions: {n}, decisions so far: {decisions}", n=drafts, decisions=decisions)
        session.say("open {address}", address=server.address)
        session.say("Ctrl-C ends and writes the gold set")
        sys.stdout.flush()  # who reads a pipe waits for the address
        server.serve(listening)
    signal.signal(signal.SIGTERM, before)


def _tell(session: Session, found: dict[str, Any]) -> None:
    """What was written. found: of `CurationServer.export`."""
    judged = t("questions done: {n}, left: {left}", n=f"{found['questions']:,}", left=f"{found['left']:,}")
    differing = t("judgments on which annotators differ: {n}", n=f"{found['unsettled']:,}")
    session.say(f"{judged}, {differing}" if found["unsettled"] else judged)
    if found["empty"]:
        session.say(EMPTY, n=f"{len(found['empty']):,}", ids=listed(found["empty"], FEW_IDS))
    if found["path"]:
        session.say("gold set: {path}", path=found["path"])
