"""Real processes that get SIGKILL or Ctrl-C at a random moment: nothing half written, the next run sound.

    uv run python -m tests.tools.kills --kills 100 --interrupts 150      # prints its seed and a table

A kill is well where every file under its own name is whole, and the next run ends with 0 and writes what an
undisturbed one does, times aside; of `curate` where every acknowledged decision is in the journal. Ctrl-C,
from 0 to 1.5 s after the start, is well where it is exit code 130 and one line, or where the run was done.
"""

# ruff: noqa: E501 - tables of commands

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.conftest import ROOT, write_gold, write_kg
from tests.tools.chat_server import ChatServer, answer
from tests.tools.sound_files import timeless

PEOPLE, MANY, TRIPLES = 200, 15_000, 150_000
SAID = "interrupted; nothing was overwritten"
SECONDS = 1.5
DRAFT = "story-draft.jsonl"
PROGRAM = (sys.executable, "-m", "tiny_graph_rag")
# Graphs from ten million triples on are loaded in stages; here from the first.
STAGED = (
    sys.executable,
    "-c",
    "import sys, tiny_graph_rag.graph.large as large, tiny_graph_rag.formats.graphs as graphs\n"
    "large.LARGE_FROM_ROWS = graphs.STREAMED_FROM_BYTES = 1\n"
    "from tiny_graph_rag.__main__ import main; sys.argv[0] = 'tiny-graph-rag'; main()",
)


@dataclass(frozen=True)
class Work:
    """A command that is disturbed. writes: its file, "" for what it prints. cold: without what a run before
    it kept. more: given to the run after the kill."""

    name: str
    command: tuple[str, ...]
    writes: str = ""
    cold: bool = False
    more: tuple[str, ...] = ()


def works(address: str) -> list[Work]:
    few = "--quiet --set evaluation.latency_sample=0"
    evaluated = "--dataset story-eval.jsonl -g story-KG.json"

    def work(name: str, command: str, writes: str = "", **how: Any) -> Work:
        return Work(name, (*PROGRAM, *command.split()), writes, **how)

    return [
        work("eval", f"eval {evaluated} {few} --skip-generation -o ./eval.json", "eval.json"),
        work("score", "score --run run.jsonl --gold story-eval.jsonl --quiet -o ./s.json", "s.json"),
        work("sweep", f"sweep {evaluated} --hops 1,2 --quiet -o ./sweep.json", "sweep.json"),
        work("generate", "generate -g story-KG.json --n 40 --quiet -o ./made.jsonl", "made.jsonl"),
        Work("cache of a graph", (*PROGRAM, "query", "Who is Name7?", "-g", "many-KG.json", "--skip-generation"), cold=True),
        Work("load in stages", (*STAGED, "stats", "-g", "many.tsv"), cold=True),
        work(
            "answers",
            f"eval {evaluated} {few} --set running.answer_cache=false --config chat.yaml --limit 60 -o ./asked.json",
            "asked.json",
            more=("--resume",),
        ),
    ]  # fmt: skip


def prepare(folder: Path, address: str) -> None:
    names = [f"Name{number}" for number in range(PEOPLE)]
    kinds = ("KNOWS", "LIVES_WITH", "TEACHES")
    steps = [(one, kinds[number % 3], other) for number, (one, other) in enumerate(pairwise(names))]
    write_kg(folder / "story-KG.json", names, steps)
    questions = [
        {"query": f"Whom does {one} know?", "reference_entities": [two]} for one, two in pairwise(names)
    ]
    write_gold(folder / "story-eval.jsonl", *questions)
    rows = [{"id": f"line-{row + 1}", "entities": names[row : row + 20]} for row in range(PEOPLE - 1)]
    (folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "chat.yaml").write_text(f"openai: {{base_url: '{address}', model: test-model}}\n")
    many = [f"Name{number} of the long table of many" for number in range(MANY)]
    write_kg(folder / "many-KG.json", many, [(one, "KNOWS", two) for one, two in pairwise(many)])
    chance = random.Random(1)
    lines = (
        f"n{chance.randrange(9**5)}\tr{chance.randrange(20)}\tn{chance.randrange(9**5)}\n"
        for _ in range(TRIPLES)
    )
    (folder / "many.tsv").write_text("source\trelation\ttarget\n" + "".join(lines))
    (folder / "questions.txt").write_text("".join(f"{question['query']}\n" for question in questions[:5]))
    recommend = ("recommend", "--dataset", "./questions.txt", "-g", "story-KG.json", "-o", f"./{DRAFT}")
    subprocess.run(
        [*PROGRAM, *recommend], cwd=folder, env=environment(folder, 0), check=True, capture_output=True
    )


