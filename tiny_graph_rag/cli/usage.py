"""A command line before its command sees it: its language, former names of options, options given twice; and
what is wrong with it, in one line and in the reader's language.

Standard output and error are kept for a whole run, also where whoever reads them goes away before it is done.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from typer.core import TyperCommand, TyperGroup

from tiny_graph_rag.cli.help import write_command_help, write_program_help
from tiny_graph_rag.config import language
from tiny_graph_rag.errors import nearest
from tiny_graph_rag.messages import LANGUAGES, Said, said, shown, speak, t

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Typer keeps its parser to itself; what it raises is known by this one, which it gives away.
ParserError: type[Any] = typer.BadParameter.__mro__[1]
_NO_NUMBER = re.compile(r"(?s)(.*) is not a valid (\w+)(?: range)?\.$")
_OUT_OF_RANGE = re.compile(r"(?s)(.*) is not in the range (.*)\.$")
_UNREADABLE = re.compile(r"(?s)Path '(.*)' is not readable\.$")
_NO_COMMAND = re.compile(r"(?s)No such command '(.*?)'\.")
_LEFT_OVER = re.compile(r"(?s)Got unexpected extra argument\S* \((.*)\)$")
# Commands of upstream tiny-graph-RAG that this program does not have, and what does their work.
UPSTREAM = {
    "process": "make the graph with upstream's `process` or another program, and read it with -g",
    "interactive": 'use `query "Who …?" -g GRAPH` for one question, or `mcp` for an AI assistant',
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}


class ParsedCommand(TyperCommand):
    """A command whose options are given once, and may be given by their former names; its help in groups."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = current(ctx.info_name, args)
        refuse_repeats(self, ctx, args)
        return super().parse_args(ctx, args)

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

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_program_help(self, ctx, formatter)


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
        if found[1] in UPSTREAM:
            return said(
                "{command} is a command of upstream tiny-graph-RAG; here: {instead}",
                command=found[1],
                instead=said(UPSTREAM[found[1]]),
            )
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


# Options that were renamed keep working: (command, former name) → name.
FORMER = {
    ("validate", "--stamp"): "--pin",
    ("convert", "--to"): "--format",
    ("eval", "--save-run-format"): "--format",
}


def current(command: str | None, arguments: Sequence[str]) -> list[str]:
    """The arguments with former names of options replaced, up to a `--`."""
    ends = arguments.index("--") if "--" in arguments else len(arguments)
    renamed = []
    for word in arguments[:ends]:
        name, equals, value = word.partition("=")
        renamed.append(f"{FORMER.get((command or '', name), name)}{equals}{value}")
    return [*renamed, *arguments[ends:]]


def refuse_repeats(command: Any, context: Any, arguments: Sequence[str]) -> None:
    """Raise BadParameter where an option that takes one value is given more than once.

    The last one would win silently, so that half of what was asked for would be missing. Options that may be
    repeated and switches are left alone. Other errors of the command line are left to the parser.
    """
    try:
        _, _, order = command.make_parser(context).parse_args(args=list(arguments))
    except ParserError:
        return
    given = Counter(parameter.name for parameter in order)
    for parameter in order:
        single = parameter.param_type_name == "option" and not parameter.is_flag and not parameter.multiple
        if given[parameter.name] > 1 and single and not parameter.count:
            option = max(parameter.opts, key=len)
            values = ", ".join(repr(value) for value in _values(parameter.opts, arguments))
            raise typer.BadParameter(
                said(
                    "{option} takes one value, got {values}{hint}",
                    option=option,
                    values=values,
                    hint=_hint(parameter),
                ),
                ctx=context,
            )


def _hint(parameter: Any) -> str:
    """How several values are given where the option takes a list."""
    is_list = "(a,b" in (parameter.help or "") or "," in str(parameter.metavar or "")
    return said("; separate several with commas") if is_list else ""


def _values(names: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """Every value that is given to an option, in the order of the command line."""
    values = []
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if word in names and place + 1 < len(arguments):
            values.append(arguments[place + 1])
        elif name in names and equals:
            values.append(value)
        elif not word.startswith("--") and word[:2] in names and len(word) > 2:
            values.append(word[2:])
    return values


class _Channel(io.FileIO):
    """A pipe or file that takes what nobody reads any more, and tells once what it could not write.

    `eval … | head` must still write its results, hold its gates and end with their exit code: a reader that
    has seen enough is no reason to stop. A full disk is: the first write that fails raises OSError; what is
    left in the buffers then goes nowhere, so that the interpreter doesn't fail over it again at its end.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            self._go_quiet()
            return len(memoryview(data).cast("B"))
        except BlockingIOError:
            raise
        except OSError:
            self._go_quiet()
            raise

    def _go_quiet(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


class _ErrorChannel(_Channel):
    """Standard error; what was written to standard output before goes out first: both may end in one log."""

    def write(self, data: ReadableBuffer, /) -> int:
        sys.stdout.flush()
        return super().write(data)


def outlive_readers() -> None:
    """Let the program go on where `sys.stdout` or `sys.stderr` is a pipe that closes. Terminals stay as they
    are. What the stream's encoding lacks is written in plain signs, else as an escape: no name ends a run."""
    sys.stdout = _outliving(sys.stdout) if sys.stdout is not None else _nowhere()
    sys.stderr = _outliving(sys.stderr, line_by_line=True) if sys.stderr is not None else _nowhere()


def _nowhere() -> TextIO:
    """For a stream that was closed from the start (`>&-`): takes everything and keeps nothing."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _outliving(stream: TextIO, *, line_by_line: bool = False) -> TextIO:
    try:
        if stream.isatty():
            if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
                stream.reconfigure(errors="tiny-graph-rag-plain")
            return stream
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):  # closed from the start, or none at all
        return stream
    stream.flush()
    kind = _ErrorChannel if line_by_line else _Channel
    channel = io.BufferedWriter(kind(number, "wb", closefd=False))
    errors = (
        "tiny-graph-rag-plain"
        if stream.errors in (None, "strict", "backslashreplace", "surrogateescape")
        else stream.errors
    )
    return io.TextIOWrapper(channel, stream.encoding, errors, line_buffering=line_by_line)


# What narrow encodings lack, in signs that they all have; one for one where a table could stand on it.
_PLAIN = {
    "─": "-", "█": "#", "░": ".", "–": "-", "—": "-", "−": "-", "·": "|", "…": "...", "→": "->", "←": "<-",
    "≈": "~", "✓": "*", "◀": "<", "×": "x", "κ": "kappa", "’": "'", "“": '"', "”": '"', "△": "+", "▽": "-",
    **dict(zip("▁▂▃▄▅▆▇", "1234567", strict=True)),
}  # fmt: skip


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """For a sign that the encoding lacks: a plain one where it has a like, else an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    shown = [_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lacking]
    return "".join(shown), error.end


codecs.register_error("tiny-graph-rag-plain", _plainly)


def is_unicode(stream: TextIO) -> bool:
    return codecs.lookup(stream.encoding or "ascii").name.startswith("utf")
