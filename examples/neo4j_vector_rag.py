"""Neo4j's vector index and a Cypher pattern behind it, judged. Needs a server with the graph and its vectors:

    CREATE VECTOR INDEX entities FOR (n:__Entity__) ON n.embedding

    pip install neo4j openai
    NEO4J_URI=neo4j://localhost:7687 NEO4J_PASSWORD=… tiny-graph-rag eval --dataset my-questions.jsonl \\
        -g my-KG.json --retriever neo4j_vector_rag.py:retrieve    (my-KG.json: tiny-graph-rag convert -g neo4j://…)
"""

import os

from neo4j import AsyncGraphDatabase

CYPHER = """
CALL db.index.vector.queryNodes('entities', $starts, $vector) YIELD node, score
MATCH path = (node)-[*0..2]-(other:__Entity__)
RETURN other.name AS name, max(score / (1 + length(path))) AS score ORDER BY score DESC, name LIMIT 50
"""
STARTS = 5
driver = AsyncGraphDatabase.driver(
    os.environ.get("NEO4J_URI", "neo4j://localhost:7687"),
    auth=(os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", "")),
)


async def embedded(question: str) -> list[float]:
    """By the model that made the vectors in the database."""
    from openai import AsyncOpenAI

    reply = await AsyncOpenAI().embeddings.create(model="text-embedding-3-small", input=question)
    return reply.data[0].embedding


async def retrieve(question: str) -> dict[str, float]:
    found = await driver.execute_query(
        CYPHER,
        starts=STARTS,
        vector=await embedded(question),
        database_=os.environ.get("NEO4J_DATABASE"),
        routing_="r",
    )
    return {record["name"]: record["score"] for record in found.records}
