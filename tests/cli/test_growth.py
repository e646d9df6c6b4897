"""What a command costs grows with its input: one dimension is doubled at a time.

CPU and peak memory of a process, over those of the same command on the smallest input, at most double when
the input does (with some room for noise and for what grows in steps).
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs wait4")]

NOISE_SECONDS, NOISE_BYTES = 1.5, 48 << 20
DOUBLE = 2.4
EVAL = ("eval", "--dataset", "./a-eval.jsonl", "-g", "./a-KG.json", "--skip-generation",
        "--set", "running.graph_cache=false", "--set", "evaluation.latency_sample=0", "--quiet",
        "-o", "./out.json")  # fmt: skip
STATS = ("stats", "-g", "./a.csv", "--set", "running.graph_cache=false")
SCORE = ("score", "--gold", "./gold.csv", "--run", "./run.csv", "-o", "./out.json")


class Input:
    """A small graph and question that one dimension is blown up in."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.chance = folder, random.Random(1)
        self.entities: dict[str, dict[str, Any]] = {f"e{n}": {"name": f"Person {n}"} for n in range(5)}
        self.relations = [("e0", "KNOWS", f"e{n}") for n in range(1, 5)]
        self.question: dict[str, Any] = {
            "id": "q1", "query": "Whom does Person 0 know?", "reference_entities": ["Person 1"],
        }  # fmt: skip

    def letters(self, count: int) -> str:
        return "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyz", k=count))

    def write(self) -> None:
        rows = [
            {"source_entity_id": one, "relationship_type": kind, "target_entity_id": two}
            for one, kind, two in self.relations
        ]
        (self.folder / "a-KG.json").write_text(json.dumps({"entities": self.entities, "relationships": rows}))
        (self.folder / "a-eval.jsonl").write_text(json.dumps(self.question) + "\n")


def _word(made: Input, size: int) -> None:
    made.question["query"] = f"Who is {made.letters(size)}?"


def _marks(made: Input, size: int) -> None:
    made.question["query"] = "Who is a" + "".join(made.chance.choices("\u0301\u0323\u0f71", k=size)) + "?"


def _known_words(made: Input, size: int) -> None:
    made.question["query"] = "know " * size + "?"


def _path(made: Input, size: int) -> None:
    made.entities |= {f"c{n}": {"name": f"C{n}"} for n in range(size)}
    made.relations += [(f"c{n}", "NEXT", f"c{n + 1}") for n in range(size - 1)]
    made.question |= {"query": "What is next to C0?", "reference_entities": [f"C{size - 1}"]}


def _name(made: Input, size: int) -> None:
    made.entities["long"] = {"name": made.letters(size)}


def _type(made: Input, size: int) -> None:
    made.relations.append(("e1", made.letters(size).upper(), "e2"))


def _types(made: Input, size: int) -> None:
    made.relations += [("e1", made.letters(8).upper(), "e2") for _ in range(size)]


def _aliases(made: Input, size: int) -> None:
    made.entities["many"] = {"name": "Mo", "aliases": [f"mo {made.letters(8)}" for _ in range(size)]}


def _one_name(made: Input, size: int) -> None:
    made.entities |= {f"s{n}": {"name": "Person 0"} for n in range(size)}


def _references(made: Input, size: int) -> None:
    made.question["reference_entities"] = [f"x{n}" for n in range(size)]


def _tags(made: Input, size: int) -> None:
    made.question["tags"] = [f"t{n}" for n in range(size)]


def _description(made: Input, size: int) -> None:
    made.entities["e1"]["description"] = " ".join(made.letters(5) for _ in range(size // 6))


def _columns(made: Input, size: int) -> None:
    header = "".join(f",c{n}" for n in range(size))
    (made.folder / "a.csv").write_text(
        f"source,relation,target{header}\n" + ("a,R,b" + "," * size + "\n") * 3
    )


def _rows(made: Input, size: int) -> None:
    lines = (f"a{n},R,b{n}\n" for n in range(size))
    (made.folder / "a.csv").write_text("source,relation,target\n" + "".join(lines))


def _score_columns(made: Input, size: int) -> None:
    header = "query_id,doc_id,score" + "".join(f",c{n}" for n in range(size)) + "\n"
    for name in ("gold.csv", "run.csv"):
        (made.folder / name).write_text(header + "q1,d1,1" + "," * size + "\n")


DIMENSIONS: dict[str, tuple[Callable[[Input, int], None], int, tuple[str, ...]]] = {
    "letters of a word of the question": (_word, 40_000, EVAL),
    "combining marks on a letter of the question": (_marks, 20_000, EVAL),
    "words of the question": (_known_words, 10_000, EVAL),
    "hops to the reference": (_path, 10_000, EVAL),
    "letters of a name": (_name, 40_000, EVAL),
    "letters of a relation type": (_type, 20_000, EVAL),
    "relation types": (_types, 4_000, EVAL),
    "aliases of one name": (_aliases, 20_000, EVAL),
    "entities of one name": (_one_name, 20_000, EVAL),
    "references of one question": (_references, 20_000, EVAL),
    "tags of one question": (_tags, 2_000, EVAL),
    "words of a description": (_description, 200_000, EVAL),
    "columns of a graph": (_columns, 8_000, STATS),
    "rows of a graph": (_rows, 50_000, STATS),
    "columns of gold and run": (_score_columns, 8_000, SCORE),
}


def cost(
    folder: Path, fill: Callable[[Input, int], None], size: int, command: tuple[str, ...]
) -> tuple[float, int]:
    """CPU seconds and peak bytes of the command on an input of this size."""
    folder.mkdir(exist_ok=True)
    made = Input(folder)
    fill(made, size)
    made.write()
    arguments = [sys.executable, "-m", "tiny_graph_rag", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with (folder / "said").open("wb") as said:
        before = Path.cwd()
        os.chdir(folder)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, said.fileno(), 1), (os.POSIX_SPAWN_DUP2, said.fileno(), 2)]
            process = os.posix_spawn(sys.executable, arguments, environment, file_actions=actions)
        finally:
            os.chdir(before)
        _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, (folder / "said").read_text()
    scale = 1 if sys.platform == "darwin" else 1024
    return used.ru_utime + used.ru_stime, used.ru_maxrss * scale


@pytest.fixture(scope="module")
def least(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], tuple[float, int]]:
    """Cost of a command on the smallest input, whichever dimension it is blown up in."""
    fills = {command: fill for fill, _, command in DIMENSIONS.values()}

    @cache
    def cost_of(command: tuple[str, ...]) -> tuple[float, int]:
        folder = tmp_path_factory.mktemp("least")
        cost(folder, fills[command], 10, command)  # makes what the processes after it share
        return cost(folder, fills[command], 10, command)

    return cost_of


@pytest.mark.parametrize("name", DIMENSIONS)
def test_twice_the_input_costs_at_most_twice(
    name: str, own_folder: Path, least: Callable[[tuple[str, ...]], tuple[float, int]]
) -> None:
    fill, size, command = DIMENSIONS[name]
    start = least(command)
    once = cost(own_folder / "once", fill, size, command)
    twice = cost(own_folder / "twice", fill, 2 * size, command)
    seconds, bytes_ = (max(0.0, one - none) for one, none in zip(once, start, strict=True))
    print(f"{name}: {once[0]:.2f} → {twice[0]:.2f} s, {once[1] >> 20} → {twice[1] >> 20} MB")
    assert twice[0] - start[0] <= DOUBLE * seconds + NOISE_SECONDS
    assert twice[1] - start[1] <= DOUBLE * bytes_ + NOISE_BYTES
