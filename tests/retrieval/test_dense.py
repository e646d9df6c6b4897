"""`dense` against a real server on loopback that speaks the embeddings protocol."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tests.tools.chat_server import Action, ChatServer, Request, error
from tiny_graph_rag.config.sources import load_config
from tiny_graph_rag.errors import ServiceError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.linking import LinkedQuestion
from tiny_graph_rag.llm.client import Client, Patience
from tiny_graph_rag.llm.cost import TokenCounter
from tiny_graph_rag.llm.embeddings import Embedder
from tiny_graph_rag.llm.endpoint import Endpoint
from tiny_graph_rag.llm.kept import ReplyCache
from tiny_graph_rag.retrieval import make_retriever
from tiny_graph_rag.run import Run
from tiny_graph_rag.secret import Secret

KEY = "sk-test-never-to-be-shown"
DIMENSIONS = 512
UNKNOWN = "cost unknown: set embeddings.usd_per_million_embedded"


def embedded(text: str) -> list[float]:
    """Counts of words by hash: texts that share words are near each other."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSIONS] += 1.0
    return vector


class Service:
    """answers: called with the number of the call, from 1, and its texts; what the server does, None for the
    vectors."""

    def __init__(self, server: ChatServer) -> None:
        self.server, self.url = server, server.url
        self.answers: Callable[[int, list[str]], Action | None] = lambda call, texts: None

    @property
    def batches(self) -> list[list[str]]:
        return [request.body["input"] for request in self.server.requests]


def sent(document: Any, status: int = 200, **how: Any) -> Action:
    return Action(json.dumps(document).encode(), status, **how)


def vectors(texts: list[str]) -> Action:
    rows = [{"index": place, "embedding": embedded(text)} for place, text in enumerate(texts)]
    return sent({"data": rows[::-1], "usage": {"prompt_tokens": 3 * len(texts)}})  # order is free


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(Patience, "wait", lambda self, attempt, chance: 0.01)

    def script(request: Request) -> Action:
        texts = request.body["input"]
        return service.answers(request.number + 1, texts) or vectors(texts)

    with ChatServer(script) as started:
        service = Service(started)
        monkeypatch.setenv("OPENAI_BASE_URL", started.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield service


def embedder(server: Service, tmp_path: Path, **settings: Any) -> Embedder:
    return embedder_at(server.url, KEY, tmp_path, **settings)


def embedder_at(url: str, key: str, tmp_path: Path, *, concurrency: int = 1, **settings: Any) -> Embedder:
    counter = TokenCounter(None, "estimate")
    client = Client(Endpoint(url, Secret(key), 60.0), lambda model: counter, lambda model: None, concurrency)
    return Embedder(client, url, "m", ReplyCache(tmp_path / "vectors"), **settings)


def test_nearest_texts_come_first_and_a_second_run_makes_no_call(server: Service, tmp_path: Path) -> None:
    path = write_kg(tmp_path / "a-KG.json", ["red hen", "blue sea", "점순"], [("점순", "OWNS", "red hen")])
    questions = [LinkedQuestion("the hen that is red"), LinkedQuestion("blue")]

    def run() -> tuple[Run, list[str]]:
        retriever = make_retriever(read_graph(path), load_config().override(retriever="dense"))
        return retriever.retrieve(questions), retriever.notes()

    first, notes = run()
    assert [first.entities[first.rows(number)][0] for number in range(2)] == [0, 1]
    # By hand: "red hen. other. owns 점순" against "the hen that is red" share 2 words of 5 and 5.
    assert first.scores[0] == pytest.approx(2 / 5, abs=1e-6)
    # 13 words of entities, 6 of questions: the server's count of 15 is below any tokenizer's.
    assert notes == [f"embeddings: 2 calls for 5 texts, 19 tokens, {UNKNOWN}"]
    calls = len(server.batches)
    second, notes = run()
    assert len(server.batches) == calls == 2
    assert second.entities.tolist() == first.entities.tolist()
    assert second.scores.tolist() == first.scores.tolist()
    assert notes == ["embeddings: 0 calls for 0 texts, 0 tokens, 0.0000 USD"]


def test_texts_go_in_batches_and_repeated_ones_once(server: Service, tmp_path: Path) -> None:
    asked = embedder(server, tmp_path, batch=4, concurrency=2)
    texts = [f"text {number % 9}" for number in range(30)]
    vectors = asked.vectors(texts)
    assert sorted(len(batch) for batch in server.batches) == [1, 4, 4]  # two at once arrive in any order
    assert vectors.shape == (30, DIMENSIONS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(30), abs=1e-6)
    assert asked.note() == f"embeddings: 3 calls for 9 texts, 27 tokens, {UNKNOWN}"


@pytest.mark.parametrize("command", ["eval --dataset a-eval.jsonl --skip-generation", "query A?"])
def test_a_missing_key_is_an_error_before_any_work(
    run_cli: Callable[..., Result], tmp_path: Path, command: str
) -> None:
    write_kg(tmp_path / "a-KG.json", ["A"])
    write_gold(tmp_path / "a-eval.jsonl", {"query": "A?", "reference_entities": ["A"]})
    found = run_cli(*command.split(), "-g", "./a-KG.json", "--retriever", "dense", code=2)
    assert "--retriever dense needs an API: set OPENAI_API_KEY" in found.stderr


def test_a_service_without_keys_gets_none(server: Service, tmp_path: Path) -> None:
    embedder_at(server.url, "", tmp_path).vectors(["a"])
    assert "authorization" not in server.server.requests[0].headers


def rows(*vectors: tuple[int, list[Any]]) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in vectors]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (rows((0, [1.0, float("nan")])), "not finite"),
        (rows((0, [1.0, None])), "not finite"),
        (rows((0, [0.0, 0.0])), "no direction"),
        (rows((3, [1.0])), r"wanted embeddings with the indexes 0 to 0, got \[3\]"),
        (rows(), r"wanted embeddings with the indexes 0 to 0, got \[\]"),
        ({"error": "?"}, "not numbers of one dimension"),
    ],
)
def test_an_answer_that_can_not_be_used_is_refused_in_words(
    wrong: Any, said: str, server: Service, tmp_path: Path
) -> None:
    server.answers = lambda call, texts: sent(wrong)
    with pytest.raises(ServiceError, match=said):
        embedder(server, tmp_path).vectors(["a"])


