"""A TREC run against TREC qrels, as columns: the quick way for large files.

The run passes by in blocks of lines. Of each line only hashes and its score are looked at; only documents
that the qrels judge are compared byte by byte, no other becomes a string (but the few that results show).
Where the lines of a question stand together, a question is scored as soon as it is complete, and forgotten.
Otherwise compact columns of the lines are kept: of a very long run, those of some questions at a time, in
several passes.

Whatever is not regular (other separators, duplicate judgments, bad scores, gzip) is left to the careful
readers, which give the same numbers and say what is wrong.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import begins, distinct
from tiny_graph_rag.columns.fields import PADDING, FieldColumn, Ints
from tiny_graph_rag.scoring.stretches import Stretch
from tiny_graph_rag.scoring.trec_gold import (
    NONE,
    AnotherWay,
    GoldTable,
    Integers,
    Looked,
    Texts,
    judged_stretches,
    missing_stretches,
)
from tiny_graph_rag.scoring.trec_lookup import Kept, Lookup
from tiny_graph_rag.scoring.trec_slots import NOBODY

BLOCK_BYTES = 1 << 21  # so small that a block and its columns stay in the processor's cache
LINES_A_PASS = 20_000_000  # of a scattered run, kept at once: about 1 GB
WORKERS = 2  # threads that look up; more would wait for the interpreter, or for memory
WINDOW_BYTES = 1 << 14  # of a block's end, looked at first for where its last question begins
LONGEST_QUESTION = 1 << 26  # bytes of its lines, held at once
ROOM = 1.02  # times the lines that a sample lets expect

Result = TypeVar("Result")

Bytes = tuple[NDArray[np.uint8], int]  # and how many of them are meant


class TrecRun:
    """A run file against a gold table. After the stretches were taken: answered, bool (questions,), which
    questions the run has; unknown, those that the gold set lacks; duplicates, lines dropped.
    """

    def __init__(self, path: Path, gold: GoldTable, ties: str = "list") -> None:
        self.path, self.gold, self.ties = path, gold, ties
        self.unknown: dict[str, None] = {}
        self.answered = np.zeros(len(gold), dtype=bool)
        self.duplicates = 0
        self._looked_up = Lookup(gold)

    def stretches(self, *, scattered: bool) -> Iterator[Stretch]:
        """Raises AnotherWay, perhaps only in the middle of the file."""
        for stretch in self._scattered() if scattered else self._grouped():
            self.duplicates += stretch.duplicates
            yield stretch
        yield from missing_stretches(self.gold, np.flatnonzero(~self.answered))

    def _grouped(self) -> Iterator[Stretch]:
        for _, (questions, unknown, stretches) in self._at_work(self._complete, whole_questions=True):
            self.unknown.update(dict.fromkeys(unknown))
            if self.answered[questions].any() or len(distinct(questions)[0]) < len(questions):
                raise AnotherWay
            self.answered[questions] = True
            yield from stretches

    def _complete(self, raw: Bytes) -> tuple[Ints, list[str], list[Stretch]]:
        """All lines of some questions: whose they are, each time they begin; unknown ones; and judged."""
        looked, data, unknown = self._looked_up(raw)
        known = looked.questions != NOBODY
        if not known.all():
            looked = looked.at(known)
        if not len(looked.keys):
            return NONE, unknown, []

        def texts(starts: Integers, lengths: Integers) -> list[str]:
            return FieldColumn(data, starts.astype(np.int64), lengths.astype(np.int64)).texts()

        self._order(looked, texts)
        return _in_turn(looked.questions), unknown, list(judged_stretches(self.gold, looked, texts))

    def _scattered(self) -> Iterator[Stretch]:
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            sample = stream.read(BLOCK_BYTES)
        lines = size * sample.count(b"\n") / max(len(sample), 1)
        passes = max(1, math.ceil(lines / LINES_A_PASS))

        def texts(starts: Integers, lengths: Integers) -> list[str]:
            # Opened again: the last stretch is still used when this generator has ended.
            with self.path.open("rb") as stream:
                parts = []
                for at, length in zip(starts.tolist(), lengths.tolist(), strict=True):
                    stream.seek(at)  # os.pread is not on Windows
                    parts.append(stream.read(length))
            read = b"\n".join(parts)
            return read.decode("utf-8", "replace").split("\n") if len(starts) else []

        for turn in range(passes):
            kept = Kept(size, int(lines / passes * ROOM) + 1)
            for base, (looked, _, unknown) in self._at_work(self._looked_up):
                self.unknown.update(dict.fromkeys(unknown))
                mine = looked.questions != NOBODY
                if passes > 1:
                    mine &= looked.questions % passes == turn
                kept.add(looked if mine.all() else looked.at(mine), base)
            known = kept.taken()
            self.answered[known.questions] = True
            if len(known.keys):
                self._order(known, texts)
                yield from judged_stretches(self.gold, known, texts)

    def _at_work(
        self, work: Callable[[Bytes], Result], *, whole_questions: bool = False
    ) -> Iterator[tuple[int, Result]]:
        """Each block's place in the file and what was made of it, in order; threads make the next ones."""
        with ThreadPoolExecutor(WORKERS) as pool:
            waiting: deque[tuple[int, Future[Result]]] = deque()
            blocks = self._blocks(whole_questions=whole_questions)
            while True:
                for base, block in islice(blocks, WORKERS + 1 - len(waiting)):
                    waiting.append((base, pool.submit(work, block)))
                if not waiting:
                    return
                at, done = waiting.popleft()
                yield at, done.result()

    def _blocks(self, *, whole_questions: bool) -> Iterator[tuple[int, Bytes]]:
        """Whole lines, or all lines of whole questions, with the place in the file where they begin."""
        base, held = 0, np.zeros(0, dtype=np.uint8)
        with self.path.open("rb", buffering=0) as stream:
            while True:
                room = max(BLOCK_BYTES, len(held))
                data = np.empty(len(held) + room + PADDING, dtype=np.uint8)
                data[: len(held)] = held
                read = stream.readinto(data[len(held) : len(held) + room].data)
                size = len(held) + (read or 0)
                cut = last_begin(data[:size], whole_questions=whole_questions) if read else size
                if not cut and size > LONGEST_QUESTION:
                    raise AnotherWay
                if cut:
                    yield base, (data, cut)
                held = data[cut:size].copy()
                base += cut
                if not read:
                    return

    def _order(self, looked: Looked, texts: Texts) -> None:
        """Put the lines in order, question by question, best first."""
        question, scores = looked.questions, looked.scores
        beside = question[1:] == question[:-1]
        if self.ties == "trec":
            single = _single(scores)
            right = single[1:] < single[:-1]
        else:
            right = scores[1:] <= scores[:-1]
        heads = _in_turn(question)
        if not ((right | ~beside).all() and len(distinct(heads)[0]) == len(heads)):
            looked.put_in(self._sorted(looked, texts))

    def _sorted(self, looked: Looked, texts: Texts) -> Ints:
        """The order: by one key of question and score in float32; what is equal in it is put right after."""
        bits = _single(looked.scores).view(np.uint32)
        falling = np.where(bits >> np.uint32(31), bits, ~(bits | np.uint32(1 << 31)))
        keys = looked.questions.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= falling
        order = np.argsort(keys)
        sorted_keys = keys[order]
        del keys, bits, falling  # of a run of many lines they are much
        equal = sorted_keys[1:] == sorted_keys[:-1]
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if len(tied):
            mine = order[tied]
            if self.ties == "trec":
                names = texts(looked.starts[mine], looked.lengths[mine])
                place = {name: rank for rank, name in enumerate(sorted(set(names), reverse=True))}
                again = np.lexsort((mine, np.array([place[text] for text in names]), sorted_keys[tied]))
            else:
                again = np.lexsort((mine, -looked.scores[mine], sorted_keys[tied]))
            order[tied] = mine[again]
        return order


