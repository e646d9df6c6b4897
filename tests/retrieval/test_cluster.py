"""Retrieval on a real Dask cluster on loopback: a scheduler and two worker processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import ServiceError, UsageError
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.measures import default_measures
from tiny_graph_rag.report.json.results import document_parts
from tiny_graph_rag.retrieval import cluster
from tiny_graph_rag.retrieval.cluster import ClusterClient, Shared, can_be_shared
from tiny_graph_rag.study.evaluate import evaluate

ROOT = Path(__file__).parents[2]
GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"
GOLD = ROOT / "data/eval/conan-doyle-speckled-band-hardset.jsonl"
MEMORY = "700MB"  # of each worker
UP_SECONDS = 120


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers, each a process with its own graph cache and memory limit."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = ["--host", "127.0.0.1", "--no-dashboard"]
    started: list[subprocess.Popen[bytes]] = []

    def start(what: str, *flags: str, home: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *flags, *quiet]
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / home)}
        with (folder / f"{home}.log").open("wb") as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder))

    try:
        start("scheduler", "--port", address.rpartition(":")[2], home="scheduler")
        for text in ("one", "two"):
            limits = ["--nthreads", "1", "--no-nanny", "--memory-limit", MEMORY]
            start("worker", address, *limits, home=text)
        give_up = time.monotonic() + UP_SECONDS
        while not all("Registered to" in (folder / f"{text}.log").read_text() for text in ("one", "two")):
            assert time.monotonic() < give_up, "the workers did not come up"
            time.sleep(0.2)
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


def main_job(*command: str, home: Path) -> None:
    """A command as users run it, in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(home), "PYTHONHASHSEED": "random"}
    done = subprocess.run(
        [sys.executable, "-m", "tiny_graph_rag", *command],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def untimed(path: Path) -> str:
    """A file's text without what says when it was made, how fast and by which command."""
    if path.suffix == ".jsonl":
        return path.read_text()
    whole = json.loads(path.read_text())
    whole.pop("made")
    whole.pop("seconds", None)
    for timed in ("latency", "questions_per_second"):
        whole.get("summary", {}).pop(timed, None)
    for item in (*whole.get("results", ()), *whole.get("settings", ())):
        item.pop("latency_seconds", None)
        item.pop("seconds", None)
    return json.dumps(whole)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Dask's own, of sockets that a killed worker leaves
def test_a_worker_killed_in_the_middle_costs_its_shard_and_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SHARD", 3)
    graph, examples = read_graph(GRAPH), read_eval_set(GOLD)
    measures = default_measures(5)
    for retriever in ("bfs", "hybrid:bfs+bm25"):
        config = Config().override(hops=3, latency_sample=0, retriever=retriever)
        alone = bare(document_parts(evaluate(graph, examples, config, measures)))
        with two_nodes(tmp_path) as (address, workers), ClusterClient.open(address) as client:
            killed: list[int] = []

            def kill_one(done: int, workers=workers, killed=killed) -> None:
                if done >= 6 and not killed:
                    os.kill(workers[0].pid, signal.SIGKILL)
                    killed.append(workers[0].wait())

            shared = client.sharing(GRAPH, kill_one)
            found = evaluate(graph, examples, config, measures, retriever_for=shared)
        assert killed == [-signal.SIGKILL]
        assert bare(document_parts(found)) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_sweep_score_and_generate_lose_a_worker_and_no_byte(tmp_path):
    """The commands themselves; the first worker of two is killed as soon as it is up."""
    run = tmp_path / "run.jsonl"
    main_job("eval", "--dataset", str(GOLD), "-g", str(GRAPH), "--skip-generation", "--save-run", str(run),
             "-o", str(tmp_path / "eval.json"), home=tmp_path / "driver")  # fmt: skip
    jobs = {
        "eval.json": ("eval", "--dataset", str(GOLD), "-g", str(GRAPH), "--skip-generation"),
        "score-g.json": ("score", "--run", str(run), "--gold", str(GOLD), "-g", str(GRAPH)),
        "score.json": ("score", "--run", str(run), "--gold", str(GOLD), "--match", "name"),
        "sweep.json": ("sweep", "--dataset", str(GOLD), "-g", str(GRAPH), "--hops", "1,2"),
        "made.jsonl": ("generate", "-g", str(GRAPH), "--n", "40"),
    }
    for name, job in jobs.items():
        main_job(*job, "-o", str(tmp_path / f"one-{name}"), home=tmp_path / "driver")
    for name, job in jobs.items():
        with two_nodes(tmp_path) as (address, workers):
            killer = threading.Timer(1.0, workers[0].kill)
            killer.start()
            main_job(
                *job, "--cluster", address, "-o", str(tmp_path / f"two-{name}"), home=tmp_path / "driver"
            )
            killer.join()
            workers[0].wait()
        assert untimed(tmp_path / f"two-{name}") == untimed(tmp_path / f"one-{name}")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_graph_that_a_node_lacks_is_sent_to_it_once(tmp_path, monkeypatch):
    """The graph lies where only the driver can see it: the workers' copies are removed before they look."""
    monkeypatch.setattr(cluster, "PIECE_BYTES", 10_000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "driver"))
    away = tmp_path / "private" / GRAPH.name
    away.parent.mkdir()
    away.write_bytes(GRAPH.read_bytes())
    graph, examples = read_graph(away), read_eval_set(GOLD)
    config = Config().override(hops=2, latency_sample=0)
    alone = bare(document_parts(evaluate(graph, examples, config, default_measures(5))))
    hidden = Shared.of(graph, tmp_path / "nowhere" / GRAPH.name, config)  # as a worker elsewhere sees it
    assert cluster._lies_at(hidden) is None
    sent: list[str] = []
    files_of = cluster._files_of

    def counted_files(path: Path) -> list[tuple[str, Path]]:
        sent.append(str(path))
        return files_of(away)

    monkeypatch.setattr(cluster, "_files_of", counted_files)
    with two_nodes(tmp_path) as (address, _), ClusterClient.open(address) as client:
        share = client.sharing(hidden.path)
        found = evaluate(graph, examples, config, default_measures(5), retriever_for=share)
        again = evaluate(graph, examples, config, default_measures(5), retriever_for=share)
    assert len(sent) == 2  # once a node, for both
    for home in ("one", "two"):
        kept = tmp_path / home / "tiny-graph-rag" / cluster.RECEIVED / graph.sha256[:32] / GRAPH.name
        assert kept.read_bytes() == GRAPH.read_bytes()
    assert bare(document_parts(found)) == bare(document_parts(again)) == alone


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_killed_driver_leaves_no_half_file_and_the_cluster_goes_on(tmp_path):
    target = tmp_path / "results.json"
    job = [sys.executable, "-m", "tiny_graph_rag", "eval", "--dataset", str(GOLD), "-g", str(GRAPH),
           "--skip-generation", "-o", str(target)]  # fmt: skip
    with two_nodes(tmp_path) as (address, _):
        log = tmp_path / "driver.log"
        with log.open("wb") as out:
            driver = subprocess.Popen([*job, "--cluster", address], cwd=ROOT, stdout=out, stderr=out)
        while driver.poll() is None and b"gold set" not in log.read_bytes():
            time.sleep(0.01)
        driver.kill()
        driver.wait()
        assert not target.exists() or json.loads(target.read_text())["results"]
        assert not list(tmp_path.glob("*.tmp"))
        main_job(*job[3:], "--cluster", address, home=tmp_path / "driver")
    assert len(json.loads(target.read_text())["results"]) == len(read_eval_set(GOLD))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_what_a_worker_can_not_do_is_said(tmp_path, monkeypatch):
    graph, examples, config = read_graph(GRAPH), read_eval_set(GOLD), Config().override(latency_sample=0)
    with two_nodes(tmp_path) as (address, workers), ClusterClient.open(address) as client:
        other = Shared(GRAPH, graph.sha256, {}, config, version="0.0.0")
        with pytest.raises(UsageError, match=r"worker runs version .*, this machine 0\.0\.0"):
            client.mapped(other, cluster.rank_shard, [[]])
        for worker in workers:
            worker.kill()
            worker.wait()
        monkeypatch.setattr(cluster, "ALONE_SECONDS", 1)
        with pytest.raises(ServiceError, match="no worker for 1 seconds"):
            evaluate(graph, examples, config, default_measures(5), retriever_for=client.sharing(GRAPH))


