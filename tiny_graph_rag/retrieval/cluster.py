"""Work on many machines: shards go to the workers of a Dask cluster, each next to its own copy of the graph.

    with ClusterClient.open("tcp://10.0.0.1:8786") as client:
        evaluate(graph, examples, config, measures, retriever_for=client.sharing(path))

The driver reads, links, puts together and writes; a worker maps the graph from its own graph cache, once a
process. It is made of the file at the same path where that has the same content, else of a copy that the
driver sends, once a node. Which worker does a shard changes nothing about it, and shards are put together in
question order, so the bytes are those of one machine. A worker that dies costs its shard, which another
worker does again. What asks a service (`dense`, `--relation-similarity embeddings`, `--linker llm`, answers)
stays on the driver, under its one cap.
"""

from __future__ import annotations

import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from tiny_graph_rag.columns.arrays import can_compile, worth_compiling
from tiny_graph_rag.columns.stored import known_sha256
from tiny_graph_rag.config import NO_CACHE, Config, cache_folder
from tiny_graph_rag.errors import InputError, MissingExtraError, ServiceError, UsageError
from tiny_graph_rag.files import combined_sha256
from tiny_graph_rag.linking.base import LinkedQuestion
from tiny_graph_rag.retrieval.base import Reason, Retriever, Task, names_of
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
SHARDS_A_WORKER = 2  # at least, where there are so few questions
AT_ONCE = 1 << 14  # questions on their way
MOST_DEATHS = 20  # workers that may die over one shard
MOST_SENT = 3  # times that a graph is sent for one shard
PIECE_BYTES = 1 << 26  # of a graph that is sent
KEPT_RETRIEVERS = 8  # a worker's, for a sweep's settings; they share one graph
SHARED = ("bfs", "bfs-plain", "bm25", "pagerank")  # need the graph and settings alone, and no service
RECEIVED = "received"  # under the cache folder: graphs that a driver sent

Progress = Callable[[int], None]
T = TypeVar("T")
Work = Callable[[Any, Any, Config], T]
"""Of the graph (None where there is none), a part and the settings; a function of a module."""


class CannotHelpError(InputError):
    """A worker that runs another version."""


class GraphMissingError(InputError):
    """A worker that does not have the graph: another one, or none, lies at its path."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What a worker needs to do the driver's work. path, sha256: of the graph, a file or a folder; ""
    where the work needs none. config: without the key to any service.
    """

    path: Path
    sha256: str
    vocabulary: dict[str, tuple[str, ...]]
    config: Config
    version: str = __version__

    @classmethod
    def of(cls, graph: KnowledgeGraph | None, path: Path | None, config: Config) -> Self:
        bare = replace(config, api_key=Secret(""), file=None)
        if graph is None or path is None:
            return cls(Path(), "", {}, bare)
        return cls(path.resolve(), graph.sha256, dict(graph.vocabulary), bare)

    @property
    def received(self) -> Path:
        """Where a node keeps what it was sent."""
        return cache_folder() / RECEIVED / self.sha256[:32] / self.path.name


def can_be_shared(config: Config) -> bool:
    """Whether a retriever needs no more than a worker has."""
    names = config.retrieval.retriever.partition(":")
    parts = names_of(names[2]) if names[0] == "hybrid" else [config.retrieval.retriever]
    return all(part in SHARED for part in parts) and not config.retrieval.embeds


_graphs: dict[tuple[Path, str], KnowledgeGraph] = {}
_retrievers: dict[tuple[str, str, str], Retriever] = {}
_one_at_a_time = Lock()


def do_shard(shared: Shared, work: Work[T], part: Any) -> T:
    """On a worker: some of the work. Raises CannotHelpError and GraphMissingError."""
    with _one_at_a_time:  # a worker with several threads gives them to the work, not to shards
        if shared.version != __version__:
            raise CannotHelpError(
                "the worker runs version {version}, this machine {version_2}; install the same "
                "version on both",
                version=__version__,
                version_2=shared.version,
            )
        return work(_graph(shared) if shared.sha256 else None, part, shared.config)


