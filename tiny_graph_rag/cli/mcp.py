"""`mcp`: the program as tools for an assistant, by the Model Context Protocol over standard input and output.

Each tool runs a command of this program as a process of its own with `-o -` and hands on its JSON: an answer
is what a user would get, a call can be cut off, and none can take the server down. Tools only read, and only
under the folders given; no key reaches them, so none can cost money, and no file of Python is run.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK
from tiny_graph_rag.cli.options import Common, Folders
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.errors import MissingExtraError, UsageError
from tiny_graph_rag.version import __version__

if TYPE_CHECKING:
    from mcp.server import MCPServer

SECONDS = 600  # a call that takes longer is given up
WORST = 10  # questions that `eval` names; `explain` tells of each
SECRETS = ("OPENAI_API_KEY", "OPENAI_BASE_URL")

INSTRUCTIONS = """\
Measures how well a knowledge graph retrieves the entities that questions ask for, and says why it doesn't.
A good order: `files`; `stats` of the graph; `eval` of a gold set, whose waterfall says where recall is lost
and whose recommendations say what to try; `explain` of a worst question; `sweep` over what was recommended;
`eval` again. Compare means only with their intervals (low, high): where these overlap widely, nothing is
shown."""


@command(app, "mcp", LOOK)
def mcp_command(
    folders: Folders,
    common: Common,
    allow: Annotated[
        list[Path] | None,
        typer.Option(
            "--allow",
            help="Folder whose files the tools may read; give it again for more.",
            show_default="--kg-dir and --dataset-dir",
        ),
    ] = None,
) -> None:
    """Serve stats, query, eval, sweep and explain to an assistant (MCP over standard input and output)."""
    session = Session.open(common, folders, to_stdout=True)  # standard output belongs to the protocol
    storage = session.config.storage
    given = allow or [Path(storage.kg_dir), Path(storage.dataset_dir)]
    for each in given:
        if not each.is_dir():
            raise UsageError(f"--allow {each}: no such folder")
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("the MCP server", "mcp", "mcp") from error
    reading = Allowed(tuple(each.resolve() for each in given), storage.kg_dir, storage.dataset_dir)
    server(reading).run()


class Allowed:
    """What the tools may read.

    folders: absolute; nothing outside of them is opened, links and `..` seen through.
    kg_dir, dataset_dir: where a relative name is looked for first.
    """

    def __init__(self, folders: tuple[Path, ...], kg_dir: str, dataset_dir: str) -> None:
        self.folders, self.kg_dir, self.dataset_dir = folders, kg_dir, dataset_dir

    def file(self, name: str, folder: str) -> str:
        """The file that a tool's argument means. Raises ToolError outside of the folders."""
        from mcp.server.mcpserver.exceptions import ToolError

        for place in (Path(folder) / name, *(each / name for each in self.folders)):
            with contextlib.suppress(OSError, ValueError):  # a name that is too long, or holds a NUL
                found = place.resolve()
                if found.is_file() and any(found.is_relative_to(each) for each in self.folders):
                    return str(found)
        listed = ", ".join(map(str, self.folders))
        raise ToolError(f"{name}: no such file under {listed}; the tool `files` lists what there is")

    def files(self) -> dict[str, list[str]]:
        """Graphs and gold sets by their paths, as the tools take them."""
        everything = sorted(path for each in self.folders for path in each.rglob("*") if path.is_file())
        return {
            "graphs": [str(each) for each in everything if "-KG." in each.name],
            "gold_sets": [
                str(each) for each in everything if each.name.endswith(("-eval.jsonl", "-hardset.jsonl"))
            ],
        }


async def asked(command_name: str, *arguments: str) -> dict[str, Any]:
    """The JSON that a command of this program gives. Raises ToolError with its words where it fails."""
    import anyio
    from mcp.server.mcpserver.exceptions import ToolError

    if any("\0" in each for each in arguments):
        raise ToolError(f"{command_name}: an argument holds the character NUL")
    environment = {key: value for key, value in os.environ.items() if key not in SECRETS}
    call = [sys.executable, "-m", "tiny_graph_rag", command_name, "-o", "-", *arguments]
    try:
        with anyio.fail_after(SECONDS):
            # Its own standard input: the protocol's belongs to the server.
            done = await anyio.run_process(call, input=b"", check=False, env=environment)
    except TimeoutError:
        raise ToolError(f"{command_name}: no answer within {SECONDS} seconds; ask for less") from None
    if done.returncode:
        raise ToolError(done.stderr.decode("utf-8", "replace").strip() or f"{command_name} failed")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def settings(**given: object) -> list[str]:
    """Flags of what was given. Raises ToolError for a retriever that is a file: files are not run."""
    from mcp.server.mcpserver.exceptions import ToolError

    flags: list[str] = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        if name == "retriever" and any(sign in str(value) for sign in ("/", "\\", ".")):
            raise ToolError(f"retriever {value!r}: wanted a name; the tools run no file")
        flags.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
    return flags