def test_a_wrong_dimension_is_refused_within_an_answer_and_between_two(
    server: Service, tmp_path: Path
) -> None:
    server.answers = lambda call, texts: sent(rows((0, [1.0] * (2 + call))))
    with pytest.raises(ServiceError, match="different dimensions: 3, 4"):
        embedder(server, tmp_path, batch=1).vectors(["a", "b"])
    server.answers = lambda call, texts: sent(rows((0, [1.0]), (1, [1.0, 2.0])))
    with pytest.raises(ServiceError, match="embeddings of one answer are not numbers of one dimension"):
        embedder(server, tmp_path).vectors(["c", "d"])


def test_what_was_paid_before_a_failure_is_kept_and_a_damaged_cache_asked_again(
    server: Service, tmp_path: Path
) -> None:
    server.answers = lambda call, texts: None if call == 1 else error(400, "no")
    with pytest.raises(ServiceError, match=r"refuses the request \(400\): no"):
        embedder(server, tmp_path, batch=2).vectors(["a", "b", "c"])
    server.answers = lambda call, texts: None
    embedder(server, tmp_path, batch=2).vectors(["a", "b", "c"])
    assert server.batches[2:] == [["c"]]
    ReplyCache(tmp_path / "vectors").path.write_bytes(b"no database")
    embedder(server, tmp_path, batch=8).vectors(["a", "b", "c"])
    assert len(server.batches) == 4
    assert embedder(server, tmp_path).vectors([]).shape == (0, 0)


def test_eval_says_what_was_paid(server: Service, run_cli: Callable[..., Result], tmp_path: Path) -> None:
    write_kg(tmp_path / "a-KG.json", ["A"])
    write_gold(tmp_path / "a-eval.jsonl", {"query": "A?", "reference_entities": ["A"]})
    command = "eval --dataset a-eval.jsonl -g a-KG.json --skip-generation -o ./r.json --retriever dense"
    found = run_cli(command, code=0)
    assert "embeddings: 2 calls for 2 texts, 6 tokens" in found.stdout
    assert KEY not in (tmp_path / "r.json").read_text(encoding="utf-8")
