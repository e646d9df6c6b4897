"""`settings`, `measures`, `init`: every setting and measure, and something that runs at once."""

from __future__ import annotations

import math
from importlib import resources
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import names_of, registry_of
from tiny_graph_rag.cli.options import FOLDERS, argument, option
from tiny_graph_rag.cli.session import Session, shell_command
from tiny_graph_rag.config import all_settings, as_text, find_setting, section_comment, section_names
from tiny_graph_rag.config.sources import CONFIG_FILE, config_yaml
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.messages import ENGLISH, spoken, t
from tiny_graph_rag.outputs import write_atomically
from tiny_graph_rag.secret import safe_url


@command("settings")
def settings_command(
    session: Session,
    section: Annotated[
        str | None, argument("Only this section (retrieval) or this setting (retrieval.hops).")
    ] = None,
) -> None:
    """List every setting with its value here, its default and its meaning; of one alone (retriever, linker,
    judge) also what it can be. `--set section.name=value` changes it for one run of any command."""
    sections = section_names()
    chosen = all_settings() if section in (None, *sections) else (find_setting(section or ""),)
    for name in sections if section not in sections else (section,):
        rows = [setting for setting in chosen if setting.section == name]
        if rows:
            session.say(f"{name}: {t(section_comment(name))}")
        for setting in rows:
            value = getattr(getattr(session.config, name), setting.name)
            value = safe_url(value) if setting.full_name == "openai.base_url" else value
            changed = "" if value == setting.default else f" [{t('default')} {as_text(setting.default)}]"
            session.say(f"  {setting.full_name}={as_text(value)}{changed}  {t(setting.comment)}")
            if len(chosen) == 1:
                option = f"--{setting.name}"
                for name in names_of(option):
                    session.say(f"    {name}: {t(registry_of(option).entry(name).line)}")


@command("measures")
def measures(session: Session) -> None:
    """List every measure with its spelling, range, definition and source."""
    rows = listed_measures()
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, its_span, definition, source in rows:
        session.say(f"{name:{widths[0]}}  {its_span:{widths[1]}}  {definition} [{source}]")


CUTOFFS = {"required": "@k", "optional": "[@k]", "none": ""}


def listed_measures() -> list[tuple[str, str, str, str]]:
    """(spelling, range, definition, source) of every measure; ↓ after the range where less is better."""
    rows = []
    for kind in map(KINDS.__getitem__, KINDS):
        high = "∞" if math.isinf(kind.high) else f"{kind.high:g}"
        span = f"{kind.low:g}–{high}{'' if kind.higher_is_better else ' ↓'}"
        rows.append((kind.name + CUTOFFS[kind.cutoff], span, t(kind.definition), kind.source))
    return rows


NAME = "my-graph"
SAMPLE, QUESTION = "conan-doyle-speckled-band", "Who hired Sherlock Holmes?"
SAMPLES = (SAMPLE, "victor-hugo-les-miserables", "김유정-동백꽃")
SAMPLE_ENDINGS = ("-KG.json", "-eval.jsonl", "-hardset.jsonl")
PACKAGE = "tiny_graph_rag"


@command("init")
def init(
    session: Session,
    example: Annotated[
        bool, option("Copy the sample graphs and gold sets (Korean and English) instead.")
    ] = False,
) -> None:
    """Write config.yaml, a small graph and a gold set to start with. Existing files are never overwritten."""
    storage = session.config.storage
    graphs, sets = Path(storage.kg_dir), Path(storage.dataset_dir)
    if example:
        files = dict(_samples(graphs, sets))
    else:
        first = resources.files(f"{PACKAGE}.cli") / "first"
        language = spoken() if (first / f"{spoken()}-KG.json").is_file() else ENGLISH
        files = {
            graphs / f"{NAME}-KG.json": (first / f"{language}-KG.json").read_bytes(),
            sets / f"{NAME}-eval.jsonl": (first / f"{language}-eval.jsonl").read_bytes(),
        }
    for path, content in {Path(CONFIG_FILE): config_yaml().encode(), **files}.items():
        if path.exists():
            session.say("{path}: already exists, left unchanged", path=path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, [content])
        session.say("{path}: written", path=path)
    name = SAMPLE if example else NAME
    asked = QUESTION if example else t("Who wrote the green letter?")
    dataset = f"{name}-{'hardset.jsonl' if example else 'eval.jsonl'}"
    folders = {name: session.common.settings[name] for name in FOLDERS}
    given = {"dataset": dataset, **folders}
    session.say("\n" + t("Next: score the graph, look at one question, try settings."))
    session.say("  " + shell_command("eval", **given, skip_generation=True, report="html"))
    session.say("  " + shell_command("query", asked, graph=f"{name}-KG.json", kg_dir=folders["kg_dir"]))
    session.say("  " + shell_command("sweep", **given))


def _samples(graphs: Path, sets: Path) -> list[tuple[Path, bytes]]:
    """(where it goes, content) of every sample: from the installed package, in a clone from its own data, in
    which the user's own files may lie too."""
    package = resources.files(PACKAGE)
    brought = package / "samples"
    if not brought.is_dir():
        brought = Path(str(package)).parent / "data"
    names = {f"{name}{ending}" for name in SAMPLES for ending in SAMPLE_ENDINGS}
    found = []
    for part, folder in (("kg", graphs), ("eval", sets)):
        for path in sorted((brought / part).iterdir(), key=lambda file: file.name):
            if path.is_file() and nfc(path.name) in names:
                found.append((folder / path.name, path.read_bytes()))
    return found
