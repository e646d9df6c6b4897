"""Retrieval on a real Dask cluster on loopback: a scheduler and two worker processes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import HANGS
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import InputError, ServiceError
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json.results import document_parts
from tiny_graph_rag.retrieval import cluster
from tiny_graph_rag.retrieval.cluster import can_be_shared, connected, sharing
from tiny_graph_rag.study.evaluate import evaluate

ROOT = Path(__file__).parents[2]
GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"
GOLD = ROOT / "data/eval/conan-doyle-speckled-band-eval.jsonl"
MEMORY = "700MB"  # of each worker


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process with its own graph cache and memory limit."""
    started: list[subprocess.Popen[bytes]] = []

    def start(what: str, *flags: str, home: str, until: str) -> re.Match[str]:
        """until: what its log says when it is up."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *flags, "--host", "127.0.0.1"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / home)}
        path = folder / f"{home}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--no-dashboard"], env=environment, stdout=log, stderr=log, cwd=folder
            )
        started.append(process)
        give_up = time.monotonic() + HANGS
        while not (match := re.search(until, path.read_text())):
            assert time.monotonic() < give_up, f"the {home} did not come up"
            time.sleep(0.1)
        return match

    try:
        address = start("scheduler", "--port", "0", home="scheduler", until=r"Scheduler at: +(tcp://\S+)")[1]
        for home in ("one", "two"):
            limits = ["--nthreads", "1", "--no-nanny", "--memory-limit", MEMORY]
            start("worker", address, *limits, home=home, until="Registered to")
        yield address, started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def bare(parts: Iterator[bytes]) -> list[str]:
    """The file's lines without its times; the head is one line."""
    whole = json.loads(b"".join(parts))
    for timed in ("latency", "questions_per_second"):
        whole["summary"].pop(timed)
    for result in whole["results"]:
        result.pop("latency_seconds")
    return [json.dumps(whole.pop("results")), *(f"{key}: {json.dumps(whole[key])}" for key in whole)]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Dask's own, of sockets that a killed worker leaves
def test_a_worker_killed_in_the_middle_costs_its_shard_and_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SHARD", 3)
    graph, examples = read_graph(GRAPH), read_eval_set(GOLD)
    measures = default_measures(5)
    for retriever in ("bfs", "hybrid:bfs+bm25"):
        config = Config().override(hops=3, latency_sample=0, retriever=retriever)
        alone = bare(document_parts(evaluate(graph, examples, config, measures)))
        with two_nodes(tmp_path) as (address, workers), connected(address) as client:
            killed: list[int] = []

            def kill_one(done: int, workers=workers, killed=killed) -> None:
                if done >= 6 and not killed:
                    os.kill(workers[0].pid, signal.SIGKILL)
                    killed.append(workers[0].wait())

            shared = sharing(client, GRAPH, kill_one)
            found = evaluate(graph, examples, config, measures, retriever_for=shared)
        assert killed == [-signal.SIGKILL]
        assert bare(document_parts(found)) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_what_a_worker_can_not_do_is_said(tmp_path, monkeypatch):
    graph, examples, config = read_graph(GRAPH), read_eval_set(GOLD), Config().override(latency_sample=0)
    measures = default_measures(5)
    with two_nodes(tmp_path) as (address, workers):
        elsewhere = InputError, "doesn't exist on the worker", Path("/nowhere.json")
        for error, words, path in (elsewhere, (ServiceError, "the workers are gone", GRAPH)):
            with pytest.raises(error, match=words), connected(address) as client:
                evaluate(graph, examples, config, measures, retriever_for=sharing(client, path))
            for worker in workers:
                worker.kill()
                worker.wait()
            monkeypatch.setattr(cluster, "ALONE_SECONDS", 1)


def test_what_asks_a_service_or_needs_the_gold_set_stays_on_one_machine():
    shared = {"bfs", "bm25", "pagerank", "bfs-plain", "hybrid:bfs+bm25"}
    alone = {"dense", "oracle", "run:x.trec", "hybrid:bfs+dense", "my_rag.py:retrieve"}
    for name in shared | alone:
        assert can_be_shared(Config().override(retriever=name)) == (name in shared)


def test_an_address_where_no_scheduler_speaks_is_one_line(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    with socket.socket() as mute, socket.socket() as closed:
        for item in (mute, closed):
            item.bind(("127.0.0.1", 0))
        mute.listen()
        addresses = [f"127.0.0.1:{item.getsockname()[1]}" for item in (mute, closed)]
        for address in (*addresses, "nonsense", "http://127.0.0.1:1"):
            said = "no Dask scheduler answers at this address"
            with pytest.raises(ServiceError, match=said), connected(address):
                pass