def environment(folder: Path, cache: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI")}
    return {
        **kept,
        "XDG_CACHE_HOME": str(folder / f"cache-{cache}"),
        "PYTHONPATH": str(ROOT),
        "LC_ALL": "C.UTF-8",
    }


def outcome(folder: Path, work: Work, cache: int, more: tuple[str, ...] = ()) -> bytes:
    """What an undisturbed run writes or prints. Raises AssertionError where it fails."""
    done = subprocess.run(
        [*work.command, *more], cwd=folder, env=environment(folder, cache), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    if work.writes:
        return written(folder, work)
    return re.sub(rb"[0-9.,]+ m?s\b", b"", done.stdout)


def written(folder: Path, work: Work) -> bytes:
    return re.sub(rb'"command": ?"[^"]*"', b"", timeless(folder / work.writes))


def kill(folder: Path, work: Work, cache: int, seconds: float, expected: bytes) -> str:
    """What a run that is killed after so many seconds leaves behind that it must not; "" where all is well."""
    before = {path.name for path in folder.iterdir()}
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(work.command, cwd=folder, env=environment(folder, cache), **silent)
    time.sleep(seconds)
    process.kill()
    process.wait()
    new = {path.name for path in folder.iterdir()} - before
    expected_names = (".", "cache-", Path(work.writes).stem)
    strange = [name for name in new if name != work.writes and not name.startswith(expected_names)]
    if strange:
        return f"left {strange}"
    if work.writes and (folder / work.writes).exists() and written(folder, work) != expected:
        return "half a file"
    try:
        found = outcome(folder, work, cache, work.more)
    except AssertionError as error:
        return f"the next run fails: {error}"
    return "" if found == expected else "the next run is another"


def kill_curate(folder: Path, seconds: float, chance: random.Random) -> str:
    """Decisions are sent as fast as they are answered until the kill; each answered one must be kept."""
    command = [*PROGRAM, "curate", "--dataset", f"./{DRAFT}", "-g", "story-KG.json", "-o", "./judged.jsonl"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment(folder, 0), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    address = ""
    for line in process.stdout or ():
        address = (re.findall(r"http://\S+", line) or [address])[0]
        if "Ctrl-C" in line:
            break
    acknowledged: list[int] = []
    journal = folder / f"{DRAFT.removesuffix('.jsonl')}.journal.jsonl"
    base, _, token = address.partition("/?token=")

    def decide() -> None:
        event = {"by": "anna", "question": "q001", "what": "judge", "entity": f"Name{chance.randrange(PEOPLE)}",
                 "grade": chance.randrange(3)}  # fmt: skip
        asked = urllib.request.Request(
            f"{base}/api/event", json.dumps(event).encode(), {"X-Token": token, "Origin": base}
        )
        with urllib.request.urlopen(asked) as reply:
            acknowledged.append(json.loads(reply.read())["taken"]["n"])

    decide()  # a refusal of this one is an error of ours
    killer = threading.Timer(seconds, process.kill)
    killer.start()
    with contextlib.suppress(OSError, ValueError, HTTPException):
        while True:
            decide()
    killer.join()
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    export = [*command, "--export"]
    done = subprocess.run(
        export, cwd=folder, env=environment(folder, 0), capture_output=True, text=True, check=False
    )
    if done.returncode:
        return f"the next run fails: {done.stderr[-500:]}"
    kept = sum(line.endswith(b"}") for line in journal.read_bytes().split(b"\n"))
    return "" if kept >= max(acknowledged) else f"{max(acknowledged)} acknowledged, {kept} kept"


def kills(count: int, seed: int) -> Iterator[tuple[str, float, str]]:
    """(command, seconds, what went wrong or "") of so many kills."""
    chance = random.Random(seed)
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        ChatServer(lambda request: answer("Name1 [1].", request), latency=0.05) as server,
    ):
        folder = Path(name)
        prepare(folder, server.url)
        undisturbed: dict[str, tuple[bytes, float]] = {}
        for number in range(count):
            (*all_,) = works(server.url)
            if number % (len(all_) + 1) == len(all_):
                seconds = chance.uniform(0.0, 2.0)
                yield "curate", seconds, kill_curate(folder, seconds, chance)
                continue
            work = all_[number % (len(all_) + 1)]
            if work.name not in undisturbed:
                outcome(folder, work, 0)  # compiled and cached once, so that the next one is timed
                started = time.monotonic()
                expected = outcome(folder, work, 1000 + number if work.cold else 0)
                undisturbed[work.name] = (expected, time.monotonic() - started)
            expected, whole = undisturbed[work.name]
            seconds = chance.uniform(0.0, whole * 1.05)
            yield work.name, seconds, kill(folder, work, number + 1 if work.cold else 0, seconds, expected)


def interrupts(count: int, seed: int) -> Iterator[tuple[str, float, str]]:
    """(command, seconds, "130", "done", or what went wrong) of so many Ctrl-Cs."""
    chance = random.Random(seed)
    ways: tuple[Callable[[tuple[str, ...]], list[str]], ...] = (
        lambda command: [*PROGRAM, *command],
        lambda command: [sys.executable, str(ROOT / "main.py"), *command],
        lambda command: [str(Path(sys.executable).with_name("tiny-graph-rag")), *command],
    )
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name,
        ChatServer(lambda request: answer("Name1 [1].", request), latency=0.05) as server,
    ):
        folder = Path(name)
        prepare(folder, server.url)
        commands = [
            work.command[len(STAGED if work.command[: len(STAGED)] == STAGED else PROGRAM) :]
            for work in works(server.url)
        ]
        more = (
            ("curate", "--dataset", f"./{DRAFT}", "-g", "story-KG.json", "-o", "./judged.jsonl"),
            ("measures",),
            ("validate", "--dataset", "story-eval.jsonl", "-g", "story-KG.json"),
        )
        commands += list(more)
        for number in range(count):
            command = commands[number % len(commands)]
            seconds = chance.uniform(0.0, SECONDS)
            process = subprocess.Popen(
                chance.choice(ways)(command), cwd=folder, env=environment(folder, number), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
            left = [path.name for path in folder.glob("*.tmp")]
            yield command[0], seconds, f"left {left}" if left else _told(process.returncode, errors)


def _told(code: int, errors: str) -> str:
    last = errors.splitlines()[-1:]
    if code == 130 and last == [SAID] and "Traceback" not in errors:
        return "130"
    if code == 0 and "Traceback" not in errors:
        return "done"
    ours = f"{os.sep}tiny_graph_rag{os.sep}" in errors and "Error calling __set_name__" not in errors
    if code in (1, -signal.SIGINT, 130) and not ours:  # 3.11 wraps a Ctrl-C while a library makes a class
        return "in Python's own start"  # none of our lines had run
    return f"exit code {code}: {errors[-1500:]}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--interrupts", type=int, default=150)
    options.add_argument("--seed", type=int, default=20261121)
    given = options.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    wrong = 0
    for what, rounds, well in (
        ("SIGKILL", kills(given.kills, given.seed), ("",)),
        ("Ctrl-C", interrupts(given.interrupts, given.seed), ("130", "done", "in Python's own start")),
    ):
        told: Counter[tuple[str, str]] = Counter()
        for command, seconds, found in rounds:
            told[command, (found or "sound") if found in well else "WRONG"] += 1
            if found not in well:
                wrong += 1
                print(f"{what} {command} after {seconds:.3f} s: {found}", flush=True)
        for (command, found), times in sorted(told.items()):
            print(f"{what:8} {command:20} {found:24} {times:4}")
        print(f"{what}: {sum(told.values())} times, seed {given.seed}", flush=True)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