def last_begin(block: NDArray[np.uint8], *, whole_questions: bool) -> int:
    """Where the last line begins that is not whole; or the lines of the last question, whose name the last
    whole line has; 0 where it is alone.

    Looks from the end on, so that of a question that has lines further up only the last ones are found.
    """
    window = min(WINDOW_BYTES, len(block))
    while True:
        seen = block[len(block) - window :].tobytes()
        end = seen.rfind(b"\n") + 1
        start = seen.rfind(b"\n", 0, end - 1) + 1 if end else 0
        if end and not whole_questions:
            return len(block) - window + end
        name = seen[start:end].split(None, 1)[:1] if start else []
        head = seen[start : start + len(name[0]) + 1] if name else b""
        first = seen.find(b"\n")  # what stands before it may be the rest of a line
        found = seen.find(b"\n" + head, first) if head else -1
        if found > first:
            return len(block) - window + found + 1
        if window == len(block):
            return found + 1 if found >= 0 and not seen.startswith(head) else 0
        window = min(4 * window, len(block))


def _in_turn(questions: Ints) -> Ints:
    """Each question of the lines as often as its lines begin again."""
    return np.asarray(questions[begins(questions)])


def _single(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return scores.astype(np.float32) + np.float32(0)  # the sum knows one zero only
