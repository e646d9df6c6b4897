"""Broken files into every command that reads one: no internal error, no hang, no memory without bound.

    uv run python -m tests.tools.fuzz --cases 100000 --workers 2        # prints its seed; --only names some

Each case takes a sound file, breaks it in one to four ways and gives it to a command, which runs in this
process as it would on the command line. Wrong is exit code 70, any other code than 0 to 3, a death of the
process, more than 10 s of CPU, and memory above 20 times the (unpacked) file plus 200 MB. A case is named
by seed, target and number, and `--replay TARGET:NUMBER` runs it alone, leaving the file where it says.
A case is accepted where the command ends with code 0 or 1: its file was read, however damaged.
"""

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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.tools.mutations import mutated
from tests.tools.sound_files import ROOT, Runner, Target, targets

SECONDS, TIMES, MORE_BYTES = 10, 20, 200 << 20  # seconds of CPU
STILL = 300  # seconds after which a case is taken for endless


class TooLongError(Exception):
    pass


def _too_long(*_: object) -> None:
    raise TooLongError


def case(target: Target, number: int, seed: int) -> bytes:
    return mutated(target.sound, random.Random(f"{seed} {target.name} {number}"))


def wrong(run: Runner, target: Target, data: bytes, accepted: Counter[str]) -> str | None:
    """What a command did that it must not; None where it did well. accepted: counts files that were read."""
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
        (run.home / ".env").unlink(missing_ok=True)  # of this case alone
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
    accepted[target.name] += done.exit_code in (0, 1)
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
    accepted: Counter[str] = Counter()
    for number in cases:
        if number // cases.step % 50 == 0:
            (home / "accepted").write_text(json.dumps(accepted))
        target = chosen[number % len(chosen)]
        (home / "at").write_text(f"{target.name}:{number}")
        data = case(target, number, seed)
        problem = wrong(run, target, data, accepted)
        if problem is not None and problem.endswith(" s"):  # the first of a kind also loads libraries
            problem = wrong(run, target, data, accepted)
        if problem is not None:
            yield f"{target.name}:{number}\t{problem}"
    (home / "accepted").write_text(json.dumps(accepted))


@dataclass
class Fuzzed:
    """wrong: a line for each case that went wrong. cases, accepted: how many each reader had and accepted."""

    wrong: list[str]
    cases: Counter[str]
    accepted: Counter[str]


def fuzz(cases: int, seed: int, workers: int = 1, only: str = "") -> Fuzzed:
    """So many cases, every reader in turn.

    A worker that dies or stands still is told with its case, and goes on behind it.
    """
    found: list[str] = []
    readers: list[str] = []
    accepted: Counter[str] = Counter()
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
            accepted.update(json.loads((home / "accepted").read_text()))
    return Fuzzed(found, Counter(readers[number % len(readers)] for number in range(cases)), accepted)


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
        print(wrong(run, target, case(target, int(number), given.seed), Counter()))
        command = " ".join(target.command).replace("{file}", f"./{target.file}")
        print(f"cd {run.home}; python -m tiny_graph_rag {command}")
        return
    started = time.monotonic()
    fuzzed = fuzz(given.cases, given.seed, given.workers, given.only)
    for line in fuzzed.wrong:
        print(line)
    if given.readers:
        for reader, count in sorted(fuzzed.cases.items()):
            print(f"{count:8,} {fuzzed.accepted[reader]:8,} accepted  {reader}")
    kinds = Counter(line.partition("\t")[2].partition(":")[0] for line in fuzzed.wrong)
    graphs = sum(count for reader, count in fuzzed.cases.items() if reader.startswith("graph "))
    print(
        f"{given.cases:,} cases of {len(fuzzed.cases)} readers, {graphs:,} of them graphs, "
        f"{fuzzed.accepted.total():,} accepted, seed {given.seed}, {time.monotonic() - started:,.0f} s: "
        f"{len(fuzzed.wrong):,} wrong" + "".join(f", {count:,} {kind}" for kind, count in kinds.most_common())
    )
    raise SystemExit(bool(fuzzed.wrong))


if __name__ == "__main__":
    main()
