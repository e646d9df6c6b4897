"""One results file: means overall and by slice, where recall is lost, what the numbers recommend."""

from __future__ import annotations

from tiny_graph_rag.report.document import Document
from tiny_graph_rag.report.markdown.tables import Json, cells, mean_cells, table_of, titled
from tiny_graph_rag.report.plain import markdown_text, three, verdict_words

WORST_SHOWN = 10
SLICE_TITLES = {"query_type": "By question type", "difficulty": "By difficulty", "category": "By category"}


def result(document: Document, level: int) -> list[str]:
    content, summary = document.content, document.content["summary"]
    title = content["dataset"]["name"] if level == 1 else document.name
    lines = [titled(title, level), _facts(content), ""]
    measures = list(summary["measures"])
    rows = [[each, *mean_cells(mean)] for each, mean in summary["measures"].items()]
    lines += table_of(["measure", "mean", "95 % interval", "n"], rows)
    lines += _counts(summary)
    for heading, tags in _groups(summary.get("by_tag", {})).items():
        lines += [titled(heading, level + 1)]
        slices = [[label, str(part["questions"]), *cells(part, measures)] for label, part in tags]
        lines += table_of([heading.removeprefix("By "), "questions", *measures], slices)
    lines += _waterfall(summary, level + 1)
    lines += _verdicts(summary, level + 1)
    lines += _recommendations(summary, level + 1)
    return lines + _worst(content, level + 1)


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


def _counts(summary: Json) -> list[str]:
    notes = [
        (summary["without_gold"], "without a reference (in no mean)"),
        (summary["nothing_retrieved"], "retrieved nothing"),
        (summary["failed"], "failed (score 0)"),
    ]
    told = [f"{number:,} {what}" for number, what in notes if number]
    spent = summary["total_token_usage"].get("total_tokens", 0)
    if spent:
        cost = summary["estimated_cost_usd"]
        told.append(f"{spent:,} tokens, {'cost unknown' if cost is None else f'{cost:.4f} USD'}")
    return [f"Of {summary['questions']:,} questions: {', '.join(told)}.", ""] if told else []


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
    gold = {each["step"]: each["recall"] for each in summary.get("waterfall_gold_seeds") or []}
    rows = [
        [
            each["step"],
            three(each["recall"]),
            f"−{100 * each['loss']:.1f}" if each["loss"] else "0",
            *([three(gold.get(each["step"]))] if gold else []),
        ]
        for each in steps
    ]
    head = ["step", "recall", "points lost", *(["from gold seeds"] if gold else [])]
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
