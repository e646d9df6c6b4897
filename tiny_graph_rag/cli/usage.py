"""What is wrong with a command line, in one line and in the reader's language."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tiny_graph_rag.cli.help import write_command_help, write_program_help
from tiny_graph_rag.config import language
from tiny_graph_rag.errors import nearest
from tiny_graph_rag.messages import LANGUAGES, Said, said, shown, speak, t

# Typer keeps its parser to itself; what it raises is known by this one, which it gives away.
ParserError: type[Any] = typer.BadParameter.__mro__[1]
_NO_NUMBER = re.compile(r"(?s)(.*) is not a valid (\w+)(?: range)?\.$")
_OUT_OF_RANGE = re.compile(r"(?s)(.*) is not in the range (.*)\.$")
_UNREADABLE = re.compile(r"(?s)Path '(.*)' is not readable\.$")
_NO_COMMAND = re.compile(r"(?s)No such command '(.*?)'\.")
_LEFT_OVER = re.compile(r"(?s)Got unexpected extra argument\S* \((.*)\)$")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


class ParsedCommand(TyperCommand):
    """A command with its help in groups."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_command_help(self, ctx, formatter)


class Commands(TyperGroup):
    """The program's commands; they report what is wrong with a command line in the language it asks for."""

    def main(self, *arguments: Any, **more: Any) -> Any:
        speak(asked_language(more.get("args") or (arguments[0] if arguments else None) or sys.argv[1:]))
        if not more.get("standalone_mode", True):
            return super().main(*arguments, **more)
        try:
            ended = super().main(*arguments, **{**more, "standalone_mode": False})
        except ParserError as error:
            say_misuse(error)
            sys.exit(error.exit_code)
        sys.exit(ended if isinstance(ended, int) else 0)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if ctx.parent else common_first(self, ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_program_help(self, ctx, formatter)


def common_first(program: Any, context: Any, arguments: Sequence[str]) -> list[str]:
    """The arguments with the program's own options before the command, where they may stand behind it too.

    What stands behind `--` stays. Raises BadParameter for one that lacks its value.
    """
    own = {name: option for option in program.params for name in option.opts if name.startswith("--")}
    ahead: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif name not in own:
            rest.append(word)
        elif equals or own[name].is_flag:
            ahead.append(word)
        else:
            value = next(words, None)
            if value is None:
                raise typer.BadParameter(said("{option} needs a value", option=name), ctx=context)
            ahead += [word, value]
    return [*ahead, *rest]


def say_misuse(error: Any) -> None:
    """On standard error; a command without arguments shows its help instead."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    context = error.ctx
    help_ = "" if context is None else t(" (`{command} -h` shows how)", command=context.command_path)
    typer.echo(f"{t('error')}: {shown(_wrong(error))}{help_}", err=True)


def asked_language(arguments: Sequence[str]) -> str:
    """Of `--lang`, before anybody has parsed it, else the locale's."""
    words = " ".join(arguments).replace("--lang=", "--lang ").split()
    given = words[words.index("--lang") + 1] if "--lang" in words[:-1] else ""
    return given if given in LANGUAGES else language()


def _wrong(error: Any) -> str:
    if isinstance(error.message, Said):  # said by this program, not by the parser
        return error.message
    kind, message = type(error).__name__, error.format_message()
    parameter = getattr(error, "param", None)
    name = "" if parameter is None else (parameter.opts or [parameter.name])[-1]
    if kind == "NoSuchOption":
        near = nearest(error.option_name, list(error.possibilities or ()))
        return said("no such option: {option}{near}", option=error.option_name, near=near)
    if kind == "BadOptionUsage":
        wants = "requires" in message
        option = error.option_name
        return (
            said("{option} needs a value", option=option)
            if wants
            else said("{option} takes no value", option=option)
        )
    if kind == "MissingParameter":
        is_option = name.startswith("-")
        return (
            said("the option {name} is missing", name=name)
            if is_option
            else said("the argument {name} is missing", name=name)
        )
    if found := _NO_NUMBER.match(error.message):
        wanted: str = said(_KINDS[found[2]]) if found[2] in _KINDS else found[2]
        return said("{name}: wanted {wanted}, got {got}", name=name, wanted=wanted, got=found[1])
    if found := _OUT_OF_RANGE.match(error.message):
        return said("{name}: wanted {wanted}, got {got}", name=name, wanted=_bounds(found[2]), got=found[1])
    if found := _UNREADABLE.match(error.message):
        return said("{place}: can't be read ({why})", place=found[1], why="Permission denied")
    if found := _NO_COMMAND.match(error.message):
        known = list(getattr(error.ctx.command, "commands", {})) if error.ctx else []
        hint = nearest(found[1], known) or said("; there are: {names}", names=", ".join(known))
        return said("no such command: {command}{hint}", command=found[1], hint=hint)
    if found := _LEFT_OVER.match(error.message):
        return said("unexpected argument: {rest}", rest=found[1])
    return message if not name else Said("{name}: {wrong}", {"name": name, "wrong": error.message})


def _bounds(text: str) -> str:
    """`x>=1` and `0<=x<=1` in words."""
    if found := re.fullmatch(r"x>=(\S+)", text):
        return said("{low} or more", low=found[1])
    if found := re.fullmatch(r"(\S+)<=x<=(\S+)", text):
        return said("from {low} to {high}", low=found[1], high=found[2])
    return text
