"""Broken files into every command that reads one: no internal error, no hang, no memory without bound.

    uv run python -m tests.tools.fuzz --cases 100000 --workers 2        # prints its seed; --only names some

Each case takes a sound file, breaks it in one to four ways and gives it to a command, which runs in this
process as it would on the command line. Wrong is exit code 70, any other code than 0 to 3, a death of the
process, more than 10 s of CPU, and memory above 20 times the (unpacked) file plus 200 MB. A case is named by seed,
target and number, and `--replay TARGET:NUMBER` runs it alone, leaving the file where it says.
"""

# ruff: noqa: E501 - tables of tokens and sound files

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.tools.sound_files import ROOT, Runner, Target, targets

SECONDS, TIMES, MORE_BYTES = 10, 20, 200 << 20  # seconds of CPU
STILL = 300  # seconds after which a case is taken for endless

TOKENS: tuple[bytes, ...] = tuple(
    item if isinstance(item, bytes) else item.encode("utf-8", "surrogatepass")
    for item in (
        "\0", "\r", "\r\n", "\n\n", "\t", " ", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x1b[2J", "\x9b", "\u202e",
        "²", "--1", "+-2", "-0", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e-400", str(2**31), str(2**63),
        str(2**70), "9" * 400, "9" * 5000, "0x10", "1_000", "true", "null", "[]", "{}", '""', "''", '"', "'", "\\",
        "\\ud800", "\\udc00", "\\u0000", "\\x", "[" * 300, "[" * 3000, "{" * 300, '{"a":' * 3000, "]", "}", ",", ":",
        "&a [*a,*a]", "*a", "&a ", "<<: *a", "!!python/object/apply:os.system [x]", "!!binary x", "2026-01-01",
        "12:30:45", "? ", "- " * 500, "|\n", "%", "%00", "%2", "=1+1", "@x", "x" * 10_000, "점" * 3000, "😀", "e\u0301",
        "-" * 300, "w" * 40_000, "가" * 20_000, "word " * 4_000, "," * 20_000, "\t" * 20_000, "1.0", "2.0", ",,,,", '"a\nb"', b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\x80", b"\x1f\x8b\x08", b"PAR1",
    )
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**70, 10**400, "", " ", "x",
    "\0", "\r\n", "\ud800", "=1+1", "x" * 5000, [], {}, [[]], [None], [1], ["x", "x"], [[1, 2], [3]], {"": ""},
    {"a": {"b": []}}, [{}], "2026-01-01", "\u202e", "[red]x[/red]", "</script><b>", "../../x",
)  # fmt: skip


def mutated(sound: bytes, chance: random.Random) -> bytes:
    data = bytearray(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = bytearray(chance.choice(WAYS)(bytes(data), chance))
    return bytes(data)


def _token(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(TOKENS) + data[at + chance.choice((0, 0, 1, 3)) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _lost(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 10, 100)) :]


def _twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[:at], *[lines[at]] * chance.choice((2, 2, 50)), *lines[at + 1 :]])


def _swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\xc2\x85", b"")))


def _packed(data: bytes, chance: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return chance.choice((packed, packed, packed + b"x", packed[:-4], _flip(packed, chance), packed * 2))


def _encoded(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(("utf-16", "utf-8-sig", "cp949", "utf-32", "latin-1")), "replace")


def _shape(data: bytes, chance: random.Random) -> bytes:
    """A value of another kind, a field that is missing or is given twice; of JSON, whole or by lines."""
    text = data.decode("utf-8", "replace")
    try:
        return _written(_reshaped(json.loads(text), chance), chance)
    except (ValueError, RecursionError):
        pass
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    try:
        lines[at] = _written(_reshaped(json.loads(lines[at]), chance), chance).decode(
            "utf-8", "surrogatepass"
        )
    except (ValueError, RecursionError):
        fields = lines[at].split(chance.choice((" ", ",", "\t", ": ")))
        fields[chance.randrange(len(fields))] = str(chance.choice(VALUES))
        lines[at] = chance.choice((" ", ",", "\t", ": ")).join(fields)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _written(value: Any, chance: random.Random) -> bytes:
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _reshaped(value: Any, chance: random.Random) -> Any:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, dict | list):
                walk(child)

    if not isinstance(value, dict | list) or not value:
        return chance.choice(VALUES)
    walk(value)
    node, key = chance.choice(places)
    what = chance.randrange(5)
    if what == 0 and isinstance(node, dict):
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[chance.choice((key + "x", "", "\0", "id", "name", "score"))] = node.pop(key)
    elif what == 2 and isinstance(node, list):
        node[key : key + 1] = [node[key]] * chance.choice((0, 2, 200))
    else:
        node[key] = chance.choice(VALUES)
    return value


