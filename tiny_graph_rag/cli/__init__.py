"""The command line: each module parses and composes one command, nothing else."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from tiny_graph_rag.cli.streams import outlive_readers
from tiny_graph_rag.version import __version__

app = typer.Typer(
    name="tiny-graph-rag",
    help="Does my graph retrieve the right entities, why not, what would fix it, and what does it cost?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tiny-graph-rag {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """The options that stand before the command."""


# Each is a module of this folder that registers the command of its name.
COMMANDS = (
    "compare",
    "curate",
    "dataset",
    "eval",
    "generate",
    "init",
    "measures",
    "query",
    "recommend",
    "report",
    "score",
    "stats",
    "sweep",
    "validate",
    "visualize",
)


def load(*names: str) -> None:
    """Register these commands, all of them where none is named."""
    for name in names or COMMANDS:
        import_module(f"tiny_graph_rag.cli.{name}")


def main() -> None:
    """Entry point of `tiny-graph-rag`, `python -m tiny_graph_rag` and main.py."""
    outlive_readers()
    gc.set_threshold(100_000)  # what a command loads stays: to search it for waste is in vain
    asked = next((each for each in sys.argv[1:] if not each.startswith("-")), "")
    if asked == "score":
        # It multiplies no large matrices, and starting the threads for them takes a tenth of its time.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    load(*([asked] if asked in COMMANDS else []))  # the other commands would only slow the start
    app()
