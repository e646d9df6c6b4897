"""`curate`: judge a draft on a page on loopback."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import GOLD
from tiny_graph_rag.cli.options import Common, Folders, Graph
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import MissingExtraError, UsageError, amount
from tiny_graph_rag.messages import said, t


@command(app, "curate", GOLD)
def curate_command(
    dataset: Annotated[
        Path, typer.Option("--dataset", help="Draft of `recommend`, questions, or a gold set to look over.")
    ],
    graph: Graph,
    folders: Folders,
    common: Common,
    annotator: Annotated[
        str, typer.Option("--annotator", help="Who judges.", show_default="asked on the page")
    ] = "",
    port: Annotated[
        int | None,
        typer.Option(
            "--port", help="Port on loopback.", min=1, max=65535, show_default="by the draft's name"
        ),
    ] = None,
    export: Annotated[
        bool, typer.Option("--export", help="Write the gold set from the journal and open no page.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser", help="Open the address in a browser.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Gold set to write, under --dataset-dir.",
            show_default="beside NAME-draft.jsonl NAME-eval.jsonl",
        ),
    ] = None,
) -> None:
    """Judge a draft in a browser, on loopback: every decision is on disk before the next."""
    from tiny_graph_rag.cli.output import Output
    from tiny_graph_rag.files import bare_name, find_input
    from tiny_graph_rag.formats.gold.drafts import read_drafts
    from tiny_graph_rag.gold.curation import Curation, DraftJournal, journal_path
    from tiny_graph_rag.gold.examples import EvalSet

    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(said("curate"), package, "curate")
    from tiny_graph_rag.report.curation import CurationServer

    session = Session.open(common, folders)
    source = find_input(dataset, Path(session.config.storage.dataset_dir), "draft")
    name = bare_name(source)
    derived = f"{name.removesuffix('-draft')}-eval" if name.endswith("-draft") else f"{name}-judged"
    path = Output(output, folder="dataset_dir").path(session, source.with_name(f"{derived}.jsonl"))
    journal_file = session.outputs.claim(journal_path(source), is_own=True)
    drafts, sha256 = read_drafts(source)
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
            sha256,
            path,
            rows,
            annotator.strip(),
            gold_named=output is not None,
        )
        if not server.may_replace():  # said before anybody judges, not after
            raise UsageError(
                said(
                    "{path} is there already and was not written from this draft; choose another name "
                    "with -o",
                    path=path,
                )
            )
        if curation.lost:
            session.warn(
                f"the journal judges {amount(len(curation.lost), 'question')} that {source.name} lacks "
                f"({', '.join(curation.lost[:5])}); the judgments stay in {journal_file.name}"
            )
        if not export:
            listening = server.listen(port)

            def started() -> None:
                session.say(
                    t(
                        "{n} questions, {decisions} decisions so far",
                        n=len(drafts),
                        decisions=len(journal.events),
                    )
                )
                session.say(t("open {address}", address=server.address))
                session.say(t("Ctrl-C ends and writes the gold set"))
                sys.stdout.flush()  # who reads a pipe waits for the address
                if browser:
                    import webbrowser

                    webbrowser.open(server.address)

            server.serve(listening, started)
        found = server.export()
    finally:
        journal.close()
    judged = t("{n} questions judged, {left} left", n=f"{found['questions']:,}", left=f"{found['left']:,}")
    differing = t("{n} judgments on which annotators differ", n=f"{found['unsettled']:,}")
    session.say(f"{judged}, {differing}" if found["unsettled"] else judged)
    if found["path"]:
        session.say(t("gold set: {path}", path=found["path"]))
