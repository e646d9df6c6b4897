"""All settings together in one frozen Config, and each by its name."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from tiny_graph_rag.config.sections import (
    Embeddings,
    EvaluationSettings,
    Generation,
    OpenAI,
    RankingPrices,
    Retrieval,
    Running,
    Storage,
    check_bounds,
)
from tiny_graph_rag.errors import UsageError, nearest
from tiny_graph_rag.messages import said
from tiny_graph_rag.secret import Secret, safe_url

NO_SECTIONS = ("file", "api_key", "unused", "untrusted")


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. file: where they were read from, None for the built-in defaults. api_key: of the
    environment only, so that it can't end up in a file that is shared. unused: sections of the
    file that upstream tiny-graph-RAG needs and this program does not. untrusted: sensitive settings that an
    untrusted file made (config/trust.py); whoever sends something or runs code asks `require_trust` first."""

    storage: Storage = field(default_factory=Storage)
    retrieval: Retrieval = field(default_factory=Retrieval)
    ranking: RankingPrices = field(default_factory=RankingPrices)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    embeddings: Embeddings = field(default_factory=Embeddings)
    running: Running = field(default_factory=Running)
    openai: OpenAI = field(default_factory=OpenAI)
    generation: Generation = field(default_factory=Generation)
    file: Path | None = None
    api_key: Secret = field(default_factory=Secret)
    unused: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()

    def override(self, **flags: Any) -> Config:
        """The same with flags in place: names of settings, each unique; None leaves a setting as it is.

        Raises ConfigError for a value out of its bounds, naming the flag.
        """
        given = {name: value for name, value in flags.items() if value is not None}
        sections = {}
        for section in section_names():
            current = getattr(self, section)
            mine = {
                setting.name: given.pop(setting.name) for setting in fields(current) if setting.name in given
            }
            for setting in fields(current):
                if setting.name in mine:
                    check_bounds(setting, mine[setting.name], f"--{setting.name.replace('_', '-')}")
            sections[section] = replace(current, **mine)
        if given:
            raise TypeError(said("no such setting: {names}", names=", ".join(given)))
        untrusted = tuple(name for name in self.untrusted if flags.get(name) is None)
        return replace(self, **sections, untrusted=untrusted)

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
                field.name: getattr(getattr(self, section), field.name)
                for field in fields(getattr(self, section))
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


def section_names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Config) if field.name not in NO_SECTIONS)


def setting_names() -> tuple[str, ...]:
    """Every setting of every section."""
    return tuple(field.name for section in section_names() for field in fields(getattr(Config(), section)))


def section_of(name: str) -> str:
    """The section that has a setting. Raises UsageError with the nearest names for what is none."""
    known = {
        field.name: section for section in section_names() for field in fields(getattr(Config(), section))
    }
    if name not in known:
        raise UsageError(
            said(
                "unknown setting {name}{near}",
                name=repr(name),
                near=nearest(name, tuple(known)) or "; config.yaml lists them",
            )
        )
    return known[name]


def setting_value(name: str, text: str) -> Any:
    """A setting's value from text, as YAML reads it (`none` is null). Raises UsageError where it can't be."""
    from tiny_graph_rag.documents import parse_yaml

    section = section_of(name)
    value = None if text == "none" else parse_yaml(text, name, UsageError)
    if fits(section, name, value):
        return value
    if fits(section, name, text):
        return text
    raise UsageError(
        said("{name}: {text} is no value for it; config.yaml shows one", name=name, text=repr(text))
    )


def setting_field(name: str) -> Field[Any]:
    """The dataclass field of a setting, by its name."""
    for section in section_names():
        for setting in fields(getattr(Config(), section)):
            if setting.name == name:
                return setting
    raise KeyError(name)


def fits(section: str, name: str, value: object) -> bool:
    """Whether a setting can have this value, by its type."""
    return has_type(get_type_hints(type(getattr(Config(), section)))[name], value)


def setting_type(name: str) -> str:
    """What a setting can be, in words: `a whole number`, `a number or null`."""
    return type_name(get_type_hints(type(getattr(Config(), section_of(name))))[name])


def has_type(hint: Any, value: object) -> bool:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        if option is float and isinstance(value, int | float) and not isinstance(value, bool):
            return True
        if option is int and isinstance(value, bool):
            continue
        if isinstance(value, get_origin(option) or option):
            return True
    return False


def type_name(hint: Any) -> str:
    names = {
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "null",
        dict: "a mapping",
    }
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return " or ".join(names.get(get_origin(option) or option, str(option)) for option in options)