def _wide(data: bytes, chance: random.Random) -> bytes:
    """A line of a thousand times as many fields, or a file of many times as many lines."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    sign = chance.choice((b",", b"\t", b" ", b";"))
    if chance.random() < 0.5:
        lines[at] = sign.join(
            [lines[at]] + [b"x%d" % number for number in range(chance.choice((1000, 20_000)))]
        )
        return b"\n".join(lines)
    return b"\n".join([*lines[:at], *lines[at : at + 1] * 2000, *lines[at + 1 :]])[: 1 << 22]


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _token, _token, _token, _flip, _flip, _cut, _lost, _twice, _swapped, _wide, _ends, _packed, _encoded,
    _shape, _shape, _shape, _shape, _shape,
)  # fmt: skip


class TooLongError(Exception):
    pass


def _too_long(*_: object) -> None:
    raise TooLongError


def case(target: Target, number: int, seed: int) -> bytes:
    return mutated(target.sound, random.Random(f"{seed} {target.name} {number}"))


def wrong(run: Runner, target: Target, data: bytes) -> str | None:
    """What a command did that it must not; None where it did well."""
    for name, content in target.beside.items():
        (run.home / name).parent.mkdir(parents=True, exist_ok=True)
        (run.home / name).write_bytes(content)
    text = ""
    run.reply = data if target.replies else None
    if target.text:
        text = os.fsdecode(data.replace(b"\0", b""))[:30_000]  # as a shell can give it
    elif not target.replies:
        (run.home / target.file).parent.mkdir(parents=True, exist_ok=True)
        (run.home / target.file).write_bytes(data)
    command = [
        argument.replace("{file}", f"./{target.file}").replace("{text}", text) for argument in target.command
    ]
    before = _peak_reset()
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, 3 * SECONDS)
    try:
        done = run(*command)
    except TooLongError:
        return f"more than {3 * SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds, peak = time.process_time() - started, _peak() - before
    if isinstance(done.exception, TooLongError) or seconds > SECONDS:
        return f"{seconds:.0f} s"
    if done.exit_code not in (0, 1, 2, 3) or "internal error" in done.output:
        told = next(
            (line for line in done.output.splitlines() if "internal error" in line), repr(done.exception)
        )
        return f"exit code {done.exit_code}: {told[:200]}"
    if "Traceback" in done.output:
        return "a traceback"
    unpacked = len(data)
    with contextlib.suppress(Exception):
        unpacked = max(unpacked, len(gzip.decompress(data)))
    if peak > TIMES * unpacked + MORE_BYTES:
        return f"{peak >> 20:,} MB for {unpacked:,} bytes"
    return None


def _peak_reset() -> int:
    """Forget the peak; what is in memory now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def work(home: Path, seed: int, cases: range, only: str) -> Iterator[str]:
    """Runs the cases, and says each that goes wrong; `at` lines tell the parent where a dead worker was."""
    signal.signal(signal.SIGPROF, _too_long)
    run = Runner(home)
    chosen = [target for target in targets(run) if only in target.name]
    (home / "names").write_text("\n".join(item.name for item in chosen))
    for number in cases:
        target = chosen[number % len(chosen)]
        (home / "at").write_text(f"{target.name}:{number}")
        data = case(target, number, seed)
        problem = wrong(run, target, data)
        if problem is not None and problem.endswith(" s"):  # the first of a kind also loads libraries
            problem = wrong(run, target, data)
        if problem is not None:
            yield f"{target.name}:{number}\t{problem}"


