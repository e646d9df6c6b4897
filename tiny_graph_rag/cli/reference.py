"""docs/commands.md, made from the commands: `python -m tiny_graph_rag.cli.reference > docs/commands.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import typer

from tiny_graph_rag.cli.command import app, load
from tiny_graph_rag.cli.help import CHOOSING, default_of, paragraphs, registry_of, sentence

SHARED = 3  # an option of so many commands is described once


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
    own = {name: [_line(parameter) for parameter in params] for name, params in commands()}
    counts = Counter(line for listed in own.values() for line in listed)
    shared = {line for line, count in counts.items() if count >= SHARED}
    lines += ["", "## On every command, before or after its name", ""]
    lines += [_line(parameter) for parameter in root.params if parameter.name != "help"]
    lines += ["", "## On several commands", "", *(line for line in counts if line in shared)]
    for name, command in _commands(root):
        lines += ["", f"## {name}", "", *paragraphs(command.help or "")]
        if names := [line.split("`: ")[0].split("`")[-1] for line in own[name] if line in shared]:
            lines[-1] += f" Also {', '.join(f'`{name}`' for name in names)}."
        if listed := [line for line in own[name] if line not in shared]:
            lines += ["", *listed]
    lines += [
        "",
        "## Settings",
        "",
        "config.yaml sets them for good; `--set section.name=value`, as often as needed, for one run of any",
        "command. `settings` lists all with their meaning, and the values in force.",
    ]
    for option in CHOOSING:
        registry = registry_of(option)
        lines += ["", f"## What {option} chooses from", ""]
        lines += [f"- `{name}`: {_flat(registry.entry(name).line)}" for name in registry.table]
    return "\n".join(lines) + "\n"


def commands() -> Iterator[tuple[str, list[Any]]]:
    """Every command with its arguments and options."""
    load()
    for name, command in _commands(typer.main.get_command(app)):
        yield name, [parameter for parameter in command.params if parameter.name != "help"]


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name, those of a group (`dataset merge`) by both words."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


def _line(parameter: Any) -> str:
    """An item of a list: the option, what it means, and its default."""
    default = "required" if parameter.required else default_of(parameter)
    meaning = _flat(sentence(parameter.help or ""))
    return f"- {_spelled(parameter)}: {meaning}{f' Default: {_flat(default)}.' if default else ''}".replace(
        "Default: required", "Required"
    )


def _spelled(parameter: object) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]  # type: ignore[attr-defined]
    if parameter.param_type_name == "argument":  # type: ignore[attr-defined]
        return f"`{names[0].upper()}`"
    return ", ".join(f"`{name}`" for name in sorted(names, key=len))


def _flat(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    print(reference(), end="")
