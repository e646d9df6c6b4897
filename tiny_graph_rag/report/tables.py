"""What reports are made of before anybody renders them, paragraphs and tables, and what several of them show:
rankings, scores of answers, what became of a question's references.

Cells and paragraphs are words as a reader sees them, rounded but not escaped; a mean with its interval stays
one until it is rendered, because each form writes it in its own way. They are made of what results files
hold, in the language spoken: who writes a file makes them in English (`messages.speaking`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tiny_graph_rag.linking.base import TEXT
from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import counted, listed, t, three
from tiny_graph_rag.report.plain import (
    cost_figure,
    one_line,
    verdict_words,
    worst_by,
)

Cell = str | Mean


class Heading(Struct, frozen=True):
    """level: 1 for the title of a report."""

    text: str
    level: int


class Paragraph(Struct, frozen=True):
    text: str
    strong: bool = False


class View(Struct, frozen=True):
    """A table. rows: a cell a column of `head`. words: the columns that hold words and stand to the left;
    figures stand to the right.

    title: above the table, in a terminal.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    words: tuple[int, ...] = (0,)
    title: str = ""


Block = Heading | Paragraph | View


def mean_of(found: Mapping[str, Any] | None) -> Mean:
    """A mean as files hold it, null as NaN; of no questions where there is none."""
    found = found or {"mean": None, "n": 0}
    mean, low, high = (
        math.nan if found.get(name) is None else found[name] for name in ("mean", "low", "high")
    )
    return Mean(mean, low, high, found["n"], reliable=found.get("reliable", True))


def spoken_json(found: Mapping[str, Any]) -> str:
    """A sentence of a results file in the language spoken. found: with `said`, the sentence with names in
    braces, and their `values`."""
    values = {name: t(value) if isinstance(value, str) else value for name, value in found["values"].items()}
    return t(found["said"], **values)


def unsure(mean: Mean) -> str:
    """` ?` where too few questions stand behind a mean."""
    return "" if mean.reliable or not mean.n else " ?"


def in_full(cell: Cell) -> str:
    """A cell as files have it: of a mean `0.750 (0.680 – 0.810)`."""
    if isinstance(cell, str):
        return cell
    if math.isnan(cell.low):
        return three(cell.mean)
    return f"{three(cell.mean)} ({three(cell.low)} – {three(cell.high)}){unsure(cell)}"


Json = Mapping[str, Any]

# Columns of a ranking that hold a cost → the part of it, as results files call it.
COSTS = {
    "cost": "total",
    "link": "link",
    "path cost": "path",
    "text": "text",
    "neighbour": "neighbour",
    "PageRank": "pagerank",
}
LONGEST_PATH = 600  # characters
BEST = 1.0
TRIED_SHOWN = 5  # words that were looked for; the results file has them all
REFERENCES_SHOWN = 3  # missed ones of a question
WORST_NAMED = 5  # questions, to an assistant


def mean_cells(measures: Json, wanted: Iterable[str]) -> tuple[Mean, ...]:
    """Of each measure wanted its mean."""
    return tuple(mean_of(measures.get(measure)) for measure in wanted)


def answer_scores(scores: Json) -> View:
    """Every score with its interval, the answers behind it, and the verdicts that failed."""
    rows = []
    for name, found in scores.items():
        mean, failed = mean_of(found), found.get("failed")
        rows.append((name.replace("_", " "), mean, f"{mean.n:,}", f"{failed:,}" if failed else ""))
    head = (t("score"), t("mean (95 % interval)"), "n", t("failed verdicts (worst value)"))
    return View(head, tuple(rows))


def ranking(
    ranked: Sequence[Json],
    linked: Sequence[Json],
    names: Mapping[str, str],
    columns: Sequence[str],
    hits: Collection[int] = (),
) -> View:
    """What a question retrieved, a row an entity. Costs are left out where no entity has one.

    ranked, linked: of a question, as results files hold it. names: of entities, by id. columns: of `rank`,
    `entity`, `score`, `hop`, `seed` (where the path starts), `path` and COSTS. hits: rows that are marked.
    """
    has_costs = any("cost" in entity for entity in ranked)
    heads = [column for column in columns if has_costs or column not in COSTS]
    rows = []
    for row, entity in enumerate(ranked):
        seed, cost = seed_of(entity, linked), entity.get("cost")
        cells = {
            "rank": str(row + 1),
            "entity": f"{'✓ ' if row in hits else ''}{one_line(entity['name'])}",
            "score": three(entity["score"]),
            "hop": "–" if entity["hop"] is None or entity["hop"] < 0 else str(entity["hop"]),
            "seed": "–" if seed is None else one_line(f"{seed['name']} ({rule_words(seed['rule'])})"),
            "path": one_line(walk_in_words(entity.get("walk", []), names), LONGEST_PATH) or "–",
            **{head: cost_figure(cost[part]) if cost else "–" for head, part in COSTS.items()},
        }
        rows.append(tuple(cells[head] for head in heads))
    at = {head: column for column, head in enumerate(heads)}
    return View(
        tuple(map(t, heads)),
        tuple(rows),
        words=tuple(at[head] for head in ("entity", "seed", "path") if head in at),
    )


