"""Markdown: each results file, several of them method by method, sweeps and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.plain import markdown_text
from tiny_graph_rag.report.reports import Files, report
from tiny_graph_rag.report.views import LONGEST, Block, Heading, Numbered, Paragraph, View, blocks


@report("md", "one Markdown file, method by method where several")
def markdown_file(documents: Sequence[Document]) -> Files:
    name = documents[0].name if len(documents) == 1 else f"{documents[0].name}-and-{len(documents) - 1}-more"
    yield f"{name}.md", markdown(documents).encode()


def markdown(documents: Sequence[Document]) -> str:
    lines = [line for block in blocks(documents) for line in (*_lines(block), "")]
    return "\n".join(lines).rstrip() + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"{'#' * level} {_text(text)}"
        case Paragraph(text, strong):
            yield f"**{_text(text)}**" if strong else _text(text)
        case Numbered(items):
            for place, each in enumerate(items, start=1):
                yield f"{place}. {_text(each)}"
        case View(head, rows, words):
            yield f"| {' | '.join(map(_text, head))} |"
            yield "|" + "|".join(" --- " if at in words else " ---: " for at in range(len(head))) + "|"
            for row in rows:
                yield f"| {' | '.join(map(_text, row))} |"


<<<<<<< HEAD
def _speed_of(summary: Json) -> dict[str, float]:
    return speeds(summary.get("latency") or {}, summary.get("questions_per_second"))


def _best(results: Sequence[Document], parts: Sequence[Json | None], measure: str) -> str:
    means = [None if part is None else (part["measures"].get(measure) or {}).get("mean") for part in parts]
    top = max((each for each in means if each is not None), default=None)
    if top is None:
        return "–"
    winners = [each.name for each, mean in zip(results, means, strict=True) if mean == top]
    named = "all equal" if len(winners) == len(results) else ", ".join(map(markdown_text, winners))
    return f"{named} {three(top)}"


Json = dict[str, Any]


def titled(text: str, level: int) -> str:
    return f"{'#' * level} {markdown_text(text)}\n"


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> list[str]:
    """words: the columns that hold words and stand to the left; figures stand to the right."""
    return [
        f"| {' | '.join(head)} |",
        "|" + "|".join(" --- " if place in words else " ---: " for place in range(len(head))) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def mean_cells(mean: Json) -> list[str]:
    low, high = mean.get("low"), mean.get("high")
    unsure = " ?" if mean.get("reliable") is False and mean["n"] else ""
    interval = "–" if low is None else f"{three(low)} – {three(high)}{unsure}"
    return [three(mean["mean"]), interval, f"{mean['n']:,}"]


def cells(part: Json, measures: Iterable[str]) -> Iterator[str]:
    for each in measures:
        mean = part["measures"].get(each) or {"mean": None, "n": 0}
        value, interval, _ = mean_cells(mean)
        unsure = " ?" if interval.endswith(" ?") else ""
        yield value if interval == "–" else f"{value} ({interval.removesuffix(' ?')}){unsure}"


WORST_SHOWN = 10
SLICE_TITLES = {"query_type": "By question type", "difficulty": "By difficulty", "category": "By category"}


def result(document: Document, level: int) -> list[str]:
    content, summary = document.content, document.content["summary"]
    title = content["dataset"]["name"] if level == 1 else document.name
    lines = [titled(title, level), _facts(content), "", *_made(content)]
    measures = list(summary["measures"])
    rows = [[each, *mean_cells(mean)] for each, mean in summary["measures"].items()]
    lines += table_of(["measure", "mean", "95 % interval", "n"], rows)
    lines += _counts(summary)
    lines += _answers(summary, level + 1)
    for heading, tags in _groups(summary.get("by_tag", {})).items():
        lines += [titled(heading, level + 1)]
        slices = [[label, str(part["questions"]), *cells(part, measures)] for label, part in tags]
        lines += table_of([heading.removeprefix("By "), "questions", *measures], slices)
    lines += _waterfall(summary, level + 1)
    lines += _verdicts(summary, level + 1)
    lines += _recommendations(summary, level + 1)
    return lines + _worst(content, level + 1)


def _made(content: Json) -> list[str]:
    """When and by which command a file was made, and the settings that are not the default."""
    made = content.get("made") or {}
    foreign = content["kind"] == "score"  # a foreign run was not made by these settings
    settings = {} if foreign else changed_settings(content.get("config") or {})
    changed = [f"{name} = {value}" for name, value in settings.items()]
    parts = [
        f"Made {markdown_text(str(made['at']))}" if made.get("at") else "",
        f"by {markdown_text(str(made['command']), 600)}" if made.get("command") else "",
    ]
    lines = [" ".join(part for part in parts if part)]
    if changed:
        lines.append(f"Settings that are not the default: {markdown_text('; '.join(changed), 900)}")
    return [line for each in lines if each for line in (each, "")]


def _facts(content: Json) -> str:
    asked = content["config"].get("retrieval", {}) if content["kind"] == "eval" else {}
    run = content.get("run") or {}
    graph = content.get("graph") or {}
    parts = [
        f"graph {markdown_text(graph['name'])}" if graph.get("name") else "",
        f"run {markdown_text(run['name'])}" if run.get("name") else "",
        f"{content['summary']['questions']:,} questions",
        f"{asked['retriever']}, {asked['hops']} hops" if {"retriever", "hops"} <= asked.keys() else "",
        f"k = {content['summary']['k']}",
    ]
    return " · ".join(part for part in parts if part)


def _answers(summary: Json, level: int) -> list[str]:
    scores = (summary.get("answers") or {}).get("scores") or {}
    rows = [
        [name.replace("_", " "), *mean_cells(mean), f"{mean['failed']:,}" if mean.get("failed") else ""]
        for name, mean in scores.items()
    ]
    if not rows:
        return []
    head = ["score", "mean", "95 % interval", "n", "failed verdicts (worst value)"]
    return [titled("Answers", level), *table_of(head, rows)]


def _without_gold(summary: Json) -> str:
    empty = summary.get("rightly_empty")
    if empty is None:
        return "without a reference"
    wrong = summary["without_gold"] - empty
    return f"without a reference ({empty:,} rightly left empty, {wrong:,} answered with entities)"


def _counts(summary: Json) -> list[str]:
    notes = [
        (summary["without_gold"], _without_gold(summary)),
        (
            summary["nothing_retrieved"] - summary.get("rightly_empty", 0),
            "with a reference retrieved nothing",
        ),
        (summary["failed"], "failed (score 0)"),
    ]
    told = [f"{number:,} {what}" for number, what in notes if number]
    spent = summary["total_token_usage"]
    if spent:
        cost = summary["estimated_cost_usd"]
        told.append(f"{spent:,} tokens, {'cost unknown' if cost is None else f'{cost:.4f} USD'}")
    lines = [f"Of {summary['questions']:,} questions: {', '.join(told)}.", ""] if told else []
    for limit, each in (summary.get("walks_cut") or {}).get("limits", {}).items():
        hops = ", ".join(each["hops"])
        lines += [
            f"Walks ended early in {each['questions']:,} questions, after {hops} hops: the next would go "
            f"beyond running.{limit} ({each['most']:,}).",
            "",
        ]
    return lines


def _groups(by_tag: Json) -> dict[str, list[tuple[str, Json]]]:
    """Tags by what they say: `difficulty:hard` is a row of "By difficulty", a plain tag one of "By tag"."""
    groups: dict[str, list[tuple[str, Json]]] = {}
    for tag, part in sorted(by_tag.items(), key=lambda each: (-each[1]["questions"], each[0])):
        kind, mark, value = tag.partition(":")
        known = bool(mark) and kind in SLICE_TITLES
        groups.setdefault(SLICE_TITLES[kind] if known else "By tag", []).append(
            (markdown_text(value if known else tag), part)
        )
    return dict(sorted(groups.items(), key=lambda each: [*SLICE_TITLES.values(), "By tag"].index(each[0])))


def _waterfall(summary: Json, level: int) -> list[str]:
    steps = summary.get("waterfall") or []
    if not steps:
        return []
    named = (summary.get("linking") or {}).get("questions", 0)
    spoken = summary.get("waterfall_gold_seeds") or [] if 2 * named >= summary["scored"] else []
    gold = {each["step"]: each["recall"] for each in spoken}
    rows = [
        [
            each["step"],
            three(each["recall"]),
            f"−{100 * each['loss']:.1f}" if each["loss"] else "0",
            *([three(gold.get(each["step"]))] if gold else []),
        ]
        for each in steps
    ]
    head = ["step", "recall", "points lost", *([f"from gold seeds (n {named:,})"] if gold else [])]
    return [titled("Where recall is lost", level), *table_of(head, rows)]


def _verdicts(summary: Json, level: int) -> list[str]:
    found = {each: number for each, number in (summary.get("verdicts") or {}).items() if number}
    total = sum(found.values())
    if not total:
        return []
    rows = [
        [each.replace("_", " "), f"{number:,}", f"{100 * number / total:.0f} %"]
        for each, number in found.items()
    ]
    return [
        titled("What became of the references", level),
        *table_of(["verdict", "references", "share"], rows),
    ]


def _recommendations(summary: Json, level: int) -> list[str]:
    found = summary.get("recommendations") or []
    if not found:
        return []
    lines = [f"{place}. {markdown_text(each['text'], 600)}" for place, each in enumerate(found, start=1)]
    return [titled("What the numbers recommend", level), *lines, ""]


def _worst(content: Json, level: int) -> list[str]:
    measure, rows = worst_questions(content, WORST_SHOWN)
    if not rows:
        return []
    table = [
        [
            markdown_text(each["id"], 40),
            markdown_text(each["query"] or "–", 80),
            three(each["metrics"][measure]),
            markdown_text(verdict_words(each)),
        ]
        for each in rows
    ]
    return [
        titled("Worst questions", level),
        *table_of(["id", "question", measure, "references"], table, (0, 1, 3)),
    ]


def worst_questions(content: Json, most: int) -> tuple[str, list[Json]]:
    """(measure, questions): lowest nDCG (else first measure) first, none at 1, file order among equals."""
    measures = list(content["summary"]["measures"])
    measure = next((each for each in measures if each.startswith("ndcg")), measures[0] if measures else "")
    scored = [each for each in content["results"] if each["metrics"].get(measure) is not None]
    short = [each for each in scored if each["metrics"][measure] < 1]
    return measure, sorted(short, key=lambda each: each["metrics"][measure])[:most]


def sweep(document: Document) -> list[str]:
    settings = document.content["settings"]
    measures = list(dict.fromkeys(each for setting in settings for each in setting["measures"]))
    rows = [
        [
            each["system"],
            str(each["hops"]),
            str(each["top_k"]),
            *cells(each, measures),
            three(each.get("oracle_recall")),
        ]
        for each in settings
    ]
    lines = [titled("By hops", 2), *table_of(["system", "hops", "k", *measures, "oracle recall"], rows)]
    overall = (document.content.get("recommended") or {}).get("overall")
    if overall and overall.get("reason"):
        lines += [f"Recommended: {markdown_text(str(overall['reason']), 600)}", ""]
    return lines


def _speeds(systems: Sequence[Json]) -> list[str]:
    """Seconds a question and questions a second, of the systems that say."""
    names = [name for name in SPEEDS if any(name in (each.get("speed") or ()) for each in systems)]
    if not names:
        return []
    rows = [[markdown_text(each["name"]), *_speed_cells(each.get("speed") or {}, names)] for each in systems]
    return table_of(["system", *names], rows)


def _speed_cells(speed: Mapping[str, float], names: Iterable[str]) -> list[str]:
    return [f"{speed[name]:.3g}" if name in speed else "–" for name in names]


def _mark(row: Json) -> str:
    return " ?" if row.get("reliable") is False else ""


def comparison(document: Document) -> list[str]:
    lines = [titled("Compared", 2)]
    lines += [f"**{markdown_text(each, 400)}**\n" for each in document.content.get("verdicts", ())]
    names = [markdown_text(each["name"]) for each in document.content["systems"]]
    differs = [
        [markdown_text(setting), *(markdown_text(str(value)) for value in values)]
        for setting, values in document.content.get("differs", {}).items()
    ]
    if differs:
        lines += table_of(["differs", *names], differs)
    lines += _speeds(document.content["systems"])
    for measure, rows in document.content["measures"].items():
        table = []
        for row in rows:
            first = row.get("wins") is None
            table.append(
                [
                    markdown_text(row["system"]),
                    f"{three(row['mean'])} ({three(row['mean_low'])} – {three(row['mean_high'])})",
                    "baseline" if first else three(row["difference"]),
                    "" if first else f"{three(row['low'])} – {three(row['high'])}{_mark(row)}",
                    "" if first else three(row.get("p_holm")),
                    "" if first else f"{row['wins']} / {row['ties']} / {row['losses']}",
                    f"{row['n']:,}",
                ]
            )
        lines += [
            f"**{measure}**",
            "",
            *table_of(
                [
                    "system",
                    "mean (95 % interval)",
                    "difference",
                    "95 % interval",
                    "p (Holm)",
                    "won / tied / lost",
                    "n",
                ],
                table,
            ),
        ]
    return lines
=======
def _text(text: str) -> str:
    return markdown_text(text, LONGEST)
>>>>>>> main
