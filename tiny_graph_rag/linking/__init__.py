"""Question text → seed entities, by one of the linkers of this folder or of other packages."""

from tiny_graph_rag.linking.base import (
    LINKERS,
    LinkedQuestion,
    Linker,
    LinkerMaker,
    Seed,
    asks_model,
    make_linker,
)

__all__ = [
    "LINKERS",
    "LinkedQuestion",
    "Linker",
    "LinkerMaker",
    "Seed",
    "asks_model",
    "make_linker",
]
