"""What `bfs` is compared with: a naive walk, text search, the best there could be, fusion, somebody's run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from tiny_graph_rag.errors import RunError, UsageError
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.text_index import MILLI, TextIndex, content_stem
from tiny_graph_rag.inputs import find_input
from tiny_graph_rag.language.words import words_of_name
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.linking.question_words import tokens
from tiny_graph_rag.retrieval.base import HYBRID, USUAL_PARTS, Retriever, Task, parts_of, retriever
from tiny_graph_rag.retrieval.candidates import Candidates, ReturnedNames
from tiny_graph_rag.run import ABSENT, NO_HOP, NO_STEP, Run


@retriever("bfs-plain", "follows relations from the seeds; nearest first")
class PlainBfsRetriever(Retriever):
    """Hop, then name. The score is 1 / (1 + hop), in (0, 1]."""

    from_named: ClassVar[bool] = True

    def __init__(self, task: Task) -> None:
        self.candidates = Candidates(task)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        every = self.candidates.reached(questions, nearest=True)
        for question, reached in zip(questions, every, strict=True):
            parts.append(self.candidates.walked(question, reached, 1.0 / (1.0 + reached.hops)))
        return Run.concatenated(parts)

    def retrieve_within(self, questions: Sequence[LinkedQuestion], hops: Sequence[int]) -> Iterator[Run]:
        """Nearest first: what lies within fewer hops stands in front."""
        deepest = self.retrieve(questions)
        return (deepest.within(hop) for hop in hops)


@retriever("bm25", "text search over names, descriptions and relations")
class Bm25Retriever(Retriever):
    """BM25F over what the graph says of an entity, by stems and without function words.

    Its name, aliases, type and description, its relations' types and descriptions, its neighbours' names. The
    score is in bits; entities without a word of the question are not returned. Source: Robertson & Zaragoza,
    The probabilistic relevance framework: BM25 and beyond (2009).
    """

    walks: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        self.candidates, self.index = Candidates(task), TextIndex(task.graph, every_text=True)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        return Run.concatenated([self._ranked(question) for question in questions])

    def _ranked(self, question: LinkedQuestion) -> Run:
        words, _ = tokens(question.text)
        stems = {stem for word in words.values() if (stem := content_stem(word)) is not None}
        entities, bits = self.index.total(map(self.index.bits, stems))
        return self.candidates.ranked(question, entities.astype(np.int32), bits / MILLI)


def relation_words(name: str) -> str:
    """`WRITTEN_BY`, `writtenBy` → `written by`."""
    return " ".join(words_of_name(name))


def own_text(graph: KnowledgeGraph, entity: int) -> str:
    """Name, aliases, type and description."""
    known = graph.entities
    parts = [known.names[entity], *known.aliases[entity], relation_words(known.types[entity])]
    return ". ".join(part for part in (*parts, known.descriptions[entity]) if part)


@retriever("oracle", "references first: the best result of any ranking")
class OracleRetriever(Retriever):
    """The gold set's references first, highest grade first, then hop and name; all within the hops.

    Looks at the gold set: a ceiling for rankings, no method. With `--linker gold` (or where a question has
    no `seed_entities`, its linked ones) it walks from the seeds that the gold set names. The score is
    (1 + grade) / (1 + highest grade), for the others 1 / (1 + highest grade) / (1 + hop).
    """

    def __init__(self, task: Task) -> None:
        judged = task.examples is not None and any(example.judged for example in task.examples)
        if not judged or task.examples is None or task.judgments is None:
            raise UsageError("--retriever oracle needs a gold set: it ranks by the references")
        self.candidates = Candidates(task)
        self.grades: dict[str, dict[int, int]] = {}
        for example, references in zip(task.examples, task.judgments.references, strict=True):
            grades = self.grades.setdefault(example.id, {})
            for reference in references:
                for entity in reference.entities:
                    grades[entity] = max(grades.get(entity, 0), reference.grade)

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        for question, reached in zip(
            questions, self.candidates.reached(questions, every_seed=True), strict=True
        ):
            grades = self.grades.get(question.id, {})
            highest = max(grades.values(), default=0)
            grade = np.array(
                [grades.get(entity, 0) for entity in reached.entities.tolist()], dtype=np.float64
            )
            scores = np.where(grade > 0, 1 + grade, 1 / (1.0 + reached.hops)) / (1 + highest)
            parts.append(self.candidates.walked(question, reached, scores))
        return Run.concatenated(parts)


RANK_OFFSET = 60  # the constant of the paper; damps how much the very first ranks count


@retriever("hybrid", "reciprocal rank fusion, of bfs*3+bm25 if none are named")
class HybridRetriever(Retriever):
    """Reciprocal rank fusion: the sum of weight / (60 + rank) over the retrievers that return an entity.

    A weight stands behind its retriever (bfs*3+bm25) and is 1 without. Divided by what first place everywhere
    would give, so that scores lie in (0, 1]. Hop and walk are those of the first retriever that walked to the
    entity.
    Source: Cormack, Clarke & Büttcher, Reciprocal rank fusion (SIGIR 2009).
    """

    argument: ClassVar[str] = "NAME*WEIGHT+NAME"
    usual: ClassVar[str] = USUAL_PARTS

    def __init__(self, task: Task) -> None:
        from tiny_graph_rag.retrieval import make_retriever

        names = parts_of(f"{HYBRID}:{task.argument}")
        parts = [part.partition("*") for part in task.argument.split("+")]
        self.weights = [_weight(weight, task.argument) if star else 1.0 for _, star, weight in parts]
        if len(names) < 2 or len(set(names)) < len(names) or any(name.startswith(HYBRID) for name in names):
            raise UsageError(
                "--retriever hybrid needs different retrievers, as in hybrid:bfs*3+bm25; got {argument}",
                argument=repr(task.argument),
            )
        # What is below retrieval.min_score is so after fusing, not before.
        config = task.config
        configs = [
            replace(config, retrieval=replace(config.retrieval, retriever=name, min_score=0.0))
            for name in names
        ]
        self.candidates = Candidates(task)
        self.parts = [make_retriever(task.graph, one, task.examples, task.judgments) for one in configs]
        self.walks = any(part.walks for part in self.parts)  # type: ignore[misc]
        self.from_named = all(part.from_named for part in self.parts if part.walks)  # type: ignore[misc]

    def prepare(self, linked: Callable[[], Sequence[LinkedQuestion]]) -> None:
        for part in self.parts:
            part.prepare(linked)

    def notes(self) -> list[str]:
        return [line for part in self.parts for line in part.notes()]

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        runs = [part.retrieve(questions) for part in self.parts]
        return Run.concatenated([self._fused(question, row, runs) for row, question in enumerate(questions)])

    def _fused(self, question: LinkedQuestion, row: int, runs: Sequence[Run]) -> Run:
        shares: dict[int, list[float]] = {}
        hop_of: dict[int, int] = {}
        walk_of: dict[int, np.ndarray] = {}
        for run, weight in zip(runs, self.weights, strict=True):
            place = run.rows(row)
            for rank, entity in enumerate(run.entities[place].tolist(), start=1):
                shares.setdefault(entity, []).append(weight / (RANK_OFFSET + rank))
                at = place.start + rank - 1
                if run.hops[at] != NO_HOP and entity not in hop_of:
                    hop_of[entity] = int(run.hops[at])
                    if run.walks is not None:
                        walk_of[entity] = run.walks[at]
        best = sum(self.weights) / (RANK_OFFSET + 1)
        entities = np.array(list(shares), dtype=np.int32)
        # Added from the smallest up: the order of the retrievers must not decide between equal sums.
        scores = np.array(
            [min(sum(sorted(share)) / best, 1.0) for share in shares.values()], dtype=np.float64
        )
        hops = np.array([hop_of.get(entity, NO_HOP) for entity in shares], dtype=np.int32)
        run = self.candidates.ranked(question, entities, scores, hops)
        walks = np.full((len(run.entities), self.candidates.settings.hops), NO_STEP, dtype=np.int32)
        for at, entity in enumerate(run.entities.tolist()):
            if entity in walk_of:
                walks[at, : len(walk_of[entity])] = walk_of[entity]
        failure = next((run.failures[row] for run in runs if row in run.failures), None)
        return replace(
            run,
            walks=walks,
            failures={} if failure is None or len(run.entities) else {0: failure},
        )


def _weight(written: str, argument: str) -> float:
    """Raises UsageError for a weight that is no positive number."""
    try:
        weight = float(written)
    except ValueError:
        weight = 0.0
    if not 0 < weight < math.inf:
        raise UsageError(
            "--retriever hybrid:{argument}: a weight must be a number above 0, got {weight}",
            argument=argument,
            weight=repr(written.strip()),
        )
    return weight


@retriever("run", "the ranking of another program, as run:FILE")
class RunFileRetriever(Retriever):
    """An external run (TREC, JSON, JSONL, CSV …) in its own order; the score is 1 / its place.

    Questions are found by their ids; one that the run does not have, or has as failed, counts as failed.
    Places that the graph does not have are refused, for leaving them out would move the others up; `score`
    counts them.
    """

    argument: ClassVar[str] = "FILE"
    walks: ClassVar[bool] = False

    def __init__(self, task: Task) -> None:
        from tiny_graph_rag.formats.runs import read_run

        self.candidates = Candidates(task)
        path = find_input(task.argument, Path(task.config.storage.results_dir), "run")
        queries = {question.id: question.query for question in task.examples or ()}
        self.written, self.names = read_run(path).keyed_by(queries), ReturnedNames(task)
        self.rankings = {
            question: list(self.names.ranking(places)) for question, places in self.written.rankings.items()
        }
        strangers = self.names.strangers
        if strangers:
            shown = ", ".join(map(repr, list(strangers)[:5])) + (" …" if len(strangers) > 5 else "")
            raise RunError(
                "{path}: {strangers} of its entities are not in the graph ({shown}). Use the graph of "
                "the run, or `score`, which counts them as wrong",
                path=path,
                strangers=f"{len(strangers):,}",
                shown=shown,
            )

    def notes(self) -> list[str]:
        return self.names.note()

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        parts = []
        for question in questions:
            ranking = np.array(self.rankings.get(question.id, []), dtype=np.int32)
            run = self.candidates.ranked(question, ranking, 1.0 / np.arange(1, len(ranking) + 1))
            if question.id not in self.rankings:
                run = replace(run, failures={0: self.written.failures.get(question.id, ABSENT)})
            parts.append(run)
        ids = [question.id for question in questions]
        relations, passages = self.written.relations, self.written.passages
        return replace(
            Run.concatenated(parts),
            relations=None if relations is None else tuple(tuple(relations.get(id, ())) for id in ids),
            passages=None if passages is None else tuple(tuple(passages.get(id, ())) for id in ids),
            returns_entities=self.written.lists_entities,
            external=True,
        )
