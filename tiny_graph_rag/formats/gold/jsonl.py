"""A gold set to judge by: of any format, as long as it says what is relevant."""

from __future__ import annotations

from pathlib import Path

from tiny_graph_rag.errors import DatasetError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.messages import counted

FIELDS_NAMED = 10  # of a gold set that none of ours is among


def read_eval_set(path: Path) -> EvalSet:
    """Load a gold set. Raises DatasetError with every broken line (file, line, field, what came), and for one
    that asks but does not say what is relevant."""
    return with_references(read_gold(path), path)


def with_references(gold: EvalSet, path: Path) -> EvalSet:
    """The set, where any of its questions says what is relevant. Raises DatasetError where none does."""
    if any(example.judged for example in gold):
        return gold
    unused = dict.fromkeys(field for example in gold for field in example.unknown)
    raise DatasetError.at(
        path.name,
        "{questions} without 'reference_entities' (in a table: 'references'), so nothing can be scored; "
        "fields not used: {unused}. `dataset from` finds references in answers and evidence, `recommend` "
        "proposes some, `retrieve` needs none",
        questions=counted(len(gold), "{n} question", "{n} questions"),
        unused=", ".join(list(unused)[:FIELDS_NAMED]) or "–",
    )
