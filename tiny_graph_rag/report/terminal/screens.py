"""What `eval`, `score`, `sweep`, `compare` and `fix` print: the result, its cause, what was tried, what to do
next, on one screen of 80 columns.

Each screen is made of what the file holds that the command writes, so that page and screen say the same.
`--details` prints the whole report instead of leaving it to the page (`details_lines`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tiny_graph_rag.measures.base import Column, Measure
from tiny_graph_rag.measures.statistics import RELIABLE_FROM
from tiny_graph_rag.messages import counted, p_value, shown, signed, t, three
from tiny_graph_rag.report.headline import answered, subject, weakest_tags
from tiny_graph_rag.report.plain import (
    cell_width,
    cut,
    failed_words,
    one_line,
    rises,
    verdict_words,
    walked,
    without_gold,
    worst_by,
    wrapped,
)
from tiny_graph_rag.report.tables import Cell, View, mean_of, unsure
from tiny_graph_rag.report.terminal import (
    SCREEN_WIDTH,
    CopiedLine,
    Shown,
    StrongLine,
    block_lines,
    interval_text,
    joined_in_lines,
    table_lines,
)

Json = dict[str, Any]

REMARKS_SHOWN = 3
WEAKEST_SHOWN = 3  # tags
LOSSES_SHOWN = 4  # verdicts
TRIED_SHOWN = 2  # settings: the best and the worst
ROWS_SHOWN = 7  # of a sweep's or a comparison's table
NEAR_NOTHING = 0.05  # a tag's mean below it recommends no setting of its own
FIXES_SHOWN = {"proven": 2, "judged": 4, "asked": 1, "not kept": 2}
TAG_WIDTH, SYSTEM_WIDTH, NAME_WIDTH = 22, 30, 9
INDENT = "  "


def details_lines(content: dict[str, Any]) -> Iterator[Shown]:
    """All tables of a document, as its Markdown report has them."""
    from tiny_graph_rag.report.document import Document  # eval's one screen needs none of these
    from tiny_graph_rag.report.views import blocks

    yield from block_lines(blocks([Document(Path(), content)]))


def answered_counts(recall: Column) -> tuple[int, int, int]:
    """Questions whose references are all among the first k, some of them, and all that have references.

    recall: recall@k of each question, NaN where it has no reference.
    """
    return int((recall == 1).sum()), int(((recall > 0) & (recall < 1)).sum()), int((recall >= 0).sum())


def evaluation_lines(
    content: Json,
    counts: tuple[int, int, int] | None,
    worst: tuple[str, str, int] | None,
    commands: dict[str, str],
) -> Iterator[Shown]:
    """content: of `eval` or `score`, its questions left out. counts: questions answered in whole, in part,
    and all with a reference; None where entities were not judged. worst: id of the worst question, what
    became of its first reference, "" of passages, and how many are as bad, itself too. commands: `fix` and
    `query`, the commands to go on with."""
    summary = content["summary"]
    yield StrongLine(cut(subject(content), SCREEN_WIDTH))
    if counts is not None and counts[2]:
        yield cut(INDENT + shown(answered(*counts, summary["k"])), SCREEN_WIDTH)
    measures = sorted(summary["measures"], key=lambda name: name != worst_by(list(summary["measures"])))
    yield from joined_in_lines([_mean_words(name, summary["measures"][name]) for name in measures])
    yield from _remarks(summary)
    yield ""
    yield from _weakest_and_losses(content)
    yield from _tried(summary)
    if commands.get("fix") and summary.get("verdicts", {}).keys() - {"hit"}:
        yield t("Next: what would raise this, and by how much")
        yield CopiedLine(INDENT + commands["fix"])
    if worst is not None and commands.get("query"):
        question_id, became, alike = worst
        words = counted(alike, "Worst question: {id}", "One of the {n} worst questions: {id}", id=question_id)
        yield cut(f"{words} ({became})" if became else words, SCREEN_WIDTH)
        yield CopiedLine(INDENT + commands["query"])


def _mean_words(name: str, mean: Json) -> str:
    found = mean_of(mean)
    if math.isnan(found.low):
        return f"{name} {three(found.mean)}"
    return f"{name} {three(found.mean)} ({interval_text(found.low, found.high)}){unsure(found).strip()}"


def _remarks(summary: Json) -> Iterator[str]:
    """How little the means rest on, and what they leave out."""
    lines = []
    if 0 < summary["scored"] < RELIABLE_FROM:
        lines.append(
            t(
                "fewer than {n} questions show large differences only; `dataset from` and `generate` "
                "make more",
                n=RELIABLE_FROM,
            )
        )
    elif not all(mean["reliable"] for mean in summary["measures"].values()):
        lines.append(t("? unreliable: too few questions affect this number"))
    lines += [without_gold(summary), failed_words(summary["failed"]) if summary["failed"] else ""]
    unlinked = summary.get("not_recognised")
    if unlinked:
        lines.append(
            t(
                "{n} of {questions}: no entity was recognised by name",
                n=f"{unlinked['questions']:,}",
                questions=counted(unlinked["of"], "{n} question", "{n} questions"),
            )
        )
    for line in list(filter(None, lines))[:REMARKS_SHOWN]:
        yield from wrapped(INDENT + line, SCREEN_WIDTH, INDENT * 2)


def _weakest_and_losses(content: Json) -> Iterator[str]:
    """The weakest tags, and next to them where references were lost."""
    summary = content["summary"]
    measure, losses = worst_by(list(summary["measures"])), _losses(content)
    tags = [
        (cut(one_line(tag), TAG_WIDTH), three(mean["mean"]), f"{mean['n']:,}")
        for tag in weakest_tags(summary)[:WEAKEST_SHOWN]
        for mean in (summary["by_tag"][tag]["measures"][measure],)
    ]
    left = table_lines(View((t("weakest"), measure, "n"), tuple(tags)))[1:-1] if tags else []
    left = [line for line in left if "─" not in line]
    width = max(map(cell_width, left), default=-5) + 5
    for row in range(max(len(left), len(losses))):
        first = left[row] if row < len(left) else ""
        second = losses[row] if row < len(losses) else ""
        room = " " * (width - cell_width(first))
        yield cut(f" {first}{room}{second}".rstrip() if first else f" {room}{second}", SCREEN_WIDTH)


def _losses(content: Json) -> list[str]:
    """How many references were found, and what became of the others, the most frequent first."""
    summary = content["summary"]
    verdicts = {name: count for name, count in (summary.get("verdicts") or {}).items() if count}
    total, hits = sum(verdicts.values()), verdicts.pop("hit", 0)
    if not total:
        return []
    retrieval = (content.get("config") or {}).get("retrieval") or {}
    hops = retrieval.get("hops") if walked(summary) else None
    lines = [
        counted(total, "{n} reference: {found} found", "{n} references: {found} found", found=f"{hits:,}")
    ]
    for name in sorted(verdicts, key=lambda name: -verdicts[name])[:LOSSES_SHOWN]:
        words = verdict_words(name, summary["k"], hops)
        lines.append(f"{verdicts[name]:>5,}  {words}")
    return lines


def _tried(summary: Json) -> Iterator[str]:
    """The settings that were tried, the best first: by how much they change the mean, and how certainly."""
    decision = summary.get("decision")
    if not decision:
        return
    measure, enough = decision["measure"], decision["groups"] >= RELIABLE_FROM
    tried = [record for record in decision["tried"] if record["change"] is not None]
    tried.sort(key=lambda record: record["change"], reverse=rises(measure))
    picked = tried if len(tried) <= TRIED_SHOWN else [tried[0], tried[-1]]
    for place, record in enumerate(picked):
        label = f"{t('Tried')}:"
        head = label if not place else " " * cell_width(label)
        unsure = t("not certain") if enough else t("too few groups")
        certainty = t("certain") if record["certain"] else unsure
        moved = t("{won} better, {lost} worse", won=record["better"], lost=record["worse"])
        change = f"{signed(record['change'])}{'' if place else f' {measure}'}"
        line = f"{head} {record['label']}  {change}  {moved}"
        ends = [f"{certainty} (p {p_value(record['p'])})"] * enough + [certainty]
        fitting = [f"{line}  {end}" for end in ends if cell_width(f"{line}  {end}") <= SCREEN_WIDTH]
        yield from fitting[:1] or (cut(line, SCREEN_WIDTH), f"{' ' * cell_width(label)} {ends[0]}")


def sweep_lines(content: Json) -> Iterator[Shown]:
    """content: of a sweep's file."""
    from tiny_graph_rag.report.views import recommended_words, setting_flags

    measure = content["decide_by"]
    cutoff = Measure.parse(measure).cutoff
    settings = content["settings"]
    cutoffs = {setting["top_k"] for setting in settings}
    wanted = cutoff if cutoff in cutoffs else max(cutoffs)
    rows = [place for place, setting in enumerate(settings) if setting["top_k"] == wanted]
    overall = content["recommended"]["overall"]
    yield StrongLine(cut(f"{subject(content)} · {measure}", SCREEN_WIDTH))
    yield _settings_table(content, measure, _rows_to_show(settings, rows, measure, overall))
    if len(rows) > ROWS_SHOWN:
        yield t("more settings ({n}): --details", n=len(rows) - ROWS_SHOWN)
    yield from wrapped(recommended_words(content, overall), SCREEN_WIDTH, INDENT, 3)
    own = {
        tag: setting_flags(content, part["setting"])
        for tag, part in (content["recommended"].get("by_tag") or {}).items()
        if part["setting"] not in (None, overall["setting"])
        if (settings[part["setting"]]["by_tag"][tag]["measures"][measure]["mean"] or 0) >= NEAR_NOTHING
    }
    if own:
        listed = ", ".join(f"{one_line(tag, TAG_WIDTH)} {flags}" for tag, flags in own.items())
        yield cut(f"{t('by tag')}: {listed}", SCREEN_WIDTH)


