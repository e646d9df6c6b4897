"""The command line: each module parses and composes one command, nothing else."""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import Annotated, Any

import typer

from tiny_graph_rag.cli.command import app, declare, parameter, spread
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


def run() -> None:
    """Parse the command line and do what it says; ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name in a file ends a run
    gc.set_threshold(1_000_000)  # what a command loads stays: to search it for waste is in vain
    if {"score", "eval", "query"} & set(sys.argv[1:]):
        # They multiply no large matrices, and starting the threads for that takes some of every start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    app()
