"""What it costs that a retriever of one's own runs in a process of its own, kept alive.

    uv run python benchmarks/own_process.py                  # ten seconds

A function that returns at once is asked 500 questions: in this process (as `evaluate(retriever=function)`
does) and in a child (as `--retriever file.py:function` does), one at a time and eight at a time, with replies
of ten names and of a hundred passages of 500 characters. CPU is the processor time of both sides, start and
end of the child included. The start lasts until the first reply, with nothing to import but the function.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tiny_graph_rag.retrieval.own import Worker
from tiny_graph_rag.retrieval.own_calls import Calls, callable_of
from tiny_graph_rag.retrieval.own_process import RetrieverProcess

NAMES = [f"entity {number}" for number in range(10)]
PASSAGES = [{"id": f"c{number}", "text": "x" * 500} for number in range(100)]
CODE = """
NAMES = [f"entity {number}" for number in range(10)]
PASSAGES = [{"id": f"c{number}", "text": "x" * 500} for number in range(100)]
def names(question):
    return NAMES
def passages(question):
    return {"passages": PASSAGES}
"""


def names(question: str) -> list[str]:
    return NAMES


def passages(question: str) -> dict[str, list[dict[str, str]]]:
    return {"passages": PASSAGES}


def asked(worker: Worker, questions: int, at_once: int) -> float:
    """Seconds until the last reply, with `at_once` calls under way."""
    began = time.perf_counter()
    sent = done = 0
    while done < questions:
        while sent < questions and sent - done < at_once:
            worker.start(sent, [f"question {sent}?"])
            sent += 1
        event = worker.events.get()
        if event.what == "died":
            raise RuntimeError(event.reason)
        done += event.what == "ended"
    return time.perf_counter() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--questions", type=int, default=500)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.py"
        path.write_text(CODE, encoding="utf-8")
        ways: list[tuple[str, Callable[[str], Worker]]] = [
            ("in this process", lambda name: Calls(callable_of(globals()[name], name))),
            ("in its own process", lambda name: RetrieverProcess(f"{path}:{name}")),
        ]
        print("| replies | where | start ms | one at a time, ms each | eight at a time | CPU ms each |")
        print("|---|---|---|---|---|---|")
        for name in ("names", "passages"):
            for where, made in ways:
                began = time.perf_counter()
                worker = made(name)
                asked(worker, 1, 1)
                start = time.perf_counter() - began
                busy = cpu()
                one, eight = asked(worker, given.questions, 1), asked(worker, given.questions, 8)
                worker.close()
                spent = cpu() - busy
                cells = [1000 * seconds / given.questions for seconds in (one, eight, spent / 2)]
                replies = "ten names" if name == "names" else "100 passages"
                figures = " | ".join(f"{cell:.2f}" for cell in cells)
                print(f"| {replies} | {where} | {1000 * start:.0f} | {figures} |", flush=True)


def cpu() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times, children = os.times(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.user + times.system + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