def worst_rows(values: Sequence[float | None]) -> list[int]:
    """Rows of the questions below 1, worst first, of equal values the earlier one.

    values: of the measure that tells it, None or NaN where undefined.
    """
    known = [(value, row) for row, value in enumerate(values) if value is not None and value < BEST]
    return [row for _, row in sorted(known)]


def worst_questions(content: Json) -> tuple[str, list[int]]:
    """(the measure that tells it, rows of `results`) of a results document; ("", []) where none tells it."""
    measure = worst_by(list(content["summary"]["measures"]))
    return measure, worst_rows([row["metrics"].get(measure) for row in content["results"]])


def shortened(content: Json) -> Json:
    """Of a results document its means, where recall is lost, what is recommended and the worst questions."""
    summary, (measure, worst) = content["summary"], worst_questions(content)
    return {
        "summary": {name: summary.get(name) for name in ("measures", "waterfall", "recommendations")},
        "worst": [
            {
                "id": row["id"],
                measure: row["metrics"][measure],
                "references": {ref["name"]: ref.get("verdict") for ref in row["references"]},
            }
            for row in (content["results"][place] for place in worst[:WORST_NAMED])
        ],
    }


def reference_lines(question: Json, hops: int | None = None) -> Iterator[str]:
    """A line a reference that was missed: what stood in its way, with its figure; where none was, what else.

    question: as results files have it. hops: that were walked.
    """
    missed_names = set(question.get("fn") or ())  # all that is known where nobody diagnosed the references
    references = question["references"]
    missed = [
        reference
        for reference in references
        if reference.get("verdict", "hit" if reference["name"] not in missed_names else "missed") != "hit"
    ]
    for reference in missed[:REFERENCES_SHOWN]:
        yield f"{one_line(reference['name'], 40)}: {end_words(reference, hops)}"
    if len(missed) > REFERENCES_SHOWN:
        yield t("… and {n} more", n=len(missed) - REFERENCES_SHOWN)
    scored = [name for name, value in question["metrics"].items() if value is not None]
    if not references and any(name.startswith("passages:") for name in scored):
        yield t("its reference passages are missing or ranked low")
    elif not references:
        yield t("should return nothing, but returned entities")
    elif not missed:
        ranks = sorted(reference["rank"] for reference in references if reference.get("rank"))
        yield t("every reference was found: rank {ranks}", ranks=", ".join(map(str, ranks)))


def end_words(reference: Json, hops: int | None = None) -> str:
    """What became of a missed reference, with the figure that tells how far off it is."""
    verdict, rank, hop = reference.get("verdict", "missed"), reference.get("rank"), reference.get("hop")
    is_far = verdict == "beyond_hops" or bool(rank and hop and hops is not None and hop > hops)
    if rank and verdict == "ranked_below_k" and not is_far:
        return t("at rank {n}", n=rank)
    words = counted(hop, "needs {n} hop", "needs {n} hops") if is_far and hop else verdict_words(verdict)
    if rank:
        return t("at rank {n}, found by text; {why}", n=rank, why=words)
    if verdict == "no_seed" and reference.get("tried"):
        return no_seed_words(reference["tried"])
    if verdict == "not_in_graph":
        from tiny_graph_rag.graph.nearest import joined_names

        near = reference.get("nearest") or ()
        if joined := joined_names(reference["name"], near):
            return t("several names in one; put ';' between them: {names}", names="; ".join(joined))
        if near:
            return t("not in the graph; nearest names: {names}", names=", ".join(near[:3]))
    return words if is_far and hop else verdict_words(verdict, hops=hops)


def seed_of(ranked: Json, linked: Sequence[Json]) -> Json | None:
    """The seed at which an entity's path starts, itself where it is one; None where no path is known.

    linked: the question's seeds; both as results files have them. An entity may be a seed by name and by
    text: the cost of its link says which of them the path starts from.
    """
    if ranked.get("hop") is None or ranked["hop"] < 0:
        return None
    walk = ranked.get("walk") or ()
    start = walk[0]["from"] if walk else ranked["id"]
    by_text = ranked.get("cost", {}).get("link", 0) > 0
    seeds = [seed for seed in linked if seed["id"] == start]
    return min(seeds, key=lambda seed: (seed["rule"] == TEXT) != by_text, default=None)


def no_seed_words(tried: Sequence[str]) -> str:
    """Of a question in which nothing was recognised. tried: the words or names that were looked for."""
    if not tried:
        return t("no entity of the question was recognised")
    words = listed(tried, TRIED_SHOWN)
    return t("no entity of the question was recognised; looked for: {words}", words=words)


def walk_in_words(walk: Sequence[dict[str, Any]], names: Mapping[str, str]) -> str:
    """`A —OWNS→ B ←FEEDS— C`; "" for a seed itself. walk: as results files have it; names: by id."""
    if not walk:
        return ""
    parts = [names[walk[0]["from"]]]
    for step in walk:
        parts.append(f"—{step['relation']}→" if step["forward"] else f"←{step['relation']}—")
        parts.append(names[step["to"]])
    return " ".join(parts)


def rule_words(rule: str) -> str:
    """How a seed was linked: by its texts, or by a name and which rule found it."""
    return t("by text") if rule == TEXT else t("by name: {rule}", rule=t(rule))
