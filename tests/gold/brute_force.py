"""What a generated question asks, answered a second way: networkx, the field `asks`, and nothing of ours.

Written from the description in docs/generated-sets.md; walks every simple choice of relations one by one.
"""

from __future__ import annotations

import re
from typing import Any

import networkx as nx

STEP = re.compile(r"(<?)-\[:(.*?)\]-(>?)\((\??)\)")


def relation_graph(document: dict[str, Any]) -> nx.MultiDiGraph:
    """KG JSON → ids as nodes; relations to themselves or to nothing left out."""
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    entities = document["entities"]
    for entity, row in entities.items():
        graph.add_node(entity, name=row["name"])
    for row in document["relationships"]:
        source, target = row["source_entity_id"], row["target_entity_id"]
        if source != target and source in graph and target in graph:
            graph.add_edge(source, target, type=row.get("relationship_type", "RELATED_TO"))
    return graph


def read_pattern(line: str, graph: nx.MultiDiGraph) -> dict[str, Any]:
    """A generated pattern: paths from a named entity, joined by AND."""
    paths = []
    for part in line.split(" AND ("):
        start = STEP.search(part)
        assert start is not None, line
        name = part[: start.start()].removeprefix("(").removesuffix(")").strip('"`')
        (seed,) = [one for one, data in graph.nodes(data=True) if data["name"] == name]
        directions = {("<", ""): "in", ("", ">"): "out", ("", ""): "both"}
        steps = [
            {"type": type, "direction": directions[back, on]} for back, type, on, _ in STEP.findall(part)
        ]
        paths.append({"seed": seed, "steps": steps})
    return {"paths": paths}


def one_step(graph: nx.MultiDiGraph, entity: str, step: dict[str, str]) -> set[str]:
    found = set()
    edges = []
    if step["direction"] in ("out", "both"):
        edges += [(target, data) for _, target, data in graph.out_edges(entity, data=True)]
    if step["direction"] in ("in", "both"):
        edges += [(source, data) for source, _, data in graph.in_edges(entity, data=True)]
    for other, data in edges:
        if data["type"] == step["type"]:
            found.add(other)
    return found


def walks(graph: nx.MultiDiGraph, path: dict[str, Any]) -> list[tuple[str, ...]]:
    """Every way along the path, entity by entity; none comes back to the seed."""
    ways: list[tuple[str, ...]] = [(path["seed"],)]
    for step in path["steps"]:
        ways = [
            (*way, onward)
            for way in ways
            for onward in sorted(one_step(graph, way[-1], step))
            if onward != path["seed"]
        ]
    return ways


def answers(graph: nx.MultiDiGraph, asks: dict[str, Any]) -> set[str]:
    images = [{way[-1] for way in walks(graph, path)} for path in asks["paths"]]
    seeds = {path["seed"] for path in asks["paths"]}
    found = images[0]
    for image in images[1:]:
        found = found & image
    found = found - seeds
    return found


def hops(graph: nx.MultiDiGraph, asks: dict[str, Any], found: set[str]) -> int:
    """Of the farthest answer from the nearest seed, either way along any relation."""
    either = graph.to_undirected(as_view=True)
    seeds = {path["seed"] for path in asks["paths"]}
    reach = nx.multi_source_dijkstra_path_length(either, seeds, cutoff=6, weight=lambda *_: 1)
    return max((reach[item] for item in found), default=0)
