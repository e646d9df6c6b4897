"""One ranking for any number of threads, from the first question on: indexes are filled before they are
shown."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.retrieval.described import described_graph, questions_about
from tiny_graph_rag.config import Config
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

TIMES = 20  # a race that shows in one run of ten shows here


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [True, False])
def test_threads_change_no_rank_on_a_described_graph_with_many_relation_types(
    tmp_path: Path, compiled: bool
) -> None:
    graph = described_graph(tmp_path, random.Random(7))
    examples = questions_about(graph, random.Random(8))

    def ranked(threads: int) -> tuple[np.ndarray, ...]:
        config = Config().override(threads=threads, compiled=compiled)
        linked = make_linker(graph, NameIndex.of(graph), config).link(examples)
        run = make_retriever(graph, config).retrieve(linked)
        assert run.walks is not None
        return run.offsets, run.entities, run.scores, run.hops, run.walks

    alone = ranked(1)
    for threads in (2, 4) * (TIMES // 2):
        for one, other in zip(alone, ranked(threads), strict=True):
            np.testing.assert_array_equal(one, other)
