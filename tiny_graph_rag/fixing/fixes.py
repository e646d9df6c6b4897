"""What would fix a gold set's retrieval: every kind proposed, measured, and either kept or not.

Three classes, never mixed. What can be proven by the gold set: settings and words for relation types. What a
person must judge, for which the score is a cost and not a reason: aliases, merges, and what an older graph
had. What only the graph's owner knows: relations and entities that may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import amount
from tiny_graph_rag.fixing.applying import apply, frozen
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
    others = None
    if holdout is not None:
        others = GoldQuestions.of(graph, holdout, config, measure, allowed)
    study = _Judging(questions, groups, others, found, older)

    def try_settings() -> None:
        sample = study.sampled()
        sample.try_settings()
        questions.spent = sample.questions.spent

    steps: dict[str, Callable[[], None]] = {
        "vocabulary": study.learn_words,
        "settings": try_settings,
        "aliases": study.propose_aliases,
        "merges": study.propose_merges,
        "restore": study.restore,
        "ask": study.ask,
    }
    try:
        found.today = questions.sign * float(questions.today.values.mean())
        for kind, step in steps.items():
            if kind in kinds:
                try:
                    step()
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


class _Judging(Study):
    """The kinds that a person judges, and what is asked."""

    def propose_aliases(self) -> None:
        from tiny_graph_rag.fixing.aliases import propose_aliases
        from tiny_graph_rag.fixing.merges import at_random

        entries = propose_aliases(self.questions.graph, self.questions.examples)
        self.judge("aliases", entries, partial(at_random, self.questions.graph, entries))

    def propose_merges(self) -> None:
        from tiny_graph_rag.fixing.merges import at_random, propose_merges

        entries = propose_merges(self.questions.graph, self.questions.examples)
        self.judge("merges", entries, partial(at_random, self.questions.graph, entries))

    def restore(self) -> None:
        if self.older is None:
            return
        from tiny_graph_rag.fixing import older

        graph = self.questions.graph
        restore = older.propose_older(graph, self.older, self.questions.examples)
        entries = [*restore.renames, *restore.entities, *restore.relations]
        self.judge("restore", entries, partial(older.at_random, graph, self.older, entries))

    def ask(self) -> None:
        from tiny_graph_rag.fixing.missing import propose_asks

        restored = self.found.patch.restore
        back = {fold(entry.name) for entry in restored.entities} | {
            fold(entry.was) for entry in restored.renames
        }
        asks = propose_asks(self.questions.graph, self.questions.examples)
        self.add(ask=[entry for entry in asks if not entry.reference or fold(entry.reference) not in back])

    def judge(
        self,
        kind: str,
        entries: Sequence[Entry],
        at_random: Callable[[np.random.Generator], Iterable[Entry]],
    ) -> None:
        """Put the entries into the patch, with the questions that they change and what they cost together."""
        if not entries:
            self.not_kept(kind, t("no proposal"), t("no evidence in the graph or the questions"))
            return
        questions = self.questions
        if questions.spent + 1 > questions.allowed:
            self.add(batches=[Batch(kind=kind, entries=len(entries))])
            self.found.patch = self.found.patch.plus(entries)
            return
        patch = self._patch_of(entries)
        answers = self._answers(patch, patch, t("{kind}, together", kind=kind))
        gains = answers.values - questions.today.values
        controls = []
        random = np.random.default_rng(self.seed)
        for _ in range(CONTROLS):
            if questions.spent + 1 <= questions.allowed:
                drawn = self._patch_of(at_random(random))
                others = self._answers(drawn, patch, t("{kind} at random", kind=kind))
                controls.append(float((others.values - questions.today.values).mean()))
        control = float(np.mean(controls)) if controls else None
        batch = self._batch(kind, len(entries), gains, control=control)
        self.add(batches=[batch])
        graph = apply(questions.graph, patch, (DRAFT, CONFIRMED))
        self.note_changes(kind, gains, answers.first, graph)
        self.found.patch = self.found.patch.plus(self._attributed(entries, graph, answers, gains))

    def _batch(self, kind: str, entries: int, gains: Column, **more: Any) -> Batch:
        won, lost = int((gains > EQUAL).sum()), int((gains < -EQUAL).sum())
        figures = figures_of(gains, self.questions, self.groups)
        return Batch(kind=kind, entries=entries, questions=won + lost, won=won, lost=lost, **figures, **more)

    def _patch_of(self, entries: Iterable[Entry]) -> Patch:
        return empty_patch(self.questions.graph, self.questions.examples).of(entries)

    def _answers(self, patch: Patch, meant: Patch, what: str, config: Config | None = None) -> Measured:
        """With all entries of `patch`, references meaning what `meant` makes of them. config: today's unless
        given."""
        questions, every = self.questions, (DRAFT, CONFIRMED)
        graph = apply(questions.graph, patch, every)
        merged = patch if patch.merges else meant
        examples = frozen(questions.examples, questions.graph, graph, merged, every)
        return questions.ask(config, graph=graph, examples=examples, what=what)

    def measure_all(self) -> None:
        """What all entries of all kinds do together, where there are several kinds: gains need not add up."""
        patch, questions = self.found.patch, self.questions
        parts = [batch.gain for batch in patch.batches if batch.gain is not None]
        parts += [entry.gain for entry in (*patch.settings, *patch.vocabulary[:1]) if entry.gain is not None]
        if len(parts) < 2 or questions.spent + 1 > questions.allowed:
            return
        config = questions.config
        for entry in patch.settings:
            config = config.replaced(entry.values)
        gains = self._answers(patch, patch, t("all changes together"), config).values - questions.today.values
        self.add(batches=[self._batch(ALL, len([*patch.entries()]), gains, parts=sum(parts))])

    def _attributed(
        self, entries: Sequence[Entry], graph: KnowledgeGraph, answers: Measured, gains: Column
    ) -> Iterator[Entry]:
        """Each entry with the questions that change and concern its entities: as seeds, as references, or
        among the first that are returned."""
        questions = self.questions
        after = graph.entities.ids
        before = questions.graph.entities.ids
        concerns: dict[str, list[int]] = {}
        for row in np.flatnonzero(np.abs(gains) > EQUAL).tolist():
            mine = {before[entity] for entity in _entities_of(questions.today, row)}
            mine |= {after[entity] for entity in _entities_of(answers, row)}
            references = questions.judgments.references[row]
            mine |= {before[entity] for reference in references for entity in reference.entities}
            for id in mine:
                concerns.setdefault(id, []).append(row)
        for entry in entries:
            rows = sorted({row for id in ids_of(entry) for row in concerns.get(id, ())})
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
    restore = patch.restore
    counts = (
        (len(patch.settings), amount(len(patch.settings), "setting")),
        (len(patch.vocabulary), amount(sum(len(entry.words) for entry in patch.vocabulary), "word")),
        (len(patch.aliases), amount(len(patch.aliases), "alias", "aliases")),
        (len(patch.merges), amount(len(patch.merges), "merge")),
        (len(restore.renames), amount(len(restore.renames), "rename")),
        (len(restore.entities), amount(len(restore.entities), "restored entity", "restored entities")),
        (len(restore.relations), amount(len(restore.relations), "restored relation")),
    )
    return [words for n, words in counts if n]
