"""What would fix a gold set's retrieval: every kind proposed, measured, and either kept or not.

Three classes, never mixed. What can be proven by the gold set: settings and words for relation types. What a
person must judge, for which the score is a cost and not a reason: aliases, merges, and what an older graph
had. What only the graph's owner knows: relations and entities that may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import amount
from tiny_graph_rag.fixing.aliases import propose_aliases
from tiny_graph_rag.fixing.applying import apply, frozen
from tiny_graph_rag.fixing.merges import at_random, propose_merges
from tiny_graph_rag.fixing.missing import propose_asks
from tiny_graph_rag.fixing.older import propose_older
from tiny_graph_rag.fixing.patch import CONFIRMED, DRAFT, Batch, Entry, Patch, empty_patch, ids_of
from tiny_graph_rag.fixing.proof import KINDS, NOT_FINISHED, Fixes, Study, figures_of
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import EQUAL
from tiny_graph_rag.messages import Said, t
from tiny_graph_rag.study.gold_questions import (
    EVALUATIONS,
    NOBODY,
    BudgetSpent,
    GoldQuestions,
    Measured,
    Progress,
)
from tiny_graph_rag.study.recommend import likenesses
from tiny_graph_rag.study.settings import question_groups

ALL = "all"  # the kind of the batch that holds every entry
CONTROLS = 2  # random batches next to one of proposals
INTERRUPTED = "interrupted: what has been measured so far is kept"
USED_UP = "the limit of evaluations is reached; raise it with --evaluations"


def find_fixes(
    graph: KnowledgeGraph,
    examples: EvalSet,
    config: Config,
    measure: Measure,
    kinds: Sequence[str] = KINDS,
    *,
    older: KnowledgeGraph | None = None,
    holdout: EvalSet | None = None,
    allowed: float = EVALUATIONS,
    progress: Progress = lambda spent, what: None,
) -> Fixes:
    """Propose, apply in memory, ask again, and say what holds.

    older: an earlier version of the graph. holdout: questions that choose nothing; where given, what is
    proven is proven on them and not by cross-validation. KeyboardInterrupt ends it; what was measured by then
    is in the result.
    """
    questions = GoldQuestions.of(graph, examples, config, measure, allowed, progress)
    found = Fixes(empty_patch(graph, examples, str(measure)), float("nan"), len(questions), 0, 0.0)
    found.kinds = tuple(kinds)
    if not len(questions):
        return found
    asked = questions.examples.examples
    groups = question_groups(asked, questions.judgments, likenesses(asked))
    found.groups = len(np.unique(groups))
    others = None if holdout is None else GoldQuestions.of(graph, holdout, config, measure, allowed)
    study = _Judging(questions, groups, others, found, older)
    steps: dict[str, Callable[[], None]] = {
        "vocabulary": study.learn_words,
        "settings": study.try_settings_on_sample,
        "aliases": study.judge_aliases,
        "merges": study.judge_merges,
        "restore": study.judge_restored,
        "ask": study.ask,
    }
    try:
        found.today = questions.sign * float(questions.today.values.mean())
        for kind in filter(kinds.__contains__, steps):
            try:
                steps[kind]()
            except BudgetSpent:
                found.stopped = USED_UP
                study.not_kept(kind, t("not measured"), t(NOT_FINISHED))
        study.measure_all()
    except BudgetSpent:
        found.stopped = USED_UP
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    found.spent = questions.spent
    return found


@dataclass(eq=False)
class _Judging(Study):
    """The kinds that a person judges, and what is asked."""

    older: KnowledgeGraph | None

    def try_settings_on_sample(self) -> None:
        sample = self.sampled()
        sample.try_settings()
        self.questions.spent = sample.questions.spent

    def judge_aliases(self) -> None:
        self.judge("aliases", propose_aliases(self.questions.graph, self.questions.examples))

    def judge_merges(self) -> None:
        self.judge("merges", propose_merges(self.questions.graph, self.questions.examples))

    def judge_restored(self) -> None:
        if self.older is not None:
            self.judge("restore", propose_older(self.questions.graph, self.older, self.questions.examples))

    def ask(self) -> None:
        patch = self.found.patch
        names = [entry.name for entry in patch.restored_entities] + [entry.was for entry in patch.renames]
        restored = set(map(fold, names))
        asks = propose_asks(self.questions.graph, self.questions.examples)
        self.add("ask", *(entry for entry in asks if fold(entry.reference) not in restored))

    def judge(self, kind: str, entries: Sequence[Entry]) -> None:
        """Put the entries into the patch, with the questions that they change and what they cost together.
        Next to aliases and merges stand as many of other entities."""
        if not entries:
            self.not_kept(kind, t("no proposal"), t("no evidence in the graph or the questions"))
            return
        questions, today = self.questions, self.questions.today.values
        patch = empty_patch(questions.graph, questions.examples).of(entries)
        try:
            graph, answers = self._answers(patch, patch, t("{kind}, together", kind=kind))
        except BudgetSpent:
            self.found.stopped = USED_UP
            self.add("batches", Batch(kind=kind, entries=len(entries)))
            self.found.patch = self.found.patch.plus(entries)
            return
        gains = answers.values - today
        controls: list[float] = []
        random = np.random.default_rng(self.seed)
        while kind != "restore" and len(controls) < CONTROLS and questions.spent + 1 <= questions.allowed:
            drawn = patch.of(at_random(questions.graph, entries, random))
            _, others = self._answers(drawn, patch, t("{kind} at random", kind=kind))
            controls.append(float((others.values - today).mean()))
        control = float(np.mean(controls)) if controls else None
        self.add("batches", self._batch(kind, len(entries), gains, control=control))
        self.note_changes(kind, gains, answers, graph)
        self.found.patch = self.found.patch.plus(self._attributed(entries, graph, answers, gains))

    def _batch(self, kind: str, entries: int, gains: Column, **more: Any) -> Batch:
        won, lost = int((gains > EQUAL).sum()), int((gains < -EQUAL).sum())
        figures = asdict(figures_of(gains, self.groups, self.questions.span)) | more
        return Batch(kind=kind, entries=entries, questions=won + lost, won=won, lost=lost, **figures)

    def _answers(
        self, patch: Patch, meant: Patch, what: str, config: Config | None = None
    ) -> tuple[KnowledgeGraph, Measured]:
        """The graph with all entries of `patch`, and what it answers, references meaning what `meant` makes
        of them. config: today's unless given."""
        questions, every = self.questions, (DRAFT, CONFIRMED)
        graph = apply(questions.graph, patch, every)
        merged = patch if patch.merges else meant
        examples = frozen(questions.examples, questions.graph, graph, merged, every)
        return graph, questions.ask(config, graph=graph, examples=examples, what=what)

    def measure_all(self) -> None:
        """What all entries of all kinds do together, where there are several kinds: gains need not add up."""
        patch, questions = self.found.patch, self.questions
        parts = [part.gain for part in (*patch.batches, *patch.settings, *patch.vocabulary[:1])]
        measured = [gain for gain in parts if gain is not None]
        if len(measured) < 2 or questions.spent + 1 > questions.allowed:
            return
        config = questions.config
        for entry in patch.settings:
            config = config.replaced(entry.values)
        _, answers = self._answers(patch, patch, t("all changes together"), config)
        gains, entries = answers.values - questions.today.values, len(patch.entries())
        self.add("batches", self._batch(ALL, entries, gains, parts=sum(measured)))

    def _attributed(
        self, entries: Iterable[Entry], graph: KnowledgeGraph, answers: Measured, gains: Column
    ) -> Iterator[Entry]:
        """Each entry with the questions that change and concern its entities: as seeds, as references, or
        among the first that are returned."""
        after, before = graph.entities.ids, self.questions.graph.entities.ids
        concerned: dict[int, set[str]] = {}
        for row in np.flatnonzero(np.abs(gains) > EQUAL).tolist():
            references = self.questions.judgments.references[row]
            meant = {before[entity] for reference in references for entity in reference.entities}
            meant |= {before[entity] for entity in _entities_of(self.questions.today, row)}
            concerned[row] = meant | {after[entity] for entity in _entities_of(answers, row)}
        for entry in entries:
            rows = [row for row, ids in concerned.items() if ids.intersection(ids_of(entry))]
            if entry.questions:
                rows = [row for row in rows if self.ids[row] in entry.questions]
            named = entry.questions or tuple(self.ids[row] for row in rows)
            yield msgspec.structs.replace(entry, questions=named, **self.moved(gains, rows))


def _entities_of(answers: Measured, row: int) -> set[int]:
    """Seeds of a question, and what is ranked first."""
    seeds = {seed.entity for seed in answers.linked[row].seeds}
    return (seeds | set(answers.first[row].tolist())) - {NOBODY}


def by_kind(patch: Patch) -> list[Said]:
    """`2 aliases`, `1 merge`: how many entries of each kind a patch has, kinds without any left out."""
    restored, relations = patch.restored_entities, patch.restored_relations
    counts = (
        (len(patch.settings), amount(len(patch.settings), "setting")),
        (len(patch.vocabulary), amount(sum(len(entry.words) for entry in patch.vocabulary), "word")),
        (len(patch.aliases), amount(len(patch.aliases), "alias", "aliases")),
        (len(patch.merges), amount(len(patch.merges), "merge")),
        (len(patch.renames), amount(len(patch.renames), "rename")),
        (len(restored), amount(len(restored), "restored entity", "restored entities")),
        (len(relations), amount(len(relations), "restored relation")),
    )
    return [words for n, words in counts if n]
