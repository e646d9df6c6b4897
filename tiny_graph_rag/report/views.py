"""What reports say, before anybody renders it: documents become headings, paragraphs and tables once.

Markdown and `--details` render all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tiny_graph_rag.config import changed_settings
from tiny_graph_rag.messages import counted, figure, p_value, shown, signed, t, three
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.fix_words import blocks_of, summary_line
from tiny_graph_rag.report.headline import headline, subject
from tiny_graph_rag.report.plain import (
    LONGEST,
    failed_words,
    one_line,
    points_lost,
    step_words,
    swept_measures,
    tags_of,
    verdict_words,
    walked,
    without_gold,
)
from tiny_graph_rag.report.tables import (
    Block,
    Cell,
    Heading,
    Paragraph,
    View,
    answer_scores,
    mean_cells,
    mean_of,
    reference_lines,
    spoken_json,
    worst_questions,
)
from tiny_graph_rag.results import Latency
from tiny_graph_rag.study.results_file import speeds

Json = dict[str, Any]

WORST_SHOWN = 10
MOST_MOVED = 50  # questions before and after, of a kind of fix


def blocks(documents: Sequence[Document]) -> Iterator[Block]:
    """One report of all documents, in the language spoken: results method by method where there are several,
    each of them, then the sweeps and comparisons, and what `fix` found."""
    results = [document for document in documents if document.has_questions]
    if len(results) > 1:
        yield from _methods(results)
    for result in results:
        yield from _result(result, level=2 if len(results) > 1 else 1)
    for document in documents:
        if document.kind == "sweep":
            yield from _sweep(document.content)
        if document.kind == "comparison":
            yield from _comparison(document.content)
        if document.kind == "fixes":
            yield from _fixes(document.content)


def _methods(results: Sequence[Document]) -> Iterator[Block]:
    """All results side by side, where they are of one gold set."""
    yield Heading(t("Method by method"), 1)
    if len({result.content["dataset"]["sha256"] for result in results}) > 1:
        yield Paragraph(t("These results are of different gold sets; their means can't be compared."))
        return
    summaries = [result.content["summary"] for result in results]
    first, *others = (summary["measures"] for summary in summaries)
    measures = [measure for measure in first if all(measure in other for other in others)]
    took = [
        speeds(msgspec.convert(summary.get("latency") or {}, Latency), summary.get("questions_per_second"))
        for summary in summaries
    ]
    names = list(dict.fromkeys(name for mine in took for name in mine))
    rows: list[tuple[Cell, ...]] = [
        (
            one_line(result.name),
            *mean_cells(summary["measures"], measures),
            *(figure(mine.get(name)) for name in names),
        )
        for result, summary, mine in zip(results, summaries, took, strict=True)
    ]
    yield View((t("results"), *measures, *names), tuple(rows))
    yield Paragraph(t("These are means only; run `compare` to see which differences are significant."))


def _result(document: Document, level: int) -> Iterator[Block]:
    content, summary = document.content, document.content["summary"]
    yield Heading(one_line(content["dataset"]["name"] if level == 1 else document.name), level)
    yield Paragraph(subject(content))
    for sentence in headline(content):
        yield Paragraph(shown(sentence), strong=True)
    yield from _made(content)
    yield _means(summary)
    yield Paragraph(" · ".join(count_lines(summary)))
    if scores := (summary.get("answers") or {}).get("scores"):
        yield Heading(t("Answers"), level + 1)
        yield answer_scores(scores)
    yield from _waterfall(content, level + 1)
    advice = summary.get("recommendations") or []
    if advice:
        yield Heading(t("Recommendations"), level + 1)
    for number, line in enumerate(advice, start=1):
        yield Paragraph(f"{number}. {one_line(spoken_json(line), 600)}")
    yield from _worst(content, level + 1)


def _means(summary: Json) -> View:
    """Of all questions and of each tag, most questions first, the mean of each measure."""
    measures = list(summary["measures"])
    tags = [(f"  {one_line(tag, 40)}", part) for tag, part in tags_of(summary)]
    rows: list[tuple[Cell, ...]] = []
    for label, part in ((t("all"), summary), *tags):
        counts = [part["measures"][measure]["n"] for measure in measures]
        n = f"{min(counts):,}" if len(set(counts)) == 1 else f"{min(counts):,}–{max(counts):,}"
        rows.append((label, *mean_cells(part["measures"], measures), n))
    return View((t("questions"), *measures, "n"), tuple(rows))


def _made(content: Json) -> Iterator[Block]:
    """When and by which command a file was made, and the settings that are not the default."""
    made = content.get("made") or {}
    if made.get("at") and made.get("command"):
        yield Paragraph(
            t(
                "Made {when} by {command}",
                when=one_line(str(made["at"])),
                command=one_line(str(made["command"]), 600),
            )
        )
    foreign = content["kind"] == "score"  # an external run was not made by these settings
    settings = {} if foreign else changed_settings(content.get("config") or {})
    if settings:
        listed = one_line("; ".join(f"{name} = {value}" for name, value in settings.items()), LONGEST)
        yield Paragraph(t("Settings that are not the default: {settings}", settings=listed))


def count_lines(summary: Json) -> list[str]:
    """What the means leave out, what the questions cost, and how long they took."""
    missed = summary["nothing_retrieved"] - summary.get("rightly_empty", 0)
    groups, per_second = summary.get("groups"), summary.get("questions_per_second")
    spent, cost = summary["total_token_usage"], summary["estimated_cost_usd"]
    lines = [
        t("{n} scored", n=f"{summary['scored']:,}"),
        without_gold(summary),
        t("groups of questions: {n}, each counts as one observation", n=f"{groups:,}") if groups else "",
        t("{n} with a reference retrieved nothing (score 0)", n=f"{missed:,}") if missed else "",
        failed_words(summary["failed"]) if summary["failed"] else "",
    ]
    if spent:
        usage = (summary.get("answers") or summary).get("usage") or {}
        sign = "≈ " if usage.get("total", usage).get("estimated") else ""
        price = t("cost unknown") if cost is None else f"{sign}{cost:.4f} USD"
        lines.append(t("{n} tokens, {price}", n=f"{sign}{spent:,}", price=price))
    if per_second:
        lines.append(counted(round(per_second), "{n} question per second", "{n} questions per second"))
    return [line for line in lines if line]


def hops_of(content: Json) -> int | None:
    """The hop limit of an evaluation whose retriever walks."""
    hops = content["config"].get("retrieval", {}).get("hops") if content["kind"] == "eval" else None
    return hops if isinstance(hops, int) and walked(content["summary"]) else None


def _waterfall(content: Json, level: int) -> Iterator[Block]:
    """Where recall of entities is lost: what remains after each step and what it takes, as run and from the
    gold set's seeds; nothing where no question has a reference, so that there is no recall."""
    summary = content["summary"]
    steps = summary.get("waterfall") or ()
    if not steps or any(step["recall"] is None for step in steps):
        return
    from_gold = {step["step"]: step["recall"] for step in gold_steps(summary)}
    heads = [t("step"), t("as run") if from_gold else t("recall"), t("points lost"), t("references lost")]
    rows = [
        [
            step_words(step["step"], summary["k"]),
            three(step["recall"]),
            points_lost(step["loss"]),
            f"{step['references']:,}" if "references" in step else "–",
        ]
        for step in steps
    ]
    if from_gold:
        heads.append(t("from gold seeds (n {n})", n=f"{summary['linking']['questions']:,}"))
        for row, step in zip(rows, steps, strict=True):
            row.append(three(from_gold.get(step["step"])))
    yield Heading(t("Where recall is lost"), level)
    yield View(tuple(heads), tuple(map(tuple, rows)))


