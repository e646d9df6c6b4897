"""What a command costs grows with its input: one dimension is doubled at a time.

CPU and peak memory of a process, over those of the same command on the smallest input, at most double when
the input does (with some room for noise and for what grows in steps).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT, kg

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")]

NOISE_SECONDS, NOISE_BYTES = 1.5, 48 << 20
DOUBLE = 2.4
UNCACHED = "--set running.graph_cache=false"
EVAL = (
    f"eval --dataset ./a-eval.jsonl -g ./a-KG.json --skip-generation {UNCACHED} --quiet -o ./out.json"
    " --set evaluation.latency_sample=0"
)
STATS = f"stats -g ./a.csv {UNCACHED}"
SCORE = "score --gold ./gold.csv --run ./run.csv -o ./out.json"
CHANCE = random.Random(1)
PEOPLE = [f"Person {number}" for number in range(5)]


def letters(count: int) -> str:
    return "".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz", k=count))


def marks(count: int) -> str:
    return "".join(CHANCE.choices("\u0301\u0323\u0f71", k=count))


def words(count: int) -> str:
    return " ".join(letters(5) for _ in range(count))


def numbered(stem: str, count: int) -> list[str]:
    return [f"{stem}{number}" for number in range(count)]


def asked(query: str = "Whom does Person 0 know?", references: object = "Person 1", **more: object) -> str:
    names = references if isinstance(references, list) else [references]
    return json.dumps({"id": "q1", "query": query, "reference_entities": names, **more}) + "\n"


def graph(*more: object, relations: tuple[tuple[str, str, str], ...] = (), text: str = "") -> str:
    """Five people and more: names, or (name, aliases); text: the description of one."""
    known = [("Person 0", "KNOWS", name) for name in PEOPLE[1:]]
    document = kg([*PEOPLE, *more], [*known, *relations])
    document["entities"]["Person 1"]["description"] = text
    return json.dumps(document)


def chain(size: int) -> dict[str, str]:
    names = numbered("C", size)
    steps = tuple((one, "NEXT", two) for one, two in pairwise(names))
    question = asked("What is next to C0?", names[-1])
    return {"a-KG.json": graph(*names, relations=steps), "a-eval.jsonl": question}


def of_types(*types: str) -> dict[str, str]:
    return {"a-KG.json": graph(relations=tuple(("Person 1", type, "Person 2") for type in types))}


def one_name(size: int) -> dict[str, str]:
    document = json.loads(graph())
    document["entities"] |= {id: {"name": "Person 0"} for id in numbered("s", size)}
    return {"a-KG.json": json.dumps(document)}


def columns(size: int, header: str, row: str, *files: str) -> dict[str, str]:
    """Tables of a row, with so many empty columns."""
    text = ",".join([header, *numbered("c", size)]) + "\n" + row + "," * size + "\n"
    return dict.fromkeys(files, text)


# Dimension → the files of an input of this size, a size, and the command.
DIMENSIONS: dict[str, tuple[Callable[[int], dict[str, str]], int, str]] = {
    "letters of a word of the question": (
        lambda size: {"a-eval.jsonl": asked(f"Who is {letters(size)}?")}, 40_000, EVAL
    ),
    "combining marks on a letter of the question": (
        lambda size: {"a-eval.jsonl": asked(f"Who is a{marks(size)}?")}, 20_000, EVAL
    ),
    "words of the question": (lambda size: {"a-eval.jsonl": asked("know " * size + "?")}, 10_000, EVAL),
    "hops to the reference": (chain, 10_000, EVAL),
    "letters of a name": (lambda size: {"a-KG.json": graph(letters(size))}, 40_000, EVAL),
    "letters of a relation type": (lambda size: of_types(letters(size).upper()), 20_000, EVAL),
    "relation types": (lambda size: of_types(*(letters(8).upper() for _ in range(size))), 4_000, EVAL),
    "aliases of one name": (
        lambda size: {"a-KG.json": graph(("Mo", [f"mo {letters(8)}" for _ in range(size)]))}, 20_000, EVAL
    ),
    "entities of one name": (one_name, 20_000, EVAL),
    "references of one question": (
        lambda size: {"a-eval.jsonl": asked(references=numbered("x", size))}, 20_000, EVAL
    ),
    "tags of one question": (lambda size: {"a-eval.jsonl": asked(tags=numbered("t", size))}, 2_000, EVAL),
    "words of a description": (lambda size: {"a-KG.json": graph(text=words(size))}, 40_000, EVAL),
    "columns of a graph": (
        lambda size: columns(size, "source,relation,target", "a,R,b", "a.csv"), 8_000, STATS
    ),
    "rows of a graph": (
        lambda size: {"a.csv": "source,relation,target\n" + "".join(f"a{n},R,b{n}\n" for n in range(size))},
        50_000, STATS,
    ),
    "columns of gold and run": (
        lambda size: columns(size, "query_id,doc_id,score", "q1,d1,1", "gold.csv", "run.csv"), 8_000, SCORE
    ),
}  # fmt: skip


def cost(files: dict[str, str], command: str) -> tuple[float, int]:
    """CPU seconds and peak bytes of the command over these files and, where they are none of these, small
    ones."""
    for name, text in {"a-KG.json": graph(), "a-eval.jsonl": asked(), **files}.items():
        Path(name).write_text(text, encoding="utf-8")
    call = [sys.executable, "-m", "tiny_graph_rag", *command.split()]
    with Path("said").open("wb") as said:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(call, stdout=said, stderr=said, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, Path("said").read_text()
    return used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_twice_the_input_costs_at_most_twice(name: str) -> None:
    files, size, command = DIMENSIONS[name]
    cost(files(10), command)  # makes what the processes after it share
    start, once, twice = (cost(files(count), command) for count in (10, size, 2 * size))
    seconds, peak = (max(0.0, one - none) for one, none in zip(once, start, strict=True))
    assert twice[0] - start[0] <= DOUBLE * seconds + NOISE_SECONDS
    assert twice[1] - start[1] <= DOUBLE * peak + NOISE_BYTES
