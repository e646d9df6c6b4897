"""A ranking that another program made, beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.errors import RunError
from tiny_graph_rag.files import find_input
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Retriever, Run, Task
from tiny_graph_rag.retrieval.candidates import Candidates
from tiny_graph_rag.retrieval.runs import read_run


class RunFileRetriever(Retriever):
    """A foreign run (TREC, JSON, JSONL, CSV …) in its own order; the score is 1 / its place.

    Questions are found by their ids; one that the run does not have retrieves nothing. Places that the
    graph does not have are refused, for leaving them out would move the others up; `score` counts them.
    """

    name: ClassVar[str] = "run"
    argument: ClassVar[str] = "FILE"
    walks: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)
        path = find_input(task.argument, Path(task.config.storage.results_dir), "run")
        rows = {key: row for row, key in enumerate(task.graph.entities.ids)}
        index = NameIndex.of(task.graph)
        self.rankings: dict[str, list[int]] = {}
        strangers: dict[str, None] = {}
        for question, places in read_run(path).rankings.items():
            ranking = self.rankings.setdefault(question, [])
            for place in places:
                row = rows.get(place.id)
                found = index.resolve(place.name or place.id)[0] if row is None else (row,)
                if found:
                    ranking.append(found[0])
                else:
                    strangers[place.key] = None
        if strangers:
            shown = ", ".join(map(repr, list(strangers)[:5])) + (" …" if len(strangers) > 5 else "")
            raise RunError(
                f"{path}: {len(strangers):,} of its entities are not in the graph ({shown}). "
                "Use the graph that the run was made on, or `score`, which counts them as wrong"
            )

    @classmethod
    def of(cls, task: Task) -> Self:
        return cls(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        for question in questions:
            ranking = np.array(list(dict.fromkeys(self.rankings.get(question.id, []))), dtype=np.int32)
            parts.append(self.candidates.ranked(question, ranking, 1.0 / np.arange(1, len(ranking) + 1)))
        return Run.concatenated(parts)
