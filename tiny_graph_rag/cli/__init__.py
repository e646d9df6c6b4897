"""The command line: each module parses and composes one command, nothing else."""

from __future__ import annotations

import gc
import inspect
import io
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from tiny_graph_rag.cli.command import Commands, declare
from tiny_graph_rag.cli.help import commands_with_help
from tiny_graph_rag.cli.options import COMMON, COMMON_SETTINGS, Common
from tiny_graph_rag.version import __version__

app = typer.Typer(
    name="tiny-graph-rag",
    cls=Commands,
    help="Does my graph retrieve the right entities, why not, what would fix it, and what does it cost?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import platform

        typer.echo(f"tiny-graph-rag {__version__} (Python {platform.python_version()})")
        raise typer.Exit


def called() -> str:
    """How this program was called, for commands that it prints to be copied."""
    first = Path(sys.argv[0]).name
    if first == "main.py":
        return "uv run python main.py"
    return "python -m tiny_graph_rag" if first == "__main__.py" else "tiny-graph-rag"


def shell_command(name: str, /, *arguments: str, **given: object) -> str:
    """A line to be copied: this program's command `name` with the flags that are not None or False; a list
    gives its flag once for each value."""
    flags = [
        f"--{flag.replace('_', '-')}" + ("" if value is True else f" {_quoted(str(value))}")
        for flag, values in given.items()
        for value in (values if isinstance(values, list | tuple) else [values])
        if value is not None and value is not False
    ]
    return " ".join([called(), name, *map(_quoted, arguments), *flags])


def _quoted(text: str) -> str:
    """As a shell wants it; letters of any language need no quotes."""
    plain = text and all(sign.isalnum() or sign in "-_./:,=+@%" for sign in text)
    return text if plain else shlex.quote(text)


def root(context: typer.Context, version: bool, **given: Any) -> None:
    """The options that every command has, before its name."""
    settings = {name: given.pop(name) for name in COMMON_SETTINGS}
    context.obj = Common(**{**given, "set_": given["set_"] or ()}, settings=settings)


VERSION = Annotated[
    bool,
    typer.Option(
        "--version",
        help="Show the version.",
        callback=_show_version,
        is_eager=True,
    ),
]
_OWN = {"context": typer.Context, "version": VERSION, **COMMON}
_DEFAULTS = {"version": False, "quiet": False, "trust_config": False, "debug": False}
declare(
    root,
    [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name == "context" else _DEFAULTS.get(name),
            annotation=annotation,
        )
        for name, annotation in _OWN.items()
    ],
)
app.callback()(root)


# Commands that the module of another one registers; each other one has a module of its name in this folder.
TOGETHER = {"visualize": "stats", "measures": "settings", "history": "report"}


def load(*names: str) -> None:
    """Register these commands, all of them where none is named."""
    for name in names or commands_with_help():
        import_module(f"tiny_graph_rag.cli.{TOGETHER.get(name, name)}")


def run() -> None:
    """Parse the command line and do what it says; ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name in a file ends a run
    gc.set_threshold(100_000)  # what a command loads stays: to search it for waste is in vain
    given = sys.argv[1:]
    asked = [word for word in given if word in commands_with_help()]
    if asked[:1] in (["score"], ["eval"], ["query"]):
        # They multiply no large matrices, and starting the threads for that takes some of every start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if asked or not given:  # a shell that completes gives none; other commands would only slow the start
        load(*asked)
    app()