def gold_steps(summary: Json) -> list[Json]:
    """The waterfall from the gold set's own seeds, where it may stand next to all questions: half or more of
    the scored ones name their seeds."""
    named = (summary.get("linking") or {}).get("questions", 0)
    steps: list[Json] = summary.get("waterfall_gold_seeds") or []
    return steps if named > 0 and summary["scored"] <= 2 * named else []


def _worst(content: Json, level: int) -> Iterator[Block]:
    """None at 1; `query --id` shows its ranking."""
    measure, at = worst_questions(content)
    worst, hops = [content["results"][row] for row in at[:WORST_SHOWN]], hops_of(content)
    if not worst:
        return
    rows = [
        (
            one_line(question["id"], 40),
            one_line(question["query"] or "–", 80),
            three(question["metrics"][measure]),
            one_line("; ".join(reference_lines(question, hops)), LONGEST),
        )
        for question in worst
    ]
    yield Heading(t("Worst questions"), level)
    yield View(("id", t("question"), measure, t("references")), tuple(rows), (0, 1, 3))


def _sweep(content: Json) -> Iterator[Block]:
    yield Heading(t("By hops"), 2)
    overall = (content.get("recommended") or {}).get("overall")
    if overall and overall.get("reason"):
        yield Paragraph(recommended_words(content, overall), strong=True)
    measures = swept_measures(content)
    settings: list[tuple[Cell, ...]] = [
        (
            one_line(str(setting["system"])),
            "–" if setting["hops"] is None else str(setting["hops"]),
            str(setting["top_k"]),
            *mean_cells(setting["measures"], measures),
            three(setting.get("oracle_recall")),
        )
        for setting in content["settings"]
    ]
    heads = (t("system"), t("hops"), "k", *measures, t("reachable"))
    yield View(heads, tuple(settings))
    by_tag = (content.get("recommended") or {}).get("by_tag") or {}
    rows = [
        (
            one_line(tag),
            t("none") if part["setting"] is None else setting_flags(content, part["setting"]),
            f"{part['questions']:,}",
            one_line(spoken_json(part), 300),
        )
        for tag, part in by_tag.items()
    ]
    if rows:
        yield Heading(t("Recommended by tag"), 3)
        yield View((t("tag"), t("setting"), t("questions"), t("why")), tuple(rows), (0, 1, 3))


