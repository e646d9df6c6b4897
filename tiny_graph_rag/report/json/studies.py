"""Comparisons, sweeps, checks of gold sets and fixes, as files and reports take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.messages import verbatim
from tiny_graph_rag.report.fix_words import blocks_of
from tiny_graph_rag.report.json import Made, dataset_json, head, said_json
from tiny_graph_rag.results import as_read
from tiny_graph_rag.study.verdicts import HopTag, hops_of_tag

if TYPE_CHECKING:
    from tiny_graph_rag.config import Config
    from tiny_graph_rag.fixing.fixes import Fixes
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.pin import Drift
    from tiny_graph_rag.gold.validate import Finding, Validation
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.study.compare import Comparison
    from tiny_graph_rag.study.sweep import Sweep

COUNTED = (
    "questions",
    "without_gold",
    "references",
    "missing",
    "by_alias",
    "by_form",
    "ambiguous",
    "shared",
    "names_all",
)


def validation_json(
    found: Validation, broken: Sequence[str], hop_tags: Mapping[str, HopTag], drift: Drift | None
) -> dict[str, Any]:
    """What `validate` found. broken: lines that could not be read, each in words."""
    return {
        "errors": found.count("error") + len(broken),
        "warnings": found.count("warning"),
        "recall_ceiling": found.ceiling,
        **{name: getattr(found, name) for name in COUNTED},
        "missing_names": {
            name: [entity.name for entity in near] for name, near in found.missing_names.items()
        },
        "hop_tags": {tag: {"hops": hops_of_tag(tag), **as_read(slice_)} for tag, slice_ in hop_tags.items()},
        "drift": drift,
        "broken_lines": broken,
        "findings": findings_json(found.findings),
    }


def findings_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {name: getattr(finding, name) for name in ("severity", "kind", "line", "message")}
        for finding in findings
    ]


def comparison_document(found: Comparison, config: Config, made: Made | None = None) -> dict[str, Any]:
    """The content of the file; its notes can still be shown in another language."""
    first, verdicts = found.systems[0], found.verdicts()
    fields = {
        "dataset": {
            "name": first.dataset_name,
            "sha256": first.dataset_sha256,
            "selection": first.selection,
        },
        "config": config.as_dict(),
        "k": first.k,
        "questions": len(first.ids),
        "systems": [
            {
                "name": system.name,
                "file": system.path.name,
                "graph_sha256": system.graph_sha256,
                "k": system.k,
            }
            | ({"speed": system.speed} if system.speed else {})
            for system in found.systems
        ],
        "verdicts": verdicts,
        "told": list(map(said_json, verdicts)),
        "differs": found.differs,
        **({"groups": found.groups} if found.groups is not None else {}),
        "measures": found.overall,
        "by_tag": found.by_tag,
    }
    content: dict[str, Any] = as_read(head("comparison", made, **fields, flips=found.flips))
    return content | {"notes": list(found.notes)}


def sweep_document(found: Sweep, made: Made | None = None) -> dict[str, Any]:
    """The content of the file."""
    plan = found.plan
    fields = {
        "graph": {"name": found.graph.name, "sha256": found.graph.sha256},
        "dataset": dataset_json(found.examples),
        "config": found.config.as_dict(),
        "questions": len(found.examples),
        "decide_by": str(plan.decide_by),
        "tolerance": plan.tolerance,
        "seconds": found.seconds,
        "recommended": {
            "overall": _recommended(found, ""),
            "by_tag": {tag: _recommended(found, tag) for tag in found.recommended if tag},
        },
    }
    return dict(as_read(head("sweep", made, **fields, settings=found.settings)))


def _recommended(found: Sweep, tag: str) -> dict[str, Any]:
    """What is recommended for a tag's questions, or for all; null where there are too few of them."""
    decided, setting, best = found.recommended[tag], found.chosen(tag), found.best(tag)
    record = None if decided.recommended is None else decided.tried[decided.recommended]
    return {
        "setting": None if decided.recommended is None else found.first_of[decided.recommended],
        **{name: getattr(setting, name, None) for name in ("system", "retriever", "hops")},
        "best": None if decided.best is None else found.first_of[decided.best],
        "best_hops": getattr(best, "hops", None),
        **{name: getattr(record, name, None) for name in ("change", "p")},
        **{name: getattr(decided, name) for name in ("expected", "certain", "questions", "groups", "reason")},
        **said_json(verbatim(decided.reason)),
    }


def fixes_json(
    fixes: Fixes, graph: KnowledgeGraph, examples: EvalSet, config: Config, made: Made | None = None
) -> dict[str, Any]:
    """What `fix` found, as reports take it: the patch, the settings tried, each question before and after.

    Not written as a file; `blocks` are in the language spoken, as pages show them.
    """
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
