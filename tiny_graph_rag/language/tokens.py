"""What was looked for where a question linked to nothing: what to look at before adding aliases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.language.function_words import NAMELESS

MOST_TRIED = 20  # words of a question; who asks in more has other worries

_WORD = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)


def words_tried(texts: Iterable[str]) -> tuple[str, ...]:
    """The words of the texts that could name something, as they stand there, each once, the first 20.

    Every stretch of a text is looked up as a name; function words alone name nothing and are left out.
    """
    words: dict[str, str] = {}
    for text in texts:
        for whole in _WORD.findall(text):
            word = _POSSESSIVE.sub("", whole)
            folded = nfc(word).casefold()
            if folded not in NAMELESS:
                words.setdefault(folded, word)
    return tuple(words.values())[:MOST_TRIED]


_TOKEN = re.compile(r"[가-힣]|[^\W_가-힣]+")


def tokens(text: str) -> list[str]:
    """Letters and digits of any script in lower case, Hangul in syllables: `점순이 A-1` → 점 순 이 a 1.

    On ASCII this is what the package rouge-score does without stemming.
    """
    return _TOKEN.findall(nfc(text).lower())


def rouge_l(prediction: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the longest common subsequence of two token lists, in [0, 1]; 0.0 where one is empty.

    Source: Lin, ROUGE (2004), with equal weight on precision and recall, as rouge-score computes it.
    """
    common = _longest_common(prediction, reference)
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
