"""What reports say, before anybody renders it: documents become headings, paragraphs and tables once.

Markdown and LaTeX render all of it, the page the table of systems; the terminal shares `tables`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiny_graph_rag.config.settings import changed_settings
from tiny_graph_rag.errors import amount
from tiny_graph_rag.messages import ENGLISH, figure, p_value, signed, speaking, t, three
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.fix_words import KIND_WORDS, blocks_of, setting_words, summary_line
from tiny_graph_rag.report.headline import changes_since, headline
from tiny_graph_rag.report.plain import (
    best_of,
    one_line,
    swept_measures,
    tags_of,
    verdict_word,
    walked,
    waterfall_steps,
)
from tiny_graph_rag.report.systems import Systems
from tiny_graph_rag.report.tables import (
    Block,
    Cell,
    Heading,
    NumberedList,
    Paragraph,
    View,
    ends,
    mean_cells,
    mean_of,
    reference_lines,
    worst_questions,
)
from tiny_graph_rag.study.gates import SPEEDS
from tiny_graph_rag.study.results_file import speeds

Json = dict[str, Any]

WORST_SHOWN = 10
RANKINGS_SHOWN = 3
MOST_MOVED = 50  # questions before and after, of a kind of fix
RANKING = ("rank", "entity", "hop", "seed", "path", *tables.COSTS)
SLICE_TITLES = {"query_type": "By question type", "difficulty": "By difficulty", "category": "By category"}
LONGEST = 900  # characters of a paragraph


def blocks(documents: Sequence[Document]) -> list[Block]:
    """One report of all documents: results method by method where there are several, each of them, then the
    sweeps and comparisons. In English, as files are; only what `fix` found is in the language spoken."""
    with speaking(ENGLISH):
        made = list(_measured(documents))
    return [
        *made,
        *(block for document in documents if document.kind == "fixes" for block in _fixes(document.content)),
    ]


def _measured(documents: Sequence[Document]) -> Iterator[Block]:
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


def summary_blocks(document: Document) -> list[Block]:
    """The short form, for the page of a CI job: the first sentences, means, tags, the worst questions."""
    if not document.has_questions:
        return blocks([document])
    with speaking(ENGLISH):
        return list(_summarised(document))


def _summarised(document: Document) -> Iterator[Block]:
    content, summary = document.content, document.content["summary"]
    yield Heading(_title(document, one_line(content["dataset"]["name"])), 2)
    yield Paragraph(_facts(content))
    for sentence in (*headline(content), *changes_since(document)):
        yield Paragraph(str(sentence), strong=True)
    yield tables.means(summary)
    yield from _worst(content, 3, rankings=0)


def _methods(results: Sequence[Document]) -> Iterator[Block]:
    summaries = {result.name: result.content["summary"] for result in results}
    yield Heading(_title(results[0], "Method by method"), 1)
    yield methods(summaries)
    if len({result.content["dataset"]["sha256"] for result in results}) > 1:
        yield Paragraph("These results come from different gold sets: their means can't be compared.")
        return
    yield Heading("Best per slice", 2)
    yield _best_per_slice(summaries)
    found = Systems.of(results)
    if found is None:
        yield Paragraph("These are means only; run `compare` to see which differences are significant.")
    else:
        yield from _which_to_take(found)


def _which_to_take(found: Systems) -> Iterator[Block]:
    """Every pair by the measure that tells most, and what follows from it."""
    yield Heading("Which system to choose", 2)
    for number, sentence in enumerate(found.pairs.advice(found.measure)):
        yield Paragraph(str(sentence), strong=number == 0)
    rows = [
        (
            one_line(found.names[other]),
            one_line(found.names[one]),
            signed(row.difference),
            f"{signed(row.low)} … {signed(row.high)}{'' if row.reliable else ' ?'}",
            p_value(row.p_holm),
            f"{row.wins} / {row.ties} / {row.losses}",
        )
        for (one, other), row in found.pairs.tests[found.measure].items()
    ]
    head = ("system", "against", found.measure, "95 % interval", "p (Holm)", "won / tied / lost")
    yield View(head, tuple(rows), (0, 1))
    tests = amount(sum(map(len, found.pairs.tests.values())), "test")
    yield Paragraph(
        f"Paired randomisation tests on {amount(found.pairs.questions, 'question')}; p corrected (Holm) for "
        f"the {tests} over all pairs and measures."
    )


def _title(document: Document, otherwise: str) -> str:
    return one_line(document.title) or otherwise


def methods(summaries: Mapping[str, Json]) -> View:
    """All results side by side. summaries: name of the results → their summary."""
    measures = _shared_measures(summaries)
    took = [
        speeds(summary.get("latency") or {}, summary.get("questions_per_second"))
        for summary in summaries.values()
    ]
    names = [name for name in SPEEDS if any(name in mine for mine in took)]
    rows: list[tuple[Cell, ...]] = [
        (
            one_line(name),
            *mean_cells(summary["measures"], measures),
            *(figure(mine.get(name)) for name in names),
        )
        for (name, summary), mine in zip(summaries.items(), took, strict=True)
    ]
    return View(("results", *measures, *names), tuple(rows))


def _best_per_slice(summaries: Mapping[str, Json]) -> View:
    measures = _shared_measures(summaries)
    tags = dict.fromkeys(tag for summary in summaries.values() for tag in summary.get("by_tag", {}))
    slices = [("all", list(summaries.values()))]
    slices += [(tag, [summary["by_tag"].get(tag) for summary in summaries.values()]) for tag in tags]
    rows = [
        (one_line(tag), *(_best(list(summaries), parts, measure) for measure in measures))
        for tag, parts in slices
    ]
    return View(("slice", *measures), tuple(rows))


def _shared_measures(summaries: Mapping[str, Json]) -> list[str]:
    first, *others = (summary["measures"] for summary in summaries.values())
    return [measure for measure in first if all(measure in other for other in others)]


def _best(names: Sequence[str], parts: Sequence[Json | None], measure: str) -> str:
    means = [None if part is None else (part["measures"].get(measure) or {}).get("mean") for part in parts]
    top = best_of(measure, means)
    if top is None:
        return "–"
    winners = [name for name, mean in zip(names, means, strict=True) if mean == top]
    named = "all equal" if len(winners) == len(names) else ", ".join(map(one_line, winners))
    return f"{named} {three(top)}"


def _mean_cells(found: Json) -> tuple[str, str, str]:
    """Mean, interval and n; a ? where the interval is unreliable."""
    mean = mean_of(found)
    return three(mean.mean), ends(mean), f"{mean.n:,}"


def _result(document: Document, level: int) -> Iterator[Block]:
    content, summary = document.content, document.content["summary"]
    measures = list(summary["measures"])
    name = one_line(content["dataset"]["name"] if level == 1 else document.name)
    yield Heading(_title(document, name) if level == 1 else name, level)
    yield Paragraph(_facts(content))
    for sentence in (*headline(content), *changes_since(document)):
        yield Paragraph(str(sentence), strong=True)
    yield from _made(content)
    yield View(
        ("measure", "mean", "95 % interval", "n"),
        tuple((measure, *_mean_cells(mean)) for measure, mean in summary["measures"].items()),
    )
    yield from _counts(summary)
    yield from _answers(summary, level + 1)
    for title, tags in _slices(summary).items():
        yield Heading(title, level + 1)
        slices: list[tuple[Cell, ...]] = [
            (label, str(part["questions"]), *mean_cells(part["measures"], measures)) for label, part in tags
        ]
        yield View((title.removeprefix("By "), "questions", *measures), tuple(slices))
    yield from _waterfall(content, level + 1)
    yield from _verdicts(summary, level + 1)
    thresholds = tables.no_answer(summary)
    if thresholds is not None:
        yield Heading("No-answer questions: what --min-score would change", level + 1)
        yield thresholds
    advice = summary.get("recommendations") or []
    if advice:
        yield Heading("Recommendations", level + 1)
        yield NumberedList(tuple(one_line(advice_line["text"], 600) for advice_line in advice))
    yield from _worst(content, level + 1)


def _made(content: Json) -> Iterator[Block]:
    """When and by which command a file was made, and the settings that are not the default."""
    made = content.get("made") or {}
    when = f"Made {one_line(str(made['at']))}" if made.get("at") else ""
    how = f"by {one_line(str(made['command']), 600)}" if made.get("command") else ""
    if when or how:
        yield Paragraph(" ".join(part for part in (when, how) if part))
    foreign = content["kind"] == "score"  # an external run was not made by these settings
    settings = {} if foreign else changed_settings(content.get("config") or {})
    if settings:
        listed = "; ".join(f"{name} = {value}" for name, value in settings.items())
        yield Paragraph(f"Settings that are not the default: {one_line(listed, LONGEST)}")


def _facts(content: Json) -> str:
    asked = content["config"].get("retrieval", {}) if content["kind"] == "eval" else {}
    run, graph = content.get("run") or {}, content.get("graph") or {}
    parts = [
        f"graph {one_line(graph['name'])}" if graph.get("name") else "",
        f"run {one_line(run['name'])}" if run.get("name") else "",
        f"{content['summary']['questions']:,} questions",
        _retriever(asked, content["summary"]),
        f"k = {content['summary']['k']}",
    ]
    return " · ".join(part for part in parts if part)


def _retriever(asked: Json, summary: Json) -> str:
    if not {"retriever", "hops"} <= asked.keys():
        return ""
    hops = asked["hops"]
    return f"{asked['retriever']}, {amount(hops, 'hop')}" if walked(summary) else str(asked["retriever"])


def _answers(summary: Json, level: int) -> Iterator[Block]:
    scores = (summary.get("answers") or {}).get("scores") or {}
    if scores:
        yield Heading("Answers", level)
        yield tables.answer_scores(scores)


def _without_gold(summary: Json) -> str:
    empty = summary.get("rightly_empty")
    if empty is None:
        return "without a reference"
    failed = summary.get("failed_without_gold", 0)
    wrong = summary["without_gold"] - empty - failed
    more = f", {failed:,} failed" if failed else ""
    return f"without a reference ({empty:,} correctly returned nothing, {wrong:,} returned entities{more})"


def _counts(summary: Json) -> Iterator[Block]:
    missed = summary["nothing_retrieved"] - summary.get("rightly_empty", 0)
    notes = [
        (summary["without_gold"], _without_gold(summary)),
        (missed, "with a reference retrieved nothing"),
        (summary["failed"], "failed or not in the run (worst value of every measure)"),
    ]
    told = [f"{number:,} {what}" for number, what in notes if number]
    spent, cost = summary["total_token_usage"], summary["estimated_cost_usd"]
    if spent:
        told.append(f"{spent:,} tokens, {'cost unknown' if cost is None else f'{cost:.4f} USD'}")
    if told:
        yield Paragraph(f"Of {summary['questions']:,} questions: {', '.join(told)}.")
    for limit, part in (summary.get("walks_cut") or {}).get("limits", {}).items():
        yield Paragraph(
            f"Walks ended early in {part['questions']:,} questions, after {', '.join(part['hops'])} hops: "
            f"the next would go beyond running.{limit} ({part['most']:,})."
        )


def _slices(summary: Json) -> dict[str, list[tuple[str, Json]]]:
    """Tags by what they say: `difficulty:hard` is a row of "By difficulty", a plain tag one of "By tag"."""
    found: dict[str, list[tuple[str, Json]]] = {}
    for tag, part in tags_of(summary):
        kind, mark, value = tag.partition(":")
        known = bool(mark) and kind in SLICE_TITLES
        title = SLICE_TITLES[kind] if known else "By tag"
        found.setdefault(title, []).append((one_line(value if known else tag), part))
    order = [*SLICE_TITLES.values(), "By tag"]
    return dict(sorted(found.items(), key=lambda pair: order.index(pair[0])))


def hops_of(content: Json) -> int | None:
    """The hop limit of an evaluation whose retriever walks."""
    hops = content["config"].get("retrieval", {}).get("hops") if content["kind"] == "eval" else None
    return hops if isinstance(hops, int) and walked(content["summary"]) else None


def _waterfall(content: Json, level: int) -> Iterator[Block]:
    """Where recall of entities is lost, then that of relations and of passages, where they are judged."""
    summary, hops = content["summary"], hops_of(content)
    steps = waterfall_steps(summary)
    if steps:
        yield Heading("Where recall is lost", level)
        yield tables.waterfall(steps, summary["k"], hops, tables.other_seeds(summary))
    for kind, found in (summary.get("kinds") or {}).items():
        steps = waterfall_steps(found)
        if steps:
            yield Heading(f"Where recall of {kind} is lost", level)
            yield tables.waterfall(steps, summary["k"], hops)


def _verdicts(summary: Json, level: int) -> Iterator[Block]:
    found = {key: number for key, number in (summary.get("verdicts") or {}).items() if number}
    total = sum(found.values())
    if not total:
        return
    rows = [
        (verdict_word(key), f"{number:,}", f"{100 * number / total:.0f} %") for key, number in found.items()
    ]
    yield Heading("What became of the references", level)
    yield View(("verdict", "references", "share"), tuple(rows))


def _worst(content: Json, level: int, rankings: int = RANKINGS_SHOWN) -> Iterator[Block]:
    """One of each kind of loss before a second of any, none at 1."""
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
    yield Heading("Worst questions", level)
    yield View(("id", "question", measure, "references"), tuple(rows), (0, 1, 3))
    for question in worst[:rankings]:
        yield from _ranking(content, question)


def _ranking(content: Json, question: Json) -> Iterator[Block]:
    """What a question retrieved: each entity with its hop, the seed that its path starts from, its cost."""
    ranked = question["ranked"][: content["summary"]["k"]]
    if not any("walk" in row for row in ranked):
        return
    names = {key: entity["name"] for key, entity in content.get("entities", {}).items()}
    yield Paragraph(f"Ranking of {one_line(question['id'], 40)}", strong=True)
    yield tables.ranking(ranked, question["linked"], names, RANKING)


def _sweep(content: Json) -> Iterator[Block]:
    yield Heading("By hops", 2)
    overall = (content.get("recommended") or {}).get("overall")
    if overall and overall.get("reason"):
        yield Paragraph(_recommended(content, overall), strong=True)
    yield tables.sweep(content["settings"], swept_measures(content))
    by_tag = (content.get("recommended") or {}).get("by_tag") or {}
    tags = [
        (
            one_line(tag),
            _setting_of(content, part) or "none",
            f"{part['questions']:,}",
            one_line(part["reason"], 300),
        )
        for tag, part in by_tag.items()
    ]
    if tags:
        yield Heading("Recommended by tag", 3)
        yield View(("tag", "setting", "questions", "why"), tuple(tags), (0, 1, 3))


def _recommended(content: Json, part: Json) -> str:
    """`Recommended: --hops 3 (ndcg@5 0.52 …), for …`; without a recommendation, why there is none."""
    setting, reason = _setting_of(content, part), one_line(str(part["reason"]), 600)
    if setting is None:
        best = part.get("best")
        leading = (
            f" The best mean is that of {_flags(content, content['settings'][best])}."
            if best is not None
            else ""
        )
        return f"No setting is recommended: {reason}.{leading}"
    held = part.get("held_out") or {}
    mean = held.get("mean")
    spread = "" if held.get("low") is None else f" ({three(held['low'])} – {three(held['high'])})"
    figures = (
        "" if mean is None else f" {content.get('decide_by')} on questions held out: {three(mean)}{spread}."
    )
    return f"Recommended: {setting}. Why: {reason}.{figures}"


def _setting_of(content: Json, part: Json) -> str | None:
    at = part.get("setting")
    return None if at is None else _flags(content, content["settings"][at])


def _flags(content: Json, setting: Json) -> str:
    """`--hops 3`, with the system before it where the sweep varies more."""
    hops = "" if setting["hops"] is None else f"--hops {setting['hops']}"
    several = len({other["system"] for other in content["settings"]}) > 1
    return one_line(f"{setting['system']} {hops}".strip() if several else hops or str(setting["system"]))


def _fixes(content: Json) -> Iterator[Block]:
    """Four blocks, then the settings that were tried, and the questions that move, before and after."""
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
    tried = [
        (
            setting_words(one["values"]),
            signed(one["gain"]),
            f"{one['won']} / {one['lost']}",
            figure(one["seconds"], 2),
        )
        for one in content["patch"].get("settings_tried", ())
    ]
    if tried:
        yield Heading(t("Settings tried on all questions (in sample)"), 2)
        head_cells = (t("settings"), t("gain"), t("better / worse"), t("CPU time ×"))
        yield View(head_cells, tuple(tried))
    for kind, changes in content["changes"].items():
        if changes:
            yield Heading(t("Questions before and after: {kind}", kind=t(KIND_WORDS[kind])), 2)
            moved = [
                (
                    one_line(change["id"], 40),
                    one_line(change["query"], 80),
                    three(change["before"]),
                    three(change["after"]),
                    one_line(" · ".join(change["ranked_before"])),
                    one_line(" · ".join(change["ranked_after"])),
                )
                for change in changes[:MOST_MOVED]
            ]
            names = ("id", "question", "before", "after", "ranked before", "ranked after")
            yield View(tuple(map(t, names)), tuple(moved), (0, 1, 4, 5))


def _comparison(content: Json) -> Iterator[Block]:
    systems = content["systems"]
    yield Heading("Compared", 2)
    for item in content.get("verdicts", ()):
        yield Paragraph(one_line(item, 400), strong=True)
    differs = [
        (one_line(setting), *(one_line(str(value)) for value in values))
        for setting, values in content.get("differs", {}).items()
    ]
    if differs:
        yield View(("differs", *(one_line(system["name"]) for system in systems)), tuple(differs))
    took = tables.speeds({system["name"]: system.get("speed") or {} for system in systems})
    if took is not None:
        yield took
    for measure, rows in content["measures"].items():
        yield Paragraph(measure, strong=True)
        yield View(tables.compared_head(), tuple(map(tables.compared, rows)))
