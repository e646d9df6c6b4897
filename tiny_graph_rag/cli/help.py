"""How `--help` reads: plain lines in groups, what most people need first, what few need after it.

An option says its group by Typer's own `rich_help_panel`; without one it belongs to the group that its
record of options names (`PANEL`), else to OPTIONS. Groups that end in DETAIL are the rare ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES = (
    "Input",
    "Retrieval",
    "Measures",
    "Output",
    "Answers by a model",
    "Gates for CI",
)
OPTIONS = "Options"
DETAIL = ", in detail"
COMMON_GROUPS = (INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES, OPTIONS)
NAMES_WIDTH = 27  # columns for an option's names at most; the longer ones stand on a line of their own


def _place(group: str) -> tuple[bool, int]:
    """Where a group stands: common ones first, in the order of COMMON_GROUPS; then the rare, likewise."""
    base = group.removesuffix(DETAIL)
    known = COMMON_GROUPS.index(base) if base in COMMON_GROUPS else len(COMMON_GROUPS)
    return group.endswith(DETAIL), known


def write_groups(formatter: Any, groups: dict[str, list[tuple[str, str]]]) -> None:
    """One paragraph a group; the rare ones below a line that says so."""
    said = False
    for group in sorted(groups, key=_place):
        if group.endswith(DETAIL) and not said:
            said = True
            formatter.write_paragraph()
            formatter.write_text("Less often needed:")
        with formatter.section(group):
            formatter.write_dl(groups[group], col_max=NAMES_WIDTH)


class Command(TyperCommand):
    """A command whose help is in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        arguments: list[tuple[str, str]] = []
        groups: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is None:
                continue
            if each.param_type_name == "argument":
                arguments.append(record)
                continue
            group = getattr(each, "rich_help_panel", None) or OPTIONS
            groups.setdefault(group, []).append(record)
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments, col_max=NAMES_WIDTH)
        write_groups(formatter, groups)


class Commands(TyperGroup):
    """The program's own help: its commands by what they are for."""

    ORDER: Sequence[str] = ("Begin", "Measure", "Look closer", "Gold sets", "Elsewhere")

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is None or command.hidden:
                continue
            group = getattr(command, "rich_help_panel", None) or self.ORDER[-1]
            groups.setdefault(group, []).append((name, command.get_short_help_str(formatter.width)))
        for group in sorted(groups, key=lambda each: self.ORDER.index(each) if each in self.ORDER else 99):
            with formatter.section(group):
                formatter.write_dl(groups[group])