def _graph(shared: Shared) -> KnowledgeGraph:
    key = shared.path, shared.sha256
    if key not in _graphs:
        from tiny_graph_rag.formats.graphs import read_graph

        path = _lies_at(shared)
        if path is None:
            raise GraphMissingError(
                "{path}: the file doesn't exist on the worker, or is a different graph", path=shared.path
            )
        graph = read_graph(path, cache_folder())
        _graphs.clear()
        _retrievers.clear()
        _graphs[key] = replace(graph, vocabulary=shared.vocabulary)
    return _graphs[key]


def _lies_at(shared: Shared) -> Path | None:
    """Where this node has the graph: at the driver's path, or where a driver's copy was put."""
    from tiny_graph_rag.formats.graphs import found_at

    for path in (shared.path, shared.received):
        try:
            _, files = found_at(path)
            sums = [known_sha256(file, cache_folder() / "sources") for file in files]
        except (OSError, InputError):
            continue
        if combined_sha256(sums) == shared.sha256:
            return path
    return None


def has_graph(shared: Shared) -> tuple[str, bool]:
    """On a worker: which node it is on, by name and cache folder, and whether the graph is there."""
    return f"{socket.gethostname()} {cache_folder()}", _lies_at(shared) is not None


def take_piece(shared: Shared, name: str, offset: int, piece: bytes) -> None:
    """On a worker: a piece of one of the graph's files. name: "" of a graph that is one file."""
    if cache_folder() == NO_CACHE:
        raise CannotHelpError("it has no private cache folder for the graph")
    parts = shared.received.with_name(shared.received.name + ".part")
    path = parts / name if name else parts
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if offset else "wb") as out:
        out.seek(offset)
        out.write(piece)


def keep_pieces(shared: Shared) -> None:
    """On a worker: all pieces have come."""
    received = shared.received
    if received.is_dir():
        shutil.rmtree(received)
    received.with_name(received.name + ".part").replace(received)


def rank_shard(graph: KnowledgeGraph, questions: Sequence[LinkedQuestion], config: Config) -> Run:
    """On a worker: the ranking of some questions."""
    from tiny_graph_rag.retrieval import make_retriever

    key = (graph.sha256, repr(config), repr(graph.vocabulary))
    if key not in _retrievers:
        if len(_retrievers) >= KEPT_RETRIEVERS:
            _retrievers.clear()
        _retrievers[key] = make_retriever(graph, config.override(threads=_threads_here()))
    return _retrievers[key].retrieve(questions)


