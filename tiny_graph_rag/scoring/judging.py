"""Anyone's run against anyone's gold set: both become numbers, question by question, and are judged.

A run may be larger than memory, so it is scored in stretches of questions; only columns of scores stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.formats.runs import Retrieved, WrittenRun
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments, References, note_of_several
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex, entities_returned
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.measures import judge
from tiny_graph_rag.measures.judged import ENTITIES, PASSAGES, RELATIONS, JudgedKind, RetrievedContext
from tiny_graph_rag.measures.textual import CONTAINS, TextMatch, filled_by_text
from tiny_graph_rag.messages import said
from tiny_graph_rag.run import ABSENT, Run
from tiny_graph_rag.scoring.kinds import coded, folded_ends, found_at, judged_kinds, run_of
from tiny_graph_rag.scoring.stretches import Stretch, counted
from tiny_graph_rag.scoring.subgraphs import contexts_of, ends_on, returned_subgraph

AT_ONCE = 4096  # questions
CELLS_AT_ONCE = 1 << 20  # of a table of questions and ranks: some 50 MB in all


def notes(
    run: WrittenRun,
    questions: Sequence[Example],
    graph: KnowledgeGraph | None = None,
    *,
    selected: bool = False,
    by_name: bool = True,
) -> list[str]:
    """What a reader of the scores should know of the run, as counted warnings.

    selected: only some of the gold set's questions were asked for, so that others in the run are no surprise.
    by_name: names are compared that the two files may spell differently: not texts, not TREC's ids.
    """
    known = {question.id for question in questions}
    unknown = [key for key in run.rankings if key not in known and not selected]
    failed = [question.id for question in questions if question.id in run.failures]
    told = run.rankings.keys() | run.failures.keys()
    missing = [question.id for question in questions if question.id not in told]
    twice = sum(
        len(row) - len({item.key for item in row}) for key, row in run.rankings.items() if key in known
    )
    lines = counted(unknown, len(missing), missing[:3], twice, failed)
    if not run.lists_entities and any(question.grades for question in questions):
        kinds = [(RELATIONS, run.relations), (PASSAGES, run.passages)]
        examples = ", ".join(f"{kind}:recall@5" for kind, lists in kinds if lists is not None)
        lines.append(
            said("the run has no entities; it is scored by what it has, as in {examples}", examples=examples)
        )
    if graph is not None:
        return [*lines, *_of_ambiguous(run, known, graph)]
    return [*lines, said(STRANGE)] if by_name and not _share_names(run, questions) else lines


STRANGE = (
    "no retrieved item is a reference of any question. The run may use ids where the gold set uses names; "
    "with -g GRAPH, both count as the entity"
)


def _share_names(run: WrittenRun, questions: Sequence[Example]) -> bool:
    """Whether any name or id of the run is a reference; also where either has none."""
    wanted = {fold(name) for question in questions for name in question.grades}
    texts = (text for row in run.rankings.values() for item in row for text in (item.id, item.name) if text)
    return not wanted or not any(run.rankings.values()) or any(fold(text) in wanted for text in texts)


def _of_ambiguous(run: WrittenRun, questions: Set[str], graph: KnowledgeGraph) -> list[str]:
    """How many names of the run several entities have, and how they were read."""
    ids = graph.row_of_id
    names = {
        place.name or place.id
        for question, places in run.rankings.items()
        if question in questions
        for place in places
        if place.id not in ids
    }
    meanings = NameIndex.of(graph).resolve_all(sorted(names))
    return note_of_several(name for name, (rows, _) in meanings.items() if len(rows) > 1)


def stretches(
    questions: Sequence[Example],
    run: WrittenRun,
    graph: KnowledgeGraph | None = None,
    match: TextMatch | None = None,
    passage_match: TextMatch | None = None,
) -> Iterator[Stretch]:
    """The questions of a gold set with what the run has for them, some at a time.

    graph: names (or ids) become entities, aliases count; without one, ids and names are plain strings.
    match: how a retrieved text is held to be a reference instead.
    """
    for part in parts(questions, run):
        yield judged(part, run, graph, match, passage_match)


def judged(
    questions: Sequence[Example],
    run: WrittenRun,
    graph: KnowledgeGraph | None = None,
    match: TextMatch | None = None,
    passage_match: TextMatch | None = None,
) -> Stretch:
    """All these questions at once. passage_match: as `judged_passages` has it."""
    if graph is None:
        stretch = _as_strings(questions, run, match)
        ends = (folded_ends(),) * 2
    else:
        index = NameIndex.of(graph)
        stretch = _on_graph(questions, run, graph, index)
        ends = ends_on(graph, index)
    kinds: dict[str, JudgedKind | None] = {} if run.lists_entities else {ENTITIES: None}
    kinds |= judged_kinds(
        questions,
        None if run.relations is None else [run.relations.get(question.id, []) for question in questions],
        None if run.passages is None else [run.passages.get(question.id, []) for question in questions],
        stretch.judged,
        ends,
        passage_match,
    )
    return replace(stretch, judged=replace(stretch.judged, kinds=kinds)) if kinds else stretch


def parts(questions: Sequence[Example], run: WrittenRun) -> Iterator[Sequence[Example]]:
    """In order; judging takes a table of questions times the longest list, so long lists make small parts."""
    lengths = (
        max(len(run.rankings.get(one.id, ())), len(one.grades), len(one.reference_texts)) for one in questions
    )
    size = max(1, min(AT_ONCE, CELLS_AT_ONCE // max(1, max(lengths, default=1))))
    return (questions[start : start + size] for start in range(0, len(questions), size))


def _as_strings(questions: Sequence[Example], run: WrittenRun, match: TextMatch | None) -> Stretch:
    lists = [run.rankings.get(question.id, []) for question in questions]
    if match is not None and match.by_text:
        return _by_text(questions, run, lists, match)
    graded = [question.grades for question in questions]
    rankings, judgments, names = coded(
        (
            [_key(place, grades, match) for place in places]
            for places, grades in zip(lists, graded, strict=True)
        ),
        ([(name, grade, (name,), "id") for name, grade in row.items() if grade > 0] for row in graded),
        ([name for name, grade in row.items() if grade == 0] for row in graded),
    )
    return _stretch(questions, run, rankings, judgments, lambda code: (names[code],) * 2)


def _by_text(
    questions: Sequence[Example], run: WrittenRun, lists: Sequence[Sequence[Retrieved]], match: TextMatch
) -> Stretch:
    """Every place of a list is an item of its own; which reference it fills, the texts decide."""
    filled = [
        filled_by_text([place.text or place.name for place in places], question.reference_texts, match)
        for question, places in zip(questions, lists, strict=True)
    ]
    own = [[(row, at) for at in range(len(places))] for row, places in enumerate(lists)]
    rankings, judgments, keys = coded(
        own,
        (
            [
                (text, 1, () if at is None else (mine[at],), "text")
                for text, at in zip(question.reference_texts, by, strict=True)
            ]
            for question, mine, by in zip(questions, own, filled, strict=True)
        ),
    )

    def label(code: int) -> tuple[str, str]:
        row, at = keys[code]
        place = lists[row][at]
        return place.key, place.name or place.key

    stretch = _stretch(questions, run, rankings, judgments, label)
    if match.kind != CONTAINS:
        return stretch
    ranks = [[None if at is None else at + 1 for at in by] for by in filled]
    return replace(stretch, judged=replace(stretch.judged, found=found_at(stretch.judged, ranks)))


def _key(place: Retrieved, grades: Mapping[str, int], match: TextMatch | None) -> str:
    if match is not None:
        return place.name or place.id if match.kind == "name" else place.key
    return place.name if place.id not in grades and place.name in grades else place.key


def _on_graph(
    questions: Sequence[Example],
    run: WrittenRun,
    graph: KnowledgeGraph,
    index: NameIndex,
) -> Stretch:
    strangers: dict[str, int] = {}
    wanted: dict[str, int] = {}  # folded names of references that the graph lacks → their strangers
    known: dict[Retrieved, tuple[int, ...]] = {}

    def meanings_of(place: Retrieved) -> tuple[int, ...]:
        bare = Retrieved(place.name, place.id)
        if bare not in known:
            known[bare] = entities_returned(graph, index, place.id, place.name)
            if not known[bare]:
                # What graph and run both name is a hit, also where the graph lacks it.
                code = next((wanted[name] for name in map(fold, place[:2]) if name in wanted), None)
                if code is None:
                    code = strangers.setdefault(place.key, len(strangers))
                known[bare] = (len(graph) + code,)
        return known[bare]

    graded = [question.grades for question in questions]
    good = [[name for name, grade in row.items() if grade > 0] for row in graded]
    bad = [[name for name, grade in row.items() if grade == 0] for row in graded]
    meanings = index.resolve_references(name for names in (*good, *bad) for name in names)
    for name, (entities, level) in meanings.items():
        if not entities and fold(name):
            code = wanted.setdefault(fold(name), strangers.setdefault(name, len(strangers)))
            meanings[name] = ((len(graph) + code,), level)
    relevant_grades = [{name: grade for name, grade in row.items() if grade > 0} for row in graded]
    references = References.resolved(relevant_grades, meanings)
    irrelevant = [[e for name in names for e in meanings[name][0]] for names in bad]
    lists = [run.rankings.get(question.id, []) for question in questions]
    rankings = [[meanings_of(place)[0] for place in places] for places in lists]
    judgments = Judgments.of(references, len(graph) + len(strangers), irrelevant)
    extra = list(strangers)

    def label(code: int) -> tuple[str, str]:
        if code >= len(graph):
            return extra[code - len(graph)], extra[code - len(graph)]
        return graph.entities.ids[code], graph.entities.names[code]

    def contexts(table: Run) -> Callable[[int], RetrievedContext]:
        seeds = [index.meant_by(question.seed_entities or ()) for question in questions]
        return contexts_of(graph, index, questions, judgments, seeds, returned_subgraph(table))

    has_name = _borne(judgments, len(graph))
    return replace(_stretch(questions, run, rankings, judgments, label, contexts), has_name=has_name)


def _borne(judgments: Judgments, entities: int) -> NDArray[np.bool_]:
    """(items,): whether any of the graph's entities can fill the item."""
    has_name = np.zeros(len(judgments.grades), dtype=bool)
    has_name[judgments.pair_items[judgments.pairs[1] < entities]] = True
    return has_name


