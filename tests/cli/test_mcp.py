"""The MCP server by a real client over standard input and output: its tools, and what they refuse."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, write_gold, write_kg

pytest.importorskip("mcp")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def with_client(folder: Path, work: Callable[[Any], Awaitable[None]]) -> None:
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "tiny_graph_rag", "mcp"],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-never-passed-on"},
        )
        async with Client(server) as client:
            await work(client)

    asyncio.run(run())


@pytest.fixture
def tale(own_folder: Path) -> Path:
    write_kg(
        own_folder / "data/kg/tale-KG.json",
        ["Anna", "Bert", "Rex"],
        [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")],
    )
    write_gold(
        own_folder / "data/eval/tale-eval.jsonl",
        {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"]},
        {"id": "q2", "query": "What does Anna dread?", "reference_entities": ["Rex"]},
    )
    (own_folder / "secret-KG.json").write_text("{}")
    return own_folder


def test_an_assistant_can_tune_a_graph(tale: Path) -> None:
    async def work(client: Any) -> None:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert set(tools) == {"files", "stats", "query", "eval", "sweep", "explain"}
        assert all(each.annotations.read_only_hint for each in tools.values())
        files = (await client.call_tool("files", {})).structured_content
        graph, gold = files["graphs"][0], files["gold_sets"][0]
        stats = (await client.call_tool("stats", {"graph": graph})).structured_content
        assert stats["statistics"]["relations"] == 2
        both = {"graph": graph, "dataset": gold}
        found = (await client.call_tool("eval", {**both, "hops": 1})).structured_content
        assert found["summary"]["measures"]["recall@5"]["mean"] == 0.5
        assert [each["id"] for each in found["worst"]] == ["q2"]
        assert found["worst"][0]["references"][0]["verdict"] == "beyond_hops"
        why = (await client.call_tool("explain", {**both, "id": "q2", "hops": 1})).structured_content
        assert why["question"]["references"][0]["hop"] == 2
        swept = (await client.call_tool("sweep", {**both, "hops": "1-2"})).structured_content
        assert [each["hops"] for each in swept["settings"]] == [1, 2]
        asked = (
            await client.call_tool("query", {"graph": graph, "question": "--help Anna?"})
        ).structured_content
        assert asked["question"]["linked"][0]["name"] == "Anna"

    before = {path: path.read_bytes() for path in tale.rglob("*") if path.is_file()}
    with_client(tale, work)
    after = {path for path in tale.rglob("*") if path.is_file() and ".cache" not in path.parts}
    assert after == set(before)
    assert all(path.read_bytes() == content for path, content in before.items())


def test_tools_refuse_files_outside_and_say_what_is_wrong(tale: Path) -> None:
    (tale / "data/kg/link-KG.json").symlink_to(tale / "secret-KG.json")

    async def work(client: Any) -> None:
        async def refused(tool: str, **arguments: Any) -> str:
            found = await client.call_tool(tool, arguments)
            assert found.is_error, found
            return str(found.content[0].text)

        both = {"graph": "tale-KG.json", "dataset": "tale-eval.jsonl"}
        for outside in ("../../secret-KG.json", str(tale / "secret-KG.json"), "link-KG.json", "/etc/passwd"):
            assert "no such file under" in await refused("stats", graph=outside)
        assert "the tools run no file" in await refused("eval", **both, retriever="./evil.py:f")
        assert "q9" in await refused("explain", **both, id="q9")
        assert "unknown retriever" in await refused("eval", **both, retriever="bsf")
        assert "needs an API" in await refused("eval", **both, linker="llm")

    with_client(tale, work)
