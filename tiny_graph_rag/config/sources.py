"""Where settings come from: config.yaml, then the environment, of which this is the only reader.

config.yaml is read with every problem named, written with every comment, and trusted by who uses it.

A folder from somebody else brings its own config.yaml. Two of its settings could harm whoever runs a command
there: `openai.base_url` says where questions, graph texts and the key go, `retrieval.retriever` may name
code. Both are marked in `Config.untrusted` until `--trust-config`, or until a flag or the environment sets
them. Trust belongs to one file with one content (as with direnv): a moved or edited file is asked for again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiny_graph_rag.config import Config, all_settings, section_comment, section_names
from tiny_graph_rag.documents import read_yaml
from tiny_graph_rag.errors import ConfigError, at, json_kind, nearest
from tiny_graph_rag.files import read_bytes
from tiny_graph_rag.messages import Said, of_locale, said, t
from tiny_graph_rag.outputs import write_atomically
from tiny_graph_rag.secret import Secret, safe_url

CONFIG_FILE = "config.yaml"
DOTENV = ".env"
OF_DOTENV = ("OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL")  # all that a `.env` may set
FOLDER_NAME = "tiny-graph-rag"
NO_CACHE = Path(os.devnull, FOLDER_NAME)  # holds nothing and takes nothing
SENSITIVE = {"base_url": "openai", "retriever": "retrieval"}  # setting → its section
# What upstream tiny-graph-RAG's config.yaml has next to what is ours: how it makes graphs of texts.
UPSTREAM = ("chunking", "storage.hardset_dir")


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
    real = os.environ if environment is None else environment
    folders = dotenv_values_of(real) if environment is None else {}
    environment = {**folders, **real}
    if file is None and Path(CONFIG_FILE).is_file():
        file = Path(CONFIG_FILE)
    if file is None and trust and "OPENAI_BASE_URL" not in folders:
        raise ConfigError("--trust-config: there is no {file} in this folder", file=CONFIG_FILE)
    config = Config()
    if file is not None:
        config = with_file(config, file)
        changed = tuple(
            name
            for name, section in SENSITIVE.items()
            if getattr(getattr(config, section), name) != getattr(getattr(Config(), section), name)
        )
        if (changed or trust) and not _is_trusted(file, real, trust=trust):
            config = replace(config, untrusted=changed)
    from_environment = {
        setting.full_name: setting.parse(environment[setting.environment], setting.environment)
        for setting in all_settings()
        if setting.environment and environment.get(setting.environment)
    }
    config = config.replaced(from_environment).trusting(from_environment)
    if "OPENAI_BASE_URL" in folders and not _is_trusted(Path(DOTENV), real, trust=trust):
        config = replace(config, untrusted=(*config.untrusted, "base_url"), address_of=Path(DOTENV))
    key = Secret(environment.get("OPENAI_API_KEY", "").strip())
    return replace(config, file=file, api_key=key)


def dotenv_values_of(environment: Mapping[str, str], folder: Path = Path()) -> dict[str, str]:
    """What the `.env` of a folder adds to the real environment, where python-dotenv is installed.

    A file that came with somebody's folder decides nothing but a key and a model (OF_DOTENV); its own address
    is taken only with its own key, and `load_config` asks for trust before anything is sent there.
    """
    file = folder / DOTENV
    if not file.is_file():
        return {}
    try:
        from dotenv import dotenv_values
    except ImportError:
        return {}
    try:
        found = dotenv_values(file, interpolate=False)
    except (OSError, UnicodeDecodeError):
        return {}
    values = {name: value for name in OF_DOTENV if (value := found.get(name)) and name not in environment}
    if "OPENAI_API_KEY" not in values:
        values.pop("OPENAI_BASE_URL", None)
    return values


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
    values: dict[str, Any] = {}
    unused: list[str] = []
    for section, given in document.items():
        if section in UPSTREAM:
            unused.append(section)
        elif section not in section_names():
            near = _known(section, section_names())
            problems.append(at(file, "unknown section {section}{known}", section=repr(section), known=near))
        elif not isinstance(given, dict | None):
            got = json_kind(given)
            problems.append(
                at(file, "'{section}' must contain settings, got {got}", section=section, got=got)
            )
        else:
            known = {setting.name: setting for setting in all_settings() if setting.section == section}
            for key, value in (given or {}).items():
                name = f"{section}.{key}"
                if name in UPSTREAM:
                    unused.append(name)
                elif key not in known:
                    near = _known(key, list(known))
                    problems.append(at(file, "unknown key '{key}'{known}", key=name, known=near))
                elif value is not None or known[key].type is not str:
                    try:
                        values[name] = known[key].checked(value, f"{file}: {name}")
                    except ConfigError as error:
                        problems += error.args
    if problems:
        raise ConfigError(*problems)
    return replace(config.replaced(values), unused=tuple(unused))


def _known(name: object, names: Sequence[str]) -> str:
    return nearest(str(name), names) or said("; choices: {names}", names=", ".join(names))


def config_yaml() -> str:
    """config.yaml as `init` writes it: every setting with its default and its comment, in the language
    spoken."""
    import yaml

    lines = [
        f"# {t('Settings of Tiny-Graph-RAG eval.')}",
        f"# {t('Environment variables override this file; options of a command override both.')}",
        f"# {t('For one run: --set section.name=value.')}",
    ]
    for section in section_names():
        lines += ["", f"# {t(section_comment(section))}", f"{section}:"]
        for setting in all_settings():
            if setting.section == section:
                value = yaml.safe_dump(setting.default, default_flow_style=True, allow_unicode=True)
                value = value.replace("...\n", "").strip()
                lines.append(f"  {setting.name}: {value}  # {t(setting.comment)}")
    return "\n".join(lines) + "\n"


def _is_trusted(file: Path, environment: Mapping[str, str], *, trust: bool) -> bool:
    """Whether the user trusts this file with its present content: a record of both exists, in a folder where
    nobody else can put one. environment: the real one, which says where records lie. trust: make the record.
    Raises ConfigError where that fails."""
    real = os.fsencode(os.path.realpath(file))
    digest = hashlib.sha256(real + b"\0" + read_bytes(file)).hexdigest()
    folder = _user_folder(environment, "XDG_DATA_HOME", "~/.local/share") / "trusted"
    if trust:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not is_own_folder(folder):
                raise PermissionError(None, "the folder is another user's")
            write_atomically(folder / digest, [real + b"\n"])
        except OSError as error:
            raise ConfigError(
                "--trust-config: {folder} can't be written ({why})",
                folder=folder,
                why=said(error.strerror or ""),
            ) from error
    return (folder / digest).is_file() and is_own_folder(folder)


def require_trust(config: Config, name: str) -> None:
    """Refuse a sensitive setting that an untrusted file made. Raises ConfigError with what to do."""
    if name not in config.untrusted:
        return
    section = SENSITIVE[name]
    value = str(getattr(getattr(config, section), name))
    if name == "base_url":
        raise ConfigError(
            "{file}: openai.base_url is {address}, and this file isn't trusted: questions and graph "
            "texts would go there. Look at the file, then run again with --trust-config, or set "
            "OPENAI_BASE_URL",
            file=config.address_of or config.file,
            address=safe_url(value),
        )
    raise ConfigError(
        "{file}: retrieval.retriever names code ({value}), and this file isn't trusted, so it isn't run. "
        "Look at the code, then run again with --trust-config, or name it with --retriever",
        file=config.file,
        value=value,
    )


def _user_folder(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """This program's folder under the one that a variable names, else under `otherwise`."""
    base = environment.get(variable, "")
    if not Path(base).is_absolute():  # the XDG specification: a relative path is to be ignored
        base = otherwise
    return Path(base).expanduser() / FOLDER_NAME


def is_own_folder(folder: Path) -> bool:
    """Whether nobody else can put files there: true where it does not exist. One of ours that others may
    write to is closed to them."""
    try:
        found = folder.stat()
        if found.st_uid != os.geteuid():
            return False
        if found.st_mode & 0o022:
            folder.chmod(0o700)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def tokenizer_folder(environment: Mapping[str, str] | None = None) -> str:
    """Where tiktoken keeps its encodings, "" for its own default. The environment's names are tiktoken's."""
    environment = os.environ if environment is None else environment
    return environment.get("TIKTOKEN_CACHE_DIR") or environment.get("DATA_GYM_CACHE_DIR") or ""


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where caches lie. It may not exist.

    NO_CACHE where it is another user's: what lies there could be made to mislead.
    """
    environment = os.environ if environment is None else environment
    folder = _user_folder(environment, "XDG_CACHE_HOME", "~/.cache")
    return folder if is_own_folder(folder) else NO_CACHE
