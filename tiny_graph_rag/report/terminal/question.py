"""One question in the terminal: `query` shows its seeds, its ranking, and what each cost is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tiny_graph_rag.messages import figure, t, three
from tiny_graph_rag.report import tables
from tiny_graph_rag.report.tables import View, end_words, no_seed_words, rule_words
from tiny_graph_rag.report.terminal import Shown, StrongLine
from tiny_graph_rag.run import NO_HOP


def question_lines(found: dict[str, Any], names: Mapping[str, str], shown: int) -> Iterator[Shown]:
    """One question as results files hold it: its seeds, then its ranking, hits against references marked.

    names: of entities, by id. shown: ranks.
    """
    yield StrongLine(found["query"])
    if not found["linked"]:
        yield no_seed_words(found.get("tried") or ())
    for seed in found["linked"]:
        place = (
            ""
            if seed["start"] is None
            else " " + t("characters {start}–{end}", start=seed["start"] + 1, end=seed["end"])
        )
        how = t("({rule}, weight {weight})", rule=rule_words(seed["rule"]), weight=figure(seed["weight"], 2))
        yield f"  {seed['mention']!r}{place} → {seed['name']} {how}"
    wanted = {entity for reference in found["references"] for entity in reference["entity_ids"]}
    ranked = found["ranked"][:shown]
    hits = {row for row, item in enumerate(ranked) if item["id"] in wanted}
    if ranked:
        columns = ("rank", "entity", "score", "cost", "hop", "seed", "path")
        yield tables.ranking(ranked, found["linked"], names, columns, hits)
    if any(entity["hop"] == NO_HOP for entity in ranked):
        yield t("hop –: no path is known; it was found without following relations")
    for reference in found["references"]:
        is_hit = reference["verdict"] == "hit"
        became = t("rank {n}", n=reference["rank"]) if is_hit else end_words(reference)
        yield f"  {t('reference')} {reference['name']}: {became}"


COST_LEGEND = (
    "cost = link + path + text + neighbour + PageRank; score = 1 / (1 + cost). link: the path starts at "
    "a seed found by text; path: its relations and the question's words that they don't explain; text, "
    "neighbour, PageRank: how far the entity's text score, the best text score of a neighbour and its "
    "personalised PageRank are below the best"
)


def costs_lines(found: dict[str, Any], names: Mapping[str, str], shown: int) -> Iterator[Shown]:
    """The five parts of each cost, adding up to it; then what its retriever says of them: each reason, the
    words that it explains or leaves, its cost."""
    ranked = found["ranked"][:shown]
    has_costs = any("cost" in row for row in ranked)
    if has_costs:
        yield tables.ranking(ranked, found["linked"], names, ("rank", "entity", *tables.COSTS))
        yield t(COST_LEGEND)
    rows: list[tuple[str, ...]] = []
    for rank, entity in enumerate(ranked, start=1):
        parts = entity.get("reasons") or ()
        for place, part in enumerate(parts):
            name = f"{rank} {entity['name']} ({three(entity['score'])})" if place == 0 else ""
            rows.append((name, t(part["what"]), ", ".join(part["words"]), three(part["price"])))
        if parts:
            rows.append(("", t("total"), "", three(sum(part["price"] for part in parts))))
    if rows:
        yield View((t("entity"), t("part"), t("words"), t("cost")), tuple(rows), (0, 1, 2))
    elif ranked and not has_costs:
        yield t("this retriever doesn't explain its ranking")
