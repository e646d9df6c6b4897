"""Average precision and its rivals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.metrics.base import Column, measure
from tiny_graph_rag.metrics.columns import defined, divided, hits
from tiny_graph_rag.metrics.judged import Judged


def _precision_at_hits(relevant: NDArray[np.bool_]) -> Column:
    """Σ over the relevant ranks of hits so far / rank."""
    n = len(relevant)
    row, rank = np.nonzero(relevant)
    counts = np.bincount(row, minlength=n)
    so_far = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
    # bincount adds one after the other: the sum does not depend on how the machine splits it.
    added: Column = np.bincount(row, weights=so_far / (rank + 1), minlength=n).astype(np.float64)
    return added


@measure("map", cutoff="optional", source="trec_eval 9 (map, map_cut)")
def average_precision(judged: Judged, cutoff: int | None) -> Column:
    """Mean over all relevant entities of the precision at their rank; 0 for those not found (within k)."""
    found = _precision_at_hits(judged.grades[:, :cutoff] > 0)
    return defined(judged, divided(found, judged.relevant))


@measure("map_hits", cutoff="optional", source="science-QA contest's scoring code")
def average_precision_over_hits(judged: Judged, cutoff: int | None) -> Column:
    """Mean over the relevant entities found (within k) of the precision at their rank; 0 where none is.

    Finding one of ten references at rank 1 scores 1, so it does not replace map.
    """
    found = _precision_at_hits(judged.grades[:, :cutoff] > 0)
    return defined(judged, divided(found, hits(judged, cutoff)))


@measure("contest_map", source="science-QA contest's rule (its cutoff is 3)")
def contest_average_precision(judged: Judged, cutoff: int | None) -> Column:
    """Average precision over the hits in the first k of the list as submitted, duplicates and all; a question
    without gold scores 1 where nothing was retrieved, else 0; one without a prediction is left out.
    """
    relevant = judged.submitted[:, :cutoff]
    found = divided(_precision_at_hits(relevant), relevant.sum(axis=1))
    values = np.where(judged.relevant > 0, found, (judged.retrieved == 0).astype(np.float64))
    return np.where(judged.answered, values, np.nan)
