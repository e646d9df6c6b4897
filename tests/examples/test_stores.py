"""The examples on stores: Neo4j's own driver over a socket, LangChain's graph retriever, LlamaIndex's core.

uv run --with langchain-core --with langchain-graph-retriever --with llama-index-core pytest tests/examples
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.examples.test_examples import GRAPHS, imported
from tests.tools.bolt_server import RUN, Answer, BoltServer


@pytest.mark.parametrize("name", ["neo4j_cypher", "neo4j_vector_rag"])
def test_neo4j_by_its_own_driver(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("neo4j")
    found = Answer(["name", "score"], [["Ben Gunn", 0.9], ["Flint", 0.5]])
    with BoltServer(lambda query: found if "YIELD node, score" in query else Answer([], [])) as server:
        monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{server.port}")
        monkeypatch.setenv("NEO4J_PASSWORD", "secret")
        example = imported(name, monkeypatch)
        if hasattr(example, "embedded"):

            async def embedded(question: str) -> list[float]:
                return [float(len(question)), 1.0]

            monkeypatch.setattr(example, "embedded", embedded)

        async def asked() -> object:
            try:
                return await example.retrieve("Who moved the treasure of Flint?")
            finally:
                await example.driver.close()

        result = asyncio.run(asked())
        assert dict(result) == {"Ben Gunn": 0.9, "Flint": 0.5}  # type: ignore[call-overload]
        parameters = [fields[1] for tag, fields in server.received if tag == RUN]
        assert parameters[-1].get("words", parameters[-1].get("vector")) in (
            "Who moved the treasure of Flint",
            [32.0, 1.0],
        )


def test_llama_index_with_only_its_core(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llama_index.core")
    monkeypatch.setenv("LLAMA_INDEX_DIR", str(GRAPHS / "llama-index"))
    found = imported("llama_index_core_rag", monkeypatch).retrieve("Where does Jim Hawkins live?")
    assert found[0] == "Jim Hawkins"
    assert "Admiral Benbow" in found
    assert imported("llama_index_core_rag", monkeypatch).retrieve("Who?") == []


def test_langchains_graph_retriever(monkeypatch: pytest.MonkeyPatch, own_folder: Path) -> None:
    pytest.importorskip("langchain_graph_retriever")
    from langchain_core.embeddings import Embeddings

    class Letters(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [
                [1.0 + text.casefold().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
                for text in texts
            ]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    names = ["Zzyzx", "Ben", "Cy", "Dee"]
    pairs = [("Zzyzx", "Ben"), ("Ben", "Cy")]
    kg = {
        "entities": {name: {"name": name} for name in names},
        "relationships": [{"source_entity_id": a, "target_entity_id": b} for a, b in pairs],
    }
    (own_folder / "k-KG.json").write_text(json.dumps(kg), encoding="utf-8")
    monkeypatch.setenv("KG", "k-KG.json")
    example = imported("langchain_graph_rag", monkeypatch)
    monkeypatch.setattr(example, "embeddings", Letters)
    found = example.retrieve("Zzyzx")
    assert found[0] == "Zzyzx"
    assert {"Ben", "Cy"} <= set(found)
