"""Retrieval settings, each tried on all questions: what they gain, whom they cost, and their time.

A setting that lifts the questions which lose may cost the others more, so nothing is tried on a sample. Which
one is best is chosen on a part of the questions and measured on the rest (`proof`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config, find_setting
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.fixing.asking import GoldQuestions, Tried, can_be_tried, try_setting
from tiny_graph_rag.fixing.patch import CONFIRMED, Patch, PatchError
from tiny_graph_rag.fixing.proof import CHOSEN_FROM, Proof, proof
from tiny_graph_rag.measures.statistics import Groups
from tiny_graph_rag.retrieval import walks
from tiny_graph_rag.study.choosing import Rows, held_out

HOPS = (1, 2, 3, 4)
WALKING = ("bfs", "pagerank", "hybrid:bfs*3+bm25")
FUZZY = (0.85, 0.9)
HUBS = 50  # relations beyond which an entity is not walked through
VARIED = ("retriever", "hops", "exclude_seeds", "linker", "fuzzy", "max_degree", "text_seeds")
WORTH = 0.002  # of the measure: settings whose means differ by less are equal, and the first listed is taken


@dataclass(frozen=True, slots=True, eq=False)
class SettingsTried:
    """tried: in order, those of today first. best: row of the one that all questions choose. proof: of
    choosing; its `control` is the gain of one of `tried` drawn at random."""

    tried: tuple[Tried, ...]
    best: int
    proof: Proof


def candidates(config: Config) -> Iterator[dict[str, Any]]:
    """What is tried, changes against today's settings: listed beforehand, so that no result decides it."""
    now = config.retrieval
    listed: list[dict[str, Any]] = []
    listed += [{"retriever": name, "hops": hops} for name in WALKING for hops in HOPS]
    listed += [{"retriever": "bm25"}]
    listed += [{"exclude_seeds": not now.exclude_seeds, "hops": hops} for hops in HOPS[:3]]
    listed += [
        {"linker": "names" if now.linker != "names" else "names+text", "hops": hops} for hops in (2, 3)
    ]
    listed += [{"fuzzy": fuzzy} for fuzzy in FUZZY]
    listed += [{"max_degree": HUBS}, {"text_seeds": 0}, {"text_seeds": 10}]
    seen: list[dict[str, Any]] = [{}]
    for values in listed:
        today = {name: _value(config, name) for name in values}
        changed = {name: value for name, value in values.items() if value != today[name]}
        walking = walks(str(changed.get("retriever", now.retriever)))
        if not walking:
            changed.pop("hops", None)
        if changed not in seen:
            seen.append(changed)
            yield changed


def _value(config: Config, name: str) -> Any:
    return getattr(config.ranking if name == "text_seeds" else config.retrieval, name)


def try_settings(questions: GoldQuestions, leave: float = 0.0) -> list[Tried]:
    """Today's settings and all candidates on all questions. leave: evaluations that others need.

    What is known when the evaluations are used up stands.
    """
    found = [Tried({}, np.zeros(len(questions)), 1.0, questions.today.first)]
    for values in candidates(questions.config):
        if questions.spent + 1 > questions.allowed - leave:
            break
        with suppress(UsageError):  # a setting that this retriever can't use
            found.append(try_setting(questions, values))
    return found


def choose(gains: NDArray[np.float64], rows: Rows) -> int:
    """The setting with the best mean over these questions; the first of those within WORTH of it.

    gains: (settings, questions); row 0 is today's.
    """
    means = gains[:, rows].mean(axis=1)
    return int(np.flatnonzero(means >= means.max() - WORTH)[0])


def prove_settings(questions: GoldQuestions, groups: Groups, tried: list[Tried], seed: int) -> SettingsTried:
    """Whether choosing the best of those tried holds on questions that did not choose."""
    known = [one for one in tried if not one.needs]
    table = np.stack([one.gains for one in known])
    best = choose(table, questions.rows)
    differences = held_out(groups, seed, lambda rows, out: table[choose(table, rows), out])
    control = float(table[1:].mean()) if len(table) > 1 else 0.0
    span = questions.span
    found = proof(known[best].gain, differences, groups, CHOSEN_FROM, span=span, control=control)
    return SettingsTried(tuple(known), best, found)


def with_patch(config: Config, patch: Patch, name: str) -> Config:
    """The configuration with a patch's confirmed settings. name: of its file, for messages.

    A file that came from somebody else must not run code or send questions away, so only settings that `fix`
    itself tries are taken. Raises PatchError for any other, and for a value that can't be.
    """
    for place, entry in enumerate(patch.settings):
        if entry.status != CONFIRMED:
            continue
        for key, value in entry.values.items():
            if key not in VARIED or not find_setting(key).accepts(value):
                raise PatchError(
                    "{file}: settings[{place}]: {key}: {value} isn't allowed in a patch; allowed "
                    "settings: {allowed}",
                    file=name,
                    place=place,
                    key=key,
                    value=repr(value)[:60],
                    allowed=", ".join(VARIED),
                )
        config = config.replaced(entry.values)
        if not can_be_tried(config):
            raise PatchError(
                "{file}: settings[{place}]: these settings would run code or ask a service; give them as "
                "options instead",
                file=name,
                place=place,
            )
    return config