def rank_shard_of_many(graph: KnowledgeGraph, questions: Sequence[LinkedQuestion], config: Config) -> Run:
    """The same of so many questions in all that compiling pays, however few this worker has at once."""
    if config.running.compiled and can_compile():
        import numba  # noqa: F401 - once it is in, what can be compiled is
    return rank_shard(graph, questions, config)


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
        """Raises ServiceError where nobody answers, UsageError for what is no address, MissingExtraError
        without Dask."""
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingExtraError("--cluster", "distributed", "cluster") from error
        try:
            _knock(address)
            _check_encryption(address)
            client = Client(address, timeout=CONNECT_SECONDS)
        except ValueError as error:
            raise UsageError(
                "--cluster {address}: {error}; wanted an address such as tcp://HOST:8786",
                address=address or repr(address),
                error=error,
            ) from error
        except (OSError, TimeoutError) as error:
            raise ServiceError(
                "--cluster {address}: no Dask scheduler answers at this address ({why}). Start one "
                "with `dask scheduler`, and workers with `dask worker ADDRESS`",
                address=address,
                why=str(error).splitlines()[0],
            ) from error
        except UsageError:
            raise
        except Exception as error:  # bytes that are not Dask's protocol fail in any way there is
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise ServiceError(
                "--cluster {address}: the program at this address is not a Dask scheduler, or has "
                "another version ({kind}: {first})",
                address=address,
                kind=type(error).__name__,
                first=first[:200],
            ) from error
        try:
            yield cls(address, client)
        finally:
            client.close()

    def sharing(
        self, path: Path, progress: Progress = lambda done: None
    ) -> Callable[[KnowledgeGraph, Config, EvalSet | None, Judgments | None], Retriever]:
        """A maker of retrievers for `evaluate` and `sweep`. path: of the graph."""
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
            return ClusterRetriever(local, self, Shared.of(graph, path, config), progress)

        return make

    def parts_of(self, questions: int, most: int = SHARD) -> list[slice]:
        """Shards of so many questions, such that every worker has some to do."""
        workers = max(1, len(self.client.nthreads()))
        size = max(1, min(most, -(-questions // (SHARDS_A_WORKER * workers))))
        return [slice(start, start + size) for start in range(0, questions, size)]

    def mapped(
        self,
        shared: Shared,
        work: Work[T],
        parts: Sequence[Any],
        done: Callable[[int], None] = lambda place: None,
    ) -> list[T]:
        """What `work`, a function of a module, makes of each part next to the graph, in their order.

        done: called with the place of each part that has been done. Raises what `work` raises, UsageError
        where a worker can't help and ServiceError where the cluster is gone or its workers die of the same
        part.
        """
        from distributed import KilledWorker, wait

        def submit(place: int) -> Any:
            return self.client.submit(do_shard, shared, work, parts[place], pure=False)

        if shared.sha256:
            self._bring(shared)
        waiting = {submit(place): place for place in range(len(parts))}
        found: dict[int, T] = {}
        deaths, sent = Counter[int](), Counter[int]()
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
                        found[place] = future.result()
                    except KilledWorker as error:
                        deaths[place] += 1
                        if deaths[place] >= MOST_DEATHS:
                            raise ServiceError(
                                "--cluster {address}: workers died {most_deaths} times on the same "
                                "questions; give them more memory (dask worker --memory-limit)",
                                address=self.address,
                                most_deaths=MOST_DEATHS,
                            ) from error
                    except GraphMissingError as error:  # of a worker that came later
                        sent[place] += 1
                        if sent[place] > MOST_SENT:
                            raise self._refused(error) from error
                        self._bring(shared)
                    except CannotHelpError as error:
                        raise self._refused(error) from error
                    else:
                        done(place)
                        continue
                    waiting[submit(place)] = place
        finally:
            self.client.cancel(list(waiting))
        return [found[place] for place in range(len(parts))]

    def _bring(self, shared: Shared) -> None:
        """Send the graph to one worker of each node that lacks it. A worker that dies meanwhile is asked no
        more; one that comes instead says what it lacks."""
        answers = self.client.run(has_graph, shared, on_error="ignore")
        lacking = {node: worker for worker, (node, has) in answers.items() if not has}
        for worker in lacking.values():
            for name, path in _files_of(shared.path):
                with path.open("rb") as stream:
                    offset = 0
                    while (piece := stream.read(PIECE_BYTES)) or not offset:
                        self._run_on(worker, take_piece, shared, name, offset, piece)
                        offset += max(len(piece), 1)
            self._run_on(worker, keep_pieces, shared)

    def _run_on(self, worker: str, work: Callable[..., None], *given: Any) -> None:
        try:
            self.client.run(work, *given, workers=[worker])
        except CannotHelpError as error:
            raise self._refused(error) from error
        except (OSError, ValueError):  # it died; its shards go elsewhere
            return

    def _refused(self, error: InputError) -> UsageError:
        return UsageError(
            "--cluster {address}: a worker can't be used: {error}", address=self.address, error=error
        )

    def _still_there(self, seen: float) -> float:
        """When a worker was last there. Raises ServiceError where none has been for long."""
        if self.client.status != "running":
            raise ServiceError(
                "--cluster {address}: the connection to the scheduler was lost", address=self.address
            )
        if self.client.nthreads():
            return time.monotonic()
        if time.monotonic() - seen > ALONE_SECONDS:
            raise ServiceError(
                "--cluster {address}: no worker for {alone_seconds} seconds; start one with `dask "
                "worker {address}`",
                address=self.address,
                alone_seconds=ALONE_SECONDS,
            )
        return seen


# What `tls://` needs, as Dask names it, and the environment's names for the same.
TLS_SETTINGS = {"tls_ca_file": "ca-file", "tls_client_cert": "client.cert", "tls_client_key": "client.key"}


def _check_encryption(address: str) -> None:
    """Raises UsageError where `tls://` is asked for without Dask's settings for it."""
    if not address.startswith("tls://"):
        return
    from distributed.security import Security

    security = Security()  # of Dask's own settings: ~/.config/dask/*.yaml, DASK_DISTRIBUTED__COMM__TLS__…
    missing = [
        f"distributed.comm.tls.{setting}"
        for name, setting in TLS_SETTINGS.items()
        if not getattr(security, name, None)
    ]
    if missing:
        raise UsageError(
            "--cluster {address}: TLS needs {names} in Dask's settings (~/.config/dask/*.yaml, or the "
            "environment: {of_environment} …)",
            address=address,
            names=", ".join(missing),
            of_environment=_of_environment(missing[0]),
        )


def _of_environment(setting: str) -> str:
    return "DASK_" + setting.upper().replace("-", "_").replace(".", "__")


def _knock(address: str) -> None:
    """Raises OSError where a host refuses at once, which Dask would try again and again, or says nothing, for
    which Dask would wait: a scheduler speaks first."""
    from distributed.comm.addressing import parse_address, parse_host_port

    scheme, place = parse_address(address)
    if scheme not in ("tcp", "tls"):
        return
    with socket.create_connection(parse_host_port(place), timeout=CONNECT_SECONDS) as there:
        if scheme == "tcp" and not there.recv(1):
            raise ConnectionResetError("it closes the connection")


def _files_of(path: Path) -> list[tuple[str, Path]]:
    """The files of a graph with their places in its folder, "" of a graph that is one file."""
    if path.is_file():
        from tiny_graph_rag.formats.graphs import found_at

        _, files = found_at(path)
        return [("", path)] if len(files) == 1 else [(file.name, file) for file in files]
    return [(str(item.relative_to(path)), item) for item in sorted(path.rglob("*")) if item.is_file()]


class ClusterRetriever(Retriever):
    """`local` on many machines."""

    name: ClassVar[str] = ""
    batch: ClassVar[int] = AT_ONCE
    one_by_one: ClassVar[bool] = False

    def __init__(self, local: Retriever, cluster: ClusterClient, shared: Shared, progress: Progress) -> None:
        self.local, self.cluster, self.shared, self.progress = local, cluster, shared, progress
        self.walks, self.from_named = local.walks, local.from_named  # type: ignore[misc]
        self._done = 0

    @classmethod
    def of(cls, task: Task) -> Self:
        raise UsageError("to run a retriever on a cluster, use --cluster ADDRESS instead of a name")

    def retrieve(self, questions: Sequence[LinkedQuestion]) -> Run:
        if len(questions) == 1:  # for its latency, which is the driver's own
            return self.local.retrieve(questions)
        from tiny_graph_rag.retrieval.bfs import STEPS_A_QUESTION

        shards = [questions[part] for part in self.cluster.parts_of(len(questions))]

        def more(place: int) -> None:
            self._done += len(shards[place])
            self.progress(self._done)

        steps = STEPS_A_QUESTION * len(questions)
        is_many = worth_compiling(steps, allowed=self.shared.config.running.compiled)
        work = rank_shard_of_many if is_many else rank_shard
        return Run.concatenated(self.cluster.mapped(self.shared, work, shards, more))

    def notes(self) -> list[str]:
        return self.local.notes()

    def reasons(self, question: LinkedQuestion, run: Run, row: int) -> tuple[Reason, ...]:
        return self.local.reasons(question, run, row)
