"""Settings: config.yaml, then the environment, then flags, become one frozen Config.

The only place that reads the environment. config.yaml, `init` and `--help` are made from the fields of the
sections.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.config.sections import (
    Embeddings,
    Evaluation,
    Generation,
    OpenAI,
    Ranking,
    Retrieval,
    Running,
    Storage,
    check_bounds,
)
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.messages import of_locale
from tiny_graph_rag.secret import Secret, safe_url

CONFIG_FILE = "config.yaml"
CACHE_NAME = "tiny-graph-rag"


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. file: where they were read from, None for the built-in defaults. api_key: of the
    environment only, so that it can't end up in a file that is shared."""

    storage: Storage = field(default_factory=Storage)
    retrieval: Retrieval = field(default_factory=Retrieval)
    ranking: Ranking = field(default_factory=Ranking)
    evaluation: Evaluation = field(default_factory=Evaluation)
    embeddings: Embeddings = field(default_factory=Embeddings)
    running: Running = field(default_factory=Running)
    openai: OpenAI = field(default_factory=OpenAI)
    generation: Generation = field(default_factory=Generation)
    file: Path | None = None
    api_key: Secret = field(default_factory=Secret)

    def override(self, **flags: Any) -> Config:
        """The same with flags in place: names of settings, each unique; None leaves a setting as it is.

        Raises ConfigError for a value out of its bounds, naming the flag.
        """
        given = {name: value for name, value in flags.items() if value is not None}
        sections = {}
        for section in section_names():
            current = getattr(self, section)
            mine = {each.name: given.pop(each.name) for each in fields(current) if each.name in given}
            for each in fields(current):
                if each.name in mine:
                    check_bounds(each, mine[each.name], f"--{each.name.replace('_', '-')}")
            sections[section] = replace(current, **mine)
        if given:
            raise TypeError(f"no such setting: {', '.join(given)}")
        return replace(self, **sections)

    def replaced(self, **settings: Any) -> Config:
        """The same with these settings, None among the values. Raises UsageError for a name that is none or
        a value that can't be, ConfigError for one out of its bounds."""
        config = self
        for name, value in settings.items():
            section = section_of(name)
            checked = setting_value(name, value) if isinstance(value, str) else value
            check_bounds(setting_field(name), checked, name)
            config = replace(config, **{section: replace(getattr(config, section), **{name: checked})})
        return config

    def changed(self) -> dict[str, Any]:
        """Settings that say how the work is done and are not the default: name → value, as flags name them,
        with the section before it where no flag has it (`ranking.step`)."""
        return changed_settings(self.as_dict())

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Section → setting → value, as results files record it; without passwords in an address."""
        found = {
            section: {
                each.name: getattr(getattr(self, section), each.name)
                for each in fields(getattr(self, section))
            }
            for section in section_names()
            if section != "running"
        }
        found["openai"]["base_url"] = safe_url(self.openai.base_url)
        return found


def changed_settings(recorded: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What `Config.changed` says, of a configuration as results files record it. Folders are left out: they
    change no figure; so are settings that this version doesn't know."""
    default = Config().as_dict()
    return {
        f"{section}.{name}" if section in ("ranking", "openai", "embeddings") else name: value
        for section, values in recorded.items()
        if section != "storage"
        for name, value in values.items()
        if name in default.get(section, {}) and value != default[section][name]
    }


def spelled_setting(name: str, value: object) -> str:
    """`fuzzy 0.85`, `exclude-seeds`: a setting as its flag says it."""
    shown = "" if value is True else "off" if value is False else "none" if value is None else str(value)
    return f"{name.replace('_', '-')} {shown}".strip()


def language(environment: Mapping[str, str] | None = None) -> str:
    """The language that the user's locale asks for, English where the program doesn't speak it."""
    return of_locale(os.environ if environment is None else environment)


def section_names() -> tuple[str, ...]:
    return tuple(each.name for each in fields(Config) if each.name not in ("file", "api_key"))


def setting_names() -> tuple[str, ...]:
    """Every setting of every section."""
    return tuple(each.name for section in section_names() for each in fields(getattr(Config(), section)))


def section_of(name: str) -> str:
    """The section that has a setting. Raises UsageError with the nearest names for what is none."""
    known = {each.name: section for section in section_names() for each in fields(getattr(Config(), section))}
    if name not in known:
        raise UsageError(
            f"unknown setting {name!r}{nearest(name, tuple(known)) or '; config.yaml lists them'}"
        )
    return known[name]


def setting_value(name: str, text: str) -> Any:
    """A setting's value from text, as YAML reads it (`none` is null). Raises UsageError where it can't be."""
    import yaml

    from tiny_graph_rag.config.file import fits

    section = section_of(name)
    value = None if text == "none" else yaml.safe_load(text)
    if fits(section, name, value):
        return value
    if fits(section, name, text):
        return text
    raise UsageError(f"{name}: {text!r} is no value for it; config.yaml shows one")


def setting_field(name: str) -> Field[Any]:
    """The dataclass field of a setting, by its name."""
    for section in section_names():
        for each in fields(getattr(Config(), section)):
            if each.name == name:
                return each
    raise KeyError(name)


def load_config(file: Path | None = None, environment: Mapping[str, str] | None = None) -> Config:
    """Read config.yaml (`file`, else the one in the current folder, else none), then the environment.

    Raises ConfigError with every problem of the file.
    """
    environment = os.environ if environment is None else environment
    if file is None and Path(CONFIG_FILE).is_file():
        file = Path(CONFIG_FILE)
    config = Config()
    if file is not None:
        from tiny_graph_rag.config.file import with_file

        config = with_file(config, file)
    for section in section_names():
        current = getattr(config, section)
        for each in fields(current):
            value = environment.get(each.metadata["env"]) if each.metadata["env"] else None
            if value:
                current = replace(current, **{each.name: value})
        config = replace(config, **{section: current})
    return replace(config, file=file, api_key=Secret(environment.get("OPENAI_API_KEY", "").strip()))


def tokenizer_folder(environment: Mapping[str, str] | None = None) -> str:
    """Where tiktoken keeps its encodings, "" for its own default. The environment's names are tiktoken's."""
    environment = os.environ if environment is None else environment
    return environment.get("TIKTOKEN_CACHE_DIR") or environment.get("DATA_GYM_CACHE_DIR") or ""


def cache_folder(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """Where caches lie: under XDG_CACHE_HOME, else the platform's own folder for caches. It may not exist."""
    environment = os.environ if environment is None else environment
    base = environment.get("XDG_CACHE_HOME", "")
    if not Path(base).is_absolute():  # the XDG specification: a relative path is to be ignored
        base = environment.get("LOCALAPPDATA", "") if platform == "win32" else ""
    if not base:
        base = "~/Library/Caches" if platform == "darwin" else "~/.cache"
    return Path(base).expanduser() / CACHE_NAME
