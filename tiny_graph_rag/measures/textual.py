"""Whether a retrieved text is a reference, for whoever has no ids.

Source: the K-RAG tutorial's evaluators (ROUGE-1, -2, -L on F1 with a threshold). Words are letters and digits
of any script in lower case; Hangul counts by the syllable, so that a particle (점순이 / 점순이가) costs one
syllable and not the word.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from tiny_graph_rag.errors import UsageError, unknown
from tiny_graph_rag.language.folding import fold, folded_letters, nfc, spaced

AUTO = "auto"  # passages: by id where a question has `reference_chunks`, else by text
CONTAINS = "contains"
MATCHES = ("name", "id", "text", CONTAINS, "rouge1", "rouge2", "rougeL")


class TextMatch(Struct, frozen=True):
    """kind: one of MATCHES. threshold: of ROUGE's F1, in [0, 1]; reached is enough."""

    kind: str
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if self.kind not in MATCHES:
            raise unknown("--match", self.kind, MATCHES)
        if not 0 < self.threshold <= 1:
            raise UsageError(
                "evaluation.rouge_threshold must be above 0 and at most 1, got {threshold}",
                threshold=self.threshold,
            )

    @classmethod
    def of_passages(cls, kind: str, threshold: float) -> TextMatch | None:
        """None for AUTO. Raises UsageError as the class does."""
        return None if kind == AUTO else cls(kind, threshold)

    @property
    def by_text(self) -> bool:
        return self.kind not in ("name", "id")


def filled_by_text(retrieved: Sequence[str], references: Sequence[str], match: TextMatch) -> list[int | None]:
    """For each reference the place (from 0) of the retrieved text that fills it, or None.

    In rank order, each retrieved text fills the open reference that it is most like, if it reaches the
    threshold; so one text fills one reference, and duplicates never push recall above 1. "contains": each
    reference is filled by the first text that has its words in a row, so one text may fill several.
    """
    filled: list[int | None] = [None] * len(references)
    if not references:
        return filled
    if match.kind == CONTAINS:
        texts = list(map(_in_a_row, retrieved))
        wanted = [_in_a_row(reference) for reference in references]
        return [
            next((place for place, text in enumerate(texts) if words in text), None)
            if words.strip()
            else None
            for words in wanted
        ]
    read: Callable[[str], Any] = tokens
    likeness_of: Callable[[Any, Any], float] = partial(rouge, match.kind)
    least = match.threshold
    if match.kind == "text":
        read, likeness_of, least = fold, operator.eq, 1.0
    wanted = [read(reference) for reference in references]
    for place, text in enumerate(map(read, retrieved)):
        likeness = {item: likeness_of(text, wanted[item]) for item, by in enumerate(filled) if by is None}
        if not likeness:
            break
        best = max(likeness, key=likeness.__getitem__)
        if likeness[best] >= least:
            filled[best] = place
    return filled


def _in_a_row(text: str) -> str:
    """Its folded words between single spaces: no word is found inside another."""
    return f" {' '.join(spaced(folded_letters(text)).split())} "


_TOKEN = re.compile(r"[가-힣]|[^\W_가-힣]+")


def tokens(text: str) -> list[str]:
    """Letters and digits of any script in lower case, Hangul in syllables: `점순이 A-1` → 점 순 이 a 1.

    On ASCII this is what the package rouge-score does without stemming.
    """
    return _TOKEN.findall(nfc(text).lower())


def rouge(kind: str, prediction: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of what two token lists have in common, in [0, 1]; 0.0 where one has nothing.

    kind: "rouge1" and "rouge2" for runs of one and two tokens, "rougeL" for the longest common subsequence.
    Source: Lin, ROUGE (2004), with equal weight on precision and recall, as the package rouge-score has it.
    """
    if kind == "rougeL":
        return f1(_longest_common(prediction, reference), prediction, reference)
    size = int(kind.removeprefix("rouge"))
    one, other = (
        [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]
        for words in (prediction, reference)
    )
    return f1((Counter(one) & Counter(other)).total(), one, other)


def f1(common: int, prediction: Sequence[object], reference: Sequence[object]) -> float:
    """Of so many tokens that two lists have in common."""
    if not common:
        return 0.0
    precision, recall = common / len(prediction), common / len(reference)
    return 2 * precision * recall / (precision + recall)


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, row by row."""
    before = [0] * (len(other) + 1)
    for mine in one:
        row = [0]
        for place, yours in enumerate(other):
            row.append(before[place] + 1 if mine == yours else max(before[place + 1], row[place]))
        before = row
    return before[-1]
