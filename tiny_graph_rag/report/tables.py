"""Tables of a result, a comparison and a sweep that the terminal and the reports both show.

They are made of what results files hold, in the language spoken: who writes a file makes them in English
(`messages.speaking`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tiny_graph_rag.measures.statistics import Mean
from tiny_graph_rag.messages import t
from tiny_graph_rag.report.blocks import Cell, View, mean_of
from tiny_graph_rag.report.json.paths import rule_words, seed_of, walk_in_words
from tiny_graph_rag.report.plain import (
    cost_figure,
    gold_beside,
    one_line,
    points_lost,
    size_figure,
    step_words,
    tags_of,
)
from tiny_graph_rag.shown import figure, p_value, signed, three

Json = Mapping[str, Any]

SPEED_WORDS = {
    "latency.mean": "seconds per question",
    "latency.p50": "p50",
    "latency.p95": "p95",
    "throughput": "questions per second",
}

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


def mean_cells(measures: Json, wanted: Iterable[str]) -> tuple[Mean, ...]:
    """Of each measure wanted its mean."""
    return tuple(mean_of(measures.get(measure)) for measure in wanted)


def means(summary: Json) -> View:
    """Of all questions and of each tag, most questions first, the mean of each measure."""
    measures = list(summary["measures"])
    tags = [(f"  {one_line(tag, 40)}", part) for tag, part in tags_of(summary)]
    rows: list[tuple[Cell, ...]] = []
    for label, part in ((t("all"), summary), *tags):
        counts = [part["measures"][measure]["n"] for measure in measures]
        n = f"{min(counts):,}" if len(set(counts)) == 1 else f"{min(counts):,}–{max(counts):,}"
        rows.append((label, *mean_cells(part["measures"], measures), n))
    return View((t("questions"), *measures, "n"), tuple(rows), styles={0: "bold"})


def waterfall(
    steps: Sequence[Json],
    cutoff: int,
    hops: int | None = None,
    others: Sequence[tuple[str, Sequence[Json]]] = (),
) -> View:
    """What remains after each step and what it takes. others: the same from other seeds, by the head of their
    column."""
    recalls = [{step["step"]: step["recall"] for step in column} for _, column in others]
    rows = [
        (
            step_words(step["step"], cutoff, hops),
            three(step["recall"]),
            points_lost(step["loss"]),
            f"{step['references']:,}" if "references" in step else "–",
            *(three(column.get(step["step"])) for column in recalls),
        )
        for step in steps
    ]
    as_run = t("as run") if others else t("recall")
    heads = (t("step"), as_run, t("points lost"), t("references lost"), *(head for head, _ in others))
    return View(heads, tuple(rows), whole=(0,))


def other_seeds(summary: Json) -> list[tuple[str, Sequence[Json]]]:
    """The waterfall of entities from other seeds than the run's, as far as it was measured."""
    named = (summary.get("linking") or {}).get("questions", 0)
    columns: tuple[tuple[str, Sequence[Json]], ...] = (
        (t("by names alone"), summary.get("waterfall_names") or ()),
        (t("from gold seeds (n {n})", n=f"{named:,}"), gold_steps(summary)),
    )
    return [(head, steps) for head, steps in columns if steps]


def gold_steps(summary: Json) -> list[Json]:
    """The waterfall from the gold set's own seeds, where it may stand next to all questions."""
    named = (summary.get("linking") or {}).get("questions", 0)
    steps: list[Json] = summary.get("waterfall_gold_seeds") or []
    return steps if gold_beside(named, summary["scored"]) else []


def no_answer(summary: Json) -> View | None:
    """What a least score would change for questions without an answer; None where it would change none."""
    found = summary.get("no_answer") or {"thresholds": ()}
    if len(found["thresholds"]) < 2:
        return None
    recall = f"recall@{summary['k']}"
    rows = tuple(
        (
            f"{row['min_score']:g}",
            f"{row['left_empty']:,} / {found['questions']:,}",
            three(row[recall]),
            f"{row['emptied_with_reference']:,}",
        )
        for row in found["thresholds"]
    )
    head = (
        "--min-score",
        t("no-answer questions that return nothing"),
        recall,
        t("questions with a reference that return nothing"),
    )
    return View(head, rows, (), spare={3: 1})


def answer_scores(scores: Json) -> View:
    """Every score with its interval, the answers behind it, and the verdicts that failed."""
    rows = []
    for name, found in scores.items():
        mean, failed = mean_of(found), found.get("failed")
        rows.append((name.replace("_", " "), mean, f"{mean.n:,}", f"{failed:,}" if failed else ""))
    head = (t("score"), t("mean (95 % interval)"), "n", t("failed verdicts (worst value)"))
    return View(head, tuple(rows))


def speeds(took: Mapping[str, Json]) -> View | None:
    """Seconds a question and questions a second, as far as files say them. took: name of a system → its
    figures; None where nobody measured."""
    names = [name for name in SPEED_WORDS if any(name in mine for mine in took.values())]
    rows = [(one_line(system), *(figure(mine.get(name)) for name in names)) for system, mine in took.items()]
    return View((t("system"), *(t(SPEED_WORDS[name]) for name in names)), tuple(rows)) if names else None


def compared_head() -> tuple[str, ...]:
    return (
        t("system"),
        t("mean (95 % interval)"),
        t("difference"),
        t("95 % interval"),
        t("p (Holm)"),
        t("won / tied / lost"),
        "n",
    )


def compared(row: Json) -> tuple[Cell, ...]:
    """A row of a comparison, under `compared_head`."""
    ends = {"low": row["mean_low"], "high": row["mean_high"], "reliable": row.get("mean_reliable", True)}
    mean = mean_of({**row, **ends})
    system, n = one_line(row["system"]), f"{row['n']:,}"
    if row.get("wins") is None:
        return (system, mean, t("baseline"), "", "", "", n)
    unsure = " ?" if row.get("reliable") is False else ""
    return (
        system,
        mean,
        signed(row["difference"]),
        f"{signed(row['low'])} … {signed(row['high'])}{unsure}",
        p_value(row.get("p_holm")),
        f"{row['wins']} / {row['ties']} / {row['losses']}",
        n,
    )


def sweep(settings: Sequence[Json], measures: Sequence[str]) -> View:
    """A row a setting, with what it reaches."""
    rows: list[tuple[Cell, ...]] = []
    for setting in settings:
        reached = setting.get("subgraph") or {}
        rows.append(
            (
                one_line(str(setting["system"])),
                "–" if setting["hops"] is None else str(setting["hops"]),
                str(setting["top_k"]),
                *mean_cells(setting["measures"], measures),
                three(setting.get("oracle_recall")),
                three(setting.get("oracle_all")),
                size_figure(reached.get("mean")),
                size_figure(reached.get("p95")),
            )
        )
    reach = (t("reachable within h hops"), t("all reachable"), t("reached"), "p95")
    return View((t("system"), t("hops"), "k", *measures, *reach), tuple(rows))


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
        spare={at[head]: early for head, early in (("cost", 2), ("seed", 1)) if "path" in at and head in at},
        styles=dict.fromkeys(hits, "green"),
    )
