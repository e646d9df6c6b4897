"""Prices and token counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.encodings import install
from tiny_graph_rag.errors import ConfigError
from tiny_graph_rag.llm.base import Call, Message, Tokens
from tiny_graph_rag.llm.cost import Price, TokenCounter, find_price
from tiny_graph_rag.secret import Secret, safe_url, scrubbed, url_secrets


def test_a_cost_counts_cached_tokens_at_their_own_price() -> None:
    """1000 prompt tokens, 400 of them cached, 200 answered, at $2, $1 and $10 a million.

    600·2 + 400·1 + 200·10 = 3600 millionths.
    """
    price = Price(2.0, 10.0, 1.0, "by hand")
    assert price.cost(Tokens(1000, 200, cached=400, reasoning=150)) == pytest.approx(0.0036)


def test_config_goes_before_the_library_and_cached_tokens_cost_as_others_unless_said() -> None:
    given = {"gpt-4.1-mini": {"input": 3, "output": 4}}
    assert find_price("gpt-4.1-mini", "", given) == Price(3.0, 4.0, 3.0, "as set")
    free = find_price("llama3.1", "http://localhost:11434/v1", {"llama3.1": {"input": 0, "output": 0}})
    assert free is not None
    assert free.cost(Tokens(1000, 1000)) == 0.0


def test_the_library_knows_openai_with_a_date_and_no_model_of_ones_own() -> None:
    found = find_price("gpt-4.1-mini", "", {})
    assert found is not None
    assert 0 < found.usd_per_million_cached < found.usd_per_million_input < found.usd_per_million_output
    assert found.source.startswith("genai-prices ")
    assert "checked 20" in found.source
    behind = find_price("gpt-4.1-mini", "http://localhost:8000/v1", {})
    assert behind is not None
    assert behind.source.startswith("price of OpenAI, this address may charge another; genai-prices ")
    assert replace(behind, source="") == replace(found, source="")
    for address in ("", "http://localhost:8000/v1"):
        assert find_price("unheard-of", address, {}) is None


@pytest.mark.parametrize(
    "given",
    [
        3,
        {"input": 1},
        {"input": 1, "output": "x"},
        {"input": -1, "output": 1},
        {"input": 1, "output": 1, "per": 2},
    ],
)
def test_a_price_that_is_none_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"openai\.prices\.mine"):
        find_price("mine", "", {"mine": given})


@pytest.fixture
def encodings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = str(install("o200k_base", tmp_path / "encodings"))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
    return folder


def facts(name: str) -> str:
    graph = json.loads((ROOT / "data/kg" / name).read_text("utf-8"))
    rows = graph["entities"].values()
    return "\n".join(
        f"[{n}] {row['name']} ({row['entity_type']}): {row['description']}" for n, row in enumerate(rows)
    )


@pytest.mark.parametrize("name", ["김유정-동백꽃-KG.json", "conan-doyle-speckled-band-KG.json"])
def test_the_estimate_is_within_a_fifth_of_the_tokenizer_and_never_called_exact(
    name: str, encodings: str, tmp_path: Path
) -> None:
    exact = TokenCounter.for_model("gpt-4.1-mini", encodings)
    estimate = TokenCounter.for_model("gpt-4.1-mini", str(tmp_path / "empty"))
    assert (exact.exact, estimate.exact) == (True, False)
    assert (exact.name, estimate.name.partition(" (")[0]) == ("tiktoken o200k_base", "estimate")
    assert estimate.count(facts(name)) == pytest.approx(exact.count(facts(name)), rel=0.2)


def test_the_count_lies_between_the_bounds_of_the_estimate(encodings: str) -> None:
    exact = TokenCounter.for_model("gpt-4.1-mini", encodings)
    estimate = TokenCounter.for_model("llama3.1")
    for text in ("", "a", "점순이 😀 ﷽ zażółć", "x" * 999, facts("김유정-동백꽃-KG.json")):
        call = Call("answering", "q", "m", (Message("user", text),), 50)
        (least, likely, most), (counted, same, _) = estimate.prompt(call), exact.prompt(call)
        assert least <= counted == same <= most
        assert least <= likely <= most


def test_a_secret_shows_nothing_and_is_taken_out_of_text() -> None:
    key = Secret("sk-abcdef123")
    assert "abcdef" not in f"{key} {key!r} {[key]}"
    url = "https://user:hunter22@host:1/v1?api-version=3&api-key=geheim99&x=1#top"
    assert safe_url(url) == "https://host:1/v1?api-version=3&api-key=***&x=1"
    assert scrubbed(f"{url} {key.reveal()}", [key, *url_secrets(url)]).count("***") == 3
