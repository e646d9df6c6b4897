"""Scores of one answer, each in [0, 1]; NaN where the question does not define it, 0 where it failed."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.language.particles import Fit, particles
from tiny_graph_rag.language.tokens import rouge_l, tokens


def agreement_scores(said: str, example: Example, *, bleu: bool) -> dict[str, float]:
    """Against the ground truth. said: the answer without its citations.

    A question without references has no answer: its ground truth says so in words that no answer need match.
    """
    truths = example.ground_truth if has_answer(example) else ()
    names = ("exact_match", "f1", "rouge_l", *(("bleu",) if bleu else ()))
    if not truths:
        return dict.fromkeys(names, math.nan)
    found = {
        "exact_match": exact_match(said, truths),
        "f1": token_f1(said, truths),
        "rouge_l": max(rouge_l(tokens(said), tokens(truth)) for truth in truths),
    }
    return found | ({"bleu": _bleu(said, truths)} if bleu else {})


def citation_scores(cited: Sequence[Sequence[int]], references: Sequence[Reference]) -> dict[str, float]:
    """cited: for each cited fact the entities that it speaks of, none for a number that no fact has.

    References that mean the same entity are one; one that is not in the graph can't be cited and stays in the
    denominator.
    """
    items: dict[int, set[int]] = {}
    for reference in references:
        items.setdefault(reference.item, set()).update(reference.entities)
    if not items:
        return {"citation_precision": math.nan, "citation_recall": math.nan}
    relevant = set().union(*items.values())
    good = sum(not relevant.isdisjoint(entities) for entities in cited)
    spoken_of = {entity for entities in cited for entity in entities}
    covered = sum(not spoken_of.isdisjoint(entities) for entities in items.values())
    return {
        "citation_precision": good / len(cited) if cited else 0.0,
        "citation_recall": covered / len(items),
    }


def abstention_score(abstained: bool, example: Example) -> dict[str, float]:
    return {"abstention": math.nan if has_answer(example) else float(abstained)}


def has_answer(example: Example) -> bool:
    """A gold set marks a question without an answer by no reference at all."""
    return bool(example.reference_entities or example.highly_relevant_entities or example.reference_texts)


def failed_scores(scores: dict[str, float]) -> dict[str, float]:
    """What a question without an answer gets: 0 wherever the score is defined."""
    return {name: math.nan if math.isnan(value) else 0.0 for name, value in scores.items()}


def _bleu(said: str, truths: Sequence[str]) -> float:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingExtraError("--bleu", "sacrebleu", "bleu") from error
    # Hangul is split into syllables, which sacrebleu calls characters; everything else as the library does.
    korean = any("가" <= each <= "힣" for text in (said, *truths) for each in text)
    metric = BLEU(effective_order=True, tokenize="char" if korean else "13a")
    return float(metric.sentence_score(said, list(truths)).score) / 100


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)
_HANGUL = re.compile(r"[가-힣]")
MOST_READINGS = 256  # of a Korean answer; a longer one is compared as it stands and without any particle


def normalised(text: str) -> str:
    """SQuAD's normal form. Source: evaluate-v2.0.py, Rajpurkar et al. (2018)."""
    kept = "".join(each for each in text.lower() if each not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def exact_match(prediction: str, truths: Iterable[str]) -> float:
    """1.0 where the answer is one of the true ones, else 0.0."""
    return max((float(_same(prediction, truth)) for truth in truths), default=0.0)


def token_f1(prediction: str, truths: Iterable[str]) -> float:
    """The best F1 against one of the true answers, in [0, 1]."""
    return max((_f1_of(prediction, truth) for truth in truths), default=0.0)


def _same(prediction: str, truth: str) -> bool:
    if not _korean(prediction, truth):
        return normalised(prediction) == normalised(truth)
    return not _readings(_words(prediction)).isdisjoint(_readings(_words(truth)))


def _f1_of(prediction: str, truth: str) -> float:
    if not _korean(prediction, truth):
        return _f1(normalised(prediction).split(), normalised(truth).split())
    said, meant = _words(prediction), _words(truth)
    # A particle that only one side has is taken off; what belongs to a word is on both sides. Where spaces
    # part the words differently no stem is shared, and all particles are taken off.
    shared = _all_stems(said) & _all_stems(meant)
    by_shared = _f1(*(_units(_common(word, shared) for word in words) for words in (said, meant)))
    by_bare = _f1(*(_units(_bare(word) for word in words) for words in (said, meant)))
    return max(by_shared, by_bare)


def _f1(prediction: Sequence[str], truth: Sequence[str]) -> float:
    """Of two bags of tokens; where one is empty, whether both are (SQuAD 2.0)."""
    if not prediction or not truth:
        return float(prediction == truth)
    common = sum((Counter(prediction) & Counter(truth)).values())
    if not common:
        return 0.0
    precision, recall = common / len(prediction), common / len(truth)
    return 2 * precision * recall / (precision + recall)


def _korean(*texts: str) -> bool:
    return any(_HANGUL.search(nfc(text)) for text in texts)


def _words(text: str) -> list[str]:
    """Normalised words, without the punctuation of other scripts (「동백꽃」 → 동백꽃)."""
    plain = "".join(each for each in nfc(text) if unicodedata.category(each)[0] != "P")
    return normalised(plain).split()


def _readings(words: Sequence[str]) -> set[str]:
    """The text without spaces, with and without each particle."""
    stems = [_stems(word) for word in words]
    count = 1
    for each in stems:
        count *= len(each)
    if count > MOST_READINGS:
        return {"".join(words), "".join(_bare(word) for word in words)}
    return {"".join(each) for each in product(*stems)}


def _all_stems(words: Sequence[str]) -> set[str]:
    return {stem for word in words for stem in _stems(word)}


def _common(word: str, shared: set[str]) -> str:
    return max((stem for stem in _stems(word) if stem in shared), key=len, default=word)


def _bare(word: str) -> str:
    return min(_stems(word), key=len)


def _units(words: Iterable[str]) -> list[str]:
    """Syllables of Korean words, other words whole."""
    return [unit for word in words for unit in (word if _HANGUL.search(word) else (word,))]


@lru_cache(maxsize=1 << 14)
def _stems(word: str) -> tuple[str, ...]:
    """The word, and what is left of it where its end reads as particles; longest first."""
    if not _HANGUL.search(word):
        return (word,)
    ends = range(len(word) - 1, 0, -1)
    return (word, *(word[:end] for end in ends if particles(word[:end], word[end:]) is Fit.FITS))
