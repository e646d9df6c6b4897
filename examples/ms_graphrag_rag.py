"""MS GraphRAG's local search, judged: the entities of the context that it gives the model, in its order,
then those that only the context's relations name.

    pip install graphrag
    GRAPHRAG_ROOT=my-project tiny-graph-rag eval --dataset my-questions.jsonl -g my-project \\
        --retriever ms_graphrag_rag.py:retrieve --set openai.concurrency=2
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import graphrag.api
import pandas
from graphrag.config.load_config import load_config

ROOT = Path(os.environ.get("GRAPHRAG_ROOT", ".")).resolve()  # graphrag changes the working folder
TABLES = ("entities", "communities", "community_reports", "text_units", "relationships")


@cache
def project() -> dict[str, Any]:
    return {
        "config": load_config(ROOT),
        **{name: pandas.read_parquet(ROOT / "output" / f"{name}.parquet") for name in TABLES},
    }


async def retrieve(question: str) -> dict[str, Any]:
    answer, context = await graphrag.api.local_search(
        **project(),
        covariates=None,
        community_level=2,
        response_type="One sentence",
        query=question,
    )
    relations = context["relationships"]
    ends = relations[["source", "target"]].to_numpy().ravel() if len(relations) else ()
    return {
        "entities": [*context["entities"]["entity"], *ends],
        "relations": relations,
        "passages": context.get("sources"),
        "answer": str(answer),
    }
