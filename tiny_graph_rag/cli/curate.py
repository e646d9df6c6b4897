"""`curate`: judge a draft on a page on loopback."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import Common, Graph, option, to_file
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import MissingExtraError, UsageError, amount
from tiny_graph_rag.formats.gold.drafts import read_drafts
from tiny_graph_rag.gold.curation import Curation, DraftJournal, journal_path
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.messages import counted, listed, said, t

if TYPE_CHECKING:
    from tiny_graph_rag.report.curation import CurationServer

FEW_IDS = 10
EMPTY = (
    "{n} question has no reference and leaves every mean, which raises it; look at it again under "
    "“show: no reference”"
)
EMPTY_MANY = (
    "{n} questions have no reference and leave every mean, which raises it; look at them again under "
    "“show: no reference”"
)


@command(app, "curate")
def curate_command(
    dataset: Annotated[Path, option("Draft of `recommend`, questions, or a gold set to review.")],
    common: Common,
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
        if find_spec(package) is None:
            raise MissingExtraError(said("curate"), package, "curate")
    from tiny_graph_rag.report.curation import CurationServer

    session = Session.open(common)
    source = find_input(dataset, Path(session.config.storage.dataset_dir), "draft")
    name = bare_name(source)
    derived = f"{name.removesuffix('-draft')}-eval" if name.endswith("-draft") else f"{name}-judged"
    out = Output.of(session, output, ending="", folder="dataset_dir").at(source.with_name(f"{derived}.jsonl"))
    path = out.path or source.with_name(f"{derived}.jsonl")
    journal_file = session.outputs.claim(journal_path(source), is_own=True)
    drafts = read_drafts(source)
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
        _warn_of_strays(session, curation, source.name, journal_file.name)
        if not export:
            _serve(session, server, port, len(drafts), len(journal.events))
        found = server.export()
    finally:
        journal.close()
    _tell(session, found)


def _warn_of_strays(session: Session, curation: Curation, name: str, journal: str) -> None:
    """What the journal judges and the draft doesn't hold, or in other words. name, journal: of the files."""
    if curation.lost:
        session.warn(
            "the journal judges {questions} that {name} lacks ({ids}); the judgments stay in {journal}",
            questions=amount(len(curation.lost), "question"),
            name=name,
            ids=", ".join(curation.lost[:5]),
            journal=journal,
        )
    if curation.reworded:
        session.warn(
            "the journal judges other words of {questions} than {name} has now ({ids}); these "
            "judgments don't count, they stay in {journal}",
            questions=amount(len(curation.reworded), "question"),
            name=name,
            ids=", ".join(list(curation.reworded)[:5]),
            journal=journal,
        )


def _serve(session: Session, server: CurationServer, port: int | None, drafts: int, decisions: int) -> None:
    """Until somebody ends it. drafts, decisions: how many there are."""
    listening = server.listen(port)  # what comes from now on waits for the server
    session.say("{n} questions, {decisions} decisions so far", n=drafts, decisions=decisions)
    session.say("open {address}", address=server.address)
    session.say("Ctrl-C ends and writes the gold set")
    sys.stdout.flush()  # who reads a pipe waits for the address
    server.serve(listening)


def _tell(session: Session, found: dict[str, Any]) -> None:
    """What was written. found: of `CurationServer.export`."""
    judged = t("{n} questions judged, {left} left", n=f"{found['questions']:,}", left=f"{found['left']:,}")
    differing = t("{n} judgments on which annotators differ", n=f"{found['unsettled']:,}")
    session.say(f"{judged}, {differing}" if found["unsettled"] else judged)
    if found["empty"]:
        session.say(f"{counted(len(found['empty']), EMPTY, EMPTY_MANY)}: {listed(found['empty'], FEW_IDS)}")
    if found["path"]:
        session.say("gold set: {path}", path=found["path"])
