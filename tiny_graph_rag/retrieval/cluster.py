"""Retrieval on many machines: shards of linked questions go to the workers of a Dask cluster.

    with ClusterClient.open("tcp://10.0.0.1:8786") as client:
        evaluate(graph, examples, config, measures, retriever_for=client.sharing(path))

The driver links, judges and writes; a worker maps the graph from its own graph cache, made from the file at
the same path, once a process, and only ranks. Which worker ranks a question changes nothing about its
ranking, and shards are put together in question order, so the bytes are those of one machine. A worker that
dies costs its shard, which another worker ranks again. What asks a service (`dense`,
`--relation-similarity embeddings`, `--linker llm`, answers) stays on the driver, under its one cap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tiny_graph_rag.config import Config, cache_folder
from tiny_graph_rag.errors import InputError, MissingExtraError, ServiceError, UsageError
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task
from tiny_graph_rag.run import Run
from tiny_graph_rag.secret import Secret
from tiny_graph_rag.version import __version__

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.gold.resolve import Judgments
    from tiny_graph_rag.graph.model import KnowledgeGraph

CONNECT_SECONDS = 20
ALONE_SECONDS = 60  # without any worker, before the driver gives up
LOOKED_SECONDS = 1.0  # between two looks at what is done
SHARD = 512  # questions; what a killed worker costs at the most. Fewer are not worth compiling for
AT_ONCE = 1 << 14  # questions on their way
MOST_DEATHS = 20  # workers that may die over one shard
KEPT_RETRIEVERS = 8  # a worker's, for a sweep's settings; they share one graph
SHARED = ("bfs", "bfs-plain", "bm25", "pagerank")  # need the graph and settings alone, and no service

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Shared:
    """What a worker needs to make the same retriever. path, sha256: of the graph's file.

    config: without the key to any service.
    """

    path: Path
    sha256: str
    vocabulary: dict[str, tuple[str, ...]]
    config: Config
    version: str = __version__


def can_be_shared(config: Config) -> bool:
    """Whether a retriever needs no more than a worker has."""
    names = config.retrieval.retriever.partition(":")
    parts = names[2].split("+") if names[0] == "hybrid" else [config.retrieval.retriever]
    return all(each in SHARED for each in parts) and not config.retrieval.embeds


_graphs: dict[tuple[Path, str], Any] = {}
_retrievers: dict[tuple[Path, str, str], Retriever] = {}
_one_at_a_time = Lock()


def rank_shard(shared: Shared, questions: Sequence[LinkedQuestion]) -> Run:
    """On a worker: the ranking of some questions. Raises InputError where it has another graph or version."""
    with _one_at_a_time:  # a worker with several threads gives them to the retriever, not to shards
        return _retriever(shared).retrieve(questions)


def _retriever(shared: Shared) -> Retriever:
    from tiny_graph_rag.formats.graphs import read_graph
    from tiny_graph_rag.retrieval import make_retriever

    if shared.version != __version__:
        raise InputError(f"version {__version__} runs there, {shared.version} here; install the same on both")
    of_graph = shared.path, shared.sha256
    if of_graph not in _graphs:
        if not shared.path.exists():
            raise InputError(f"{shared.path}: no such file there; every node wants it at the same path")
        graph = read_graph(shared.path, cache_folder())
        if graph.sha256 != shared.sha256:
            raise InputError(f"{shared.path}: another graph lies there than here; copy it again")
        _graphs.clear()
        _retrievers.clear()
        _graphs[of_graph] = replace(graph, vocabulary=shared.vocabulary)
    key = (*of_graph, repr(shared.config))
    if key not in _retrievers:
        if len(_retrievers) >= KEPT_RETRIEVERS:
            _retrievers.clear()
        config = shared.config.override(threads=_threads_here())
        _retrievers[key] = make_retriever(_graphs[of_graph], config)
    return _retrievers[key]


def _threads_here() -> int:
    from distributed import get_worker

    try:
        return int(get_worker().state.nthreads)
    except ValueError:  # not on a worker
        return 0


@dataclass(frozen=True, slots=True, eq=False)
class ClusterClient:
    """A connection to a Dask scheduler. address: as the user gave it."""

    address: str
    client: Any

    @classmethod
    @contextmanager
    def open(cls, address: str) -> Iterator[Self]:
        """Raises ServiceError where nobody answers, MissingExtraError without Dask."""
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingExtraError("--cluster", "distributed", "cluster") from error
        try:
            client = Client(address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            raise ServiceError(
                f"--cluster {address}: no Dask scheduler answers there ({str(error).splitlines()[0]}). Start "
                "one with `dask scheduler`, and workers with `dask worker ADDRESS`"
            ) from error
        try:
            yield cls(address, client)
        finally:
            client.close()

    def sharing(
        self, path: Path, progress: Progress = lambda done: None
    ) -> Callable[[KnowledgeGraph, Config, EvalSet | None, Judgments | None], Retriever]:
        """A maker of retrievers for `evaluate` and `sweep`. path: of the graph's file, on every node."""
        from tiny_graph_rag.retrieval import make_retriever

        def make(
            graph: KnowledgeGraph,
            config: Config,
            examples: EvalSet | None = None,
            judgments: Judgments | None = None,
        ) -> Retriever:
            local = make_retriever(graph, config, examples, judgments)
            if not can_be_shared(config):
                return local
            bare = replace(config, api_key=Secret(""), file=None)
            shared = Shared(path.resolve(), graph.sha256, dict(graph.vocabulary), bare)
            return ClusterRetriever(local, self, shared, progress)

        return make

    def ranked(self, shared: Shared, shards: Sequence[Sequence[LinkedQuestion]], done: Progress) -> list[Run]:
        """The runs of shards, in their order; done: told how many questions have been ranked."""
        from distributed import KilledWorker, wait

        def submit(place: int) -> Any:
            return self.client.submit(rank_shard, shared, shards[place], pure=False)

        waiting = {submit(place): place for place in range(len(shards))}
        runs: dict[int, Run] = {}
        deaths = [0] * len(shards)
        seen = time.monotonic()
        try:
            while waiting:
                try:
                    finished = wait(list(waiting), timeout=LOOKED_SECONDS, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    seen = self._still_there(seen)
                    continue
                seen = time.monotonic()
                for future in finished:
                    place = waiting.pop(future)
                    try:
                        runs[place] = future.result()
                    except KilledWorker as error:
                        deaths[place] += 1
                        if deaths[place] >= MOST_DEATHS:
                            raise ServiceError(
                                f"--cluster {self.address}: workers died {MOST_DEATHS} times over the same "
                                "questions; give them more memory (dask worker --memory-limit)"
                            ) from error
                        waiting[submit(place)] = place
                        continue
                    except InputError as error:
                        raise UsageError(f"--cluster {self.address}: a worker can't help: {error}") from error
                    done(len(shards[place]))
        finally:
            self.client.cancel(list(waiting))
        return [runs[place] for place in range(len(shards))]

    def _still_there(self, seen: float) -> float:
        """When a worker was last there. Raises ServiceError where none has been for long."""
        if self.client.status != "running":
            raise ServiceError(f"--cluster {self.address}: the connection to the scheduler was lost")
        if self.client.scheduler_info()["workers"]:
            return time.monotonic()
        if time.monotonic() - seen > ALONE_SECONDS:
            raise ServiceError(
                f"--cluster {self.address}: no worker for {ALONE_SECONDS} seconds; start one with "
                f"`dask worker {self.address}`"
            )
        return seen


class ClusterRetriever(Retriever):
    """`local` on many machines."""

    name: ClassVar[str] = ""
    batch: ClassVar[int] = AT_ONCE

    def __init__(self, local: Retriever, cluster: ClusterClient, shared: Shared, progress: Progress) -> None:
        self.local, self.cluster, self.shared, self.progress = local, cluster, shared, progress
        self.walks = local.walks  # type: ignore[misc]
        self._done = 0

    @classmethod
    def of(cls, task: Task) -> Self:
        raise UsageError("a retriever is shared out with --cluster ADDRESS, not by name")

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        if len(questions) == 1:  # for its latency, which is the driver's own
            return self.local.retrieve(questions)
        shards = [questions[start : start + SHARD] for start in range(0, len(questions), SHARD)]
        return Run.concatenated(self.cluster.ranked(self.shared, shards, self._more))

    def _more(self, questions: int) -> None:
        self._done += questions
        self.progress(self._done)

    def notes(self) -> list[str]:
        return self.local.notes()

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        return self.local.reasons(question, run, row)
