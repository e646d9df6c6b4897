"""What `fix` found, as reports take it: the patch, the settings tried, each question before and after."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec

from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.proof import Fixes
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures.summary import number
from tiny_graph_rag.report.fix_words import blocks_of
from tiny_graph_rag.report.json.results import dataset_json
from tiny_graph_rag.report.json.spelled import Made, head


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
        today=number(fixes.today),
        questions=fixes.questions,
        groups=fixes.groups,
        evaluations=fixes.spent,
        stopped=fixes.stopped,
        kinds=list(fixes.kinds),
        tried=[] if fixes.decision is None else msgspec.to_builtins(fixes.decision.tried),
        patch=msgspec.to_builtins(fixes.patch),
        blocks=[],
        changes={kind: [asdict(change) for change in changes] for kind, changes in fixes.changes.items()},
    )
    content["blocks"] = [
        {"head": heading, "rows": [asdict(row) for row in rows]} for heading, rows in blocks_of(content)
    ]
    return content
