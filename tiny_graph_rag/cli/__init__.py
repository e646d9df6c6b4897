"""The command line: each module parses and composes one command, nothing else."""

from __future__ import annotations

import gc
import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer

from tiny_graph_rag.cli.command import app, declare, parameter, spread
from tiny_graph_rag.cli.help import command_names
from tiny_graph_rag.cli.options import Common, option
from tiny_graph_rag.version import __version__


def _show_version(wanted: bool) -> None:
    if wanted:
        import platform

        typer.echo(f"tiny-graph-rag {__version__} (Python {platform.python_version()})")
        raise typer.Exit


VERSION = Annotated[bool, option("Show the version.", callback=_show_version, is_eager=True)]


def root(context: typer.Context, version: bool, **given: Any) -> None:
    """The options that every command has, before its name."""
    context.obj = Common(**given)


declare(root, [parameter("context", typer.Context), parameter("version", VERSION, False), *spread(Common)])
app.callback()(root)


# Commands that the module of another one registers; each other one has a module of its name in this folder.
TOGETHER = {
    **dict.fromkeys(("init", "measures"), "settings"),
    **dict.fromkeys(("stats", "visualize", "convert"), "graphs"),
    **dict.fromkeys(("compare", "report", "history"), "results"),
    **dict.fromkeys(("recommend", "curate"), "drafts"),
    **dict.fromkeys(("dataset", "generate"), "gold"),
    "retrieve": "query",
}


def load(*names: str) -> None:
    """Register these commands, all of them where none is named."""
    for name in names or command_names():
        import_module(f"tiny_graph_rag.cli.{TOGETHER.get(name, name)}")


def run() -> None:
    """Parse the command line and do what it says; ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name in a file ends a run
    gc.set_threshold(100_000)  # what a command loads stays: to search it for waste is in vain
    given = sys.argv[1:]
    asked = [word for word in given if word in command_names()]
    if asked[:1] in (["score"], ["eval"], ["query"]):
        # They multiply no large matrices, and starting the threads for that takes some of every start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if given != ["--version"]:
        load(*asked)
    app()
