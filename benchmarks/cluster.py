"""`eval` on 1, 2 and 4 workers of a Dask cluster on loopback, and on workers of which ten are killed.

    uv run --extra cluster python benchmarks/cluster.py GRAPH GOLDSET [--hops 2] [--kills 10]

Each worker is a process with one thread. Prints seconds on the clock, processor seconds of the driver and of
the workers, the largest worker's memory (mapped pages included), and whether the ranking is that of one
process, row for row. Workers are killed by SIGKILL as shards come in; their nannies start others.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tiny_graph_rag.config import Config, cache_folder
from tiny_graph_rag.formats.gold.jsonl import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import cluster, make_retriever
from tiny_graph_rag.retrieval.cluster import ClusterClient
from tiny_graph_rag.run import Run

UP_SECONDS = 300  # that a busy machine may take to start a scheduler


@contextmanager
def workers(count: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, each under a nanny."""
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
                ("worker", [address, "--nthreads", "1", "--nworkers", str(count), "--memory-limit", "8GB"]),
            )
        ]  # fmt: skip
        try:
            yield address
        finally:
            for each in reversed(started):
                each.terminate()
                each.wait()


def pids(client: ClusterClient) -> dict[str, int]:
    found: dict[str, int] = client.client.run(os.getpid, on_error="ignore")
    return found


def usage_of(pid: int) -> tuple[float, float]:
    """(processor seconds, largest resident MB) of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, int(peak.split()[1]) / 1024


def same(one: Run, other: Run) -> bool:
    columns = ("offsets", "entities", "scores", "hops", "walks")
    return all(np.array_equal(getattr(one, each), getattr(other, each)) for each in columns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("gold", type=Path)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    given = parser.parse_args()
    graph, examples = read_graph(given.graph, cache_folder()), read_eval_set(given.gold)
    config = Config().override(hops=given.hops, latency_sample=0, threads=1)
    questions = make_linker(graph, NameIndex.of(graph), config).link(examples.examples)
    started, processor = time.perf_counter(), time.process_time()
    alone = make_retriever(graph, config).retrieve(questions)
    print(
        f"one process: {time.perf_counter() - started:.1f} s, {time.process_time() - processor:.1f} s of "
        f"processor time, {usage_of(os.getpid())[1]:,.0f} MB",
        flush=True,
    )
    cluster.CONNECT_SECONDS = UP_SECONDS
    for count in given.workers:
        with workers(count) as address, ClusterClient.open(address) as client:
            client.client.wait_for_workers(count)
            before = sum(usage_of(pid)[0] for pid in pids(client).values())
            retriever = client.sharing(given.graph)(graph, config, None, None)
            started, processor = time.perf_counter(), time.process_time()
            run = retriever.retrieve(questions)
            seconds, driver = time.perf_counter() - started, time.process_time() - processor
            used = [usage_of(pid) for pid in pids(client).values()]
            theirs, memory = sum(each for each, _ in used) - before, max(each for _, each in used)
            print(
                f"{count} workers: {seconds:.1f} s; processor time: driver {driver:.1f} s, workers "
                f"{theirs:.1f} s; {memory:,.0f} MB a worker; equal: {same(run, alone)}",
                flush=True,
            )
    cluster.SHARD = max(1, len(questions) // (4 * max(given.kills, 1)))
    with workers(2) as address, ClusterClient.open(address) as client:
        client.client.wait_for_workers(2)
        killed: list[int] = []

        def kill(done: int) -> None:
            alive = [pid for pid in pids(client).values() if pid not in killed]
            if len(killed) < given.kills and alive:
                os.kill(alive[0], signal.SIGKILL)
                killed.append(alive[0])

        retriever = client.sharing(given.graph, kill)(graph, config, None, None)
        started = time.perf_counter()
        run = retriever.retrieve(questions)
        seconds = time.perf_counter() - started
        print(f"2 workers, {len(killed)} killed: {seconds:.1f} s; equal: {same(run, alone)}")


if __name__ == "__main__":
    main()
