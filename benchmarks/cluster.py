"""`eval` and `sweep` on a Dask cluster on loopback, beside one process: whole commands.

    uv run --extra cluster python benchmarks/cluster.py GRAPH GOLDSET [--workers 1 2 4] [--kills 10]

Each worker is a process with one thread under a nanny. Prints seconds on the clock, processor seconds of the
command and of the workers, the largest worker's memory (peak with mapped pages; its own at the end), and
whether the file written is that of one process, times aside. Then workers are killed by SIGKILL, two of them
up, until so many have died, each as soon as it has worked a little; and a command itself is killed.
`--generate GRAPH` makes its set from another graph, `--only eval,kills` runs some of the steps.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distributed import Client

STEPS = ("eval", "kills", "driver", "sweep", "score", "generate")
WORKED_SECONDS = 3.0  # of processor time, beyond its start, before a worker is killed
MEMORY = "8GB"


@contextmanager
def workers(count: int) -> Iterator[tuple[str, Client]]:
    """The address of a scheduler with so many workers, each under a nanny, and a client that watches."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, quiet = f"tcp://127.0.0.1:{port}", ["--host", "127.0.0.1", "--no-dashboard"]
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        started = [
            subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *flags, *quiet],
                stdout=log, stderr=log, cwd=folder,
            )
            for what, flags in (
                ("scheduler", ["--port", str(port)]),
                ("worker", [address, "--nthreads", "1", "--nworkers", str(count), "--memory-limit", MEMORY]),
            )
        ]  # fmt: skip
        try:
            with Client(address, timeout=300) as client:
                client.wait_for_workers(count)
                yield address, client
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


def pids(client: Client) -> list[int]:
    found: dict[str, Any] = client.run(os.getpid, on_error="ignore")
    return [item for item in found.values() if isinstance(item, int)]


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> tuple[float, float]:
    """(peak with mapped pages, its own now) in MB."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return tuple(int(lines[text].split()[0]) / 1024 for text in ("VmHWM", "RssAnon"))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended. busy: its own processor seconds; megabytes: its peak."""

    code: int
    seconds: float
    busy: float
    megabytes: float


def done(*command: str, during: Any = None) -> Done:
    """Run `tiny-graph-rag …`; during(process) runs beside it."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tiny_graph_rag", *command, "--quiet"], stdout=subprocess.DEVNULL
    )
    beside = threading.Thread(target=during, args=(process,)) if during else None
    if beside:
        beside.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    if beside:
        beside.join()
    busy = usage.ru_utime + usage.ru_stime
    return Done(process.returncode, seconds, busy, usage.ru_maxrss / 1024)


def untimed(path: Path) -> list[str]:
    """A file's lines without what says when it was made, how fast and by which command."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        return text.splitlines()
    whole = json.loads(text)
    whole.pop("made", None)
    for timed in ("latency", "questions_per_second"):
        whole.get("summary", {}).pop(timed, None)
    for item in (*whole.get("results", ()), *whole.get("settings", ())):
        for timed in ("latency_seconds", "latency", "questions_per_second", "seconds"):
            item.pop(timed, None)
    return [f"{key}: {json.dumps(value)}" for key, value in whole.items()]


def show(what: str, found: Done, more: str = "") -> None:
    print(
        f"{what:34} {found.seconds:7.1f} s on the clock, {found.busy:6.1f} s of processor time, "
        f"{found.megabytes:6,.0f} MB{more}{'' if found.code == 0 else f'  exit code {found.code}'}",
        flush=True,
    )


def on_workers(count: int, command: tuple[str, ...], target: Path, alone: Path) -> None:
    with workers(count) as (address, client):
        before = sum(map(processor_seconds, pids(client)))
        found = done(*command, "--set", f"running.cluster={address}", "-o", str(target))
        alive = pids(client)
        busy = sum(map(processor_seconds, alive)) - before
        peak, own = map(max, zip(*map(memory, alive), strict=True))
    equal = target.exists() and untimed(target) == untimed(alone)
    more = f"; workers {busy:.1f} s, each up to {peak:,.0f} MB, {own:,.0f} of them its own; equal: {equal}"
    show(f"{command[0]}, {count} workers", found, more)


