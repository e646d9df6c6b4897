"""What would fix a gold set's retrieval: every kind proposed, measured, and either kept or not.

Three classes, never mixed. What can be proven by the gold set: settings and words for relation types. What a
person must judge, for which the score is a cost and not a reason: aliases, merges, and what an older graph
had. What only the graph's owner knows: relations and entities that may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import amount
from tiny_graph_rag.fixing import vocabulary as learning
from tiny_graph_rag.fixing.applying import apply, frozen, with_words
from tiny_graph_rag.fixing.asking import (
    EVALUATIONS,
    NOBODY,
    BudgetSpent,
    GoldQuestions,
    Measured,
    Progress,
    can_be_tried,
    label_of,
)
from tiny_graph_rag.fixing.patch import (
    CONFIRMED,
    DRAFT,
    Batch,
    ChosenSetting,
    Entry,
    NotKept,
    Patch,
    TriedSetting,
    Words,
    empty_patch,
    ids_of,
)
from tiny_graph_rag.fixing.proof import (
    HELD,
    LEARNED_FROM,
    NONE_CHOSEN,
    NOT_FINISHED,
    Proof,
    proof,
    question_groups,
)
from tiny_graph_rag.fixing.settings import prove_settings, try_settings
from tiny_graph_rag.fixing.vocabulary import LearnedWord
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.linking.question_words import types_say_something
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.base import Column
from tiny_graph_rag.measures.paired import EQUAL, interval
from tiny_graph_rag.measures.statistics import Groups
from tiny_graph_rag.messages import Said, counted, t
from tiny_graph_rag.study.choosing import Rows, held_out

PROVEN = ("settings", "vocabulary")
JUDGED = ("aliases", "merges", "restore")
KINDS = (*PROVEN, *JUDGED, "ask")
FOR_BATCHES = 8  # evaluations that the kinds to judge take at most
MOST_CHANGES = 200  # of a kind, shown before and after
CONTROLS = 2  # random batches next to one of proposals


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
    was. changes: of each kind that was kept or is proposed, the questions that it moves. measured: of each
    kind that can be proven its proof."""

    patch: Patch
    today: float
    questions: int
    groups: int
    spent: float
    stopped: str = ""
    kinds: tuple[str, ...] = KINDS
    changes: dict[str, list[MovedQuestion]] = field(default_factory=dict)
    measured: dict[str, Proof] = field(default_factory=dict)


