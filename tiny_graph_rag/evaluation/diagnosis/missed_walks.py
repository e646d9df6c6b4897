"""The walks that would have reached what was missed, for showing where retrieval stopped short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tiny_graph_rag.arrays import distinct
from tiny_graph_rag.evaluation.diagnosis.verdicts import Diagnosis, Verdict
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.shortest import shortest_walks
from tiny_graph_rag.linking import LinkedQuestion

QUESTIONS_WALKED = 200  # a search over a large graph takes milliseconds; nobody looks at more pictures
SHOWN = (Verdict.BEYOND_HOPS, Verdict.BELOW_DEPTH)


def missed_walks(
    graph: KnowledgeGraph, linked: Sequence[LinkedQuestion], found: Diagnosis
) -> dict[int, list[int]]:
    """Row of a relevant item (as in the diagnosis) → the relations of a shortest walk to its entity.

    Of the first 200 questions that miss something within reach. A walk that filters lengthen is left out:
    the shortest one isn't the one that was closed to retrieval.
    """
    missed = np.flatnonzero(np.isin(found.verdicts, SHOWN))
    walks: dict[int, list[int]] = {}
    for question in distinct(found.questions[missed])[0][:QUESTIONS_WALKED].tolist():
        items = missed[found.questions[missed] == question].tolist()
        seeds = [seed.entity for seed in linked[question].seeds]
        mine = shortest_walks(graph.adjacency, seeds, {int(found.entities[item]) for item in items})
        for item in items:
            walk = mine.get(int(found.entities[item]))
            if walk is not None and len(walk) == found.hops[item]:
                walks[item] = walk
    return walks