def killing(kills: int, command: tuple[str, ...], target: Path, alone: Path) -> None:
    """Kill workers while the command runs, as often as it takes runs."""
    killed: list[int] = []
    runs = 0
    while len(killed) < kills and runs < kills:
        runs += 1
        before = len(killed)
        with workers(2) as (address, client):

            def kill(process: subprocess.Popen[bytes], client: Client = client) -> None:
                idle = {pid: processor_seconds(pid) for pid in pids(client)}
                while process.returncode is None and process.poll() is None and len(killed) < kills:
                    time.sleep(0.2)
                    for pid in client.run(os.getpid, on_error="ignore").values():
                        if not isinstance(pid, int) or pid in killed:
                            continue
                        try:
                            busy = processor_seconds(pid) - idle.setdefault(pid, processor_seconds(pid))
                            if busy > WORKED_SECONDS:
                                os.kill(pid, signal.SIGKILL)
                                killed.append(pid)
                        except (FileNotFoundError, ProcessLookupError):
                            continue

            found = done(*command, "--set", f"running.cluster={address}", "-o", str(target), during=kill)
        equal = target.exists() and untimed(target) == untimed(alone)
        show(f"2 workers, {len(killed) - before} killed", found, f"; equal: {equal}")
        target.unlink(missing_ok=True)


def killed_driver(command: tuple[str, ...], target: Path, seconds: float) -> None:
    """The command itself is killed at a few moments; the cluster does the next one."""
    with workers(2) as (address, _):
        for share in (0.3, 0.6, 0.9):

            def kill(process: subprocess.Popen[bytes], after: float = seconds * share) -> None:
                time.sleep(after)
                process.send_signal(signal.SIGKILL)

            target.unlink(missing_ok=True)
            found = done(*command, "--set", f"running.cluster={address}", "-o", str(target), during=kill)
            left = [path.name for path in target.parent.iterdir() if path.name.startswith(target.name)]
            show(f"driver killed after {seconds * share:.1f} s", found, f"; left behind: {left}")
        found = done(*command, "--set", f"running.cluster={address}", "-o", str(target))
        show("the next on the same workers", found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--hops", default="2")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--generate", type=Path)
    parser.add_argument("--only", default=",".join(STEPS))
    given = parser.parse_args()
    chosen = given.only.split(",")
    files = ("-g", str(given.graph.resolve()), "--dataset", str(given.gold.resolve()))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        run, alone, target = out / "run.jsonl", out / "alone.json", out / "cluster.json"
        evaluate = (
            "eval",
            *files,
            "--hops",
            given.hops,
            "--skip-generation",
            "--set",
            "evaluation.latency_sample=0",
        )
        first = done(*evaluate, "-o", str(alone), "--save-run", str(run))
        show("eval, one process, one thread", first)
        if "eval" in chosen:
            for count in given.workers:
                on_workers(count, evaluate, target, alone)
        if "kills" in chosen:
            killing(given.kills, evaluate, target, alone)
        if "driver" in chosen:
            killed_driver(evaluate, target, first.seconds)
        made_from = str((given.generate or given.graph).resolve())
        others = {
            "sweep": ("sweep", *files, "--hops", f"1,{given.hops}"),
            "score": ("score", "--run", str(run), "--gold", files[3], "-g", files[1]),
            "generate": ("generate", "-g", made_from, "--n", "200"),
        }
        for name in (other_vector for other_vector in others if other_vector in chosen):
            ending = "jsonl" if name == "generate" else "json"
            one, two = out / f"{name}-one.{ending}", out / f"{name}-two.{ending}"
            show(f"{name}, one process", done(*others[name], "-o", str(one)))
            on_workers(2, others[name], two, one)


if __name__ == "__main__":
    main()