def _rows_to_show(settings: Sequence[Json], rows: list[int], measure: str, overall: Json) -> list[int]:
    """The settings of the table: all where they are few, else those with the best means and the recommended
    one."""

    def rank(place: int) -> tuple[bool, float]:
        mean = settings[place]["measures"][measure]["mean"]
        return place != overall["setting"], math.inf if mean is None else -mean if rises(measure) else mean

    return rows if len(rows) <= ROWS_SHOWN else sorted(sorted(rows, key=rank)[:ROWS_SHOWN])


def _settings_table(content: Json, measure: str, rows: Sequence[int]) -> View:
    """A row a setting; the system first where there are several."""
    several = len({setting["system"] for setting in content["settings"]}) > 1
    recommended = content["recommended"]["overall"]["setting"]
    cells: list[tuple[Cell, ...]] = []
    for place in rows:
        setting = content["settings"][place]
        reach, system = setting.get("oracle_recall"), cut(one_line(str(setting["system"])), SYSTEM_WIDTH)
        row = (
            "–" if setting["hops"] is None else str(setting["hops"]),
            mean_of(setting["measures"][measure]),
            "–" if reach is None else f"{reach:.0%}",
            t("recommended") if place == recommended else "",
        )
        cells.append((system, *row) if several else row)
    heads = (t("hops"), measure, t("reachable"), "")
    if several:
        return View((t("system"), *heads), tuple(cells), (0, 4))
    return View(heads, tuple(cells), (3,))


