"""Keeping gold sets: merging several, and splitting one into parts.

Questions are known by their id. All functions give new sets and leave their arguments as they are.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

from msgspec import Struct

from tiny_graph_rag.errors import DatasetError, UsageError, amount
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.messages import said

Prefer = Literal["", "first", "last"]


def differing_fields(one: Example, other: Example) -> list[str]:
    """The fields, other than the id, in which two questions differ. Only in `context` does order count."""
    values, others = _values(one), _values(other)
    return [name for name in dict.fromkeys([*values, *others]) if values.get(name) != others.get(name)]


def _values(example: Example) -> dict[str, Any]:
    """Field → value as compared: lists without order but for `context`; without id and line."""
    values: dict[str, Any] = dict(example.unknown)
    for field in fields(Example):
        value = getattr(example, field.name)
        if field.name in ("id", "line", "record", "order", "judged", "unknown"):
            continue
        if isinstance(value, tuple) and field.name != "context":
            value = sorted(map(repr, value))
        values[field.name] = value
    return {name: value for name, value in values.items() if value not in (None, (), [], "")}


class Merged(Struct, frozen=True):
    """doubled: (id, id) of questions with the same words but other ids, both kept. agreed: ids that several
    sets have in common; settled: ids that differed and were settled as asked."""

    examples: tuple[Example, ...]
    doubled: tuple[tuple[str, str], ...]
    agreed: int
    settled: int


def merge(sets: Sequence[EvalSet], prefer: Prefer = "") -> Merged:
    """All questions, each id once, in order of first appearance.

    prefer: what becomes of an id that stands for different questions or judgments: the "first" or the "last"
    counts. Raises DatasetError with every such id where nothing is reported.
    """
    kept: dict[str, Example] = {}
    source: dict[str, str] = {}
    problems, agreed, settled = [], 0, 0
    for every in sets:
        for example in every:
            if example.id not in kept:
                kept[example.id], source[example.id] = example, every.name
                continue
            earlier = kept[example.id]
            differing = differing_fields(earlier, example)
            if not differing:
                agreed += 1
                continue
            settled += 1
            if prefer == "last":
                kept[example.id] = example
            elif not prefer:
                problems.append(
                    said(
                        "{id}: {name} differs from {source} in {fields}; choose with --prefer first or last",
                        id=example.id,
                        name=every.name,
                        source=source[example.id],
                        fields=", ".join(differing),
                    )
                )
    if problems:
        raise DatasetError(*problems)
    first: dict[tuple[str, tuple[str, ...]], str] = {}
    doubled = []
    for example in kept.values():
        earlier_id = first.setdefault((fold(example.query), example.context), example.id)
        if earlier_id != example.id:
            doubled.append((earlier_id, example.id))
    return Merged(tuple(kept.values()), tuple(doubled), agreed, settled)


def group_of(example: Example) -> str:
    """What belongs together: the field `group`, a question without one by itself."""
    return f"id {example.id}" if example.group is None else f"group {example.group}"


def split(examples: Sequence[Example], shares: Sequence[float], seed: int) -> list[list[Example]]:
    """Parts of these shares; groups stay whole and every tag is parted in nearly the same shares.

    Iterative stratification (Sechidis, Tsoumakas, Vlahavas 2011): the group with the tag that fewest groups
    left have goes to the part that lacks most of that tag, then of questions, then by lot. Parts keep the
    file's order.

    Raises UsageError where a part would be empty.
    """
    chance = random.Random(seed)
    groups: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        groups[group_of(example)].append(example)
    total = sum(shares)
    counts = {name: Counter(tag for row in rows for tag in row.tags) for name, rows in groups.items()}
    tags = sum(counts.values(), Counter[str]())
    wanted = [{tag: count * share / total for tag, count in tags.items()} for share in shares]
    room = [len(examples) * share / total for share in shares]
    order = list(groups)
    chance.shuffle(order)
    part_of: dict[str, int] = {}
    left = dict.fromkeys(order)
    while left:
        spread = Counter(tag for name in left for tag in counts[name])
        rarest = min(spread, key=lambda tag: (spread[tag], tag)) if spread else None
        chosen = [name for name in left if rarest is None or counts[name][rarest]]
        for name in sorted(chosen, key=lambda pair: -len(groups[pair])):
            lots = [chance.random() for _ in shares]
            part = max(
                range(len(shares)),
                key=lambda at: (wanted[at].get(rarest, 0.0) if rarest else 0.0, room[at], lots[at]),
            )
            part_of[name] = part
            room[part] -= len(groups[name])
            for tag, count in counts[name].items():
                wanted[part][tag] -= count
            del left[name]
    parts: list[list[Example]] = [[] for _ in shares]
    for example in examples:
        parts[part_of[group_of(example)]].append(example)
    if not all(parts):
        raise UsageError(
            "{amount} of questions can't be split in these shares: one of the {shares} parts would be empty",
            amount=amount(len(groups), "group"),
            shares=len(shares),
        )
    return parts


def parse_shares(text: str) -> tuple[float, ...]:
    """`50/25/25` → its numbers. Raises UsageError."""
    try:
        shares = tuple(float(part) for part in text.split("/"))
    except ValueError:
        shares = ()
    if len(shares) < 2 or min(shares) <= 0 or round(sum(shares), 6) not in (1, 100):
        raise UsageError(
            "--share: wanted shares of the parts that add up to 100, such as 50/25/25, got {text}",
            text=repr(text),
        )
    return shares
