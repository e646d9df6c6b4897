"""LightRAG's own retrieval, judged: `aquery_data` gives what a query found, without writing an answer.

Its entities come first, then those that only the relations of its context name: the model sees both.

    pip install lightrag-hku        (OPENAI_API_KEY, OPENAI_API_BASE as LightRAG reads them)
    LIGHTRAG_DIR=rag_storage tiny-graph-rag eval --dataset my-questions.jsonl -g rag_storage \\
        --retriever lightrag_rag.py:retrieve
"""

import asyncio
import os
from typing import Any

from lightrag import LightRAG, QueryParam
from lightrag.llm.openai import gpt_4o_mini_complete, openai_embed

MODE = os.environ.get("LIGHTRAG_MODE", "hybrid")
_rag: LightRAG | None = None
_opening = asyncio.Lock()


async def opened() -> LightRAG:
    """The models must be those that the index was made with: change them here."""
    global _rag
    async with _opening:
        if _rag is None:
            rag = LightRAG(
                working_dir=os.environ.get("LIGHTRAG_DIR", "rag_storage"),
                llm_model_func=gpt_4o_mini_complete,
                embedding_func=openai_embed,
            )
            await rag.initialize_storages()
            _rag = rag
    return _rag


async def retrieve(question: str) -> dict[str, Any]:
    rag = await opened()
    found = await rag.aquery_data(question, QueryParam(mode=MODE))
    if found["status"] != "success":
        raise RuntimeError(found["message"])
    data = found["data"]
    ends = (relation[end] for relation in data["relationships"] for end in ("src_id", "tgt_id"))
    return {**data, "entities": [*data["entities"], *ends]}  # with its relations and chunks
