"""What would fix a gold set's retrieval: every kind proposed, measured, and either kept or not.

Three classes, never mixed. What can be proven by the gold set: settings and words for relation types. What a
person must judge, for which the score is a cost and not a reason: aliases, merges, and names of an older
graph. What only the graph's owner knows: relations and entities that may be missing.

What is chosen by a gold set looks good on it: 35 changes that raised nDCG@5 by .07 with p .002 raised it by
.000 on questions that did not choose them, and the same number of random changes raised it by .03. So changes
are accepted by kind, never one by one: each part of the questions is measured with what the other parts
choose, and a kind is accepted where the interval of that gain lies above 0. Next to it stands the gain of
as many random changes, measured in the same way.

Questions with the same references, and paraphrases, are one group: a group is never on both sides, and is one
observation of the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import asdict

from tiny_graph_rag.config import Config
from tiny_graph_rag.fixing import vocabulary as learning
from tiny_graph_rag.fixing.aliases import propose_aliases
from tiny_graph_rag.fixing.applying import apply, frozen, with_words
from tiny_graph_rag.fixing.merges import at_random, propose_merges
from tiny_graph_rag.fixing.missing import propose_asks
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    DRAFT,
    NOT_MEASURED,
    Batch,
    ChosenSetting,
    Entry,
    Figures,
    NotKept,
    Patch,
    Words,
    empty_patch,
    ids_of,
)
from tiny_graph_rag.fixing.renames import propose_renames
from tiny_graph_rag.fixing.vocabulary import LearnedWord
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.linking.question_words import types_say_something
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import EQUAL, interval
from tiny_graph_rag.measures.statistics import Groups
from tiny_graph_rag.messages import counted, shown, t
from tiny_graph_rag.results import Decision
from tiny_graph_rag.study.choosing import Rows, held_out
from tiny_graph_rag.study.recommend import likenesses
from tiny_graph_rag.study.settings import (
    can_be_tried,
    candidates,
    decide,
    question_groups,
    seeds_are_no_answers,
    try_settings,
)
from tiny_graph_rag.study.trials import (
    EVALUATIONS,
    NOBODY,
    BudgetSpent,
    GoldQuestions,
    Measured,
    Progress,
)

PROVEN = ("settings", "vocabulary")
JUDGED = ("aliases", "merges", "renames")
KINDS = (*PROVEN, *JUDGED, "ask")
FOR_BATCHES = 8  # evaluations that the kinds to judge take at most
MOST_TRIED = 400  # questions that settings are tried on; of more, a sample
MOST_CHANGES = 200  # of a kind, shown before and after
LEARNED_FROM = 35  # groups: what 50 questions hold; fewer teach words that do not hold

TOO_FEW = "too few groups of questions ({groups} of at least {least})"
NOT_HELD = "the gain does not hold on questions that did not choose it"
NOT_FINISHED = "not measured to the end"
SPEAKS = '"{word}": in {n} questions, {with_type} of them with {type} on the gold path'
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
    questions = GoldQuestions.with_references(graph, examples, config, measure, allowed, progress)
    found = Fixes(empty_patch(graph, examples, str(measure)), float("nan"), len(questions), 0, 0.0)
    found.kinds = tuple(kinds)
    if not len(questions):
        return found
    asked = questions.examples.examples
    groups = question_groups(asked, questions.judgments, likenesses(asked))
    found.groups = len(np.unique(groups))
    others = (
        None if holdout is None else GoldQuestions.with_references(graph, holdout, config, measure, allowed)
    )
    study = Study(questions, groups, others, found)
    scored = questions.examples

    def try_settings_on_sample() -> None:
        sample = study.sampled()
        sample.try_settings()
        questions.spent = sample.questions.spent

    steps: dict[str, Callable[[], None]] = {
        "vocabulary": study.learn_words,
        "settings": try_settings_on_sample,
        "aliases": lambda: study.judge("aliases", propose_aliases(graph, scored)),
        "merges": lambda: study.judge("merges", propose_merges(graph, scored)),
        "renames": lambda: study.judge("renames", propose_renames(graph, older, scored) if older else ()),
        "ask": lambda: study.ask(older),
    }
    try:
        found.today = measure.sign * float(questions.today.values.mean())
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


@dataclass(frozen=True, slots=True)
class MovedQuestion:
    """A question before and after. ranked_before, ranked_after: names within the cutoff."""

    id: str
    query: str
    before: float
    after: float
    ranked_before: tuple[str, ...]
    ranked_after: tuple[str, ...]


@dataclass(slots=True)
class Fixes:
    """patch: all that was proposed and measured. today: mean of the measure as things are. questions,
    groups: that have a reference. spent: evaluations. stopped: why not everything was measured, "" where it
    was. changes: of each kind that was kept or is proposed, the questions that it moves. decision: of the
    settings."""

    patch: Patch
    today: float
    questions: int
    groups: int
    spent: float
    stopped: str = ""
    kinds: tuple[str, ...] = KINDS
    changes: dict[str, list[MovedQuestion]] = field(default_factory=dict)
    decision: Decision | None = None


@dataclass(eq=False)
class Study:
    """What is measured with one gold set, and the result. others: questions that choose nothing."""

    questions: GoldQuestions
    groups: Groups
    others: GoldQuestions | None
    found: Fixes

    @property
    def seed(self) -> int:
        return self.questions.config.evaluation.seed

    @cached_property
    def ids(self) -> list[str]:
        return [example.id for example in self.questions.examples]

    def add(self, section: str, *entries: Any) -> None:
        """Put behind what a section of the patch has what was measured or is asked, no decision."""
        patch = self.found.patch
        self.found.patch = msgspec.structs.replace(patch, **{section: (*getattr(patch, section), *entries)})

    def note_changes(
        self, kind: str, gains: Column, answers: Measured, graph: KnowledgeGraph | None = None
    ) -> None:
        """Keep the questions that a kind moves, most moved first. graph: that the answers are of."""
        today = self.questions.today
        names = self.questions.graph.entities.names
        after = (self.questions.graph if graph is None else graph).entities.names
        moved = np.flatnonzero(np.abs(gains) > EQUAL)
        moved = moved[np.argsort(-np.abs(gains[moved]), kind="stable")][:MOST_CHANGES]
        self.found.changes[kind] = [
            MovedQuestion(
                self.ids[row],
                self.questions.examples.examples[row].query,
                float(abs(today.values[row])),
                float(abs(today.values[row] + gains[row])),
                tuple(names[entity] for entity in today.first[row].tolist() if entity != NOBODY),
                tuple(after[entity] for entity in answers.first[row].tolist() if entity != NOBODY),
            )
            for row in moved.tolist()
        ]

    def not_kept(
        self, kind: str, what: str, why: str, figures: Figures = NOT_MEASURED, in_sample: float | None = None
    ) -> None:
        self.add("not_kept", NotKept(kind=kind, what=what, why=why, in_sample=in_sample, **asdict(figures)))

    def moved(self, gains: Column, rows: Iterable[int] | None = None) -> dict[str, Any]:
        """The ids of the questions that gain and that lose, of all or of these rows."""
        rows = range(len(gains)) if rows is None else rows
        won, lost = ([row for row in rows if sign * gains[row] > EQUAL] for sign in (1, -1))
        return {"won": tuple(self.ids[row] for row in won), "lost": tuple(self.ids[row] for row in lost)}

    def figures_of_others(self, gains_of: Callable[[GoldQuestions], Column]) -> Figures | None:
        """What is gained on the gold set that chose nothing; None where there is none."""
        if self.others is None:
            return None
        asked = self.others.examples.examples
        groups = question_groups(asked, self.others.judgments, likenesses(asked))
        return figures_of(gains_of(self.others), groups, self.others.measure.span)

    def sampled(self) -> Study:
        """The same with at most MOST_TRIED of the questions, spread evenly: settings are tried two dozen
        times."""
        questions = self.questions
        step = -(-len(questions) // MOST_TRIED)
        if step < 2:
            return self
        examples = replace(questions.examples, examples=questions.examples.examples[::step])
        given = (questions.config, questions.measure, questions.allowed, questions.progress)
        fewer = GoldQuestions.with_references(questions.graph, examples, *given)
        fewer.spent = questions.spent
        return Study(fewer, self.groups[::step], self.others, self.found)

    def try_settings(self) -> None:
        questions = self.questions
        if not can_be_tried(questions.config):
            why = t("trying them would call a paid service or run code")
            self.not_kept("settings", t("all settings"), why)
            return
        wanted = [kind for kind in JUDGED if kind in self.found.kinds]
        seeds_answer = not seeds_are_no_answers(questions.today.linked, questions.judgments)
        listed = list(candidates(questions.config, seeds_answer=seeds_answer))
        tried = try_settings(questions, listed, FOR_BATCHES if wanted else 0)
        groups = question_groups(questions.examples.examples, questions.judgments)
        self.found.decision = decision = decide(tried, questions.measure, groups, seed=self.seed)
        n = sum(record.change is not None for record in decision.tried)
        what, why = counted(n, "{n} setting", "{n} settings"), shown(decision.reason)
        if not n and decision.recommended is not None:  # no evaluation was left for others
            what, why = t("all settings"), t(USED_UP)
        record = None if decision.recommended is None else decision.tried[decision.recommended]
        if record is None or not record.settings:
            self.not_kept("settings", what, why)
            return
        answers = next(setting.answers for setting in tried if setting.settings == record.settings)
        values, gains = record.settings, answers.values - questions.today.values
        figures = self.figures_of_others(
            lambda others: others.ask(others.config.replaced(values)).values - others.today.values
        )
        holds = decision.certain if figures is None else figures.holds
        figures = figures or figures_of(gains, groups, questions.measure.span)
        if not holds:
            self.not_kept("settings", what, why, figures, float(gains.mean()))
            return
        chosen = ChosenSetting(
            values=values,
            status=CONFIRMED,
            evidence=(
                t("best of {n} settings, tried on {all} questions", n=n, all=len(gains)),
                t("{won} better, {lost} worse", won=record.better, lost=record.worse),
            ),
            **self.moved(gains),
            **asdict(figures),
        )
        self.found.patch = self.found.patch.plus([chosen])
        self.note_changes("settings", gains, answers)

    def learn_words(self) -> None:
        questions, graph = self.questions, self.questions.graph
        ranking = questions.config.ranking
        if not types_say_something(graph) or questions.config.retrieval.retriever.startswith("bm25"):
            why = t("the relation types have too little meaning, or the retriever does not use them")
            self.not_kept("vocabulary", t("no proposal"), why)
            return
        evidence = learning.gold_evidence(questions)

        def learned(rows: Rows) -> list[LearnedWord]:
            return learning.learn(graph, evidence, self.groups, rows, ranking)

        words = learned(questions.rows)
        what = counted(len(words), "{n} word", "{n} words")
        if not words:
            self.not_kept("vocabulary", t("no proposal"), t("no new words found on the gold paths"))
            return
        if self.found.groups < LEARNED_FROM:
            self.not_kept("vocabulary", what, t(TOO_FEW, groups=self.found.groups, least=LEARNED_FROM))
            return

        def gains(rows: Rows, out: Rows) -> Column:
            pairs = learning.pairs_of(learned(rows))
            return learning.gains_of_words(questions, pairs, out, t("words, held out"))

        def gains_at_random(rows: Rows, out: Rows) -> Column:
            pairs = learning.at_random(graph, learned(rows), self.seed + int(out[0]))
            return learning.gains_of_words(questions, pairs, out, t("words at random"))

        pairs = learning.pairs_of(words)
        answers = questions.ask(graph=with_words(graph, pairs), what=t("words"))
        whole = answers.values - questions.today.values
        figures = self.figures_of_others(
            lambda others: learning.gains_of_words(others, pairs, others.rows, t("words, held out"))
        )
        if figures is None:
            figures = figures_of(held_out(self.groups, self.seed, gains), self.groups, questions.measure.span)
        control = float(held_out(self.groups, self.seed, gains_at_random, 1).mean())
        figures = msgspec.structs.replace(figures, control=control)
        if figures.holds:
            self.found.patch = self.found.patch.plus(self._entries_of(words, whole, figures))
            self.note_changes("vocabulary", whole, answers)
        else:
            self.not_kept("vocabulary", what, t(NOT_HELD), figures, float(whole.mean()))

    def _entries_of(self, words: list[LearnedWord], whole: Column, figures: Figures) -> Iterator[Words]:
        """One entry a relation type. words: by type. whole: (questions,) what all of them gain."""
        for type, group in groupby(words, key=lambda word: word.type):
            of_type = list(group)
            rows = sorted({row for word in of_type for row in word.rows})
            yield Words(
                type=type,
                words=tuple(word.word for word in of_type),
                status=CONFIRMED,
                evidence=tuple(
                    t(SPEAKS, word=word.word, n=word.holding, with_type=len(word.rows), type=type)
                    for word in of_type
                ),
                questions=tuple(self.ids[row] for row in rows),
                **self.moved(whole, rows),
                **asdict(figures),
            )

    def ask(self, older: KnowledgeGraph | None) -> None:
        renamed = {fold(entry.alias) for entry in self.found.patch.renames}
        asks = propose_asks(self.questions.graph, self.questions.examples, older)
        self.add("ask", *(entry for entry in asks if fold(entry.reference) not in renamed))

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
        while kind != "renames" and len(controls) < CONTROLS and questions.spent + 1 <= questions.allowed:
            drawn = patch.of(at_random(questions.graph, entries, random))
            _, others = self._answers(drawn, patch, t("{kind} at random", kind=kind))
            controls.append(float((others.values - today).mean()))
        control = float(np.mean(controls)) if controls else None
        self.add("batches", self._batch(kind, len(entries), gains, control=control))
        self.note_changes(kind, gains, answers, graph)
        self.found.patch = self.found.patch.plus(self._attributed(entries, graph, answers, gains))

    def _batch(self, kind: str, entries: int, gains: Column, **more: Any) -> Batch:
        won, lost = int((gains > EQUAL).sum()), int((gains < -EQUAL).sum())
        figures = asdict(figures_of(gains, self.groups, self.questions.measure.span)) | more
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


def figures_of(gains: Column, groups: Groups, span: float = 1.0) -> Figures:
    """The mean gain, its 95 % interval over groups, and how many questions it is of. span: the largest
    difference that two values can have."""
    between = interval(gains, span=span, groups=groups)
    mean = float(gains.mean()) if len(gains) else 0.0
    return Figures(gain=mean, low=between.low, high=between.high, n=len(gains))


def _entities_of(answers: Measured, row: int) -> set[int]:
    """Seeds of a question, and what is ranked first."""
    seeds = {seed.entity for seed in answers.linked[row].seeds}
    return (seeds | set(answers.first[row].tolist())) - {NOBODY}