def server(reading: Allowed) -> MCPServer:
    """The server with its tools; `run` serves until standard input ends."""
    from mcp.server import MCPServer
    from mcp_types import ToolAnnotations

    made = MCPServer("tiny-graph-rag", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tool = made.tool(annotations=reads)

    def graph_of(name: str) -> list[str]:
        return ["-g", reading.file(name, reading.kg_dir)]

    def gold_of(name: str) -> list[str]:
        return ["--dataset", reading.file(name, reading.dataset_dir)]

    @tool
    def files() -> dict[str, list[str]]:
        """List the graphs and gold sets that the other tools can read."""
        return reading.files()

    @tool
    async def stats(graph: str) -> dict[str, Any]:
        """Count a graph's entities, relations, types, degrees, components, aliases and flaws."""
        return await asked("stats", *graph_of(graph))

    @tool
    async def query(
        graph: str,
        question: str,
        hops: int | None = None,
        retriever: str | None = None,
        linker: str | None = None,
        fuzzy: float | None = None,
    ) -> dict[str, Any]:
        """Ask one question: what it links to, what is retrieved by which walk, and what each rank is made of.

        hops: relations walked at most (2). retriever: bfs, pagerank, bm25, hybrid:bfs+bm25 and more.
        fuzzy: from 0.5 to 1, links misspelt names that are so alike.
        """
        more = settings(hops=hops, retriever=retriever, linker=linker, fuzzy=fuzzy)
        return await asked("query", *graph_of(graph), "--explain", "--skip-generation", *more, "--", question)

    @tool
    async def eval(
        graph: str,
        dataset: str,
        hops: int | None = None,
        retriever: str | None = None,
        linker: str | None = None,
        fuzzy: float | None = None,
        top_k: int | None = None,
        exclude_seeds: bool = False,
        measures: str | None = None,
        tags: str | None = None,
    ) -> dict[str, Any]:
        """Score a graph's retrieval against a gold set: means with intervals, overall and by tag, the
        waterfall of lost recall, what is recommended, and the worst questions with the end of each reference.

        measures: such as ndcg@5,recall@{1,3,5},mrr. tags: only questions with one of these (a,b).
        """
        more = settings(
            hops=hops,
            retriever=retriever,
            linker=linker,
            fuzzy=fuzzy,
            top_k=top_k,
            exclude_seeds=exclude_seeds,
            measures=measures,
            tags=tags,
        )
        found = await asked("eval", *gold_of(dataset), *graph_of(graph), "--skip-generation", *more)
        return shortened(found)

    @tool
    async def sweep(
        graph: str,
        dataset: str,
        hops: str = "0-4",
        retriever: str | None = None,
        linker: str | None = None,
        fuzzy: str | None = None,
        top_k: str | None = None,
        decide_by: str | None = None,
    ) -> dict[str, Any]:
        """Try settings on one gold set and say which to take, for the whole and for each tag.

        hops: such as 0-4 or 1,2. retriever, linker, fuzzy, top_k: several by commas (bfs,pagerank).
        """
        more = settings(
            hops=hops, retriever=retriever, linker=linker, fuzzy=fuzzy, top_k=top_k, decide_by=decide_by
        )
        found = await asked("sweep", *gold_of(dataset), *graph_of(graph), *more)
        return {**found, "settings": [without_tags(each) for each in found["settings"]]}

    @tool
    async def explain(
        graph: str,
        dataset: str,
        id: str,
        hops: int | None = None,
        retriever: str | None = None,
        linker: str | None = None,
        fuzzy: float | None = None,
    ) -> dict[str, Any]:
        """Tell of one question of a gold set why each reference was found or missed: its verdict and rank,
        the path that would have led to it, what stands above it, what each rank is made of."""
        more = settings(hops=hops, retriever=retriever, linker=linker, fuzzy=fuzzy)
        return await asked(
            "query",
            *gold_of(dataset),
            *graph_of(graph),
            f"--id={id}",
            "--explain",
            "--skip-generation",
            *more,
        )

    return made


def without_tags(setting: dict[str, Any]) -> dict[str, Any]:
    """A swept setting over all questions; what is recommended by tag stands beside."""
    return {name: value for name, value in setting.items() if name != "by_tag"}


def shortened(found: dict[str, Any]) -> dict[str, Any]:
    """A results file without its questions but the worst, which is what fits an assistant's window."""
    rows = found["results"]
    measure = next((each for each in found["summary"]["measures"] if each.startswith("ndcg")), None)
    measure = measure or next(iter(found["summary"]["measures"]))
    scored = [each for each in rows if each["metrics"].get(measure) is not None]
    worst = sorted(scored, key=lambda each: each["metrics"][measure])[:WORST]
    return {
        "graph": found["graph"],
        "dataset": found["dataset"],
        "summary": found["summary"],
        "worst": [
            {
                "id": each["id"],
                "query": each["query"],
                measure: each["metrics"][measure],
                "references": [
                    {key: one.get(key) for key in ("name", "verdict", "rank", "hop")}
                    for one in each["references"]
                ],
            }
            for each in worst
            if each["metrics"][measure] < 1
        ],
    }
