"""A LlamaIndex property graph, judged: the triplets that its retriever finds, their ends in that order.

    pip install llama-index
    LLAMA_INDEX_DIR=storage tiny-graph-rag eval --dataset my-questions.jsonl -g storage \\
        --retriever llama_index_rag.py:retrieve
"""

import os
from functools import cache
from typing import Any

from llama_index.core import Settings, StorageContext, load_index_from_storage
from llama_index.core.indices.property_graph import LLMSynonymRetriever

DEPTH = int(os.environ.get("LLAMA_INDEX_DEPTH", "2"))


@cache
def retriever() -> Any:
    """Synonyms from the model (Settings.llm), then the graph; a VectorContextRetriever can stand by it."""
    storage = StorageContext.from_defaults(persist_dir=os.environ.get("LLAMA_INDEX_DIR", "storage"))
    index = load_index_from_storage(storage)
    synonyms = LLMSynonymRetriever(
        index.property_graph_store, llm=Settings.llm, include_text=False, path_depth=DEPTH
    )
    return index.as_retriever(sub_retrievers=[synonyms], include_text=False)


async def retrieve(question: str) -> list[str]:
    found = await retriever().aretrieve(question)
    triplets = [node.text.split(" -> ") for node in found]
    return list(dict.fromkeys(end for triplet in triplets for end in (triplet[0], triplet[-1])))
