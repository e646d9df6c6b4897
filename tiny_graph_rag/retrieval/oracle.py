"""The ceiling: what the best possible order of the reached entities would score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from tiny_graph_rag.dataset.examples import EvalSet
from tiny_graph_rag.dataset.resolve import Judgments
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Retriever, Run, Task
from tiny_graph_rag.retrieval.candidates import Candidates


class OracleRetriever(Retriever):
    """The gold set's references first, highest grade first, then hop and name; all within the hops.

    Looks at the gold set: a ceiling for rankings, no method. With `--linker gold` (or where a question has
    no `seed_entities`, its linked ones) it walks from the seeds that the gold set names. The score is
    (1 + grade) / (1 + highest grade), for the others 1 / (1 + highest grade) / (1 + hop).
    """

    name: ClassVar[str] = "oracle"

    def __init__(self, task: Task, examples: EvalSet, judgments: Judgments) -> None:
        self.candidates = Candidates(task)
        self.grades: dict[str, dict[int, int]] = {}
        for example, references in zip(examples, judgments.references, strict=True):
            grades = self.grades.setdefault(example.id, {})
            for reference in references:
                for entity in reference.entities:
                    grades[entity] = max(grades.get(entity, 0), reference.grade)

    @classmethod
    def of(cls, task: Task) -> Self:
        if task.examples is None or task.judgments is None:
            raise UsageError("--retriever oracle needs a gold set: it ranks by the references")
        return cls(task, task.examples, task.judgments)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        for question, reached in zip(questions, self.candidates.reached(questions), strict=True):
            grades = self.grades.get(question.id, {})
            highest = max(grades.values(), default=0)
            hops = reached.hops
            grade = np.array(
                [grades.get(entity, 0) for entity in reached.entities.tolist()], dtype=np.float64
            )
            scores = np.where(grade > 0, 1 + grade, 1 / (1.0 + hops)) / (1 + highest)
            run = self.candidates.ranked(question, reached.entities, scores, hops)
            parts.append(replace(run, walks=self.candidates.walks(reached, run.entities)))
        return Run.concatenated(parts)
