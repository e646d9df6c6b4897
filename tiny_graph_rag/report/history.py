"""Results of a folder over time: what was measured when, with which settings, and how that is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tiny_graph_rag.config import changed_settings, find_setting, spelled_setting
from tiny_graph_rag.errors import InputError
from tiny_graph_rag.gold.examples import Selection
from tiny_graph_rag.inputs import is_results
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import t, three
from tiny_graph_rag.outputs import KEPT_IN
from tiny_graph_rag.report.plain import one_line, walked
from tiny_graph_rag.report.tables import Cell, View, mean_cells, mean_of
from tiny_graph_rag.results import Made, Results, part
from tiny_graph_rag.study.results_file import OtherFileError, read_results

NAME_WIDTH = 40
_EIGHTHS = "▁▂▃▄▅▆▇█"
_KEPT_AT = re.compile(r"-\d{8}T\d{6}\.\d{6}Z$")


class Past(Struct, frozen=True):
    """One results file. at: when it was made, by itself or else by its file's date (UTC). asked: the name of
    the gold set or of the selection from it (--limit, --tags, --ids), and the SHA-256 of the set. settings:
    not the default; None of an external run, which this program made by no settings. walks: whether hops
    count for it. measures: name → mean, low, high, n, reliable; by_tag: tag → the same."""

    name: str
    path: Path
    at: datetime
    label: str
    graph: str
    patch: str
    dataset: str
    asked: tuple[str, str]
    settings: dict[str, Any] | None
    walks: bool
    questions: int
    measures: dict[str, dict[str, Any]]
    by_tag: dict[str, dict[str, dict[str, Any]]]


def read_past(folder: Path) -> tuple[list[Past], list[str]]:
    """(results of `eval` and `score` in `folder` and its `history/`, oldest first; what is wrong with those
    that can't be read).

    Other JSON files, also those of other commands, are passed over.
    """
    past: list[Past] = []
    problems: list[str] = []
    for path in sorted([*folder.glob("*.json"), *(folder / KEPT_IN).glob("*.json")]):
        try:
            past.append(past_of(path))
        except OtherFileError:
            continue
        except InputError as error:
            if is_results(path):
                problems.append(str(error))
    return sorted(past, key=lambda item: (item.at, item.name)), problems


def groups(past: Iterable[Past]) -> dict[str, list[Past]]:
    """By what was asked: means over different questions are no series. Name (with the SHA-256 where a name
    has had several contents) → results, oldest first."""
    by_content: dict[tuple[str, str], list[Past]] = {}
    for entry in past:
        by_content.setdefault(entry.asked, []).append(entry)
    names = [name for name, _ in by_content]
    return {
        f"{name} ({content[:8]})" if names.count(name) > 1 else name: rows
        for (name, content), rows in by_content.items()
    }


def differing(rows: Sequence[Past]) -> list[dict[str, Any]]:
    """Of each result the settings that are not the same in all of them; the graph's name and the patch among
    them."""
    names = dict.fromkeys(name for row in rows for name in row.settings or ())
    default = {name: find_setting(name).default for name in names}
    own = [
        ({"graph": row.graph} if row.graph else {})
        | ({} if row.settings is None else {"patch": row.patch or None} | default | row.settings)
        for row in rows
    ]
    for row, mine in zip(rows, own, strict=True):
        if not row.walks:
            mine.pop("hops", None)
    moving = [
        name
        for name in ("graph", "patch", *names)
        if len({repr(row[name]) for row in own if name in row}) > 1
    ]
    return [{name: row[name] for name in moving if name in row} for row in own]


def history_document(named: dict[str, list[Past]]) -> dict[str, Any]:
    """As a file holds it."""
    written = ("name", "at", "label", "graph", "questions", "measures", "by_tag")
    groups: list[dict[str, Any]] = [{"dataset": dataset, "results": []} for dataset in named]
    for group, rows in zip(groups, named.values(), strict=True):
        for row, differs in zip(rows, differing(rows), strict=True):
            shown = {name: getattr(row, name) for name in written}
            group["results"].append({**shown, "settings": row.settings or {}, "differs": differs})
    return {"groups": groups}


_PAST: Any = part(Results, "kind", "summary", "dataset", "config", made=None, graph=None, patch=None)


def past_of(path: Path) -> Past:
    """Raises RunError for a file that is no results file of `eval` or `score`."""
    found = read_results(path, _PAST)
    summary, made, dataset = found.summary, found.made or Made(), found.dataset
    chosen, selection = dataset.selection, Selection()
    if chosen is not None:
        selection = Selection(chosen.limit or None, tuple(chosen.tags), tuple(chosen.ids))
    try:
        at = datetime.fromisoformat(made.at or "")
    except ValueError:
        at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return Past(
        name=_KEPT_AT.sub("", nfc(path.stem)) if path.parent.name == KEPT_IN else nfc(path.stem),
        path=path,
        at=at if at.tzinfo else at.replace(tzinfo=UTC),
        label=made.label or "",
        graph=found.graph.name if found.graph else "",
        patch=found.patch.name if found.patch else "",
        dataset=dataset.name,
        asked=(selection.named(dataset.name), dataset.sha256),
        settings=changed_settings(found.config) if found.kind == "eval" else None,
        walks=found.kind == "eval" and walked(msgspec.to_builtins(summary)),
        questions=summary.questions,
        measures=msgspec.to_builtins(summary.measures),
        by_tag={tag: msgspec.to_builtins(part.measures) for tag, part in summary.by_tag.items()},
    )


def history_lines(named: dict[str, list[Past]]) -> Iterator[str | View]:
    """A table a gold set, oldest result first."""
    for dataset, rows in named.items():
        wanted = list(dict.fromkeys(name for row in rows for name in row.measures))
        means = [mean_cells(row.measures, wanted) for row in rows]
        lines: list[tuple[Cell, ...]] = [
            (
                row.at.strftime("%Y-%m-%d %H:%M"),
                one_line(row.name, NAME_WIDTH),
                one_line(row.label, NAME_WIDTH),
                one_line(", ".join(spelled_setting(name, value) for name, value in differs.items())),
                *mine,
                f"{max((mean.n for mean in mine), default=0):,}",
            )
            for row, differs, mine in zip(rows, differing(rows), means, strict=True)
        ]
        heads = (t("made"), t("result"), t("label"), t("settings that differ"), *wanted, "n")
        yield View(heads, tuple(lines), (0, 1, 2, 3), dataset)
        for measure, column in zip(wanted, zip(*means, strict=True), strict=True) if len(rows) > 1 else ():
            values = [mean.mean for mean in column]
            yield f"  {measure}: {sparkline(values)} {three(values[0])} → {three(values[-1])}"
        if not all(mean_of(mean).reliable for row in rows for mean in row.measures.values()):
            yield t("? unreliable: too few questions affect this number")
        yield ""


def sparkline(values: Sequence[float]) -> str:
    """One character a value in [0, 1]; · where undefined."""
    return "".join("·" if math.isnan(value) else _EIGHTHS[min(7, int(8 * max(value, 0)))] for value in values)