def fuzz(cases: int, seed: int, workers: int = 1, only: str = "") -> tuple[list[str], Counter[str]]:
    """What went wrong in so many cases, and how many each reader had.

    A worker that dies or stands still is told with its case, and goes on behind it.
    """
    found: list[str] = []
    readers: list[str] = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        waiting = [range(start, cases, workers) for start in range(workers)]
        running: list[tuple[subprocess.Popen[str], Path, range]] = []
        while waiting or running:
            while waiting:
                part = waiting.pop()
                home = Path(tempfile.mkdtemp(dir=name))
                command = [
                    sys.executable,
                    "-m",
                    "tests.tools.fuzz",
                    "--work",
                    str(home),
                    "--seed",
                    str(seed),
                ]
                command += ["--part", f"{part.start},{part.stop},{part.step}", "--only", only]
                out = (home / "found").open("w")
                running.append((subprocess.Popen(command, cwd=ROOT, stdout=out, text=True), home, part))
                out.close()
            worker, home, part = running.pop(0)
            stood_still = _wait(worker, home / "at")
            told = (home / "found").read_text().splitlines()
            found += told
            if worker.returncode:
                if not (home / "at").is_file():
                    raise RuntimeError("a worker could not begin; its own words stand above")
                at = (home / "at").read_text()
                problem = f"stood still for {STILL} s" if stood_still else f"died ({worker.returncode})"
                found.append(f"{at}\tthe process {problem}")
                print(found[-1], file=sys.stderr, flush=True)
                dead = int(at.rpartition(":")[2])
                if range(dead + part.step, part.stop, part.step):
                    waiting.append(range(dead + part.step, part.stop, part.step))
            readers = (home / "names").read_text().splitlines()
    return found, Counter(readers[number % len(readers)] for number in range(cases))


def _wait(worker: subprocess.Popen[str], at: Path) -> bool:
    """Until the worker has ended; whether it was ended here, as its case took no end in compiled code."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(timeout=5)
            return False
        if at.is_file() and time.time() - at.stat().st_mtime > STILL:
            worker.kill()
            worker.wait()
            return True


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seed", type=int, default=20261121)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--only", default="", help="a part of the targets' names")
    options.add_argument("--readers", action="store_true", help="print how many cases each reader had")
    options.add_argument("--replay", default="", help="TARGET:NUMBER")
    options.add_argument("--work", help=argparse.SUPPRESS)
    options.add_argument("--part", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work:
        for line in work(Path(given.work), given.seed, range(*map(int, given.part.split(","))), given.only):
            print(line, flush=True)
        sys.stdout.flush()
        os._exit(0)  # threads that a broken reply left waiting hold nothing up
    if given.replay:
        name, _, number = given.replay.rpartition(":")
        signal.signal(signal.SIGPROF, _too_long)
        run = Runner(Path(tempfile.mkdtemp()))
        target = next(target for target in targets(run) if target.name == name)
        print(wrong(run, target, case(target, int(number), given.seed)))
        command = " ".join(target.command).replace("{file}", f"./{target.file}")
        print(f"cd {run.home}; python -m tiny_graph_rag {command} --debug")
        return
    started = time.monotonic()
    found, readers = fuzz(given.cases, given.seed, given.workers, given.only)
    for line in found:
        print(line)
    if given.readers:
        for reader, count in sorted(readers.items()):
            print(f"{count:8,}  {reader}")
    kinds = Counter(line.partition("\t")[2].partition(":")[0] for line in found)
    print(
        f"{given.cases:,} cases of {len(readers)} readers, {sum(count for reader, count in readers.items() if reader.startswith('graph ')):,} "
        f"of them graphs, seed {given.seed}, {time.monotonic() - started:,.0f} s: {len(found):,} wrong"
        + "".join(f", {count:,} {kind}" for kind, count in kinds.most_common())
    )
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
