"""The MCP server by a real client over standard input and output: its tools, and what they refuse."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, write_kg, write_set

pytest.importorskip("mcp")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def with_client(folder: Path, work: Callable[[Any], Awaitable[None]], **environment: str) -> None:
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "tiny_graph_rag", "mcp"],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "sk-never-passed-on"} | environment,
        )
        async with Client(server) as client:
            await work(client)

    asyncio.run(run())


@pytest.fixture
def tale(own_folder: Path) -> Path:
    write_set(
        own_folder, "tale", ["Anna", "Bert", "Rex"], [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")],
        {"id": "q1", "query": "Whom does Anna know?", "reference_entities": ["Bert"],
         "irrelevant_entities": ["Rex"]},
        {"id": "q2", "query": "What does Anna dread?", "reference_entities": ["Rex"]},
    )  # fmt: skip
    (own_folder / "secret-KG.json").write_text("{}")
    return own_folder


def test_an_assistant_can_tune_a_graph(tale: Path) -> None:
    async def work(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"files", "stats", "query", "eval", "sweep", "compare", "validate", "generate"}
        assert all(tool.annotations.read_only_hint for name, tool in tools.items() if name != "generate")
        files = (await client.call_tool("files", {})).structured_content
        graph, gold = files["graphs"][0], files["gold_sets"][0]
        stats = (await client.call_tool("stats", {"graph": graph})).structured_content
        assert stats["statistics"]["relations"] == 2
        both = {"graph": graph, "dataset": gold}
        found = (await client.call_tool("eval", {**both, "hops": 1})).structured_content
        assert found["summary"]["measures"]["recall@5"]["mean"] == 0.5
        assert [question["id"] for question in found["worst"]] == ["q2"]
        assert found["worst"][0]["references"] == {"Rex": "beyond_hops"}
        assert len(json.dumps(found, ensure_ascii=False)) <= 4000
        why = (await client.call_tool("query", {**both, "id": "q2", "hops": 1})).structured_content
        assert why["question"]["references"][0]["hop"] == 2
        swept = (await client.call_tool("sweep", {**both, "hops": "1-2"})).structured_content
        tried = [(row["hops"], "exclude_seeds" in row["settings"]) for row in swept["settings"]]
        assert tried == [(1, False), (2, False), (1, True), (2, True)]  # no reference is a seed
        asked = await client.call_tool("query", {"graph": graph, "question": "--help Anna?"})
        assert asked.structured_content["question"]["linked"][0]["name"] == "Anna"

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
            assert "no such file; the tool" in await refused("stats", graph=outside)
        assert "the tools run no file" in await refused("eval", **both, retriever="./evil.py:f")
        assert "q9" in await refused("query", **both, id="q9")
        assert "unknown retriever" in await refused("eval", **both, retriever="bsf")
        assert "needs an API" in await refused("eval", **both, linker="llm")
        told = await refused("eval", **both, hop=3)
        assert "unknown hop; it takes: graph, dataset, hops, retriever, linker, measures" in told
        assert "unknown all; it takes: " in await refused("files", all=True)
        for name in ("../up", "a/b", "", "a.b", "x" * 100):
            assert "wanted letters" in await refused("generate", graph="tale-KG.json", name=name)

    with_client(tale, work)


def test_a_gold_set_is_made_checked_listed_and_compared(tale: Path, run_cli) -> None:
    people = [f"Person{number}" for number in range(12)]
    write_kg(
        tale / "data/kg/ring-KG.json",
        people,
        [(one, "KNOWS", other) for one, other in zip(people, people[1:] + people[:1], strict=True)],
    )
    for name, hops in (("one", "1"), ("two", "2")):
        run_cli("eval --dataset tale-eval.jsonl --skip-generation --hops", hops, "-o", f"{name}-results.json")

    async def work(client: Any) -> None:
        async def call(tool: str, **arguments: Any) -> Any:
            reply = await client.call_tool(tool, arguments)
            assert not reply.is_error, reply.content
            assert len(json.dumps(reply.structured_content, ensure_ascii=False)) <= 6000
            assert "They are data" in reply.structured_content["notice"]
            return reply.structured_content

        made = await call("generate", graph="ring-KG.json", name="fresh", n=5, shapes="single")
        files = await call("files")
        assert made["gold_set"] in files["gold_sets"]
        assert [Path(path).name for path in files["results"]] == ["one-results.json", "two-results.json"]
        checked = await call("validate", graph="ring-KG.json", dataset=made["gold_set"])
        assert checked["kind"] == "validation"
        again = await client.call_tool("generate", {"graph": "ring-KG.json", "name": "fresh", "n": 5})
        assert again.is_error
        assert "not overwritten" in again.content[0].text
        compared = await call("compare", results=files["results"])
        assert compared["measures"]["recall@5"][1]["difference"] == 0.5

    with_client(tale, work)


def test_a_reply_is_short_whatever_a_graph_holds(tale: Path) -> None:
    names = [f"Name {number} {'long ' * 100}" for number in range(300)]
    write_kg(tale / "data/kg/long-KG.json", names, [(names[0], "K" * 5000, name) for name in names[1:]])

    async def work(client: Any) -> None:
        for tool, arguments in (("stats", {}), ("query", {"question": names[0]})):
            reply = await client.call_tool(tool, {"graph": "long-KG.json", **arguments})
            assert not reply.is_error, reply.content
            assert len(json.dumps(reply.structured_content, ensure_ascii=False)) <= 6000
            assert sum(len(part.text) for part in reply.content) <= 12_000

    with_client(tale, work)
