"""What a gold format is.

To add one, write a reader under `@gold_format(…)` in a module of this folder, or in another package with an
entry point in the group `tiny_graph_rag.gold_formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiny_graph_rag.formats.detection import Format, registering
from tiny_graph_rag.gold.examples import HIGHEST, Example, Source
from tiny_graph_rag.messages import Said
from tiny_graph_rag.registry import Registry


def graded(
    id: str, grades: Mapping[str, int], *, query: str = "", format: str = "", **fields: Any
) -> Example:
    """A question of names (or ids) with grades: 0 is judged irrelevant, 1 relevant, 2 and more highly
    relevant, below 0 not judged. Without words its id stands for them. fields: others of Example."""
    higher = {name: grade for name, grade in grades.items() if grade > HIGHEST}
    return Example(
        id=id,
        query=query or id,
        reference_entities=tuple(name for name, grade in grades.items() if grade == 1),
        highly_relevant_entities=tuple(name for name, grade in grades.items() if grade >= HIGHEST),
        irrelevant_entities=tuple(name for name, grade in grades.items() if grade == 0),
        unknown={**fields.pop("unknown", {}), **({"grades": higher} if higher else {})},
        source=fields.pop("source", None) or (Source(format, grades) if format else None),
        **fields,
    )


@dataclass(frozen=True, slots=True)
class Sound:
    """What can be used of a file, and what is wrong with the rest (file, line, field, what came). head: what
    it says of all questions; list_key: under which key of it they stand."""

    examples: tuple[Example, ...]
    problems: tuple[Said, ...] = ()
    head: Mapping[str, Any] = field(default_factory=dict)
    list_key: str = ""
    notes: tuple[str, ...] = ()


GoldReader = Callable[..., Sequence[Example] | Sound]


@dataclass(frozen=True)
class GoldFormat(Format[GoldReader]):
    """read: path → questions, or `Sound` with the problems of some; raises DatasetError with
    every problem: file, line, what was wanted, what came. example: a sound file, small, with a line or more;
    the contract tests read it, and what is left when it is cut. has_drafts:
    whether `read` takes `drafts`, which has questions that are marked so pass.
    """

    example: str = field(kw_only=True)
    has_drafts: bool = False


GOLD_FORMATS: Registry[GoldFormat] = Registry(
    "gold format",
    "tiny_graph_rag.formats.gold",
    {
        "jsonl": "readers:read_jsonl",
        "sheet": "readers:read_sheet",
        "contest": "readers:read_contest",
        "metaqa": "readers:read_metaqa",
        "trec": "readers:read_qrels",
        "table": "readers:read_table_gold",
    },
)
gold_format = registering(GOLD_FORMATS, GoldFormat)
