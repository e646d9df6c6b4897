"""Opening a run and a gold set of other makers for scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiny_graph_rag.errors import DatasetError, UsageError, at, unknown
from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.inputs import bare_name
from tiny_graph_rag.scoring.stretches import Stretch, counted
from tiny_graph_rag.scoring.trec import AnotherWay, GoldTable, TrecRun

if TYPE_CHECKING:  # the quick way loads none of these
    from tiny_graph_rag.formats.runs import WrittenRun
    from tiny_graph_rag.gold.examples import Example, Selection
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.measures import Measure
    from tiny_graph_rag.measures.textual import TextMatch

LARGE_BYTES = 1 << 22  # below, the careful way takes no longer than the eye notices
TIES = ("list", "trec")  # of equal scores: as they stand in the file, or as trec_eval orders them
TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class Request:
    """run_format, gold_format: None finds them by content. selection: None for all questions.
    passage_match: as `judged_passages` has it."""

    run: Path
    gold: Path
    run_format: str | None = None
    gold_format: str | None = None
    ties: str = "list"
    selection: Selection | None = None
    passage_match: TextMatch | None = None

    def __post_init__(self) -> None:
        if self.ties not in TIES:
            raise unknown("--ties", self.ties, TIES)


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """stretches: to be taken once. notes: warnings, known once they were. questions, run: what they are made
    of, where that is in memory."""

    stretches: Iterable[Stretch]
    gold_name: str
    run_format: str
    gold_format: str = "trec"
    selection: Selection | None = None
    usage: dict[str, int] = field(default_factory=dict)
    notes: Callable[[], list[str]] = list
    questions: Sequence[Example] = ()
    run: WrittenRun | None = None

    def usual(self, measures: Sequence[Measure]) -> tuple[Measure, ...]:
        """What is scored where nobody said which: these measures, of passages where those are all that the
        run or the gold set has."""
        run = self.run
        has_entities = run is not None and run.lists_entities and any(one.grades for one in self.questions)
        if run is None or run.passages is None or has_entities:
            return tuple(measures)
        return tuple(type(measure).parse(f"passages:{measure}") for measure in measures)


def check_needs(measures: Iterable[Measure], *, has_graph: bool) -> None:
    """Raises UsageError for a measure that looks at a graph where none is given."""
    for measure in measures:
        if measure.kind.needs_graph and not has_graph:
            raise UsageError("measure {measure} needs the relations of a graph; add -g", measure=measure)


def attempts(request: Request, graph: KnowledgeGraph | None, match: TextMatch | None) -> Iterator[Opened]:
    """The ways to read the files, quickest first: take the next where one raises AnotherWay.

    Raises RunError or DatasetError for what can't be read, UsageError for what doesn't go together.
    """
    if graph is None and match is None and _is_large_trec(request):
        with suppress(AnotherWay):
            gold = GoldTable.of(read_bytes(request.gold))
            run = TrecRun(request.run, gold, request.ties)
            yield Opened(
                run.stretches(), bare_name(request.gold), "trec", notes=partial(_notes, run, request.run.name)
            )
    yield open_run(request, graph, match)


def _is_large_trec(request: Request) -> bool:
    """Whether both may be TREC's, and the run is large; the quick way finds what else they are."""
    forms = {request.run_format, request.gold_format}
    return request.selection is None and forms <= {None, "trec"} and request.run.stat().st_size >= LARGE_BYTES


def _notes(run: TrecRun, name: str) -> list[str]:
    missing = np.flatnonzero(~run.answered)
    few = [run.gold.ids[row] for row in missing[:3].tolist()]
    return [at(name, line) for line in counted(run.unknown, len(missing), few, 0)]


def open_run(request: Request, graph: KnowledgeGraph | None, match: TextMatch | None) -> Opened:
    """The careful way, for all formats; everything is in memory."""
    from tiny_graph_rag.formats.gold import read_gold, with_references
    from tiny_graph_rag.formats.runs import read_run
    from tiny_graph_rag.gold.patterns import with_patterns
    from tiny_graph_rag.scoring.judging import notes, stretches
    from tiny_graph_rag.scoring.source_chunks import PASSAGES, kind_expected

    gold = read_gold(request.gold, request.gold_format)
    run = read_run(request.run, request.run_format, ties=request.ties)
    by_text = match is not None and match.by_text
    if not by_text:
        gold = with_references(gold, request.gold)
        gold = with_patterns(graph, gold)
    questions = (gold if request.selection is None else gold.select(request.selection)).questions
    if match is not None and by_text and not any(question.reference_texts for question in questions):
        raise DatasetError(
            "{name}: --match {kind} compares texts, and no question has 'reference_texts'",
            name=request.gold.name,
            kind=match.kind,
        )
    is_part = request.selection is not None
    by_name = not by_text and not gold.format == run.format == "trec"
    run = run.keyed_by({question.id: question.query for question in gold.questions})
    if graph is None and not by_text and kind_expected(questions) == PASSAGES:
        run = run.of_passages()
    return Opened(
        stretches(questions, run, graph, match, request.passage_match),
        gold.name,
        run.format,
        gold.format,
        request.selection,
        _usage(run),
        lambda: [
            *(at(request.gold.name, line) for line in gold.notes),
            *(
                at(request.run.name, line)
                for line in notes(run, questions, graph, selected=is_part, by_name=by_name)
            ),
        ],
        questions,
        run,
    )


def _usage(run: WrittenRun) -> dict[str, int]:
    """Tokens as the run reports them, added up; {} where it reports none. A question that says no total has
    that of its parts."""
    if not run.usage:
        return {}
    rows = [
        [value if isinstance(value := counts.get(name), int) else 0 for name in TOKENS]
        for counts in run.usage.values()
    ]
    counted = [(prompt, completion, total or prompt + completion) for prompt, completion, total in rows]
    return dict(zip(TOKENS, map(sum, zip(*counted, strict=True)), strict=True))
