"""Retrieval on many machines: batches of questions go to the workers of a Dask cluster.

    with connected("tcp://10.0.0.1:8786") as client:
        evaluate(graph, examples, config, measures, retriever_for=sharing(client, path))

The driver reads, links, puts together and writes. A worker reads the graph from the same path, once a
process. Batches are put together in question order, so the bytes are those of one machine; what a dead worker
leaves, Dask gives to another. What asks a service (`dense`, `--linker llm`, answers) stays on the driver.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.errors import InputError, ServiceError, UsageError, optional
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Retriever, Task, parts_of
from tiny_graph_rag.run import Run
from tiny_graph_rag.secret import Secret

if TYPE_CHECKING:
    from tiny_graph_rag.graph.model import KnowledgeGraph

CONNECT_SECONDS, ALONE_SECONDS = 20, 60  # before the driver gives up: without a scheduler, without workers
SHARD = 512  # questions; what a killed worker costs at the most
SHARED = ("bfs", "bfs-plain", "bm25", "pagerank")  # need the graph and settings alone, and no service
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Shared:
    """What a worker needs. path, sha256: of the graph. config: without any key."""

    path: Path
    sha256: str
    vocabulary: dict[str, tuple[str, ...]]
    config: Config


def can_be_shared(config: Config) -> bool:
    """Whether a retriever needs no more than a worker has."""
    return all(part in SHARED for part in parts_of(config.retrieval.retriever))


@cache
def _graph(path: Path, sha256: str) -> KnowledgeGraph:
    from tiny_graph_rag.formats.graphs import read_graph

    graph = read_graph(path, cache_folder()) if path.exists() else None
    if graph is None or graph.sha256 != sha256:
        raise InputError("{path}: the file doesn't exist on the worker, or is a different graph", path=path)
    return graph


def rank_shard(shared: Shared, questions: Sequence[LinkedQuestion]) -> Run:
    """On a worker: the ranking of some questions. Raises InputError where it hasn't the graph."""
    from tiny_graph_rag.retrieval import make_retriever

    graph = replace(_graph(shared.path, shared.sha256), vocabulary=shared.vocabulary)
    key = "retriever of a cluster", repr(shared.config), repr(graph.vocabulary)
    retriever: Retriever = graph.shared(key, lambda: make_retriever(graph, shared.config))
    return retriever.retrieve(questions)


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at `address`. Raises ServiceError where none answers, or the workers end, and
    MissingExtraError without Dask."""
    distributed = optional("distributed", "running.cluster", "cluster")
    try:
        place = urlsplit(address if "//" in address else f"//{address}")
        with socket.create_connection((place.hostname, place.port), CONNECT_SECONDS) as connection:
            connection.recv(1)  # a scheduler speaks first; for one that doesn't, Dask would wait
        client = distributed.Client(address, timeout=CONNECT_SECONDS)
    except Exception as error:  # bytes that are not Dask's protocol fail in any way there is
        raise ServiceError(
            "running.cluster {address}: no Dask scheduler answers at this address ({why}). Start one "
            "with `dask scheduler`, and workers with `dask worker ADDRESS`",
            address=address,
            why=repr(error)[:200],
        ) from error
    try:
        with client:
            yield client
    except (distributed.KilledWorker, TimeoutError) as error:
        raise ServiceError(
            "running.cluster {address}: the workers are gone ({why}). Start some with "
            "`dask worker {address}`",
            address=address,
            why=repr(error)[:200],
        ) from error


def sharing(client: Any, path: Path, progress: Progress = lambda done: None) -> Callable[..., Retriever]:
    """A maker of retrievers for `evaluate` and `sweep`. client: of Dask; path: of the graph."""
    from tiny_graph_rag.retrieval import make_retriever

    def make(graph: KnowledgeGraph, config: Config, *gold: Any) -> Retriever:
        local = make_retriever(graph, config, *gold)
        if not can_be_shared(config):
            return local
        bare = replace(config, api_key=Secret(""), file=None)
        shared = Shared(path.resolve(), graph.sha256, dict(graph.vocabulary), bare)
        return ClusterRetriever(local, client, shared, progress)

    return make


class ClusterRetriever(Retriever):
    """`local` on many machines."""

    name: ClassVar[str] = ""
    batch: ClassVar[int] = 1 << 14  # questions on their way
    one_by_one: ClassVar[bool] = False

    def __init__(self, local: Retriever, client: Any, shared: Shared, progress: Progress) -> None:
        self.local, self.client, self.shared, self.progress = local, client, shared, progress
        self.walks, self.from_named = local.walks, local.from_named  # type: ignore[misc]
        self.notes, self.reasons = local.notes, local.reasons  # type: ignore[method-assign]
        self._done = 0

    @classmethod
    def of(cls, task: Task) -> Self:
        raise UsageError("to run a retriever on a cluster, use running.cluster ADDRESS instead of a name")

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        if len(questions) == 1:  # for its latency, which is the driver's own
            return self.local.retrieve(questions)
        from distributed import as_completed

        self.client.wait_for_workers(1, timeout=ALONE_SECONDS)
        workers = max(1, len(self.client.nthreads()))
        size = max(1, min(SHARD, -(-len(questions) // (2 * workers))))
        shards = [questions[start : start + size] for start in range(0, len(questions), size)]
        futures = self.client.map(rank_shard, [self.shared] * len(shards), shards, pure=False)
        for future in as_completed(futures):
            future.result()
            self._done += size
            self.progress(self._done)
        return Run.concatenated(self.client.gather(futures))
