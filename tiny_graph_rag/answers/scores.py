"""Scores of one answer, each in [0, 1]; NaN where the question does not define it, 0 where it failed."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Reference
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.measures.textual import f1, rouge, tokens


def agreement_scores(said: str, example: Example) -> dict[str, float]:
    """Against the ground truth. said: the answer without its citations.

    A question without references has no answer: its ground truth says so in words that no answer need match.
    """
    truths = tuple(map(nfc, example.ground_truth)) if has_truth(example) else ()
    said = nfc(said)  # the same letters, whichever way a keyboard or a Mac composed them
    if not truths:
        return dict.fromkeys(("exact_match", "f1", "rouge_l"), math.nan)
    return {
        "exact_match": exact_match(said, truths),
        "f1": token_f1(said, truths),
        "rouge_l": max(rouge("rougeL", tokens(said), tokens(truth)) for truth in truths),
    }


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
    return bool(example.relevant_entities or example.reference_texts or example.reference_chunks)


def has_truth(example: Example) -> bool:
    """Whether there is a true answer to compare with."""
    return bool(example.ground_truth) and has_answer(example)


def failed_scores(scores: dict[str, float]) -> dict[str, float]:
    """What a question without an answer gets: 0 wherever the score is defined."""
    return {name: math.nan if math.isnan(value) else 0.0 for name, value in scores.items()}


_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = frozenset(string.punctuation)
_HANGUL = re.compile(r"[가-힣]")
# To spaces, before punctuation is removed.
_KORQUAD_SIGNS = str.maketrans(dict.fromkeys("'\"《》<>〈〉()‘’", " "))


def squad_form(text: str) -> str:
    """SQuAD's normal form, of NFC. Source: evaluate-v2.0.py, Rajpurkar et al. (2018)."""
    kept = "".join(item for item in nfc(text).lower() if item not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", kept).split())


def korquad_form(text: str) -> str:
    """KorQuAD's normal form: quotes and brackets to spaces, then no ASCII punctuation; articles and particles
    stay. Source: evaluate-v1.0.py, Lim, Kim & Lee, KorQuAD1.0 (2019).
    """
    lowered = nfc(text).translate(_KORQUAD_SIGNS).lower()
    return " ".join("".join(letter for letter in lowered if letter not in _PUNCTUATION).split())


def exact_match(prediction: str, truths: Iterable[str]) -> float:
    """1.0 where the answer is one of the true ones, else 0.0: KorQuAD's rule where Hangul is in either text,
    else SQuAD's.
    """
    return max((float(one == other) for one, other, _ in _forms(prediction, truths)), default=0.0)


def token_f1(prediction: str, truths: Iterable[str]) -> float:
    """The best F1 against one of the true answers, in [0, 1]: of signs by KorQuAD's rule where Hangul is in
    either text, else of words by SQuAD's. Where one is empty, whether both are (SQuAD 2.0).
    """
    best = 0.0
    for form, true_form, is_korean in _forms(prediction, truths):
        one, other = ("".join(text.split()) if is_korean else text.split() for text in (form, true_form))
        shared = sum((Counter(one) & Counter(other)).values())
        best = max(best, f1(shared, one, other) if one and other else float(one == other))
    return best


def _forms(prediction: str, truths: Iterable[str]) -> Iterator[tuple[str, str, bool]]:
    """The answer and each true one in normal form, and whether that is KorQuAD's."""
    for truth in truths:
        is_korean = any(_HANGUL.search(nfc(text)) for text in (prediction, truth))
        form = korquad_form if is_korean else squad_form
        yield form(prediction), form(truth), is_korean
