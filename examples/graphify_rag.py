"""Graphify's own retrieval, judged: the command `graphify query` over its `graph.json`.

pip install graphifyy && graphify update my-code
tiny-graph-rag eval --dataset my-questions.jsonl -g my-code/graphify-out --retriever graphify_rag.py:retrieve
"""

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path

GRAPH = Path(os.environ.get("GRAPHIFY_GRAPH", "graphify-out/graph.json"))
NODE = re.compile(r"^NODE (.*) \[src=(.*?) loc=(\S*) community=", re.M)


@cache
def ids() -> dict[tuple[str, str, str], str]:
    """Labels are not unique: a node is known by its label and its place."""
    nodes = json.loads(GRAPH.read_text(encoding="utf-8"))["nodes"]
    return {
        (node.get("label", node["id"]), node.get("source_file", ""), node.get("source_location", "")): node[
            "id"
        ]
        for node in nodes
    }


def retrieve(question: str) -> list[dict[str, str]]:
    told = subprocess.run(
        ["graphify", "query", question, "--graph", str(GRAPH), "--budget", "4000"],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode not in (0, 3, 4):  # 3: a name is ambiguous, 4: nothing matches
        raise RuntimeError(told.stderr.strip() or f"graphify ended with {told.returncode}")
    return [
        {"name": label, "id": ids().get((label, source, place), "")}
        for label, source, place in NODE.findall(told.stdout)
    ]
