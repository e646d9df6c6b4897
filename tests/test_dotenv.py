"""`.env` in the current folder, what it may set, and where every variable that is read may come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tiny_graph_rag.config import all_settings
from tiny_graph_rag.config.sources import OF_DOTENV, dotenv_values_of, load_config, require_trust
from tiny_graph_rag.errors import ConfigError

# Every variable that the program reads. Those of OF_DOTENV may come from a folder's `.env`, all others
# only from the real environment.
VARIABLES = {
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_TEMPERATURE", "OPENAI_MAX_TOKENS"),
    *("KG_DIR", "DATASET_DIR", "RESULTS_DIR"),
    *("XDG_DATA_HOME", "XDG_CACHE_HOME"),
    *("LC_ALL", "LC_MESSAGES", "LANG", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"),
}
HOSTILE = ("XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME", "HTTPS_PROXY", "SSL_CERT_FILE", "PYTHONPATH", "KG_DIR")


def _env(folder: Path, **values: str) -> None:
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in values.items()))


@pytest.mark.parametrize(
    ("file", "environment", "wanted"),
    [
        ({"OPENAI_API_KEY": "sk-f", "OPENAI_MODEL": "s"}, {"OPENAI_MODEL": "l"}, {"OPENAI_API_KEY": "sk-f"}),
        ({"OPENAI_BASE_URL": "http://x/v1"}, {"OPENAI_API_KEY": "sk-mine"}, {}),
        ({"OPENAI_BASE_URL": "http://x/v1", "OPENAI_API_KEY": "sk-f"}, {"OPENAI_API_KEY": "sk-mine"}, {}),
        (dict.fromkeys(HOSTILE, "/x"), {}, {}),
    ],
)
def test_a_dotenv_file_sets_a_key_and_a_model(tmp_path: Path, file, environment, wanted) -> None:
    pytest.importorskip("dotenv")
    _env(tmp_path, **file)
    assert dotenv_values_of(environment, tmp_path) == wanted


def test_its_address_needs_its_own_key_and_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dotenv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "records"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    _env(tmp_path, OPENAI_API_KEY="sk-f", OPENAI_BASE_URL="http://x/v1", XDG_DATA_HOME=str(tmp_path / "own"))
    config = load_config()
    assert config.openai.base_url == "http://x/v1"
    with pytest.raises(ConfigError, match=r"\.env: openai.base_url is http://x/v1, and"):
        require_trust(config, "base_url")
    load_config(trust=True)
    require_trust(load_config(), "base_url")
    assert not (tmp_path / "own").exists()
    _env(tmp_path, OPENAI_API_KEY="sk-f", OPENAI_BASE_URL="http://y/v1")
    assert load_config().untrusted == ("base_url",), "trust belongs to one content"


def test_every_variable_that_is_read_is_known() -> None:
    source = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "tiny_graph_rag").rglob("*.py")))
    read = set(re.findall(r"environ(?:ment)?(?:\.get\(|\[)\"([A-Z_]+)\"", source))
    read |= set(re.findall(r"\"(XDG_\w+|LC_\w+|LANG|GITHUB_\w+)\"", source))
    written = {"OPENBLAS_NUM_THREADS"}  # for libraries, read by none of ours
    assert (read | {item.environment for item in all_settings() if item.environment}) - written == VARIABLES
    assert set(OF_DOTENV) < VARIABLES
    assert "os.getenv" not in source


def test_numbers_of_the_environment_are_numbers() -> None:
    found = load_config(environment={"OPENAI_MAX_TOKENS": "77", "OPENAI_TEMPERATURE": "0.5"}).openai
    assert (found.max_tokens, found.temperature) == (77, 0.5)
    for name, value in (("OPENAI_MAX_TOKENS", "x"), ("OPENAI_TEMPERATURE", "9")):
        with pytest.raises(ConfigError, match=name):
            load_config(environment={name: value})
