"""When a returned relation or passage is a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a run of entities alone loads nothing of texts
    from tiny_graph_rag.measures.textual import TextMatch

ENDS, EXACT, ID = "ends", "exact", "id"  # when a returned relation is a reference
AUTO = "auto"  # passages: by id where a question has `reference_chunks`, else by text


@dataclass(frozen=True, slots=True)
class Matching:
    """relations: ENDS, EXACT or ID. passages: None for AUTO."""

    relations: str = ENDS
    passages: TextMatch | None = None

    @classmethod
    def of(cls, relations: str, passages: str, threshold: float) -> Matching:
        if passages == AUTO:
            return cls(relations)
        from tiny_graph_rag.measures.textual import TextMatch

        return cls(relations, TextMatch(passages, threshold))
