"""`.env` in the current folder, and variables that are numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_graph_rag.config import load_config, with_dotenv
from tiny_graph_rag.errors import ConfigError


def test_a_dotenv_file_gives_what_the_environment_does_not(tmp_path: Path) -> None:
    pytest.importorskip("dotenv")
    (tmp_path / ".env").write_text(
        'OPENAI_API_KEY="sk-file"\nOPENAI_MODEL=small\nOPENAI_BASE_URL=http://here/v1\n'
    )
    found = with_dotenv({"OPENAI_MODEL": "large"}, tmp_path)
    assert (found["OPENAI_API_KEY"], found["OPENAI_MODEL"]) == ("sk-file", "large")
    assert found["OPENAI_BASE_URL"] == "http://here/v1"
    assert with_dotenv({"A": "1"}, tmp_path / "nowhere") == {"A": "1"}


def test_a_file_of_somebody_else_s_folder_does_not_send_one_s_key_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("dotenv")
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://elsewhere/v1\n")
    assert "OPENAI_BASE_URL" not in with_dotenv({"OPENAI_API_KEY": "sk-mine"}, tmp_path)


def test_numbers_of_the_environment_are_numbers() -> None:
    found = load_config(environment={"OPENAI_MAX_TOKENS": "77", "OPENAI_TEMPERATURE": "0.5"}).openai
    assert (found.max_tokens, found.temperature) == (77, 0.5)
    with pytest.raises(ConfigError, match="OPENAI_MAX_TOKENS must be a whole number, got 'x'"):
        load_config(environment={"OPENAI_MAX_TOKENS": "x"})
    with pytest.raises(ConfigError, match="OPENAI_TEMPERATURE"):
        load_config(environment={"OPENAI_TEMPERATURE": "9"})
