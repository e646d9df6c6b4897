"""How `--help` reads: plain lines in groups, what most people need first, what few need after it.

An option says its group by Typer's own `rich_help_panel`, or its record of options does for all (`PANEL`).
Groups whose name ends in DETAIL are the rare ones: they stand below all others. What an option chooses by
name stands a line each, as its registry has it (none of it is imported for that): below a rare option, and in
a group of its own further down for a common one.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

from typer.core import TyperCommand, TyperGroup

from tiny_graph_rag.cli.usage import ParserError, say_misuse
from tiny_graph_rag.errors import RegistrationError
from tiny_graph_rag.registry import Registry

INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES, OPTIONS = (
    "Input",
    "Retrieval",
    "Measures",
    "Output",
    "Answers by a model",
    "Gates for CI",
    "Options",
)
DETAIL = ", in detail"
BEGIN, MEASURE, LOOK, GOLD = "Begin", "Measure and compare", "Look closer", "Gold sets"
OPTION_GROUPS = (INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES, OPTIONS)
COMMAND_GROUPS = (BEGIN, MEASURE, LOOK, GOLD)
NAMED = 40  # characters of choices that stand beside their option
NAMES_WIDTH = 28  # columns for names of options; longer ones stand on a line of their own

Rows = list[tuple[str, str]]
# Where the registry of what an option chooses stands.
CHOOSING = {
    "--retriever": "tiny_graph_rag.retrieval.base:RETRIEVERS",
    "--linker": "tiny_graph_rag.linking.base:LINKERS",
    "--report": "tiny_graph_rag.report.reports:REPORTS",
    "--judge": "tiny_graph_rag.answers.rubrics:JUDGES",
    "--gold-format": "tiny_graph_rag.formats.gold.base:GOLD_FORMATS",
    "--run-format": "tiny_graph_rag.formats.runs.base:RUN_FORMATS",
}
A_FILE = ("history", "--report")  # of this command it names a file
_DEFAULT = re.compile(r"\[default: \(?(.*?)\)?(?=\]|; )")


class Command(TyperCommand):
    """A command whose help is in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: Rows = []
        groups: dict[str, Rows] = {}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is None:
                continue
            row = row[0], _DEFAULT.sub(r"[\1", row[1])
            if parameter.param_type_name == "argument":
                arguments.append(row)
            else:
                group = getattr(parameter, "rich_help_panel", None) or OPTIONS
                choices = [] if (ctx.info_name, parameter.opts[0]) == A_FILE else _choices(parameter.opts[0])
                if choices and not group.endswith(DETAIL):
                    row = row[0], f"{row[1]} {_named(choices)}"
                    groups[f"{parameter.opts[0]}{DETAIL}"] = choices
                    choices = []
                groups.setdefault(group, []).extend([row, *choices])
        if arguments:
            groups = {"Arguments": arguments, **groups}
        common = [text for text in groups if not text.endswith(DETAIL)]
        for group in _ordered(common, ("Arguments", *OPTION_GROUPS)):
            _write(formatter, group, groups[group])
        for group in _ordered([text for text in groups if text.endswith(DETAIL)], OPTION_GROUPS):
            _write(formatter, group, groups[group])


class Commands(TyperGroup):
    """The program's own help, its commands by what they are for; and what is wrong with a command line."""

    def main(self, *arguments: Any, **more: Any) -> Any:
        if not more.get("standalone_mode", True):
            return super().main(*arguments, **more)
        try:
            ended = super().main(*arguments, **{**more, "standalone_mode": False})
        except ParserError as error:
            say_misuse(error)
            sys.exit(error.exit_code)
        sys.exit(ended if isinstance(ended, int) else 0)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, Rows] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is None or command.hidden:
                continue
            group = getattr(command, "rich_help_panel", None) or LOOK
            groups.setdefault(group, []).append((name, command.get_short_help_str(200)))
        for group in _ordered(list(groups), COMMAND_GROUPS):
            _write(formatter, group, groups[group])


def registry_of(option: str) -> Registry[Any]:
    module, _, name = CHOOSING[option].partition(":")
    found: Registry[Any] = getattr(import_module(module), name)
    return found


def _choices(option: str) -> Rows:
    """What an option can choose, other packages' things too."""
    if option not in CHOOSING:
        return []
    registry = registry_of(option)
    try:
        choices = registry.choices()
    except RegistrationError as error:
        return [("  !", str(error))]
    return [(f"  {name}", choice.line) for name, choice in choices.items()]


def _named(choices: Rows) -> str:
    """The choices of an option that is often used, where they are few; what each is stands further down."""
    names = ", ".join(name.strip() for name, _ in choices)
    return f"({names})" if len(names) <= NAMED else "(listed below)"


def _ordered(groups: list[str], order: tuple[str, ...]) -> list[str]:
    """Known groups in their order, then the others as they came."""
    known = {name: place for place, name in enumerate(order)}
    return sorted(groups, key=lambda item: known.get(item.removesuffix(DETAIL), len(order)))


def _write(formatter: Any, group: str, rows: Rows) -> None:
    with formatter.section(group):
        formatter.write_dl(rows, col_max=NAMES_WIDTH)
