"""Settings: config.yaml, then the environment, then flags, become one frozen Config (`sources` reads them).

config.yaml, `init` and `--help` are made from the fields of the sections; each is known by its full name
(`retrieval.hops`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

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
from tiny_graph_rag.errors import ConfigError, UsageError, json_kind, nearest
from tiny_graph_rag.messages import Said, said
from tiny_graph_rag.secret import Secret, safe_url

NO_SECTIONS = ("file", "api_key", "unused", "untrusted", "address_of")
BY_FULL_NAME = ("ranking", "openai", "embeddings")  # sections whose settings reports name with the section
FLAGS = ("hops", "retriever", "linker", "exclude_seeds", "top_k", "model", "judge")  # that `eval` has


@dataclass(frozen=True, slots=True)
class Config:
    """All settings. file: where they were read from, None for the built-in defaults. api_key: of the
    environment only, so that it can't end up in a file that is shared. unused: sections of the
    file that upstream tiny-graph-RAG needs and this program does not. untrusted: sensitive settings that an
    untrusted file made (config/sources.py); who sends something or runs code asks `require_trust` first.
    address_of: the file that the untrusted address comes from, where that is not `file`."""

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
    address_of: Path | None = None

    def override(self, **flags: Any) -> Config:
        """The same with flags in place: names of settings as `find_setting` takes them; None leaves a setting
        as it is. Raises UsageError for an unknown name, ConfigError for a value out of its bounds, naming
        the flag."""
        given = {name: value for name, value in flags.items() if value is not None}
        return self.replaced(given, _spelled_flag).trusting(given)

    def replaced(self, settings: Mapping[str, Any], spelled: Callable[[str], str] = str) -> Config:
        """The same with these settings, None among the values. spelled: how errors name one.

        Raises UsageError for an unknown name, ConfigError for a value out of its bounds.
        """
        config = self
        for name, value in settings.items():
            setting = find_setting(name)
            check_bounds(setting.field, value, spelled(name))
            section = replace(getattr(config, setting.section), **{setting.name: value})
            config = replace(config, **{setting.section: section})
        return config

    def trusting(self, names: Iterable[str]) -> Config:
        """The same where the user has set these settings: they no longer come from an untrusted file."""
        given = {find_setting(name).name for name in names}
        return replace(self, untrusted=tuple(name for name in self.untrusted if name not in given))

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Section → setting → value, as results files record it; without passwords in an address."""
        recorded: dict[str, dict[str, Any]] = {}
        for setting in all_settings():
            if setting.section != "running":
                values = recorded.setdefault(setting.section, {})
                values[setting.name] = getattr(getattr(self, setting.section), setting.name)
        recorded["openai"]["base_url"] = safe_url(self.openai.base_url)
        return recorded


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. owner: the dataclass of its section. field: of that class, with comment and bounds."""

    section: str
    owner: type
    field: Field[Any]

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def full_name(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def default(self) -> Any:
        default = self.field.default
        return {} if default is MISSING else default

    @property
    def comment(self) -> str:
        return str(self.field.metadata["comment"])

    @property
    def environment(self) -> str:
        """The variable that sets it, "" where none does."""
        return str(self.field.metadata["env"])

    @property
    def type(self) -> Any:
        """As it is annotated: `int`, `float | None`."""
        return _hints(self.owner)[self.name]

    @property
    def type_name(self) -> Said:
        """What it can be, in words: `a whole number`, `a number or null`."""
        kinds = [get_origin(option) or option for option in get_args(self.type) or (self.type,)]
        kind = said(_TYPE_NAMES[dict if self.default == {} else kinds[0]])
        return said("{kind} or null", kind=kind) if type(None) in kinds else kind

    def checked(self, value: Any, place: str, *, as_text: bool = False) -> Any:
        """The value, if it is one of this setting. place: its name in errors. as_text: it may be the text of
        one. Raises ConfigError for another type or a value out of its bounds."""
        import msgspec  # who only lists settings needs none of it

        if isinstance(value, str) and "\0" in value:
            raise ConfigError("{place} contains the character NUL, which a name can't contain", place=place)
        try:
            made = msgspec.convert(value, self.type, strict=not as_text)
        except (msgspec.ValidationError, UnicodeEncodeError):  # half characters are no number
            got = repr(value) if as_text else json_kind(value)
            raise ConfigError(
                "{place} must be {wanted}, got {got}", place=place, wanted=self.type_name, got=got
            ) from None
        check_bounds(self.field, made, place)
        return made

    def parse(self, text: str, place: str) -> Any:
        """Its value from text; `none` is null too, a mapping is YAML. place: its name in errors.

        Raises ConfigError where the text is no such value.
        """
        if self.default == {}:
            from tiny_graph_rag.documents import parse_yaml

            return self.checked(parse_yaml(text, place, ConfigError), place)
        is_null = text.strip().lower() == "none" and self.type is not str
        return self.checked("null" if is_null else text, place, as_text=True)


_TYPE_NAMES: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a mapping",
}


@cache
def _hints(owner: type) -> dict[str, Any]:
    return get_type_hints(owner)


@cache
def all_settings() -> tuple[Setting, ...]:
    """Every setting of every section, in the order of config.yaml."""
    default = Config()
    return tuple(
        Setting(section, type(getattr(default, section)), known)
        for section in section_names()
        for known in fields(getattr(default, section))
    )


def section_names() -> tuple[str, ...]:
    return tuple(known.name for known in fields(Config) if known.name not in NO_SECTIONS)


def section_comment(section: str) -> str:
    """What a section is about, in one line."""
    return (type(getattr(Config(), section)).__doc__ or "").strip().splitlines()[0]


@cache
def _by_name() -> Mapping[str, Setting]:
    """Full name → setting, and name alone → setting. `seed` alone is that of the flag."""
    alone = {setting.name: setting for setting in all_settings() if not setting.field.metadata["full_name"]}
    return {setting.full_name: setting for setting in all_settings()} | alone


def _spelled_flag(name: str) -> str:
    return f"--{name.replace('_', '-')}" if name in FLAGS else find_setting(name).full_name


def find_setting(name: str) -> Setting:
    """The setting of a full name (`retrieval.hops`), or of a name alone as flags have it (`hops`,
    `exclude-seeds`). Raises UsageError with the nearest names for what is none."""
    known = _by_name()
    key = name.strip().replace("-", "_")
    if key in known:
        return known[key]
    last = key.rpartition(".")[2]
    same = [full for full in known if full.endswith(f".{last}")]
    if same:
        near: str = said("; did you mean {names}?", names=", ".join(map(repr, same)))
    else:
        near = nearest(key, [full for full in known if ("." in full) == ("." in key)])
    raise UsageError(
        "unknown setting {name}{near}",
        name=repr(name),
        near=near or said("; the command `settings` lists all"),
    )


def settings_of(given: Iterable[str], option: str) -> Iterator[tuple[Setting, str]]:
    """What `--set section.name=value` says, given several times: each setting with its text.

    Raises UsageError for what has no `=`, and for a name that is no setting.
    """
    for text in given:
        name, sign, value = text.partition("=")
        if not sign:
            raise UsageError(
                "{option} {text}: write a setting and its value, such as retrieval.min_weight=0.5",
                option=option,
                text=repr(text),
            )
        yield find_setting(name), value


def changed_settings(recorded: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of a configuration as results files record it, what is not the default: name → value, as flags name
    them, with the section before it where no flag has it (`ranking.step`). Folders are left out: they change
    no figure; so are settings that this version doesn't know."""
    default = Config().as_dict()
    return {
        f"{section}.{name}" if section in BY_FULL_NAME else name: value
        for section, values in recorded.items()
        if section != "storage"
        for name, value in values.items()
        if name in default.get(section, {}) and value != default[section][name]
    }


def as_option(name: str, value: object) -> str:
    """`--hops 3`, `--set retrieval.fuzzy=0.85`: a setting as the command line takes it. name: as
    `find_setting` takes it."""
    setting = find_setting(name)
    # No flag turns off.
    if setting.name in FLAGS and find_setting(setting.name) == setting and value is not False:
        return "--" + spelled_setting(setting.name, value)
    return f"--set {setting.full_name}={as_text(value)}"


def as_text(value: object) -> str:
    """A value as `--set` takes it."""
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def spelled_setting(name: str, value: object) -> str:
    """`fuzzy 0.85`, `exclude-seeds`: a setting as its flag says it."""
    shown = "" if value is True else "off" if value is False else "none" if value is None else str(value)
    return f"{name.replace('_', '-')} {shown}".strip()
