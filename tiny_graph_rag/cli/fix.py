"""`fix`: what would fix retrieval, proven on questions that did not choose it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app, shell_command
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import INPUT, MEASURE, MEASURES, MORE
from tiny_graph_rag.cli.options import (
    RETRIEVING,
    Chosen,
    Common,
    Dataset,
    Folders,
    Given,
    Graph,
    Reporting,
    comma_list,
    from_config,
    option,
    to_file,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import (
    Session,
    check_cutoff,
    check_measures,
    deciding_measure,
    described,
    settings_line,
)
from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.messages import said, t
from tiny_graph_rag.retrieval import check_retrieval


@command(app, "fix", MEASURE)
def fix_command(
    dataset: Dataset,
    graph: Graph,
    folders: Folders,
    retrieving: Annotated[Given, RETRIEVING],
    chosen: Chosen,
    reporting: Reporting,
    common: Common,
    kinds: Annotated[
        str | None,
        option(
            "What to look for: settings,vocabulary,aliases,merges,restore,ask.",
            MEASURES,
            default="all of them",
        ),
    ] = None,
    was: Annotated[
        Path | None,
        option("Older version of the graph: renamed or missing entities are proposed back.", INPUT),
    ] = None,
    holdout: Annotated[
        Path | None,
        option(
            "Second gold set that confirms the gains; it is not used to choose.",
            INPUT,
            default="cross-validation",
        ),
    ] = None,
    decide_by: Annotated[
        str | None, option("Measure that decides.", MEASURES, default="ndcg at --top-k")
    ] = None,
    top_k: Annotated[int | None, from_config("--top-k", panel=MEASURES)] = None,
    evaluations: Annotated[int, option("Largest number of evaluations of the gold set.", MORE, min=2)] = 60,
    output: Annotated[
        str | None, to_file("Patch file to write; - for standard output.", "NAME-fixes.yaml")
    ] = None,
) -> None:
    """Propose changes to settings, vocabulary and graph, and show which gains hold on other questions."""
    from tiny_graph_rag.fixing.fixes import KINDS, find_fixes
    from tiny_graph_rag.fixing.patch import patch_yaml
    from tiny_graph_rag.report.json.fixes import fixes_json
    from tiny_graph_rag.report.terminal.fixes import fix_lines

    out = Output.of(output, reporting, ".yaml")
    session = Session.open(
        common, folders, to_stdout=out.to_stdout, **retrieving, top_k=top_k, latency_sample=0
    )
    config = session.config
    check_retrieval(config)
    check_cutoff(config, config.evaluation.top_k)
    wanted = comma_list(kinds) or (KINDS if was is not None else tuple(k for k in KINDS if k != "restore"))
    for kind in wanted:
        if kind not in KINDS:
            raise unknown(said("kind of fix"), kind, KINDS)
    if "restore" in wanted and was is None:
        raise UsageError("--kinds restore needs the older graph; name it with --was FILE")
    measure = deciding_measure(decide_by, config.evaluation.top_k)
    check_measures(config, [measure])
    examples = session.eval_set(dataset, chosen)
    others = session.eval_set(holdout) if holdout is not None else None
    target = out.path(session, f"{examples.file_name}-fixes.yaml")
    session.graph_path(graph, examples)
    knowledge = session.graph(graph, examples)
    older = session.graph(Graph(was, graph.graph_cache)) if was is not None else None
    session.outputs.confirm()
    session.say(f"{described(knowledge, examples)} · {settings_line(config)}")
    with session.progress(t("evaluations"), evaluations, least=0) as bar:
        fixes = find_fixes(
            knowledge,
            examples,
            config,
            measure,
            wanted,
            older=older,
            holdout=others,
            allowed=evaluations,
            progress=lambda spent, what: bar(round(spent), what),
        )
    out.write(session, target, [patch_yaml(fixes.patch).encode()])
    content = fixes_json(fixes, knowledge, examples, config, session.made())
    for line in fix_lines(content):
        session.say(line)
    if out.to_stdout:
        return
    session.say("patch: {path}", path=target)
    given = {"dataset": dataset, "graph": graph.graph, "patch": target}
    if fixes.patch.to_decide():
        session.say("decide: {command}", command=shell_command("curate", **given))
    if fixes.patch.applies():
        session.say("apply: {command}", command=shell_command("eval", **given))
    out.report(session, target.with_suffix(".json"), content)
