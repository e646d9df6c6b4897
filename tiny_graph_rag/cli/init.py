"""`init`: something that runs at once: settings, a small graph with its gold set, or the samples."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

from tiny_graph_rag.cli import app, shell_command
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.options import FOLDERS, Common, option
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import CONFIG_FILE
from tiny_graph_rag.config.sources import config_yaml
from tiny_graph_rag.messages import ENGLISH, spoken, t
from tiny_graph_rag.outputs import write_atomically

NAME = "my-graph"
SAMPLE, QUESTION = "conan-doyle-speckled-band", "Who hired Sherlock Holmes?"
PACKAGE = "tiny_graph_rag"


@command(app, "init")
def init(
    common: Common,
    example: Annotated[
        bool, option("Copy the sample graphs and gold sets (Korean and English) instead.")
    ] = False,
) -> None:
    """Write config.yaml, a small graph and a gold set to start with. Existing files are never overwritten."""
    session = Session.open(common)
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
    folders = {name: common.settings[name] for name in FOLDERS}
    given = {"dataset": dataset, **folders}
    session.say("\n" + t("Next: score the graph, look at one question, try settings."))
    session.say("  " + shell_command("eval", **given, skip_generation=True, report="html"))
    session.say("  " + shell_command("query", asked, graph=f"{name}-KG.json", kg_dir=folders["kg_dir"]))
    session.say("  " + shell_command("sweep", **given))


def _samples(graphs: Path, sets: Path) -> list[tuple[Path, bytes]]:
    """(where it goes, content) of every sample: from the installed package, in a clone from its own data."""
    package = resources.files(PACKAGE)
    brought = package / "samples"
    if not brought.is_dir():
        brought = Path(str(package)).parent / "data"
    found = []
    for part, folder in (("kg", graphs), ("eval", sets)):
        for path in sorted((brought / part).iterdir(), key=lambda file: file.name):
            if path.is_file():
                found.append((folder / path.name, path.read_bytes()))
    return found
