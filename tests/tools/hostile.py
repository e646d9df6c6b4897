"""What becomes of each of `hostile_callables`: asked by the command line, by `evaluate`, in a running loop.

`python -m tests.tools.hostile > docs/hostile-retrievers.md` writes the page; `--only NAME,NAME` asks some;
`--json` prints what happened in place of the page. Each runs in a process of its own, which this one forks
after its imports: a start takes longer than most of them.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.tools import hostile_callables
from tiny_graph_rag import evaluate, load_graph, load_questions
from tiny_graph_rag.__main__ import main as command_line
from tiny_graph_rag.errors import TinyGraphRagError

FILE = Path(hostile_callables.__file__)
FUNCTIONS = {
    name: function
    for name, function in vars(hostile_callables).items()
    if inspect.isfunction(function) and function.__module__ == hostile_callables.__name__
}
WAYS = ("command", "evaluate", "in a loop")
PATIENCE = 600  # seconds until what should have ended long ago is killed
# What nothing but a kill ends in one's own process, which therefore comes at once: it computes all the while.
NEVER_ENDS, AT_ONCE = "holds_the_interpreter", 6
GRAPH = {"entities": {name: {"name": name} for name in ("Ann", "Ben", "Dover")}, "relationships": []}
GOLD = {"id": "q", "query": "Where does Ann live?", "reference_entities": ["Dover"]}
LONGEST = 200  # characters of an error on the page
PAGE = """# Retrievers that do their worst

Written by `uv run python -m tests.tools.hostile > docs/hostile-retrievers.md`, which asks every function of
`tests/tools/hostile_callables.py` one question; a test holds this page against what they do today.

`eval --retriever file.py:function` runs a function in a process of its own. Whatever it does, the command
ends in one line: with exit code 3 where no question was answered, with 0 only where there are results.
Standard output holds nothing but results.

`evaluate(…, retriever=function)` runs it in your process, in a thread: what ends or freezes a process ends or
freezes yours. `evaluate(…, retriever="file.py:function")` gives it a process of its own there too.

Three things can't be held back: files that a function deletes, requests that it sends, and a process that it
starts in a session of its own (`start_new_session=True`), which lives on.

A dash means: the same as on its left. The functions marked * get a timeout of 2 s.

| the function … | `--retriever` | `evaluate(…)` | in a running event loop |
|---|---|---|---|
"""


def timeout_of(name: str) -> str:
    return "2" if name in hostile_callables.ENDLESS else "60"


def by_command(name: str) -> None:
    sys.argv = [
        *("main.py", "eval", "--dataset", "g-eval.jsonl", "-g", "g-KG.json", "--skip-generation", "--quiet"),
        *("--retriever", f"{FILE}:{name}", "--timeout", timeout_of(name), "-o", "-", "--measures", "mrr"),
    ]
    command_line()


def by_function(name: str) -> None:
    folder, encoded = Path.cwd(), msgspec.json.encode  # what it may change: the folder, Python's own json
    try:
        result = evaluate(
            load_graph("g-KG.json"),
            load_questions("g-eval.jsonl"),
            retriever=FUNCTIONS[name],
            measures="mrr",
            timeout=float(timeout_of(name)),
        )
        run, graph = result.evaluation.run, result.evaluation.graph
        names = [graph.entities.names[row] for row in run.entities.tolist()]
        reply: dict[str, Any] = {"ranked": names or [f"{len(row)} passages" for row in run.passages or ()]}
    except TinyGraphRagError as error:
        reply = {"error": f"{error}"}
    (folder / "reply.json").write_bytes(encoded(reply))


def in_a_loop(name: str) -> None:
    async def cell() -> None:
        by_function(name)

    asyncio.run(cell())


def forked(work: Callable[[str], None], name: str, folder: Path, patience: float) -> int | None:
    """The exit code of a process that does it, negative a signal; None for one that had to be killed after so
    many seconds."""
    process = os.fork()
    if not process:
        os.setsid()
        os.chdir(folder)
        for descriptor, path in enumerate((os.devnull, "out.txt", "errors.txt")):
            opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, descriptor)
            os.close(opened)
        work(name)
        sys.exit(0)  # through the interpreter's own end: threads and exit functions have their say
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def outcome(name: str, way: str) -> str:
    """What a person sees, in a few words."""
    folder = Path(tempfile.mkdtemp())  # no context manager: the forked process leaves through this function
    (folder / "g-KG.json").write_text(json.dumps(GRAPH))
    (folder / "g-eval.jsonl").write_text(json.dumps(GOLD))
    work = {"command": by_command, "evaluate": by_function, "in a loop": in_a_loop}[way]
    ends = way == "command" or name != NEVER_ENDS
    code = forked(work, name, folder, PATIENCE if ends else AT_ONCE)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    shutil.rmtree(folder)
    if way == "command":
        return of_command(code, texts["out.txt"], texts["errors.txt"])
    if code == 0 and "reply.json" in texts:
        reply = json.loads(texts["reply.json"])
        return of_ranking(reply["ranked"]) if "ranked" in reply else f"`{of_error(reply)}`"
    if code is None:
        return "**never returns**"
    return f"**your process ends** ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"


def of_command(code: int | None, out: str, errors: str) -> str:
    if code == 0:
        (row,) = json.loads(out)["results"]  # strict: nothing else stands on standard output
        return f"0: {of_ranking([entity['name'] for entity in row['ranked']])}"
    assert not out, out
    lines = [line for line in errors.splitlines() if line.startswith("error: ")]
    return f"{code}: `{of_error({'error': lines[-1]})}`"


def of_ranking(names: list[str]) -> str:
    return ", ".join(names) or "nothing"


def of_error(reply: dict[str, str]) -> str:
    text = reply["error"].partition("every question failed, such as 'q': ")[2] or reply["error"]
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def rows(names: list[str]) -> dict[str, list[str]]:
    found = {}
    for name in names:
        print(name, file=sys.stderr)
        found[name] = [outcome(name, way) for way in WAYS]
    return found


def page(found: dict[str, list[str]]) -> str:
    lines = []
    for name, (command, *others) in found.items():
        about = inspect.getdoc(FUNCTIONS[name]) or ""
        before, cells = command.partition(": ")[2], [command]
        for other in others:
            cells.append("–" if other == before else other)
            before = other
        star = " *" if name in hostile_callables.ENDLESS else ""
        escaped = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {about}{star} | {' | '.join(escaped)} |\n")
    return PAGE + "".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--only", help="names, comma-separated")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    found = rows(given.only.split(",") if given.only else list(FUNCTIONS))
    print(json.dumps(found, indent=1) if given.json else page(found), end="")


if __name__ == "__main__":
    main()
