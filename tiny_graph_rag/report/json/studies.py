"""A comparison as a file: kind "comparison" of the results schema."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.tables import TableWriter, guarded
from tiny_graph_rag.gold.stamp import Drift
from tiny_graph_rag.gold.validate import Validation
from tiny_graph_rag.report.json.numbers import Made, closed_with_rows, head, mean_fields, number, opened
from tiny_graph_rag.report.json.results import dataset_json
from tiny_graph_rag.study.choosing import RULE, Recommendation, rule_values
from tiny_graph_rag.study.compare import Comparison, Flip, Rows
from tiny_graph_rag.study.hops import HopTag
from tiny_graph_rag.study.sweep import Setting, SettingSlice, Sweep


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
        "ambiguous",
        "shared",
        "names_all",
    )
    return {
        "errors": found.count("error") + len(broken),
        "warnings": found.count("warning"),
        "recall_ceiling": number(found.ceiling),
        **{name: getattr(found, name) for name in counts},
        "missing_names": {name: [each.name for each in near] for name, near in found.missing_names.items()},
        "hop_tags": {tag: asdict(each) for tag, each in hop_tags.items()},
        "drift": None if drift is None else asdict(drift),
        "broken_lines": list(broken),
        "findings": [
            {"severity": each.severity, "kind": each.kind, "line": each.line, "message": each.message}
            for each in found.findings
        ],
    }


def comparison_parts(found: Comparison, config: Config, made: Made | None = None) -> Iterator[bytes]:
    """The file, piece by piece, one flipped question a line."""
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
            {"name": each.name, "file": each.path.name, "graph_sha256": each.graph_sha256, "k": each.k}
            | ({"speed": each.speed} if each.speed else {})
            for each in found.systems
        ],
        "notes": list(found.notes),
        "verdicts": [each.shown for each in found.verdicts()],
        "told": [{"said": each.said, "values": each.values} for each in found.verdicts()],
        "differs": {name: list(values) for name, values in found.differs.items()},
        **({"groups": found.groups} if found.groups is not None else {}),
        "measures": _rows(found.overall),
        "by_tag": {tag: _rows(rows) for tag, rows in found.by_tag.items()},
    }
    yield opened(head("comparison", made, **fields))
    yield from closed_with_rows("flips", map(_flip, found.flips))


def _rows(rows: Rows) -> dict[str, list[dict[str, Any]]]:
    return {
        measure: [
            {
                name: number(value) if isinstance(value, float) else value
                for name, value in asdict(row).items()
            }
            for row in each
        ]
        for measure, each in rows.items()
    }


def _flip(flip: Flip) -> dict[str, Any]:
    return {
        "system": flip.system,
        "id": flip.id,
        "query": flip.query,
        "tags": list(flip.tags),
        "change": flip.change,
        "values": {each: [number(before), number(after)] for each, (before, after) in flip.values.items()},
        "references": [
            {"name": name, "before": before, "after": after} for name, before, after in flip.references
        ],
    }


WHOLE = "all"  # how CSV calls the slice of all questions
_CSV = (
    "system",
    "retriever",
    "hops",
    "top_k",
    "slice",
    "questions",
    "measure",
    "mean",
    "low",
    "high",
    "n",
    "reliable",
)
_CSV_REACH = ("oracle_recall", "oracle_all", "reached_mean", "reached_p95", "seconds")


def sweep_parts(found: Sweep, made: Made | None = None) -> Iterator[bytes]:
    """The file, piece by piece, one setting a line."""
    plan = found.plan
    told = rule_values(str(plan.decide_by), plan.tolerance)
    fields = {
        "graph": {"name": found.graph.name, "sha256": found.graph.sha256},
        "dataset": dataset_json(found.examples),
        "config": found.config.as_dict(),
        "questions": len(found.examples),
        "decide_by": str(plan.decide_by),
        "tolerance": plan.tolerance,
        "rule": RULE.format(**told),
        "rule_told": {"said": RULE, "values": told},
        "seconds": found.seconds,
        "recommended": {
            "overall": _recommended(found, found.recommended[""]),
            "by_tag": {tag: _recommended(found, each) for tag, each in found.recommended.items() if tag},
        },
        "flips": [
            {
                "system": each.system,
                "from_hops": each.before,
                "to_hops": each.after,
                "won": list(each.won),
                "lost": list(each.lost),
            }
            for each in found.flips
        ],
    }
    fields["seeds"] = {system: asdict(share) for system, share in found.seeds.items()}
    yield opened(head("sweep", made, **fields))
    yield from closed_with_rows("settings", map(_setting, found.settings))


def _setting(each: Setting) -> dict[str, Any]:
    return {
        "system": each.system,
        "retriever": each.retriever,
        "settings": {name: each.variant.settings[name] for name in each.variant.varied},
        "hops": each.hops,
        "top_k": each.top_k,
        **_slice(each.overall),
        "by_tag": {tag: _slice(part) for tag, part in each.by_tag.items()},
        "subgraph": {"mean": number(each.reached_mean), "p95": number(each.reached_p95)},
        "seconds": each.seconds,
        **({"walks_cut": each.walks_cut} if each.walks_cut else {}),
    }


def _slice(part: SettingSlice) -> dict[str, Any]:
    return {
        "questions": part.questions,
        "measures": {str(each): mean_fields(mean) for each, mean in part.measures.items()},
        "oracle_recall": number(part.reach.oracle_recall),
        "oracle_all": number(part.reach.oracle_all),
    }


def _recommended(found: Sweep, each: Recommendation) -> dict[str, Any]:
    setting = None if each.setting is None else found.settings[each.setting]
    best = None if each.best is None else found.settings[each.best]
    return {
        "setting": each.setting,
        "system": setting.system if setting else None,
        "retriever": setting.retriever if setting else None,
        "hops": setting.hops if setting else None,
        "best": each.best,
        "best_hops": best.hops if best else None,
        "loss": number(each.loss),
        "p": number(each.p),
        "held_out": mean_fields(each.held_out),
        "questions": each.questions,
        "reason": each.reason,
        "said": each.said,
        "values": each.values,
    }


def sweep_csv(found: Sweep) -> bytes:
    """One row a setting, slice and measure; with a byte order mark, which spreadsheets want for Korean."""
    text = io.StringIO()
    writer = TableWriter(text)
    writer.writerow([*_CSV, *_CSV_REACH])
    for each in found.settings:
        for tag, part in ((WHOLE, each.overall), *each.by_tag.items()):
            whole = tag == WHOLE and part is each.overall
            for measure, mean in part.measures.items():
                sizes = (each.reached_mean, each.reached_p95, each.seconds) if whole else (None, None, None)
                what = (guarded(each.system), guarded(each.retriever), each.hops, each.top_k, guarded(tag))
                figures = (mean.mean, mean.low, mean.high)
                oracle = (part.reach.oracle_recall, part.reach.oracle_all)
                writer.writerow(
                    [
                        *what,
                        part.questions,
                        str(measure),
                        *map(_cell, figures),
                        mean.n,
                        mean.reliable,
                        *map(_cell, oracle),
                        *map(_cell, sizes),
                    ]
                )
    return text.getvalue().encode("utf-8-sig", "replace")


def _cell(value: float | None) -> float | str:
    return "" if value is None or value != value else value
