"""What `fix` found, as reports take it: the patch, the settings tried, each question before and after."""

from __future__ import annotations

from typing import Any

from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.fixes import Fixes
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.report.fix_words import blocks_of
from tiny_graph_rag.report.json.spelled import Made, dataset_json, head
from tiny_graph_rag.results import as_read


def fixes_json(
    fixes: Fixes, graph: KnowledgeGraph, examples: EvalSet, config: Config, made: Made | None = None
) -> dict[str, Any]:
    """Not written as a file; `blocks` are in the language spoken, as pages show them."""
    content = head(
        "fixes",
        made,
        graph={"name": graph.name, "sha256": graph.sha256},
        dataset=dataset_json(examples),
        config=config.as_dict(),
        measure=fixes.patch.measure,
        today=fixes.today,
        questions=fixes.questions,
        groups=fixes.groups,
        evaluations=fixes.spent,
        stopped=fixes.stopped,
        kinds=fixes.kinds,
        tried=[] if fixes.decision is None else fixes.decision.tried,
        patch=fixes.patch,
        changes=fixes.changes,
    )
    read: dict[str, Any] = as_read(content)
    blocks = [{"head": heading, "rows": rows} for heading, rows in blocks_of(read)]
    return read | {"blocks": as_read(blocks)}
