"""fast-graphrag's own retrieval, judged: its PageRank over the entities, without writing an answer.

pip install fast-graphrag                  (OPENAI_API_KEY)
python -c "from fast_graphrag_rag import rag; rag.save_graphml('graph.graphml')"
tiny-graph-rag eval --dataset my-questions.jsonl -g graph.graphml --retriever fast_graphrag_rag.py:retrieve
"""

import asyncio
import os
from typing import Any

from fast_graphrag import GraphRAG, QueryParam

rag = GraphRAG(
    working_dir=os.environ.get("FAST_GRAPHRAG_DIR", "fast-graphrag"),
    domain=os.environ.get("FAST_GRAPHRAG_DOMAIN", ""),
    example_queries="",
    entity_types=os.environ.get("FAST_GRAPHRAG_TYPES", "person,place,thing").split(","),
)


_opening = asyncio.Lock()
_is_open = False


async def opened() -> GraphRAG:
    global _is_open
    async with _opening:
        if not _is_open:
            await rag.state_manager.query_start()
            _is_open = True
    return rag


async def retrieve(question: str) -> Any:
    """Entities, relations and chunks with their scores, as fast-graphrag returns them."""
    return await (await opened()).async_query(question, QueryParam(only_context=True))
