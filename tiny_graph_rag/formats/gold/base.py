"""What a gold format is.

To add one, write a reader under `@gold_format(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.gold_formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiny_graph_rag.formats.detection import Format, registering
from tiny_graph_rag.gold.examples import HIGHEST, Example, Source
from tiny_graph_rag.messages import Said
from tiny_graph_rag.registry import Registry


def graded(id: str, grades: Mapping[str, int], *, format: str = "", line: int = 0) -> Example:
    """A question of names (or ids) with grades: 0 is judged irrelevant, 1 relevant, 2 and more highly
    relevant, below 0 not judged. Its id stands for its words. format: of the file, where it holds grades
    alone."""
    higher = {name: grade for name, grade in grades.items() if grade > HIGHEST}
    return Example(
        id=id,
        query=id,
        reference_entities=tuple(name for name, grade in grades.items() if grade == 1),
        highly_relevant_entities=tuple(name for name, grade in grades.items() if grade >= HIGHEST),
        irrelevant_entities=tuple(name for name, grade in grades.items() if grade == 0),
        unknown={"grades": higher} if higher else {},
        source=Source(format, grades) if format else None,
        line=line,
    )


@dataclass(frozen=True, slots=True)
class Sound:
    """What can be used of a file, and what is wrong with the rest (file, line, field, what came)."""

    examples: tuple[Example, ...]
    problems: tuple[Said, ...] = ()
    notes: tuple[str, ...] = ()


# Path → questions, drafts too, or `Sound` with the problems of some; raises DatasetError with every problem:
# file, line, what was wanted, what came.
GoldReader = Callable[..., Sequence[Example] | Sound]
GOLD_FORMATS: Registry[Format[GoldReader]] = Registry(
    "gold format",
    "tiny_graph_rag.formats.gold",
    {
        "jsonl": "readers:read_jsonl",
        "sheet": "readers:read_sheet",
        "contest": "readers:read_contest",
        "trec": "readers:read_qrels",
        "table": "readers:read_table_gold",
    },
)
gold_format = registering(GOLD_FORMATS, Format)
