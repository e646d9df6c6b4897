"""`curate --patch FILE`: the entries of a patch one by one, decided with a key each.

Each entry is shown with its evidence and with the questions that it moves, before and after: these are asked
again with the confirmed entries and this one. Every decision is written to the file at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing.applying import patched
from tiny_graph_rag.fixing.asking import NOBODY, GoldQuestions
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    DRAFT,
    REJECTED,
    Entry,
    Patch,
    RestoredRelation,
    Status,
    write_patch,
)
from tiny_graph_rag.fixing.settings import with_patch
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import EQUAL
from tiny_graph_rag.messages import t, three
from tiny_graph_rag.report.fix_words import KIND_WORDS, entry_words
from tiny_graph_rag.report.plain import one_line
from tiny_graph_rag.study.choosing import Rows

SHOWN_QUESTIONS = 6  # of an entry, before and after
SHOWN_EVIDENCE = 4
KEYS = "y confirm · n reject · s later · b back · q end"
DECISIONS: dict[str, Status] = {"y": CONFIRMED, "n": REJECTED, "s": DRAFT}


def decide(
    graph: KnowledgeGraph,
    examples: EvalSet,
    config: Config,
    patch: Patch,
    path: Path,
    say: Callable[[str], None],
    keys: Iterator[str] | None = None,
) -> Patch:
    """Go through the entries that nobody has decided; returns the patch as it is in the file then.

    keys: what is pressed; the keyboard's where none are given. The end of input ends it like q. Raises
    PatchError, before anything is asked, for entries that no longer fit the graph.
    """
    measure = Measure.parse(patch.measure) if patch.measure else Measure("ndcg", config.evaluation.top_k)
    questions = GoldQuestions.of(graph, examples, config, measure, allowed=float("inf"))
    patched(graph, questions.examples, patch)
    pressed = keyboard() if keys is None else keys
    places = patch.to_decide()
    at = 0
    while at < len(places):
        entry = dict(patch.entries())[places[at]]
        say(f"\n[{at + 1}/{len(places)}] {title(places[at], entry)}")
        for line in entry.evidence[:SHOWN_EVIDENCE]:
            say(f"  {one_line(line, 200)}")
        for line in before_and_after(questions, patch, places[at], entry):
            say(f"  {line}")
        say(f"  {t(KEYS)}")
        key = next(pressed, "q")
        while key not in (*DECISIONS, "b", "q"):
            key = next(pressed, "q")
        if key == "q":
            break
        if key == "b":
            at = max(at - 1, 0)
            continue
        patch = patch.decided({places[at]: DECISIONS[key]})
        write_patch(path, patch)
        at += 1
    return patch


def title(place: str, entry: Entry) -> str:
    """`aliases[0]  alias: A3 → Air purifier A3`."""
    kind = place.partition("[")[0].partition(".")[0]
    words = entry_words(kind, msgspec.to_builtins(entry))
    return f"{t(KIND_WORDS[kind])}: {one_line(words, 160)}  ({place})"


def before_and_after(questions: GoldQuestions, patch: Patch, place: str, entry: Entry) -> Iterator[str]:
    """Each question of the entry with its value and what is ranked first, before and after; those that move
    first."""
    named = set(entry.questions) | set(entry.won) | set(entry.lost)
    ids = [example.id for example in questions.examples]
    rows = np.array([row for row, id in enumerate(ids) if id in named][: 4 * SHOWN_QUESTIONS], dtype=np.int64)
    if not len(rows):
        yield t("no question of the gold set changes")
        return
    base = patch.only(CONFIRMED)
    chosen = _with_what_it_needs(patch, place, entry).only(CONFIRMED)
    before, after = _asked(questions, base, rows), _asked(questions, chosen, rows)
    order = np.argsort(-np.abs(after[0] - before[0]), kind="stable")
    for spot in order[:SHOWN_QUESTIONS].tolist():
        change = after[0][spot] - before[0][spot]
        query = one_line(questions.examples.examples[rows[spot]].query, 70)
        values = f"{three(before[0][spot])} → {three(after[0][spot])}"
        yield f"{ids[rows[spot]]}  {query}  {values}"
        if abs(change) > EQUAL or before[1][spot] != after[1][spot]:
            was, now = (one_line(" · ".join(names[spot]), 90) for names in (before[1], after[1]))
            yield f"    {was or '–'} → {now or '–'}"
    if len(rows) > SHOWN_QUESTIONS:
        yield t("and {n} more questions", n=f"{len(rows) - SHOWN_QUESTIONS:,}")


def _with_what_it_needs(patch: Patch, place: str, entry: Entry) -> Patch:
    """The patch with this entry confirmed, and for a relation the restored entities at its ends."""
    statuses: dict[str, Status] = {place: CONFIRMED}
    if isinstance(entry, RestoredRelation):
        ends = {entry.source_id, entry.target_id}
        for row, entity in enumerate(patch.restore.entities):
            if entity.id in ends:
                statuses[f"restore.entities[{row}]"] = CONFIRMED
    return patch.decided(statuses)


def _asked(questions: GoldQuestions, patch: Patch, rows: Rows) -> tuple[Column, list[tuple[str, ...]]]:
    """Values of these questions with the confirmed entries of a patch, and the names ranked first."""
    graph, examples = patched(questions.graph, questions.examples, patch)
    config = with_patch(questions.config, patch, t("the patch"))
    answers = questions.ask(config, graph=graph, examples=examples, rows=rows)
    names = graph.entities.names
    ranked = [tuple(names[entity] for entity in row if entity != NOBODY) for row in answers.first.tolist()]
    return np.abs(answers.values), ranked


def keyboard() -> Iterator[str]:
    """Keys as they are pressed; where nobody sits at a terminal, the first letter of each line."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            yield line.strip()[:1].lower()
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        while True:
            yield str(msvcrt.getwch()).lower()  # type: ignore[attr-defined]
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    while True:
        try:
            tty.setcbreak(descriptor)  # Ctrl-C still ends the program
            key = sys.stdin.read(1).lower()
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        if not key:
            return
        yield key
