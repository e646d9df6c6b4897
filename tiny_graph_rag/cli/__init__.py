"""The command line: each module parses and composes one command, nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

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


from tiny_graph_rag.cli import (  # noqa: E402 - each registers its command
    compare,  # noqa: F401
    eval,  # noqa: F401
    init,  # noqa: F401
    measures,  # noqa: F401
    query,  # noqa: F401
    report,  # noqa: F401
    score,  # noqa: F401
    stats,  # noqa: F401
    validate,  # noqa: F401
)


def main() -> None:
    """Entry point of `tiny-graph-rag`, `python -m tiny_graph_rag` and main.py."""
    app()
