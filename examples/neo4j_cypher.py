"""A Cypher query of your own, judged. Needs a Neo4j server with the graph in it and a full-text index:

    CREATE FULLTEXT INDEX names FOR (n:__Entity__) ON EACH [n.name, n.description]

    pip install neo4j
    NEO4J_URI=bolt://localhost:7687 NEO4J_PASSWORD=… tiny-graph-rag eval --dataset my-questions.jsonl \\
        -g all.json --retriever neo4j_cypher.py:retrieve    (all.json: CALL apoc.export.json.all("all.json"))
"""

import os
import re

from neo4j import AsyncGraphDatabase

CYPHER = """
CALL db.index.fulltext.queryNodes('names', $words) YIELD node, score
WITH node, score ORDER BY score DESC LIMIT 3
MATCH (node)-[*0..2]-(other:__Entity__)
RETURN other.name AS name, max(score) AS score ORDER BY score DESC, name LIMIT 50
"""
driver = AsyncGraphDatabase.driver(
    os.environ.get("NEO4J_URI", "bolt://localhost:7687"),
    auth=(os.environ.get("NEO4J_USER", "neo4j"), os.environ.get("NEO4J_PASSWORD", "")),
)


def words_of(question: str) -> str:
    """Without the signs that Lucene takes for operators."""
    return " ".join(re.findall(r"\w+", question))


async def retrieve(question: str) -> list[tuple[str, float]]:
    records, _, _ = await driver.execute_query(CYPHER, words=words_of(question))
    return [(record["name"], record["score"]) for record in records]
