"""LangChain's graph retriever, judged: vectors find where to begin, relations lead on.

    pip install langchain-core langchain-graph-retriever langchain-openai
    KG=my-KG.json tiny-graph-rag eval --dataset my-questions.jsonl -g my-KG.json \\
        --retriever langchain_graph_rag.py:retrieve

Every entity is a document; `near` names those that a relation joins it to. Put your own vector store in the
place of the one in memory.
"""

import os
from functools import cache
from typing import Any

from graph_retriever.strategies import Eager
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_graph_retriever import GraphRetriever

from tiny_graph_rag import load_graph

HOPS = int(os.environ.get("HOPS", "2"))
BEST = int(os.environ.get("BEST", "20"))


def embeddings() -> Any:
    from langchain_openai import OpenAIEmbeddings

    return OpenAIEmbeddings()


@cache
def retriever() -> GraphRetriever:
    graph = load_graph(os.environ.get("KG", "my-KG.json"))
    near: dict[int, list[str]] = {}
    for source, target in zip(
        graph.relations.sources.tolist(), graph.relations.targets.tolist(), strict=True
    ):
        near.setdefault(source, []).append(graph.entities.ids[target])
        near.setdefault(target, []).append(graph.entities.ids[source])
    documents = [
        Document(
            id=id,
            page_content=f"{name}. {description}",
            metadata={"entity": id, "name": name, "near": sorted(set(near.get(row, ())))},
        )
        for row, (id, name, description) in enumerate(
            zip(graph.entities.ids, graph.entities.names, graph.entities.descriptions, strict=True)
        )
    ]
    store = InMemoryVectorStore.from_documents(documents, embeddings())
    return GraphRetriever(
        store=store, edges=[("near", "entity")], strategy=Eager(start_k=3, max_depth=HOPS, select_k=BEST)
    )


def retrieve(question: str) -> list[str]:
    return [document.metadata["name"] for document in retriever().invoke(question)]
