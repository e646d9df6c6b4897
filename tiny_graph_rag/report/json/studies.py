"""A comparison as a file: kind "comparison" of the results schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.pin import Drift
from tiny_graph_rag.gold.validate import Validation
from tiny_graph_rag.measures.summary import mean_fields, number
from tiny_graph_rag.messages import verbatim
from tiny_graph_rag.report.json.results import dataset_json
from tiny_graph_rag.report.json.spelled import Made, closed_with_rows, head, opened, said_json
from tiny_graph_rag.study.compare import Comparison, Flip, Rows
from tiny_graph_rag.study.sweep import SettingSlice, Sweep, SweptSetting
from tiny_graph_rag.study.verdicts import HopTag


def validation_json(
    found: Validation, broken: Sequence[str], hop_tags: Mapping[str, HopTag], drift: Drift | None
) -> dict[str, Any]:
    """What `validate` found. broken: lines that could not be read, each in words."""
    counts = (
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
    return {
        "errors": found.count("error") + len(broken),
        "warnings": found.count("warning"),
        "recall_ceiling": number(found.ceiling),
        **{name: getattr(found, name) for name in counts},
        "missing_names": {
            name: [entity.name for entity in near] for name, near in found.missing_names.items()
        },
        "hop_tags": {tag: asdict(slice_) for tag, slice_ in hop_tags.items()},
        "drift": None if drift is None else asdict(drift),
        "broken_lines": list(broken),
        "findings": [
            {
                "severity": finding.severity,
                "kind": finding.kind,
                "line": finding.line,
                "message": finding.message,
            }
            for finding in found.findings
        ],
    }


def comparison_document(found: Comparison, config: Config, made: Made | None = None) -> dict[str, Any]:
    """The content of the file."""
    first = found.systems[0]
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
        "notes": list(found.notes),
        "verdicts": list(map(str, found.verdicts())),
        "told": list(map(said_json, found.verdicts())),
        "differs": {name: list(values) for name, values in found.differs.items()},
        **({"groups": found.groups} if found.groups is not None else {}),
        "measures": _rows(found.overall),
        "by_tag": {tag: _rows(rows) for tag, rows in found.by_tag.items()},
    }
    return head("comparison", made, **fields, flips=list(map(_flip, found.flips)))


def comparison_parts(document: dict[str, Any]) -> Iterator[bytes]:
    """The file, piece by piece, one flipped question a line."""
    yield opened({name: part for name, part in document.items() if name != "flips"})
    yield from closed_with_rows("flips", document["flips"])


def _rows(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    return {
        measure: [
            {
                name: number(value) if isinstance(value, float) else value
                for name, value in asdict(row).items()
            }
            for row in part
        ]
        for measure, part in rows.items()
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "system": flip.system,
        "id": flip.id,
        "query": flip.query,
        "tags": list(flip.tags),
        "change": flip.change,
        "values": {key: [number(before), number(after)] for key, (before, after) in flip.values.items()},
        "references": [
            {"name": name, "before": before, "after": after} for name, before, after in flip.references
        ],
    }


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
    return head("sweep", made, **fields, settings=list(map(setting_json, found.settings)))


def sweep_parts(document: dict[str, Any]) -> Iterator[bytes]:
    """The file, piece by piece, one setting a line."""
    yield opened({name: part for name, part in document.items() if name != "settings"})
    yield from closed_with_rows("settings", document["settings"])


def setting_json(setting: SweptSetting) -> dict[str, Any]:
    return {
        "system": setting.system,
        "retriever": setting.retriever,
        "settings": {name: setting.variant.settings[name] for name in setting.variant.varied},
        "hops": setting.hops,
        "top_k": setting.top_k,
        **_slice(setting.overall),
        "by_tag": {tag: _slice(part) for tag, part in setting.by_tag.items()},
        "subgraph": {"mean": number(setting.reached_mean), "p95": number(setting.reached_p95)},
    }


def _slice(part: SettingSlice) -> dict[str, Any]:
    return {
        "questions": part.questions,
        "measures": {str(measure): mean_fields(mean) for measure, mean in part.measures.items()},
        "oracle_recall": number(part.reach.oracle_recall),
        "oracle_all": number(part.reach.oracle_all),
    }


def _recommended(found: Sweep, tag: str) -> dict[str, Any]:
    decided, setting, best = found.recommended[tag], found.chosen(tag), found.best(tag)
    record = None if decided.recommended is None else decided.tried[decided.recommended]
    return {
        "setting": None if decided.recommended is None else found.first_of[decided.recommended],
        "system": setting.system if setting else None,
        "retriever": setting.retriever if setting else None,
        "hops": setting.hops if setting else None,
        "best": None if decided.best is None else found.first_of[decided.best],
        "best_hops": best.hops if best else None,
        "change": record.change if record else None,
        "expected": decided.expected,
        "p": record.p if record else None,
        "certain": decided.certain,
        "questions": decided.questions,
        "groups": decided.groups,
        "reason": str(decided.reason),
        **said_json(verbatim(decided.reason)),
    }
