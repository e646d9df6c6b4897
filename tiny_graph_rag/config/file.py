"""config.yaml: read with every problem named, and written with every comment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.config.sections import check_bounds
from tiny_graph_rag.config.settings import Config, all_settings, section_comment, section_names
from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import ConfigError, json_kind, nearest
from tiny_graph_rag.messages import Said, said, t

# What upstream tiny-graph-RAG's config.yaml has next to `openai` and `storage`: how it makes graphs of texts.
UPSTREAM = ("chunking",)
UPSTREAM_KEYS = {"storage": ("hardset_dir",)}  # and of sections that are ours too


def with_file(config: Config, file: Path) -> Config:
    """The configuration with what the file sets.

    A text setting that is null keeps its default; upstream's sections that aren't ours are named in `unused`.
    Raises ConfigError with every problem: an unknown key (with the nearest known one), a wrong type, a bound.
    """
    if not file.is_file():
        raise ConfigError("{file}: this settings file doesn't exist; `init` writes one", file=file)
    document = read_yaml(file, ConfigError)
    if document is None:
        return config
    if not isinstance(document, dict):
        raise ConfigError(
            "{file}: wanted sections such as 'storage:', got {got}", file=file, got=json_kind(document)
        )
    problems: list[Said] = []
    for section, values in document.items():
        if section in UPSTREAM:
            config = replace(config, unused=(*config.unused, section))
        elif section not in section_names():
            problems.append(
                said(
                    "{file}: unknown section {section}{known}",
                    file=file,
                    section=repr(section),
                    known=_known(section, section_names()),
                )
            )
        elif isinstance(values, dict):
            theirs = [key for key in UPSTREAM_KEYS.get(section, ()) if key in values]
            config = replace(config, unused=(*config.unused, *(f"{section}.{key}" for key in theirs)))
            values = {key: value for key, value in values.items() if key not in theirs}
            current = getattr(config, section)
            config = replace(config, **{section: _with_section(current, section, values, file, problems)})
        elif values is not None:
            problems.append(
                said(
                    "{file}: '{section}' must contain settings, got {got}",
                    file=file,
                    section=section,
                    got=json_kind(values),
                )
            )
    if problems:
        raise ConfigError(*problems)
    return config


def _with_section(
    current: Any, section: str, values: dict[Any, Any], file: Path, problems: list[Said]
) -> Any:
    known = {setting.name: setting for setting in all_settings() if setting.section == section}
    accepted = {}
    for key, value in values.items():
        place = f"{file}: {section}.{key}"
        setting = known.get(key)
        if setting is None:
            problems.append(
                said(
                    "{file}: unknown key '{section}.{key}'{known}",
                    file=file,
                    section=section,
                    key=key,
                    known=_known(key, tuple(known)),
                )
            )
        elif value is None and setting.accepts(""):
            continue
        elif isinstance(value, str) and "\0" in value:
            problems.append(
                said("{place} contains the character NUL, which a name can't contain", place=place)
            )
        elif not setting.accepts(value):
            problems.append(
                said(
                    "{place} must be {wanted}, got {got}",
                    place=place,
                    wanted=setting.type_name,
                    got=json_kind(value),
                )
            )
        else:
            try:
                check_bounds(setting.field, value, place)
            except ConfigError as error:
                problems.append(error.args[0])
            accepted[key] = value
    return replace(current, **accepted)


def _known(name: object, names: tuple[str, ...]) -> str:
    return nearest(str(name), names) or said("; choices: {names}", names=", ".join(names))


def config_yaml(config: Config | None = None) -> str:
    """config.yaml as `init` writes it: every setting with its default and its comment, in the language
    spoken."""
    import yaml

    config = config or Config()
    lines = [
        f"# {t('Settings of Tiny-Graph-RAG eval.')}",
        f"# {t('Environment variables override this file; options of a command override both.')}",
        f"# {t('For one run: --set section.name=value.')}",
    ]
    for section in section_names():
        current = getattr(config, section)
        lines += ["", f"# {t(section_comment(section))}", f"{section}:"]
        for setting in all_settings():
            if setting.section == section:
                value = yaml.safe_dump(
                    getattr(current, setting.name), default_flow_style=True, allow_unicode=True
                )
                value = value.replace("...\n", "").strip()
                lines.append(f"  {setting.name}: {value}  # {t(setting.comment)}")
    return "\n".join(lines) + "\n"
