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
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.dataset.fields import Column, Ints
from tiny_graph_rag.evaluation.stretches import Stretch
from tiny_graph_rag.evaluation.trec_gold import AnotherWay, GoldTable, Lines, judged_stretches
from tiny_graph_rag.evaluation.trec_lookup import UNKNOWN, Found, Looked, Lookup

BLOCK_BYTES = 1 << 21  # so small that a block and its columns stay in the processor's cache
LINES_A_PASS = 20_000_000  # of a scattered run, kept at once: about 1 GB
WORKERS = 2  # threads that look up; more would wait for the interpreter, or for memory

Texts = Callable[[Ints, Ints], list[str]]


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
        for each in _ahead(self._scattered() if scattered else self._grouped()):
            self.duplicates += each.duplicates
            yield each
        yield from judged_stretches(self.gold, None, np.flatnonzero(~self.answered))

    def _grouped(self) -> Iterator[Stretch]:
        held = b""
        with self.path.open("rb") as stream:
            while True:
                more = stream.read(BLOCK_BYTES)
                block = held + more
                cut = block.rfind(b"\n") + 1 if more else len(block)
                if cut:
                    found = self._looked_up(block[:cut])
                    self.unknown.update(dict.fromkeys(found.unknown))
                    looked, last_line, last_byte = found.lines, found.last_line, found.last_byte
                    if not more:
                        last_line, last_byte = len(looked.keys), cut
                    # The last question may go on in the next block.
                    yield from self._finished(looked.at(slice(0, last_line)), found.data)
                    held = block[last_byte:]
                else:
                    held = block
                if not more:
                    return

    def _finished(self, looked: Looked, data: NDArray[np.uint8]) -> Iterator[Stretch]:
        known = looked.questions != UNKNOWN
        if not known.all():
            looked = looked.at(known)
        if not len(looked.keys):
            return
        questions = _in_turn(looked.questions)
        if self.answered[questions].any() or len(distinct(questions)[0]) < len(questions):
            raise AnotherWay
        self.answered[questions] = True

        def texts(starts: Ints, lengths: Ints) -> list[str]:
            return Column(data, starts, lengths).texts()

        yield from judged_stretches(self.gold, self._ordered(looked, texts))

    def _scattered(self) -> Iterator[Stretch]:
        size = self.path.stat().st_size
        with self.path.open("rb") as stream:
            sample = stream.read(BLOCK_BYTES)
        lines = size * sample.count(b"\n") / max(len(sample), 1)
        passes = max(1, math.ceil(lines / LINES_A_PASS))

        def texts(starts: Ints, lengths: Ints) -> list[str]:
            # Opened anew: the last stretch is still used when this generator has ended.
            with self.path.open("rb") as stream:
                number = stream.fileno()
                bounds = zip(starts.tolist(), lengths.tolist(), strict=True)
                read = b"\n".join([os.pread(number, length, at) for at, length in bounds])
            return read.decode("utf-8", "replace").split("\n") if len(starts) else []

        for turn in range(passes):
            parts = [self._part(looked, base, turn, passes) for base, looked in self._all_looked_up()]
            known = Looked(
                *(np.concatenate([getattr(part, name) for part in parts]) for name in Looked.__slots__)
            )
            parts.clear()
            self.answered[known.questions] = True
            if len(known.keys):
                yield from judged_stretches(self.gold, self._ordered(known, texts))

    def _all_looked_up(self) -> Iterator[tuple[int, Looked]]:
        """Each block's place in the file and its lines; while one is looked up, so is the next."""
        with ThreadPoolExecutor(WORKERS) as pool:
            waiting: deque[tuple[int, Future[Found]]] = deque()
            blocks = self._blocks()
            while True:
                for base, block in islice(blocks, WORKERS + 1 - len(waiting)):
                    waiting.append((base, pool.submit(self._looked_up, block)))
                if not waiting:
                    return
                at, done = waiting.popleft()
                self.unknown.update(dict.fromkeys(done.result().unknown))
                yield at, done.result().lines

    def _part(self, looked: Looked, base: int, turn: int, passes: int) -> Looked:
        """What is kept of a block that begins at `base`, as narrow as it can be."""
        kept = looked.questions != UNKNOWN
        if passes > 1:
            kept &= looked.questions % passes == turn
        if not kept.all():
            looked = looked.at(kept)
        return replace(
            looked,
            questions=looked.questions.astype(np.int32),
            gold_rows=looked.gold_rows.astype(np.int32),
            starts=looked.starts + base,
            lengths=looked.lengths.astype(np.int32),
        )

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines with the place in the file where they begin."""
        held, base = b"", 0
        with self.path.open("rb") as stream:
            while True:
                more = stream.read(BLOCK_BYTES)
                block = held + more
                cut = block.rfind(b"\n") + 1 if more else len(block)
                if cut:
                    yield base, block[:cut]
                held = block[cut:]
                base += cut
                if not more:
                    return

    def _ordered(self, looked: Looked, texts: Texts) -> Lines:
        """Question by question, best first."""
        question, scores = looked.questions, looked.scores
        beside = question[1:] == question[:-1]
        if self.ties == "trec":
            single = _single(scores)
            right = single[1:] < single[:-1]
        else:
            right = scores[1:] <= scores[:-1]
        heads = _in_turn(question)
        if not ((right | ~beside).all() and len(distinct(heads)[0]) == len(heads)):
            looked = looked.at(self._order(looked, texts))

        def names(rows: Ints) -> list[str]:
            return texts(looked.starts[rows], looked.lengths[rows])

        return Lines(looked.questions, looked.scores, looked.keys, looked.gold_rows, names)

    def _order(self, looked: Looked, texts: Texts) -> Ints:
        """Sorted by one key of question and score in float32; what is equal in it is put right after."""
        bits = _single(looked.scores).view(np.uint32)
        rising = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(1 << 31))
        keys = (looked.questions.astype(np.uint64) << np.uint64(32)) | ~rising
        order = np.argsort(keys)
        sorted_keys = keys[order]
        equal = sorted_keys[1:] == sorted_keys[:-1]
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if len(tied):
            mine = order[tied]
            if self.ties == "trec":
                names = np.array(texts(looked.starts[mine], looked.lengths[mine]), dtype=object)
                _, rank = np.unique(names, return_inverse=True)
                again = np.lexsort((mine, -rank, sorted_keys[tied]))
            else:
                again = np.lexsort((mine, -looked.scores[mine], sorted_keys[tied]))
            order[tied] = mine[again]
        return order


def _ahead(stretches: Iterator[Stretch]) -> Iterator[Stretch]:
    """The same, the next one being made by a thread while the last one is used."""
    with ThreadPoolExecutor(1) as maker:
        following = maker.submit(next, stretches, None)
        while (each := following.result()) is not None:
            following = maker.submit(next, stretches, None)
            yield each


def _in_turn(questions: Ints) -> Ints:
    """Each question of the lines as often as its lines begin anew."""
    return np.asarray(questions[np.append(True, questions[1:] != questions[:-1])])


def _single(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return (scores + 0.0).astype(np.float32)  # + 0.0: there is one zero
