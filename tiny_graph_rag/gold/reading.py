"""Gold sets of other makers as questions of ours, for commands that keep gold sets."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.dataset.examples import EvalSet, Example, ReferenceRelationship
from tiny_graph_rag.dataset.gold import GoldQuestion, detected, read_gold
from tiny_graph_rag.dataset.jsonl import read_eval_set


def read_any_gold(path: Path) -> EvalSet:
    """A gold set of any format that `score` reads. A judged 0 becomes irrelevant, 2 and more highly relevant.

    Raises DatasetError.
    """
    if detected(path) == "jsonl":
        return read_eval_set(path)
    gold = read_gold(path)
    examples = tuple(example_of(each, line) for line, each in enumerate(gold.questions, start=1))
    return EvalSet(examples, name=gold.name, path=path, sha256=gold.sha256)


def example_of(question: GoldQuestion, line: int) -> Example:
    """One question; where the format holds no words, its id stands for them."""
    grades = question.grades
    return Example(
        id=question.id,
        query=question.query or question.id,
        reference_entities=tuple(name for name, grade in grades.items() if grade == 1),
        highly_relevant_entities=tuple(name for name, grade in grades.items() if grade >= 2),
        irrelevant_entities=tuple(name for name, grade in grades.items() if grade == 0),
        tags=question.tags,
        expected_types=question.expected_types,
        reference_texts=question.texts,
        reference_relationships=tuple(ReferenceRelationship(*each) for each in question.relationships),
        seed_entities=question.seeds or None,
        line=line,
    )
