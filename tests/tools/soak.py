"""Many requests to one process: `curate` over HTTP, the MCP server over standard input, `query` in Python.

    uv run python -m tests.tools.soak --requests 10000 [--only curate,mcp,query]

Resident memory is read after a fifth of the requests and at the end: flat is a growth below 10 MB, or below
5 % where that is more. Ends with 1 where it isn't flat, or where a request failed that should not.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

from tests.conftest import ROOT, write_kg
from tests.gold.test_curate_server import Server

PEOPLE = 200
FLAT_MB, FLAT_SHARE = 10, 0.05


def resident(process: int | str = "self") -> float:
    """Resident memory of a process, in MB (Linux)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def curate(folder: Path, requests: int) -> Iterator[float]:
    """Judgments, some of them refused, and views of the question, in turn."""
    server = Server(folder)
    try:
        for number in range(requests):
            if number % 2:
                status, _ = server.ask("GET", "/api/changes?since=0&by=anna")
            else:
                event = {"by": "anna", "question": "q1", "seen": 10**9, "key": f"k{number}"}
                grade = number % 5  # 4 is no grade
                status, _ = server.send({**event, "what": "judge", "entity": "Anna", "grade": grade})
            assert status < 500, status
            yield resident(server.process.pid)
    finally:
        server.end()


def mcp(folder: Path, requests: int) -> Iterator[float]:
    """`query` by the MCP server, a thousand questions in turn."""
    from mcp import Client, StdioServerParameters

    graph = str(_graph(folder).relative_to(folder))
    memory: list[float] = []

    async def run() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "tiny_graph_rag", "mcp"], cwd=folder,
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        )  # fmt: skip
        async with Client(server) as client:
            child = _child_of(os.getpid())
            for number in range(requests):
                question = f"Whom does Person{number % 1000} know?"
                await client.call_tool("query", {"graph": graph, "question": question})
                memory.append(resident(child))

    asyncio.run(run())
    yield from memory


def query(folder: Path, requests: int) -> Iterator[float]:
    """`ask` from Python, of one loaded graph, each question different."""
    import tiny_graph_rag as tgr

    graph = tgr.load_graph(_graph(folder))
    for number in range(requests):
        assert tgr.ask(graph, f"Whom does Person{number % PEOPLE} know, number {number}?").entities
        if number % 500 == 0:
            gc.collect()
        yield resident()


def _graph(folder: Path) -> Path:
    names = [f"Person{number}" for number in range(PEOPLE)]
    path = folder / "data/kg/many-KG.json"
    (folder / "data/eval").mkdir(parents=True)  # what the server looks into
    write_kg(
        path,
        names,
        [(one, "KNOWS", other) for one, other in pairwise(names)],
    )
    return path


def _child_of(parent: int) -> int:
    """The process that was started last by this one."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(children[-1])


SOAKED: dict[str, Callable[[Path, int], Iterator[float]]] = {"curate": curate, "mcp": mcp, "query": query}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--only", default=",".join(SOAKED))
    given = parser.parse_args()
    is_flat = True
    for name in given.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            memory = list(SOAKED[name](Path(folder), given.requests))
        warm, last = memory[len(memory) // 5], memory[-1]
        grown = last - warm
        flat = grown < max(FLAT_MB, FLAT_SHARE * warm)
        is_flat &= flat
        print(
            json.dumps(
                {
                    "what": name,
                    "requests": len(memory),
                    "seconds": round(time.perf_counter() - started, 1),
                    "MB after a fifth": round(warm, 1),
                    "MB at the end": round(last, 1),
                    "flat": flat,
                }
            ),
            flush=True,
        )
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
