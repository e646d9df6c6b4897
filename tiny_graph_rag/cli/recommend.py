"""`recommend`: a draft for questions that have no gold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app, shell_command
from tiny_graph_rag.cli.asking import Linking
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import (
    RETRIEVING,
    Common,
    Given,
    Graph,
    comma_list,
    option,
    settings_again,
    to_file,
)
from tiny_graph_rag.cli.output import STDOUT, Output
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import UsageError, amount
from tiny_graph_rag.formats.gold.drafts import Draft, draft_lines, is_draft, judged_in
from tiny_graph_rag.gold.curation import journal_path, judged_otherwise
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.inputs import bare_name, find_input
from tiny_graph_rag.messages import counted, listed, t
from tiny_graph_rag.retrieval import check_retrieval
from tiny_graph_rag.study.recommend import recommend

DEFAULT = ("bfs", "pagerank", "bm25")
SHOWN, LISTED = 30, 5  # ids of questions a line, and in an error
TO_JUDGE = "{n} to review first, because the retrievers differ most on them"
REMARKS: tuple[tuple[str, str, Callable[[Draft], bool]], ...] = (
    ("{n} looks like an earlier question", "{n} look like an earlier question", lambda one: bool(one.like)),
    (
        "{n} names no entity of the graph",
        "{n} name no entity of the graph",
        lambda one: one.seedless,
    ),
    ("{n} has no candidate", "{n} have no candidate", lambda one: not one.candidates),
)
FAVOURS = (
    "a gold set made from this draft favours {retrievers}: to compare another retriever on it, add that "
    "one to --retrievers first"
)
LEAVES_THE_MEANS = (
    "questions without a reference are left out of the means, which raises them: search all entities in "
    "`curate` before you accept a question as empty"
)


@command(app, "recommend")
def recommend_command(
    dataset: Annotated[Path, option("Questions: text (one per line), CSV, JSON or JSONL.")],
    retrieving: Annotated[Given, RETRIEVING.without("retriever")],
    common: Common,
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
    """Propose references for questions without gold, and write a draft that needs review."""
    session = Session.open(common, to_stdout=output == STDOUT, **retrieving, depth=max(pool, 10))
    chosen = comma_list(retrievers) or DEFAULT
    for item in chosen:
        check_retrieval(session.config.override(retriever=item))
    source = find_input(dataset, Path(session.config.storage.dataset_dir), "questions")
    out = draft_output(session, source, output)  # refused before any work
    examples = session.questions(source)
    if out.path is not None:
        _check_judgments(out.path, examples)
    linking = Linking.of(session)
    knowledge = session.graph(graph, examples)
    with session.progress("retrievers", len(chosen), least=2) as bar:
        found = recommend(
            knowledge, examples, session.config, chosen, pool, linker_for=linking.maker, progress=bar
        )
    linking.conclude()
    out.write(draft_lines(found.drafts))
    for name in found.silent:
        session.warn("{retriever} found nothing for any question", retriever=name)
    drafts = found.drafts
    session.say(
        "{questions}, {candidates} candidates from {retrievers}",
        questions=amount(len(drafts), "question"),
        candidates=f"{sum(len(draft.candidates) for draft in drafts):,}",
        retrievers=", ".join(chosen),
    )
    first = sorted((draft for draft in drafts if draft.first is not None), key=lambda item: item.first or 0)
    remarks = ((one, many, [draft for draft in drafts if holds(draft)]) for one, many, holds in REMARKS)
    for one, many, those in (*remarks, (TO_JUDGE, TO_JUDGE, first)):
        if those:
            ids = listed([draft.example.id for draft in those], SHOWN)
            session.say(f"{counted(len(those), one, many)}: {ids}")
    session.say(t(FAVOURS, retrievers=", ".join(chosen)))
    session.say(t(LEAVES_THE_MEANS))
    if out.path is not None:
        judges = shell_command("curate", dataset=out.path, graph=graph, **settings_again(common))
        session.say("draft (needs review): {path}; review it with: {command}", path=out.path, command=judges)


def draft_output(session: Session, source: Path, given: str | None) -> Output:
    """Where a draft goes. A file of the derived name is replaced where it is a draft too."""
    out = Output.of(session, given, ending="", folder="dataset_dir")
    return out.at(f"{bare_name(source)}-draft.jsonl", is_draft)


def _check_judgments(path: Path, examples: EvalSet) -> None:
    """Before any work. Raises UsageError where a draft of this name was judged, by hand or in `curate`, and
    the judgments would be lost or count for other questions."""
    now = {example.id: example for example in examples}
    before = judged_in(path)
    by_hand = [
        id for id, (_, names) in before.items() if names - (now[id].grades if id in now else {}).keys()
    ]
    if by_hand:
        raise UsageError(
            "{path}: holds judgments of {ids} that would be lost; name another draft with -o",
            path=path,
            ids=listed(by_hand, LISTED),
        )
    journal = journal_path(path)
    queries = {id: example.query for id, example in now.items()}
    moved = judged_otherwise(journal, {id: query for id, (query, _) in before.items()}, queries)
    if moved:
        raise UsageError(
            "{journal}: holds decisions on {ids}, which would stand for other questions now. Give "
            "the questions ids of their own, or name another draft with -o",
            journal=journal,
            ids=listed(moved, LISTED),
        )
