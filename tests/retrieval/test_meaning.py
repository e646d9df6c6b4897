"""`--relation-similarity embeddings` against a real server on loopback, with vectors chosen by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import write_gold, write_kg
from tests.retrieval.test_bfs import FILMS, ask, graph_of
from tests.retrieval.test_dense import Server, server
from tiny_graph_rag.config import Config, load_config
from tiny_graph_rag.errors import ConfigError, ServiceError
from tiny_graph_rag.retrieval.base import Task
from tiny_graph_rag.retrieval.bfs import BfsRetriever

__all__ = ["server"]  # the fixture

VECTORS = {
    "directed by": [1.0, 0.0, 0.0],
    "written by": [0.0, 1.0, 0.0],
    "release year": [0.0, 0.0, 1.0],
    "inked": [0.0, 4.0, 3.0],  # cosine with written by: 4 / 5
    "helmed": [4.0, 3.0, 0.0],  # with directed by .8, with written by .6
    "purple": [0.0, 9.0, -40.0],  # with written by 9 / 41 = .22: not near
}
QUESTION = "Who inked Alien?"


def by_hand(call: int, texts: list[str]) -> Any:
    rows = [{"index": place, "embedding": VECTORS[text]} for place, text in enumerate(texts)]
    return 200, {"data": rows, "usage": {"prompt_tokens": len(texts)}}, {}


def settings(**flags: Any) -> Config:
    return load_config().override(hops=2, relation_similarity="embeddings", **flags)


def bfs(**flags: Any) -> BfsRetriever:
    return BfsRetriever(Task(graph_of(FILMS), settings(**flags)))


def ranked(retriever: BfsRetriever, text: str, *seeds: str) -> list[tuple[str, float]]:
    run = retriever.retrieve([ask(text, retriever.graph, *seeds)])
    names = list(retriever.graph.entities.names)
    return [(names[entity], score) for entity, score in zip(run.entities, run.scores, strict=True)]


def test_a_paraphrase_finds_its_relation(server: Server) -> None:
    """inked is .8 near written_by and weighs .7 x .8 = .56; the walk through it costs its step alone, .1."""
    server.answers = by_hand
    retriever = bfs()
    (first, score), *_ = ranked(retriever, QUESTION, "Alien")
    assert first == "Bannon"
    assert 1 / 1.101 <= score <= 1 / 1.1
    (slot,) = retriever.reader.read(ask(QUESTION, retriever.graph, "Alien")).slots
    assert (slot.words, slot.weight) == (("inked",), 560)
    by_words = BfsRetriever(Task(retriever.graph, Config().override(hops=2)))
    assert ranked(by_words, QUESTION, "Alien")[0][0] == "Alien"  # nothing is known to be asked for


def test_the_nearest_of_several_types_takes_the_word(server: Server) -> None:
    server.answers = by_hand
    retriever = bfs()
    question = ask("Who helmed Alien?", retriever.graph, "Alien")
    assert ranked(retriever, question.text, "Alien")[0][0] == "Scott"
    names = retriever.graph.relations.types.names
    (slot,) = retriever.reader.read(question).slots
    assert [names[type_] for type_ in slot.types] == ["directed_by"]


def test_what_is_not_near_says_nothing_and_a_higher_bar_shuts_out_more(server: Server) -> None:
    server.answers = by_hand
    for retriever, word in ((bfs(), "purple"), (bfs(similar_from=0.9), "inked")):
        question = ask(f"Who {word} Alien?", retriever.graph, "Alien")
        retriever.retrieve([question])
        assert retriever.reader.read(question).slots == ()


def test_words_that_are_like_a_relations_are_not_asked_about(server: Server) -> None:
    server.answers = by_hand
    retriever = bfs()
    assert ranked(retriever, "Who wrote Alien?", "Alien")[0][0] == "Bannon"
    assert server.batches == []
    assert retriever.notes() == ["embeddings: 0 calls for 0 texts, 0 tokens, 0.0000 USD"]


def films(tmp_path: Path) -> tuple[str, ...]:
    names = list(dict.fromkeys(end for source, _, target in FILMS for end in (source, target)))
    write_kg(tmp_path / "a-KG.json", names, FILMS)
    write_gold(
        tmp_path / "a-eval.jsonl",
        {"query": QUESTION, "reference_entities": ["Bannon"]},
        {"query": "Who helmed Dark Star?", "reference_entities": ["Carpenter"]},
    )
    options = ("--skip-generation", "--exclude-seeds", "--relation-similarity", "embeddings")
    return ("eval", "--dataset", "a-eval.jsonl", "-g", "a-KG.json", *options, "-o", "./r.json")


def test_all_questions_are_one_call_and_a_second_run_makes_none(
    server: Server, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    server.answers = by_hand
    command = films(tmp_path)
    found = run_cli(*command)
    assert found.exit_code == 0, found.output
    # The types, then the words of both questions, each in the order of their letters.
    assert server.batches == [["directed by", "release year", "written by", "helmed", "inked"]]
    assert "embeddings: 1 call for 5 texts, 5 tokens" in found.stdout
    first = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert first["summary"]["mean_mrr"] == 1.0
    assert first["config"]["retrieval"]["relation_similarity"] == "embeddings"
    found = run_cli(*command)
    assert "embeddings: 0 calls" in found.stdout
    assert len(server.batches) == 1
    second = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [result["ranked"] for result in second["results"]] == [
        result["ranked"] for result in first["results"]
    ]


def test_a_missing_service_is_an_error_before_any_work(
    monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    found = run_cli(*films(tmp_path))
    assert found.exit_code == 2
    assert "--relation-similarity embeddings needs a service: set OPENAI_API_KEY" in found.stderr
    assert not (tmp_path / "r.json").exists()


def test_an_unknown_choice_is_told_the_nearest() -> None:
    with pytest.raises(ConfigError, match="must be words or embeddings, got 'embedings'; did you mean 'embe"):
        Config().override(relation_similarity="embedings")


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ([1.0, float("nan"), 0.0], "is not a list of finite numbers"),
        ([1.0], "embeddings of one answer have different dimensions"),
    ],
)
def test_vectors_that_can_not_be_used_end_the_run_in_words(
    vector: list[float], said: str, server: Server, run_cli: Callable[..., Result], tmp_path: Path
) -> None:
    def wrong(call: int, texts: list[str]) -> Any:
        rows = [{"index": place, "embedding": [1.0, 0.0, 0.0]} for place in range(len(texts) - 1)]
        return 200, {"data": [*rows, {"index": len(rows), "embedding": vector}]}, {}

    server.answers = wrong
    found = run_cli(*films(tmp_path))
    assert found.exit_code == 3
    assert said in found.stderr


def test_a_dimension_that_changes_between_calls_is_refused(server: Server) -> None:
    server.answers = by_hand
    ranked(bfs(), QUESTION, "Alien")
    server.answers = lambda call, texts: (
        200,
        {"data": [{"index": place, "embedding": [1.0, 2.0]} for place in range(len(texts))]},
        {},
    )
    with pytest.raises(ServiceError, match="different dimensions: 2, 3"):
        ranked(bfs(), "Who helmed Alien?", "Alien")


def test_by_default_nothing_of_it_is_loaded() -> None:
    code = (
        "import tiny_graph_rag.retrieval.bfs, sys; "
        "print([each for each in sys.modules if 'embeddings' in each or each.endswith('.meaning')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