def test_what_asks_a_service_or_needs_the_gold_set_stays_on_one_machine():
    shared = {"bfs", "bm25", "pagerank", "bfs-plain", "hybrid:bfs+bm25"}
    alone = {"dense", "oracle", "run:x.trec", "hybrid:bfs+dense", "my_rag.py:retrieve"}
    for name in shared | alone:
        assert can_be_shared(Config().override(retriever=name)) == (name in shared)
    assert not can_be_shared(Config().override(relation_similarity="embeddings"))


@pytest.mark.slow
def test_without_an_address_nothing_of_a_cluster_is_loaded(tmp_path):
    code = (
        "import sys; from tiny_graph_rag.cli import load, app; load('eval');"
        f"app(['eval', '--dataset', {str(GOLD)!r}, '--skip-generation', '-o', {str(tmp_path / 'r.json')!r}],"
        "standalone_mode=False);"
        "print([each for each in ('dask', 'distributed', 'tiny_graph_rag.retrieval.cluster')"
        " if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("[]\n")


def test_an_address_where_no_scheduler_speaks_is_one_line(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.2)
    with socket.socket() as mute, socket.socket() as closed:
        for item in (mute, closed):
            item.bind(("127.0.0.1", 0))
        mute.listen()
        for place in (mute, closed):
            address = f"127.0.0.1:{place.getsockname()[1]}"
            said = "no Dask scheduler answers at this address"
            with pytest.raises(ServiceError, match=said), ClusterClient.open(address):
                pass
    for nonsense in ("nonsense", "http://127.0.0.1:1"):
        with pytest.raises(UsageError, match="wanted an address such as"), ClusterClient.open(nonsense):
            pass
