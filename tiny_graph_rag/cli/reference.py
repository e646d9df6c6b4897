"""docs/commands.md, made from the commands: `python -m tiny_graph_rag.cli.reference > docs/commands.md`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from tiny_graph_rag.cli import app, load
from tiny_graph_rag.cli.help import CHOOSING, default_of, paragraphs, registry_of, sentence
from tiny_graph_rag.cli.settings import spelled
from tiny_graph_rag.config import all_settings, find_setting


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
    flags: dict[str, str] = {}
    for name, command in _commands(root):
        lines += ["", f"## {name}", "", *paragraphs(command.help or ""), ""]
        lines += ["| option | meaning | default |", "|---|---|---|"]
        for parameter in command.params:
            flags.setdefault(parameter.name, _spelled(parameter))
            if parameter.name != "help" and not _is_listed_as_setting(parameter):
                default = "required" if parameter.required else default_of(parameter)
                lines.append(
                    f"| {_spelled(parameter)} | {_cell(sentence(parameter.help or ''))} | {_cell(default)} |"
                )
    lines += [
        "",
        "## Every setting",
        "",
        "config.yaml sets them for good; `--set section.name=value`, as often as needed, for one run of any",
        "command. Some also have a flag, on the commands that need them most. The command",
        "`settings` shows the values in force.",
        "",
        "| setting | meaning | default | flag |",
        "|---|---|---|---|",
    ]
    for setting in all_settings():
        flag = flags.get(setting.name, "") if find_setting(setting.name) == setting else ""
        lines.append(
            f"| `{setting.full_name}` | {_cell(sentence(setting.comment))} | "
            f"{_cell(spelled(setting.default))} | {flag} |"
        )
    for option in CHOOSING:
        registry = registry_of(option)
        lines += ["", f"## What {option} chooses from", "", f"| {registry.kind} | what it is |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(choice.line)} |" for name, choice in registry.built_in.items()]
    return "\n".join(lines) + "\n"


def commands() -> Iterator[tuple[str, list[Any]]]:
    """Every command with its arguments and options."""
    load()
    for name, command in _commands(typer.main.get_command(app)):
        yield name, command.params


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


def _is_listed_as_setting(parameter: Any) -> bool:
    """Whether it is a rare option that stands for a setting: the table of settings has it."""
    return getattr(parameter, "hidden", False) and parameter.name in {item.name for item in all_settings()}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
