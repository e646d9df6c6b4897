"""Everything that says why an evaluation's numbers are what they are.

`ties` is what the order of names decides: equal scores at the border of the first k. `GoldSeeds` is what
linking costs: the same retrieval from the seeds of the gold set. Questions in which no entity was recognised
by name (`NotRecognised`) are the first thing to mend, whatever texts find.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tiny_graph_rag.columns.arrays import distinct, found_in, short_repr, stretches, unique
from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.gold.resolve import Judgments
from tiny_graph_rag.graph.bfs import shortest_paths
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.linking.names import GoldLinker
from tiny_graph_rag.measures import Judged, judge
from tiny_graph_rag.measures.statistics import mean_of
from tiny_graph_rag.measures.summary import rows_by_tag
from tiny_graph_rag.results import NotRecognised
from tiny_graph_rag.retrieval import Retriever, walks
from tiny_graph_rag.retrieval.base import parts_of
from tiny_graph_rag.retrieval.candidates import Filters
from tiny_graph_rag.run import Run
from tiny_graph_rag.study.trials import Trials
from tiny_graph_rag.study.verdicts import diagnose
from tiny_graph_rag.study.waterfall import (
    FROM_SEEDS,
    WITHIN_HOPS,
    Diagnosis,
    Limits,
    Verdict,
    WaterfallStep,
    by_verdict,
    causes,
)

if TYPE_CHECKING:
    from tiny_graph_rag.graph.nearest import Near


class Ties(Struct, frozen=True):
    """questions: those with gold whose ranks k and k + 1 tie; rate: their share of all with gold, NaN without
    any."""

    k: int
    rate: float
    questions: int


def ties(run: Run, judgments: Judgments, cutoff: int) -> Ties:
    """What the order of names decides: ranks k and k + 1 have the same score and hop."""
    longer = np.flatnonzero(np.diff(run.offsets) > cutoff)
    last = run.offsets[longer] + cutoff - 1
    is_tied = (run.scores[last] == run.scores[last + 1]) & (run.hops[last] == run.hops[last + 1])
    scored = judgments.relevant > 0
    questions = int(scored[longer[is_tied]].sum())
    return Ties(cutoff, questions / int(scored.sum()) if scored.any() else float("nan"), questions)


ASKED_AGAIN = 2000  # questions retrieved again, at most, for the waterfall from gold seeds


class GoldSeeds(Struct, frozen=True):
    """Over the questions with gold and seed_entities.

    seed_precision: mean share of the entities linked by name that are gold seeds, over the questions that
    linked to something (NaN without any); seed_recall: mean share of gold seeds linked by name. waterfall:
    from the linked seeds; from_gold: from the gold ones, over the same questions: what lies between the two
    is linking's; () where too many questions would be asked again.
    """

    questions: int
    seed_precision: float
    seed_recall: float
    waterfall: tuple[WaterfallStep, ...]
    from_gold: tuple[WaterfallStep, ...]


def gold_links(
    graph: KnowledgeGraph,
    names: NameIndex,
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion] | None = None,
) -> list[LinkedQuestion]:
    """Each question with its seed_entities as seeds. linked: the questions as linked already, if they are."""
    linker = GoldLinker(graph, names)
    return linker.link(examples) if linked is None else linker.from_linked(examples, linked)


def reached_by_names(
    trials: Trials, linked: Sequence[LinkedQuestion], run: Run, found: Diagnosis, config: Config
) -> Diagnosis:
    """The same, but of what was missed in a question with seeds by text: how far paths from the seeds that it
    names lead, BELOW_DEPTH where they lead to it within the hops. What is listed without the cost of a seed
    by text was reached by them."""
    is_open, prices = found.verdicts != Verdict.HIT, config.ranking
    if run.parts is not None and min(prices.text_seed, prices.untyped_text_seed) > 1e-6:
        is_open &= np.append(run.parts[:, 0], 1)[found.rows] > 0  # row -1: not listed
    missed = unique(found.questions[is_open]).tolist()
    rows = [row for row in missed if linked[row].by_text]
    named = [replace(linked[row], seeds=linked[row].named) for row in rows]
    return _again(trials, named, rows, Run.empty(len(rows)), found)


def from_gold_seeds(
    trials: Trials,
    retriever: Retriever,
    linked: Sequence[LinkedQuestion],
    gold: Sequence[LinkedQuestion],
    seeds: Sequence[tuple[set[int], set[int]]],
    rows: NDArray[np.int64],
    found: Diagnosis,
) -> GoldSeeds | None:
    """rows: the questions with gold that name their seeds; None where there are none. Those whose gold seeds
    are others than linked are retrieved again. seeds: of each question, linked by name and gold ones."""
    if not len(rows):
        return None
    other = [row for row in rows.tolist() if _weights(gold[row]) != _weights(linked[row])]
    ideal: tuple[WaterfallStep, ...] = ()
    if len(other) <= ASKED_AGAIN:
        asked = [gold[row] for row in other]
        ideal = _again(trials, asked, other, retriever.retrieve(asked), found).waterfalls({"": rows})[""]
    pairs = [seeds[row] for row in rows.tolist()]
    precision = [len(named & meant) / len(named) for named, meant in pairs if named]
    recall = [len(named & meant) / len(meant) for named, meant in pairs if meant]
    return GoldSeeds(
        len(rows),
        mean_of(np.array(precision)).mean,
        mean_of(np.array(recall)).mean,
        found.waterfalls({"": rows})[""],
        ideal,
    )


def _again(
    trials: Trials,
    asked: Sequence[LinkedQuestion],
    rows: Sequence[int],
    run: Run,
    found: Diagnosis,
) -> Diagnosis:
    """The same, but of the questions `rows`: what became of their references by this run from these seeds."""
    judgments = trials.judgments
    mine = judgments.of_questions(np.array(rows, dtype=np.int64))
    again = diagnose(trials.graph, asked, run, mine, judge(run, mine), found.limits, found.cutoff)
    items = stretches(judgments.item_offsets[rows], judgments.relevant[rows])
    columns = {name: getattr(found, name).copy() for name in FROM_SEEDS}
    for name, column in columns.items():
        column[items] = getattr(again, name)
    return replace(found, **columns)


def _weights(question: LinkedQuestion) -> dict[tuple[int, bool], float]:
    """What a retriever starts from. A gold seed is one that the question names."""
    return {(seed.entity, seed.is_text): seed.weight for seed in question.seeds}


def unlinked_questions(
    examples: Sequence[Example],
    linked: Sequence[LinkedQuestion],
    relevant: NDArray[np.int64],
) -> NotRecognised | None:
    """Of the questions with a reference, those that name something by the gold set or may do so.

    None where every question was recognised. One whose gold `seed_entities` are empty names nothing, and
    one that failed was never linked: neither counts."""
    rows = [
        row
        for row in np.flatnonzero(relevant > 0).tolist()
        if examples[row].seed_entities != () and linked[row].error is None
    ]
    without = [row for row in rows if not linked[row].named]
    if not without:
        return None
    return NotRecognised(len(without), len(rows), sum(bool(linked[row].by_text) for row in without))


NEAREST_SOUGHT = 2000  # different missing names whose nearest are looked up: seconds on a large graph


class Explanation(Struct, frozen=True, eq=False):
    """diagnosis: as `waterfall.causes` has it; verdicts: of references as written. oracle_recall: the share
    of references that any ranking from all seeds could return; None where hops bound nothing. gold_seeds:
    None where the gold set names no seeds, or the retriever needs none. unlinked: None where the names of the
    questions were recognised, or need not be. nearest: name that the graph lacks → the names most like it.
    missed: row of the diagnosis → the relations of a path that would have reached it."""

    diagnosis: Diagnosis
    verdicts: dict[str, int]
    oracle_recall: float | None
    waterfall: tuple[WaterfallStep, ...]
    waterfall_by_tag: dict[str, tuple[WaterfallStep, ...]]
    gold_seeds: GoldSeeds | None
    unlinked: NotRecognised | None
    ties: Ties
    nearest: dict[str, tuple[Near, ...]] = {}
    missed: dict[int, list[int]] = {}

    __repr__ = short_repr


def limits_of(graph: KnowledgeGraph, retriever: Retriever, config: Config) -> Limits:
    """What the retriever was allowed, for telling what it could not have found."""
    settings, parts = config.retrieval, parts_of(config.retrieval.retriever)
    filters = Filters.of(graph, settings) if retriever.walks else Filters()
    return Limits(
        walks=retriever.walks,
        strict=parts == [settings.retriever] or all(map(walks, parts)),
        hops=settings.hops,
        passable=filters.slots(graph),
        returnable=filters.returned,
        excludes_seeds=settings.exclude_seeds,
        scores_cut=settings.min_score > 0,
        depth=settings.depth,
    )


def explain(
    trials: Trials,
    questions: Sequence[LinkedQuestion],
    run: Run,
    judged: Judged,
    retriever: Retriever,
    config: Config,
) -> Explanation:
    """Why the figures of a run are what they are. retriever: as it ranked; asked again for the questions
    whose gold seeds differ from those linked."""
    graph, examples, judgments = trials.graph, trials.examples, trials.judgments
    linked = retriever.starting(questions)
    cutoff, limits = config.evaluation.top_k, limits_of(graph, retriever, config)
    relevant = judgments.relevant
    gold = gold_links(graph, trials.names, examples.examples, linked)
    found = diagnose(graph, linked, run, judgments, judged, limits, cutoff)
    parts = {"": np.arange(len(relevant)), **rows_by_tag([example.tags for example in examples])}
    as_run = found.waterfalls(parts)[""]
    gold_seeds, unlinked = None, None
    named = ({seed.entity for seed in question.named} for question in linked)
    seeds = [(its, {seed.entity for seed in one.seeds}) for its, one in zip(named, gold, strict=True)]
    is_misnamed = np.array([bool(meant) and not named & meant for named, meant in seeds], dtype=bool)
    if limits.walks:
        given = np.array([question.seed_entities is not None for question in examples], dtype=bool)
        rows = np.flatnonzero(given & (relevant > 0))
        if limits.strict:
            found = causes(found, reached_by_names(trials, linked, run, found, config), is_misnamed)
        gold_seeds = from_gold_seeds(trials, retriever, linked, gold, seeds, rows, found)
        if config.retrieval.linker not in ("gold", "none"):
            unlinked = unlinked_questions(examples.examples, questions, relevant)
    by_tag = found.waterfalls(parts)
    return Explanation(
        diagnosis=found,
        verdicts=_reference_verdicts(found.verdicts, judgments),
        oracle_recall=next((step.recall for step in as_run if step.step == WITHIN_HOPS), None),
        waterfall=by_tag.pop(""),
        waterfall_by_tag=by_tag,
        gold_seeds=gold_seeds,
        unlinked=unlinked,
        ties=ties(run, judgments, cutoff),
        nearest=_nearest(graph, judgments),
        missed=missed_walks(graph, linked, found) if limits.walks else {},
    )


def _reference_verdicts(verdicts: NDArray[np.int8], judgments: Judgments) -> dict[str, int]:
    """Verdict → references that have it, found first, then in the order of loss; those that occur."""
    references = judgments.references
    items = judgments.item_offsets[references.questions] + references.items
    return by_verdict(np.bincount(verdicts[items], minlength=len(Verdict)))


def _nearest(graph: KnowledgeGraph, judgments: Judgments) -> dict[str, tuple[Near, ...]]:
    missing = judgments.references.unresolved
    if not missing:
        return {}
    from tiny_graph_rag.graph.nearest import NearestNames

    return NearestNames(graph).of_all(missing[:NEAREST_SOUGHT])


QUESTIONS_WALKED = 200  # a search over a large graph takes milliseconds; nobody looks at more pictures


def missed_walks(
    graph: KnowledgeGraph, linked: Sequence[LinkedQuestion], found: Diagnosis
) -> dict[int, list[int]]:
    """Row of a relevant item (as in the diagnosis) → the relations of a shortest walk to its entity.

    Of the first 200 questions that miss something within reach. A walk that filters lengthen is left out:
    the shortest one isn't the one that was closed to retrieval.
    """
    is_far = found_in(np.array([Verdict.BEYOND_HOPS, Verdict.BELOW_DEPTH]), found.verdicts)
    if found.limits.hops is not None:  # a part of a hybrid that doesn't walk ranked it
        is_far |= (found.verdicts == Verdict.RANKED_BELOW_K) & (found.hops > found.limits.hops)
    missed = np.flatnonzero(is_far)
    walks: dict[int, list[int]] = {}
    questions = found.questions[missed]
    for question in distinct(questions)[0][:QUESTIONS_WALKED].tolist():
        items = missed[questions == question].tolist()
        of_names = linked[question].named if found.limits.strict else ()
        seeds = [seed.entity for seed in of_names or linked[question].seeds]
        targets = distinct(found.entities[items])[0].tolist()
        mine = shortest_paths(graph.adjacency, graph.name_rank, seeds, targets)
        for item in items:
            walk = mine.get(int(found.entities[item]))
            if walk is not None and len(walk) == found.hops[item]:
                walks[item] = walk
    return walks
