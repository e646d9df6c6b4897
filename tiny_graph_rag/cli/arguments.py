"""A command line before its command sees it: former names of options, and options given twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import typer

from tiny_graph_rag.cli.usage import ParserError
from tiny_graph_rag.messages import said

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
