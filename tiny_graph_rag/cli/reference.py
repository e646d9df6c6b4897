"""docs/commands.md, made from the commands: `python -m tiny_graph_rag.cli.reference > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from tiny_graph_rag.cli import app, load
from tiny_graph_rag.cli.help import CHOOSING, registry_of


def reference() -> str:
    """Every command with its arguments and options, as Markdown."""
    load()
    root = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        "Made from the program's own `--help` by `uv run python -m tiny_graph_rag.cli.reference`.",
        "In a clone: `uv run python main.py COMMAND …`; where installed: `tiny-graph-rag COMMAND …`.",
        "",
        "Exit codes: 0 done; 1 a gate, a threshold or `validate` found something; 2 the input could not be",
        "used or the usage was wrong; 3 an outside service failed; 70 a mistake of this program;",
        "130 interrupted.",
    ]
    for name, command in _commands(root):
        lines += ["", f"## {name}", "", (command.help or "").strip(), ""]
        lines += ["| option | meaning | default |", "|---|---|---|"]
        for parameter in command.params:
            if parameter.name == "help":
                continue
            meaning = _cell(getattr(parameter, "help", "") or "")
            lines.append(f"| {_spelled(parameter)} | {meaning} | {_default(parameter)} |")
    for option in CHOOSING:
        registry = registry_of(option)
        lines += ["", f"## What {option} chooses from", "", f"| {registry.kind} | what it is |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(part.line)} |" for name, part in registry.built_in.items()]
    return "\n".join(lines) + "\n"


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name, those of a group (`dataset diff`) by both words."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _spelled(parameter: object) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]  # type: ignore[attr-defined]
    if parameter.param_type_name == "argument":  # type: ignore[attr-defined]
        return f"`{names[0].upper()}`"
    return ", ".join(f"`{name}`" for name in sorted(names, key=len))


def _default(parameter: object) -> str:
    if parameter.required:  # type: ignore[attr-defined]
        return "required"
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return _cell(shown)
    default = parameter.default  # type: ignore[attr-defined]
    return "" if default is None or default is False or callable(default) else _cell(str(default))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