def comparison_lines(content: Json) -> Iterator[Shown]:
    """content: of a comparison's file. One p, corrected for all tests over all questions."""
    for verdict in content["told"]:
        yield from map(StrongLine, wrapped(t(verdict["said"], **verdict["values"]), SCREEN_WIDTH, INDENT, 3))
    differs = [
        f"{setting.rpartition('.')[2]} {' / '.join('–' if value is None else str(value) for value in values)}"
        for setting, values in content["differs"].items()
        if None not in values or "." not in setting  # an external run was made by no setting of ours
    ]
    if differs:
        yield cut(t("Settings that differ: {settings}", settings="; ".join(differs)), SCREEN_WIDTH)
    for note in content["notes"][:1]:
        yield from wrapped(shown(note), SCREEN_WIDTH, INDENT, 2)
    rows = [(measure, rows[0], row) for measure, rows in content["measures"].items() for row in rows[1:]]
    several = len(content["systems"]) > 2
    whole = [one_line(system["name"]) for system in content["systems"]]
    names = without_common_start(whole)
    short = dict(zip(whole, names, strict=True))
    cells = [
        (
            measure,
            *((cut(short[one_line(row["system"])], TAG_WIDTH),) if several else ()),
            three(first["mean"]),
            three(row["mean"]),
            signed(row["difference"]),
            f"{signed(row['low'])} … {signed(row['high'])}",
            p_value(row["p_holm"]),
            f"{row['wins']}/{row['ties']}/{row['losses']}",
        )
        for measure, first, row in rows[:ROWS_SHOWN]
    ]
    names = [cut(name, NAME_WIDTH) for name in names]
    heads = (names[0], t("other") if several else names[1], t("change"), "95 %", "p")
    yield View(
        (t("measure"), *((t("system"),) if several else ()), *heads, "+/=/−"),
        tuple(cells),
        (0, 1) if several else (0,),
    )
    if len(rows) > ROWS_SHOWN:
        yield t("{n} more: --details", n=len(rows) - ROWS_SHOWN)
    yield t("p is corrected for all tests; +/=/−: questions better, equal, worse")
    if content["flips"]:
        yield t("the questions that changed, and every tag: --details, or --report html")


def without_common_start(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin with: `hardset-bfs`, `hardset-bm25` → `bfs`, `bm25`."""
    if len(set(names)) < 2:
        return list(names)
    same = next(at for at, signs in enumerate(zip_longest(*names)) if len(set(signs)) > 1)
    while same and names[0][same - 1].isalnum():
        same -= 1
    return [name[same:] or name for name in names]


def fix_lines(content: Json) -> Iterator[Shown]:
    """content: as `fixes_json` makes it. A head and a few rows for each of the four blocks."""
    from tiny_graph_rag.report.fix_words import blocks_of, summary_line

    yield StrongLine(cut(subject(content), SCREEN_WIDTH))
    yield from wrapped(summary_line(content), SCREEN_WIDTH, INDENT, 2)
    for (head, rows), most in zip(blocks_of(content, whole=False), FIXES_SHOWN.values(), strict=True):
        brief = t(head).partition(":")[0]
        if not rows:
            yield f"{brief}: {t('nothing')}"
        for place, row in enumerate(rows[:most]):
            label = f"{brief}:" if not place else " " * (cell_width(brief) + 1)
            words = " · ".join(part for part in (row.what, row.gain, row.control, row.note) if part)
            yield from wrapped(f"{label} {one_line(words, 200)}", SCREEN_WIDTH, INDENT * 2, 2)
            yield from (cut(f"{INDENT * 2}– {one_line(sample, 200)}", SCREEN_WIDTH) for sample in row.samples)
        if len(rows) > most:
            yield INDENT + t("and {n} more: --details", n=f"{len(rows) - most:,}")
    if content["stopped"]:
        yield cut(t(content["stopped"]), SCREEN_WIDTH)
