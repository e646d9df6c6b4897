"""A short session with the MCP server, as an assistant has it: `uv run python examples/mcp/session.py`.

Run in a clone, on the sample graph. Prints Markdown: transcript.md is what it printed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters

GRAPH, GOLD = "conan-doyle-speckled-band-KG.json", "conan-doyle-speckled-band-hardset.jsonl"
BOTH = {"graph": GRAPH, "dataset": GOLD}


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "tiny_graph_rag", "mcp"])
    async with Client(server) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            said = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            print(f"\n**`{tool}({said})`**\n")
            found = await client.call_tool(tool, arguments)
            assert not found.is_error, found.content
            return dict(found.structured_content or {})

        print("# An assistant tunes a graph", end="\n\n")
        print("Made by `uv run python examples/mcp/session.py`, answers cut short.")
        counts = (await call("stats", graph=GRAPH))["statistics"]
        print(f"- {counts['entities']} entities, {counts['relations']} relations")
        first = await call("eval", **BOTH)
        for name, mean in first["summary"]["measures"].items():
            print(f"- {name} {mean['mean']:.3f} ({mean['low']:.3f} to {mean['high']:.3f}, n {mean['n']})")
        for advice in first["summary"]["recommendations"]:
            print(f"- {advice['rule']}: {advice['text']}")
        worst = first["worst"][0]
        why = (await call("query", **BOTH, id=worst["id"]))["question"]
        print(f"- {why['query']}")
        for reference in why["references"]:
            steps = " → ".join(step["relation"] for step in reference.get("path") or ())
            over = f", over {steps}" if steps else ""
            print(f"- {reference['name']}: {reference['verdict']}, hop {reference['hop']}{over}")
        swept = await call("sweep", **BOTH, hops="1-4")
        for setting in swept["settings"]:
            mean = setting["measures"]["ndcg@5"]["mean"]
            print(f"- {setting['system']}, {setting['hops']} hops: ndcg@5 {mean:.3f}")
        chosen = swept["recommended"]["overall"]
        print(f"- recommended: {chosen['system']}, {chosen['hops']} hops ({chosen['reason']})")


if __name__ == "__main__":
    asyncio.run(main())