def recommended_words(content: Json, part: Json) -> str:
    """`Recommended: --hops 3, …` and why; without a recommendation, why there is none."""
    reason = one_line(spoken_json(part), 600)
    if part["setting"] is None:
        return t("No recommendation: {reason}", reason=reason)
    return t("Recommended: {reason}", reason=reason)


def setting_flags(content: Json, place: int) -> str:
    """`--hops 3`, with the system before it where the sweep varies more. place: of the setting."""
    setting = content["settings"][place]
    hops = "" if setting["hops"] is None else f"--hops {setting['hops']}"
    several = len({other["system"] for other in content["settings"]}) > 1
    return one_line(f"{setting['system']} {hops}".strip() if several else hops or str(setting["system"]))


def _fixes(content: Json) -> Iterator[Block]:
    """Four blocks; the page shows the questions that they move, before and after."""
    yield Heading(t("What would fix {gold}", gold=one_line(content["dataset"]["name"])), 1)
    yield from _made(content)
    yield Paragraph(summary_line(content))
    if content["stopped"]:
        yield Paragraph(t(content["stopped"]))
    for head, rows in blocks_of(content):
        yield Heading(t(head), 2)
        cells = [
            (one_line(row.what, 200), row.gain, t(row.control), one_line(row.note, LONGEST)) for row in rows
        ]
        if cells:
            yield View((t("change"), t("gain"), t("control"), t("evidence")), tuple(cells), (0, 3))
        else:
            yield Paragraph(t("nothing"))


def _comparison(content: Json) -> Iterator[Block]:
    systems = content["systems"]
    yield Heading(t("Compared"), 2)
    for sentence in content.get("told", ()):
        yield Paragraph(one_line(spoken_json(sentence), 400), strong=True)
    differs = [
        (one_line(setting), *(one_line(str(value)) for value in values))
        for setting, values in content.get("differs", {}).items()
    ]
    if differs:
        yield View((t("differs"), *(one_line(system["name"]) for system in systems)), tuple(differs))
    between = (t("difference"), t("95 % interval"), t("p (Holm)"), t("won / tied / lost"))
    heads = (t("system"), t("mean (95 % interval)"), *between, "n")
    for measure, compared in content["measures"].items():
        yield Paragraph(measure, strong=True)
        yield View(heads, tuple(map(_compared, compared)))
    for tag, measures in (content.get("by_tag") or {}).items():
        rows = [(measure, *_compared(row)) for measure, compared in measures.items() for row in compared]
        yield Heading(one_line(tag), 3)
        yield View((t("measure"), *heads), tuple(rows), (0, 1))
    moved = [
        (
            one_line(flip["system"], 40),
            t(flip["change"]),
            one_line(flip["id"], 40),
            "; ".join(
                f"{one_line(change['name'], 40)}: {verdict_words(change['before'])} → "
                f"{verdict_words(change['after'])}"
                for change in flip["references"]
            ),
        )
        for flip in content.get("flips", ())[:MOST_MOVED]
    ]
    if moved:
        yield Heading(t("Questions that changed"), 3)
        head = (t("system"), t("change"), t("question"), t("references"))
        yield View(head, tuple(moved), (0, 1, 2, 3))


def _compared(row: Json) -> tuple[Cell, ...]:
    """One system in one measure: its mean, and its difference to the baseline."""
    ends = {"low": row["mean_low"], "high": row["mean_high"], "reliable": row.get("mean_reliable", True)}
    mean, system, n = mean_of({**row, **ends}), one_line(row["system"]), f"{row['n']:,}"
    if row.get("wins") is None:
        return (system, mean, t("baseline"), "", "", "", n)
    interval = f"{signed(row['low'])} … {signed(row['high'])}{' ?' if row.get('reliable') is False else ''}"
    counts = f"{row['wins']} / {row['ties']} / {row['losses']}"
    return (system, mean, signed(row["difference"]), interval, p_value(row.get("p_holm")), counts, n)