def _stretch(
    questions: Sequence[Example],
    run: WrittenRun,
    rankings: list[list[int]],
    judgments: Judgments,
    label: Callable[[int], tuple[str, str]],
    contexts: Callable[[Run], Callable[[int], RetrievedContext]] | None = None,
) -> Stretch:
    places = [place for question in questions for place in run.rankings.get(question.id, [])]
    scores = np.array([0.0 if place.score is None else place.score for place in places], dtype=np.float64)
    without = {
        row: run.failures.get(question.id, ABSENT)
        for row, question in enumerate(questions)
        if question.id not in run.rankings
    }
    table = dataclasses.replace(
        run_of(rankings),
        scores=scores,
        relations=None
        if run.relations is None
        else tuple(tuple(run.relations.get(question.id, ())) for question in questions),
        external=True,
        failures=without,
    )
    seconds = np.array([run.latency_seconds.get(question.id, np.nan) for question in questions])
    judged = judge(table, judgments, context=None if contexts is None else contexts(table))
    return Stretch(
        ids=[question.id for question in questions],
        judged=replace(judged, seconds=seconds),
        labels=lambda rows: [(*label(int(table.entities[row])), float(scores[row])) for row in rows.tolist()],
        references=[
            [
                (
                    reference.name,
                    reference.grade,
                    [label(e)[0] for e in reference.entities] if reference.resolved_by else [],
                    reference.resolved_by,
                    reference.item,
                )
                for reference in row
            ]
            for row in judgments.references
        ],
        queries=[question.query for question in questions],
        tags=[question.tags for question in questions],
        groups=[question.group for question in questions],
    )
