"""A LlamaIndex property graph with nothing but its core, judged: no model and no key.

    pip install llama-index-core
    LLAMA_INDEX_DIR=storage tiny-graph-rag eval --dataset my-questions.jsonl -g storage \\
        --retriever llama_index_core_rag.py:retrieve

The store is asked for the paths around every entity whose name stands in the question.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

from llama_index.core.graph_stores import EntityNode, SimplePropertyGraphStore

DEPTH = int(os.environ.get("LLAMA_INDEX_DEPTH", "2"))
LIMIT = 100


@cache
def store() -> SimplePropertyGraphStore:
    folder = Path(os.environ.get("LLAMA_INDEX_DIR", "storage"))
    return SimplePropertyGraphStore.from_persist_path(str(folder / "property_graph_store.json"))


def retrieve(question: str) -> dict[str, Any]:
    asked = question.casefold()
    entities = [node for node in store().graph.nodes.values() if isinstance(node, EntityNode)]
    seeds = [node for node in entities if node.name.casefold() in asked]
    names = dict.fromkeys(node.name for node in seeds)
    triples = []
    for depth in range(1, DEPTH + 1) if seeds else ():  # the near ones first
        for triple in store().get_rel_map(seeds, depth=depth, limit=LIMIT):
            triples.append(triple)
            for node in (triple[0], triple[2]):
                if isinstance(node, EntityNode):
                    names.setdefault(node.name)
    return {"entities": list(names), "relations": triples}
