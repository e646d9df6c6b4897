"""A run of this graph held against its gold set, with all that some measure may ask of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiny_graph_rag.dataset.examples import Example
from tiny_graph_rag.dataset.resolve import Judgments
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.metrics import Judged, Measure, judge
from tiny_graph_rag.metrics.facts import RelationReference, graph_facts
from tiny_graph_rag.retrieval import Run


def judge_on_graph(
    graph: KnowledgeGraph,
    examples: Sequence[Example],
    names: NameIndex,
    linked: Sequence[LinkedQuestion],
    run: Run,
    judgments: Judgments,
    measures: Iterable[Measure],
) -> Judged:
    """All in the same question order; facts of the graph only where one of `measures` needs them."""
    if not any(each.kind.needs for each in measures):
        return judge(run, judgments)
    facts = graph_facts(
        graph,
        run,
        judgments,
        seeds=[frozenset(seed.entity for seed in each.seeds) for each in linked],
        expected_types=[each.expected_types for each in examples],
        relationships=[
            [RelationReference.of(each.source, each.target, each.type, names) for each in row]
            for row in (example.reference_relationships for example in examples)
        ],
    )
    return judge(run, judgments, facts=facts)
