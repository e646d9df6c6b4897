"""`query`: one question, its seeds and its ranking."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.linking import Linking
from tiny_graph_rag.cli.options import Common, Folders, Graph, Retrieving, command, flags, from_config
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import ServiceError, UsageError


@command(app, "query")
def query(
    graph: Graph,
    folders: Folders,
    retrieving: Retrieving,
    common: Common,
    question: Annotated[str | None, typer.Argument(help="A question in words.", show_default=False)] = None,
    dataset: Annotated[
        Path | None, typer.Option("--dataset", help="Gold set that holds the question.")
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="The question of the gold set to ask again.")] = None,
    top_k: Annotated[int | None, from_config("--top-k")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each rank is made of: steps, words, prices.")
    ] = False,
) -> None:
    """Show what one question links to, what is retrieved for it, and by which walk."""
    from tiny_graph_rag.dataset.examples import EvalSet, Example
    from tiny_graph_rag.evaluation.runner import evaluate
    from tiny_graph_rag.evaluation.summary import SHOWN_RANKS
    from tiny_graph_rag.metrics import default_measures
    from tiny_graph_rag.report import results_json
    from tiny_graph_rag.report.graph_console import print_question, print_reasons
    from tiny_graph_rag.report.spelled import Spelled

    session = Session.open(
        common,
        folders,
        **flags(retrieving),
        top_k=top_k,
        save_reasons=explain or None,
        latency_sample=0,
    )
    if (question is None) == (id is None) or (id is not None) != (dataset is not None):
        raise UsageError('wanted either a question in quotes ("Who …?") or --dataset FILE --id ID')
    if dataset is not None:
        from tiny_graph_rag.dataset.examples import Selection

        examples = session.eval_set(dataset).select(Selection(ids=(str(id),)))
    else:
        if not str(question).strip():
            raise UsageError("the question is empty")
        examples = EvalSet((Example(id="query", query=str(question), reference_entities=()),))
    linking = Linking.of(session)
    knowledge = session.graph(graph, examples if dataset is not None else None)
    measures = default_measures(session.config.evaluation.top_k)
    evaluation = evaluate(knowledge, examples, session.config, measures, linker_for=linking.maker)
    linking.say_spent()
    if evaluation.linked[0].error is not None:
        raise ServiceError(evaluation.linked[0].error)
    spelled = Spelled(knowledge)
    found = results_json.question(evaluation, 0, spelled)
    if found["references"]:  # one of them may have a rank that isn't shown
        found["ranked"] = results_json.ranked(evaluation, 0, session.config.retrieval.depth, spelled)
    everything = found["ranked"]
    names = {spelled.ids[row]: spelled.names[row] for row in spelled.mentioned}
    for each in everything:
        each["walk_text"] = _in_words(each.get("walk", []), names)
    print_question(found, session.console, max(session.config.evaluation.top_k, SHOWN_RANKS))
    if explain:
        print_reasons(everything, session.console)


def _in_words(walk: list[dict[str, object]], names: dict[str, str]) -> str:
    """`A —OWNS→ B ←FEEDS— C`."""
    if not walk:
        return ""
    parts = [names[str(walk[0]["from"])]]
    for step in walk:
        parts.append(f"—{step['relation']}→" if step["forward"] else f"←{step['relation']}—")
        parts.append(names[str(step["to"])])
    return " ".join(parts)
