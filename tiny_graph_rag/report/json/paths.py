"""Paths as results files have them: the seed they start from, and their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiny_graph_rag.linking.base import TEXT
from tiny_graph_rag.messages import t


def seed_of(ranked: Mapping[str, Any], linked: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
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
