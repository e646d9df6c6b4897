"""On real graphs and gold sets that nobody of this project wrote."""

from __future__ import annotations

import pytest

from tests.conftest import real
from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.study.evaluate import evaluate

pytestmark = pytest.mark.realdata


@pytest.mark.parametrize("story", ["김유정-동백꽃", "이효석-모밀꽃-필-무렵"])
@pytest.mark.parametrize(("kind", "least"), [("eval", 0.98), ("hardset", 0.95)])
def test_recall_on_the_korean_stories(story: str, kind: str, least: float) -> None:
    graph = read_graph(real("tiny-graph-rag", "kg-original", f"{story}-KG.json"))
    examples = read_eval_set(real("tiny-graph-rag", "eval", f"{story}-{kind}.jsonl"))
    config = Config().override(hops=2, top_k=5, latency_sample=0)
    found = evaluate(graph, examples, config, default_measures(5))
    assert found.summary.overall.measures[default_measures(5)[1]].mean >= least