SPEAKS = '"{word}": in {n} questions, {with_type} of them with {type} on the gold path'
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
    groups = question_groups(questions.examples.examples, questions.judgments)
    found.groups = len(np.unique(groups))
    others = None
    if holdout is not None:
        others = GoldQuestions.of(graph, holdout, config, measure, allowed)
    study = _Study(questions, groups, others, found, older)
    steps: dict[str, Callable[[], None]] = {
        "vocabulary": study.learn_words,
        "settings": study.try_settings,
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
    except BudgetSpent:
        found.stopped = USED_UP
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    found.spent = questions.spent
    return found


@dataclass(eq=False)
class _Study:
    questions: GoldQuestions
    groups: Groups
    others: GoldQuestions | None
    found: Fixes
    older: KnowledgeGraph | None

    @property
    def seed(self) -> int:
        return self.questions.config.evaluation.seed

    @cached_property
    def ids(self) -> list[str]:
        return [example.id for example in self.questions.examples]

    def add(self, **sections: Iterable[Any]) -> None:
        """Put behind what these sections of the patch have what was measured or is asked, no decision."""
        patch = self.found.patch
        for name, entries in sections.items():
            patch = msgspec.structs.replace(patch, **{name: (*getattr(patch, name), *entries)})
        self.found.patch = patch

    def note_changes(
        self, kind: str, gains: Column, first: NDArray[np.int32], graph: KnowledgeGraph | None = None
    ) -> None:
        """Keep the questions that a kind moves, most moved first. graph: that `first` is of."""
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
                tuple(after[entity] for entity in first[row].tolist() if entity != NOBODY),
            )
            for row in moved.tolist()
        ]

    def not_kept(self, kind: str, what: str, why: str, measured: Proof | None = None) -> None:
        figures: dict[str, Any] = {}
        if measured is not None:
            figures = {**_figures(measured), "in_sample": measured.in_sample}
        self.add(not_kept=[NotKept(kind=kind, what=what, why=why, **figures)])

    # What can be proven

    def try_settings(self) -> None:
        questions = self.questions
        if not can_be_tried(questions.config):
            self.not_kept(
                "settings", t("all settings"), t("trying them would call a paid service or run code")
            )
            return
        wanted = [kind for kind in JUDGED if kind in self.found.kinds]
        tried = try_settings(questions, FOR_BATCHES if wanted else 0)
        for one in tried:
            if one.needs:
                self.not_kept("settings", one.label, t("needs the extra {extra}", extra=one.needs))
        result = prove_settings(questions, self.groups, tried, self.seed)
        self.add(
            settings_tried=[
                TriedSetting(
                    values=one.values, gain=one.gain, won=one.won, lost=one.lost, seconds=one.seconds
                )
                for one in sorted(result.tried[1:], key=lambda one: -one.gain)
            ]
        )
        best = result.tried[result.best]
        if not best.values:
            self.found.measured["settings"] = result.proof
            what = t("{n} settings", n=len(result.tried) - 1)
            self.not_kept("settings", what, t("none is better than the current settings"), result.proof)
            return

        def gains_of_others(others: GoldQuestions) -> Column:
            return others.ask(others.config.replaced(best.values)).values - others.today.values

        measured = self.proven("settings", best.label, result.proof, gains_of_others)
        if measured is None:
            return
        entry = ChosenSetting(
            values=best.values,
            status=CONFIRMED,
            evidence=(
                t("best of {n} settings tried on all questions", n=len(result.tried)),
                t("{won} questions better, {lost} worse", won=best.won, lost=best.lost),
            ),
            seconds=best.seconds,
            **self._moved(best.gains),
            **_figures(measured),
        )
        self.found.patch = self.found.patch.plus([entry])
        self.note_changes("settings", best.gains, best.first)

    def learn_words(self) -> None:
        questions, graph = self.questions, self.questions.graph
        ranking = questions.config.ranking
        if not types_say_something(graph) or questions.config.retrieval.retriever.startswith("bm25"):
            why = t("the relation types have too little meaning, or the retriever does not use them")
            self.not_kept("vocabulary", t("words for relation types"), why)
            return
        evidence = learning.gold_evidence(questions)

        def learned(rows: Rows) -> list[LearnedWord]:
            return learning.learn(graph, evidence, self.groups, rows, ranking)

        words = learned(questions.rows)
        what = counted(len(words), "{n} word", "{n} words")
        if len(np.unique(self.groups)) < LEARNED_FROM:
            few = proof(0.0, np.zeros(len(questions)), self.groups, LEARNED_FROM)
            self.not_kept("vocabulary", what, _why(few))
            return
        if not words:
            self.not_kept("vocabulary", t("no proposal"), t("no new words found on the gold paths"))
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
        differences = held_out(self.groups, self.seed, gains)
        control = float(held_out(self.groups, self.seed, gains_at_random, 1).mean())
        measured = self.proven(
            "vocabulary",
            what,
            proof(
                float(whole.mean()),
                differences,
                self.groups,
                LEARNED_FROM,
                span=questions.span,
                control=control,
            ),
            lambda others: learning.gains_of_words(others, pairs, others.rows, t("words, held out")),
        )
        if measured is not None:
            self.found.patch = self.found.patch.plus(self._entries_of(words, whole, measured))
            self.note_changes("vocabulary", whole, answers.first)

    def _entries_of(self, words: Sequence[LearnedWord], whole: Column, measured: Proof) -> Iterator[Words]:
        """One entry a relation type. words: by type. whole: (questions,) what all of them gain."""
        for type, group in groupby(words, key=lambda word: word.type):
            of_type = list(group)
            rows = np.array(sorted({row for word in of_type for row in word.rows}), dtype=np.int64)
            yield Words(
                type=type,
                words=tuple(word.word for word in of_type),
                status=CONFIRMED,
                evidence=tuple(
                    t(SPEAKS, word=word.word, n=word.holding, with_type=len(word.rows), type=type)
                    for word in of_type
                ),
                questions=tuple(self.ids[row] for row in rows),
                **self._moved(whole, rows),
                **_figures(measured),
            )

    def proven(
        self, kind: str, what: str, measured: Proof, gains_of_others: Callable[[GoldQuestions], Column]
    ) -> Proof | None:
        """The verdict on a kind, by the gold set that chose nothing where there is one; None where it does
        not hold, which is noted."""
        others = self.others
        if others is not None:
            groups = question_groups(others.examples.examples, others.judgments)
            gains, span = gains_of_others(others), others.span
            measured = proof(measured.in_sample, gains, groups, 2, span=span, control=measured.control)
        self.found.measured[kind] = measured
        if not measured.accepted:
            self.not_kept(kind, what, _why(measured), measured)
        return measured if measured.accepted else None

    def _moved(self, gains: Column, rows: Iterable[int] | None = None) -> dict[str, Any]:
        """The ids of the questions that gain and that lose, of all or of these rows."""
        rows = range(len(gains)) if rows is None else rows
        won, lost = ([row for row in rows if sign * gains[row] > EQUAL] for sign in (1, -1))
        return {"won": tuple(self.ids[row] for row in won), "lost": tuple(self.ids[row] for row in lost)}

    # What a person judges

    def propose_aliases(self) -> None:
        from tiny_graph_rag.fixing import aliases

        graph = self.questions.graph
        entries = aliases.propose_aliases(graph, self.questions.examples)
        self.judge("aliases", entries, partial(aliases.at_random, graph, entries))

    def propose_merges(self) -> None:
        from tiny_graph_rag.fixing import merges

        graph = self.questions.graph
        entries = merges.propose_merges(graph, self.questions.examples)
        self.judge("merges", entries, partial(merges.at_random, graph, entries))

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
        between = interval(gains, span=questions.span, groups=self.groups)
        won, lost = int((gains > EQUAL).sum()), int((gains < -EQUAL).sum())
        controls = []
        random = np.random.default_rng(self.seed)
        for _ in range(CONTROLS):
            if questions.spent + 1 <= questions.allowed:
                drawn = self._patch_of(at_random(random))
                others = self._answers(drawn, patch, t("{kind} at random", kind=kind))
                controls.append(float((others.values - questions.today.values).mean()))
        batch = Batch(
            kind=kind,
            entries=len(entries),
            questions=won + lost,
            gain=float(gains.mean()),
            low=between.low,
            high=between.high,
            n=len(gains),
            won=won,
            lost=lost,
            control=float(np.mean(controls)) if controls else None,
            without_seeds=self._without_seeds(patch) if won < lost else None,
        )
        self.add(batches=[batch])
        graph = apply(questions.graph, patch, (DRAFT, CONFIRMED))
        self.note_changes(kind, gains, answers.first, graph)
        self.found.patch = self.found.patch.plus(self._attributed(entries, graph, answers, gains))

    def _patch_of(self, entries: Iterable[Entry]) -> Patch:
        return empty_patch(self.questions.graph, self.questions.examples).of(entries)

    def _without_seeds(self, patch: Patch) -> float | None:
        """The gain of a patch where seeds are left out of the ranking as well: what is recognised takes the
        first places otherwise, however right the patch is."""
        questions = self.questions
        config = questions.config.replaced({"exclude_seeds": True})
        is_tried = can_be_tried(config) and not questions.config.retrieval.exclude_seeds
        if not is_tried or questions.spent + 1 > questions.allowed:
            return None
        answers = self._answers(patch, patch, label_of({"exclude_seeds": True}), config)
        return float((answers.values - questions.today.values).mean())

    def _answers(self, patch: Patch, meant: Patch, what: str, config: Config | None = None) -> Measured:
        """With all entries of `patch`, references meaning what `meant` makes of them. config: today's unless
        given."""
        questions, every = self.questions, (DRAFT, CONFIRMED)
        graph = apply(questions.graph, patch, every)
        merged = patch if patch.merges else meant
        examples = frozen(questions.examples, questions.graph, graph, merged, every)
        return questions.ask(config, graph=graph, examples=examples, what=what)

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
            yield msgspec.structs.replace(entry, questions=named, **self._moved(gains, rows))


def _entities_of(answers: Measured, row: int) -> set[int]:
    """Seeds of a question, and what is ranked first."""
    seeds = {seed.entity for seed in answers.linked[row].seeds}
    return (seeds | set(answers.first[row].tolist())) - {NOBODY}


def _figures(measured: Proof) -> dict[str, Any]:
    return {name: getattr(measured, name) for name in ("gain", "low", "high", "n", "control")}


def _why(measured: Proof) -> str:
    if measured.why in (HELD, NONE_CHOSEN):
        return t(measured.why)
    return t(measured.why, groups=measured.groups, least=measured.least)


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
