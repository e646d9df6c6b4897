"""Scores of one answer, each in [0, 1]; NaN where the question does not define it, 0 where it failed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tiny_graph_rag.dataset.examples import Example
from tiny_graph_rag.dataset.resolve import Reference
from tiny_graph_rag.errors import MissingExtraError
from tiny_graph_rag.generation.agreement import exact_match, token_f1
from tiny_graph_rag.metrics.likeness import rouge_l, tokens


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
