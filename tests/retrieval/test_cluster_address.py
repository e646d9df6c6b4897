"""What `--cluster` says of an address where no scheduler of ours answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from tiny_graph_rag.errors import ServiceError, UsageError

pytest.importorskip("distributed")

from tiny_graph_rag.retrieval.cluster import ClusterClient


@pytest.fixture
def babbling() -> Iterator[int]:
    """The port of a server that says the same random bytes to whoever comes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.sendall(bytes(range(17, 251)) * 40)

    threading.Thread(target=serve, daemon=True).start()
    yield listening.getsockname()[1]
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_bytes_of_another_protocol_are_an_error_in_words(babbling: int) -> None:
    address = f"tcp://127.0.0.1:{babbling}"
    with pytest.raises(ServiceError, match="not a Dask scheduler"), ClusterClient.open(address):
        pass


def test_tls_without_its_settings_names_them(babbling: int, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"tls://127.0.0.1:{babbling}"
    named = pytest.raises(UsageError, match=r"comm\.tls\.ca-file.*DASK_DISTRIBUTED__COMM__TLS__CA_FILE")
    with named, ClusterClient.open(address):
        pass
