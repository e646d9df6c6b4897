"""Settings: config.yaml, then the environment, then flags, become one frozen Config.

The only place that reads the environment. config.yaml, `init` and `--help` are made from the fields of the
sections.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tiny_graph_rag.config.file import (
    FOLDER_NAME,
    is_own_folder,
    require_trust,
    untrusted_settings,
    user_folder,
)
from tiny_graph_rag.config.settings import (
    Config,
    Setting,
    all_settings,
    changed_settings,
    find_setting,
    section_comment,
    section_names,
    settings_of,
)
from tiny_graph_rag.errors import ConfigError
from tiny_graph_rag.messages import of_locale
from tiny_graph_rag.secret import Secret

CONFIG_FILE = "config.yaml"
DOTENV = ".env"
NO_CACHE = Path(os.devnull, FOLDER_NAME)  # holds nothing and takes nothing

__all__ = [
    "Config",
    "Setting",
    "all_settings",
    "cache_folder",
    "changed_settings",
    "find_setting",
    "language",
    "load_config",
    "require_trust",
    "section_comment",
    "section_names",
    "settings_of",
    "tokenizer_folder",
]


def spelled_setting(name: str, value: object) -> str:
    """`fuzzy 0.85`, `exclude-seeds`: a setting as its flag says it."""
    shown = "" if value is True else "off" if value is False else "none" if value is None else str(value)
    return f"{name.replace('_', '-')} {shown}".strip()


def language(environment: Mapping[str, str] | None = None) -> str:
    """The language that the user's locale asks for, English where the program doesn't speak it."""
    return of_locale(os.environ if environment is None else environment)


def load_config(
    file: Path | None = None, environment: Mapping[str, str] | None = None, *, trust: bool = False
) -> Config:
    """Read config.yaml (`file`, else the one in the current folder, else none), then the environment.

    trust: let the file name code and the address that questions and key go to, now and in later runs. Raises
    ConfigError with every problem of the file.
    """
    environment = with_dotenv(os.environ) if environment is None else environment
    if file is None and Path(CONFIG_FILE).is_file():
        file = Path(CONFIG_FILE)
    if file is None and trust:
        raise ConfigError("--trust-config: there is no {file} in this folder", file=CONFIG_FILE)
    config = Config()
    untrusted: tuple[str, ...] = ()
    if file is not None:
        from tiny_graph_rag.config.file import with_file

        config = with_file(config, file)
        untrusted = untrusted_settings(config, file, environment, trust=trust)
    from_environment = {
        setting.full_name: setting.parse(environment[setting.environment], setting.environment)
        for setting in all_settings()
        if setting.environment and environment.get(setting.environment)
    }
    config = replace(config, untrusted=untrusted).replaced(from_environment)
    config = config.trusting(from_environment)
    key = Secret(environment.get("OPENAI_API_KEY", "").strip())
    return replace(config, file=file, api_key=key)


def with_dotenv(environment: Mapping[str, str], folder: Path | None = None) -> Mapping[str, str]:
    """The environment over what `.env` in the current folder sets, where python-dotenv is installed.

    An address in `.env` is taken only with a key in `.env`: a file that came with somebody's folder must not
    send the user's own key elsewhere.
    """
    file = (folder or Path()) / DOTENV
    if not file.is_file():
        return environment
    try:
        from dotenv import dotenv_values
    except ImportError:
        return environment
    try:
        values = {name: value for name, value in dotenv_values(file, interpolate=False).items() if value}
    except (OSError, UnicodeDecodeError):
        return environment
    if environment.get("OPENAI_API_KEY") and not environment.get("OPENAI_BASE_URL"):
        values.pop("OPENAI_BASE_URL", None)
    return {**values, **environment}


def step_summary_file(environment: Mapping[str, str] | None = None) -> Path | None:
    """Where a CI system wants a summary of the job in Markdown; None elsewhere. The name is GitHub's."""
    path = (os.environ if environment is None else environment).get("GITHUB_STEP_SUMMARY", "")
    return Path(path) if path else None


def tokenizer_folder(environment: Mapping[str, str] | None = None) -> str:
    """Where tiktoken keeps its encodings, "" for its own default. The environment's names are tiktoken's."""
    environment = os.environ if environment is None else environment
    return environment.get("TIKTOKEN_CACHE_DIR") or environment.get("DATA_GYM_CACHE_DIR") or ""


def cache_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Where caches lie. It may not exist.

    NO_CACHE where it is another user's: what lies there could be made to mislead.
    """
    environment = os.environ if environment is None else environment
    folder = user_folder(environment, platform, "XDG_CACHE_HOME", "~/Library/Caches", "~/.cache")
    return folder if is_own_folder(folder) else NO_CACHE
