"""`fix`: what would fix retrieval, proven on questions that did not choose it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import INPUT, MEASURES, MORE
from tiny_graph_rag.cli.options import (
    CUTTING,
    RETRIEVING,
    Chosen,
    Dataset,
    Details,
    Graph,
    Reports,
    comma_list,
    option,
    to_file,
)
from tiny_graph_rag.cli.output import Output
from tiny_graph_rag.cli.session import Session, shell_command
from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.fixing.fixes import KINDS, find_fixes
from tiny_graph_rag.fixing.patch import CONFIRMED, DRAFT, patch_text, read_patch
from tiny_graph_rag.measures.statistics import RELIABLE_FROM
from tiny_graph_rag.messages import said
from tiny_graph_rag.report.json.studies import fixes_json
from tiny_graph_rag.report.terminal import CopiedLine
from tiny_graph_rag.report.terminal.screens import details_lines, fix_lines
from tiny_graph_rag.retrieval import check_retrieval
from tiny_graph_rag.scoring.source_chunks import kind_expected
from tiny_graph_rag.study.evaluate import check_depth
from tiny_graph_rag.study.sweep import deciding_measure


@command("fix", RETRIEVING, CUTTING)
def fix_command(
    session: Session,
    dataset: Dataset,
    chosen: Chosen,
    graph: Graph = None,
    report: Reports = None,
    kinds: Annotated[
        str | None,
        option(
            "What to look for: settings,vocabulary,aliases,merges,renames,ask.",
            MEASURES,
            default="all of them",
        ),
    ] = None,
    was: Annotated[
        Path | None,
        option("Older version of the graph: names that it had are proposed back.", INPUT),
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
    evaluations: Annotated[int, option("Largest number of evaluations of the gold set.", MORE, min=2)] = 60,
    output: Annotated[
        str | None, to_file("Patch file to write; - for standard output.", "NAME-fixes.yaml")
    ] = None,
    details: Details = False,
) -> None:
    """Propose changes to settings, vocabulary and graph, and show which gains hold on other questions."""
    given = session.config
    session = session.using(latency_sample=0)
    config = session.config
    check_retrieval(config)
    wanted = comma_list(kinds) or (KINDS if was is not None else tuple(k for k in KINDS if k != "renames"))
    for kind in wanted:
        if kind not in KINDS:
            raise unknown(said("kind of fix"), kind, KINDS)
    if "renames" in wanted and was is None:
        raise UsageError("--kinds renames needs the older graph; name it with --was FILE")
    examples = session.eval_set(dataset, chosen)
    measure = deciding_measure(decide_by, config.evaluation.top_k, kind_expected(examples))
    check_depth(config, [measure], config.evaluation.top_k)
    others = session.eval_set(holdout) if holdout is not None else None
    patch_name = f"{examples.file_name}-fixes.yaml"
    out = Output.of(session, output, patch_name, report, ending=".yaml", is_own=True)
    knowledge = session.graph(graph, examples)
    older = session.graph(was) if was is not None else None
    decided = read_patch(out.path) if out.path is not None and out.path.exists() else None
    with session.progress("evaluations", evaluations, least=0) as bar:
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
    if decided is not None and (kept := fixes.patch.decided_as(decided)) != fixes.patch:
        session.say("what is decided in {path} is kept", path=out.path)
        fixes = replace(fixes, patch=kept)
    out.write([patch_text(fixes.patch, as_json=out.path is not None and out.path.suffix == ".json").encode()])
    content = fixes_json(fixes, knowledge, examples, given, session.made())
    session.show(details_lines(content) if details else fix_lines(content))
    groups = fixes.groups if fixes.decision is None else fixes.decision.groups
    if groups < RELIABLE_FROM:
        session.say(
            "too few groups of questions to prove anything ({groups} of at least {least}). You can still "
            "judge aliases and merges; `dataset from` and `generate` make more questions",
            groups=groups,
            least=RELIABLE_FROM,
        )
    if out.path is None:
        return
    if fixes.patch.has(DRAFT):
        session.say(
            "decide: set `status` to confirmed or rejected in {path}, or list a kind under `confirm`",
            path=out.path,
        )
    if fixes.patch.has(CONFIRMED):
        again = {**asdict(chosen), "skip_generation": True, **session.common.again}
        applied = shell_command("eval", dataset=dataset, graph=graph, patch=out.path, **again)
        session.say("apply the patch with:")
        session.show([CopiedLine(f"  {applied}")])
    out.tell("patch", content)
