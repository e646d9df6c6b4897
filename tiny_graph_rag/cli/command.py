"""The program, how a function becomes one of its commands, and what goes wrong in words."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from tiny_graph_rag.cli.help import command_lines, write_help
from tiny_graph_rag.cli.options import Common, Given
from tiny_graph_rag.cli.session import STDOUT, Session
from tiny_graph_rag.config.sources import language
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError, UsageError, at, nearest
from tiny_graph_rag.messages import LANGUAGES, Said, said, shown, speak, t
from tiny_graph_rag.report.plain import one_line, without_controls

CONTEXT = "context"  # of the parser, which has what stands before the command
MADE = (Session, Common, Given)  # what a command gets without an option
INTERNAL_ERROR = 70  # EX_SOFTWARE: a mistake of ours, none of the documented codes
# Commands that the module of another one registers; each other one has a module of its name in this folder.
TOGETHER = {
    **dict.fromkeys(("init", "measures"), "settings"),
    **dict.fromkeys(("stats", "visualize", "convert"), "graphs"),
    **dict.fromkeys(("compare", "report", "history"), "results"),
    **dict.fromkeys(("recommend", "curate"), "drafts"),
    **dict.fromkeys(("dataset", "generate"), "gold"),
    "retrieve": "query",
}
# Typer keeps its parser to itself; what it raises is known by this one, which it gives away.
ParserError: type[Any] = typer.BadParameter.__mro__[1]


class ParsedCommand(TyperCommand):
    """A command with its help in groups."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter)


class Commands(TyperGroup):
    """The program's commands; they report what is wrong with a command line in the language it asks for.

    A command of the program is loaded when it is called; its name and how its help begins are known before.
    """

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

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands if ctx.parent else command_lines())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if ctx.parent or cmd_name in self.commands or cmd_name not in command_lines():
            return self.commands.get(cmd_name)
        return ParsedCommand(cmd_name, help=command_lines()[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known:
            hint = nearest(args[0], known) or said("; there are: {names}", names=", ".join(known))
            raise typer.BadParameter(
                said("no such command: {command}{hint}", command=args[0], hint=hint), ctx
            )
        if args[0] not in self.commands:
            load(args[0])
            self.commands.update(typer.main.get_group(app).commands)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        write_help(self, ctx, formatter)


app = typer.Typer(
    name="tiny-graph-rag",
    cls=Commands,
    help="Does my graph retrieve the right entities, why not, what would fix it, and what does it cost?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def load(*names: str) -> None:
    """Register these commands, all of them where none is named."""
    for name in names or command_lines():
        import_module(f"tiny_graph_rag.cli.{TOGETHER.get(name, name)}")


def command(
    name: str, *flags: Mapping[str, Any], of: typer.Typer = app
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command, and report its errors in words.

    flags: options for what is not the function's but its session's, by name. of: the program, or a group of
    commands. Of the function's parameters a dataclass becomes an option for each of its fields;
    `session: Session` gets a session with what the flags say. Who has more to say to a session takes
    `common: Common` and `given: Given` and opens it itself.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        defaults = {part.name: part.default for part in inspect.signature(function).parameters.values()}
        asked = {part: hint for part, hint in hints.items() if part in defaults and hint not in MADE}
        groups: dict[str, Any] = {part: hint for part, hint in asked.items() if is_dataclass(hint)}
        options = {flag: hint for group in flags for flag, hint in group.items()}
        parameters = [parameter(flag, hint, None) for flag, hint in options.items()]
        for part, hint in asked.items():
            parameters += spread(hint) if part in groups else [parameter(part, hint, defaults[part])]

        @functools.wraps(function)
        def run(**values: Any) -> None:
            common: Common = values.pop(CONTEXT).find_root().obj
            given = {flag: values.pop(flag) for flag in options}
            junit, output = values.get("junit"), values.get("output")
            for part, group in groups.items():
                values[part] = group(**{field.name: values.pop(field.name) for field in fields(group)})

            def work() -> None:
                made = {"common": common, "given": given}
                if "session" in hints:
                    made["session"] = session = Session.open(common, given, output)
                    if junit is not None:
                        session.outputs.claim(junit)
                function(**values, **{part: value for part, value in made.items() if part in hints})

            _reported(work, junit)

        declare(run, [parameter(CONTEXT, typer.Context), *parameters])
        of.command(name, cls=ParsedCommand)(run)
        return function

    return register


def declare(function: Any, parameters: Iterable[inspect.Parameter]) -> None:
    """Give a function that takes any keywords the signature that Typer reads its options from."""
    function.__dict__.pop("__wrapped__", None)
    function.__signature__ = inspect.Signature(list(parameters))
    function.__annotations__ = {part.name: part.annotation for part in parameters}


def spread(group: Any) -> list[inspect.Parameter]:
    """An option for each field of a dataclass."""
    hints = get_type_hints(group, include_extras=True)
    return [parameter(field.name, hints[field.name], field.default) for field in fields(group)]


def parameter(name: str, hint: Any, default: Any = MISSING) -> inspect.Parameter:
    """An option as Typer reads it; its flag is that of its name, unless it says one."""
    option = hint.__metadata__[0] if get_origin(hint) is Annotated else None
    if isinstance(option, OptionInfo):
        flags = option.param_decls or ()
        if not any(flag.startswith("--") for flag in flags):
            option = copy.copy(option)
            option.param_decls = (*flags, f"--{name.strip('_').replace('_', '-')}")
            hint = Annotated[get_args(hint)[0], option]
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


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
    """What is wrong with a command line."""
    if isinstance(error.message, Said):  # said by this program, not by the parser
        return error.message
    kind, parameter = type(error).__name__, getattr(error, "param", None)
    name = "" if parameter is None else (parameter.opts or [parameter.name])[-1]
    if kind == "NoSuchOption":
        near = nearest(error.option_name, list(error.possibilities or ()))
        return said("no such option: {option}{near}", option=error.option_name, near=near)
    if kind == "BadOptionUsage":
        if "requires" in error.message:
            return said("{option} needs a value", option=error.option_name)
        return said("{option} takes no value", option=error.option_name)
    if kind == "MissingParameter":
        return said("{name} is missing", name=name)
    if parameter is not None:
        return said("{name}: wanted {wanted}", name=name, wanted=_wanted(parameter.type))
    return said("unexpected argument: {rest}", rest=error.message.rpartition(" (")[2].rstrip(")"))


def _wanted(kind: Any) -> str:
    """What an option or argument can be. kind: the parser's type."""
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is not None and high is not None:
        return said("from {low} to {high}", low=low, high=high)
    if low is not None:
        return said("{low} or more", low=low)
    if "int" in kind.name:
        return said("a whole number")
    return said("a number") if "float" in kind.name else said("a file that can be read")


def _reported(work: Callable[[], None], junit: Path | None) -> None:
    """Run a command; an error is one or two lines on standard error and an exit code, and the only case of
    the JUnit file, where CI asks for one."""
    try:
        work()
        sys.stdout.flush()  # a full disk is an error of this run, not a complaint after its end
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        told, code = _told(error)
        if junit is not None and isinstance(error, TinyGraphRagError) and code > FoundProblems.exit_code:
            _write_error(junit, told)
        with contextlib.suppress(OSError):
            sys.stdout.flush()  # both may end in one log
        if told:
            begin = "" if code == INTERNAL_ERROR else f"{t('error')}: "
            typer.echo(without_controls(begin + told), err=True)
        raise typer.Exit(code) from None


def _told(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code. Where nobody reads standard output any more, the program
    ends as others do; of its own mistakes it shows where they are."""
    if isinstance(error, TinyGraphRagError):
        return error.shown, error.exit_code
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:  # Python would fail over what is left for standard output again at its end
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return "", FoundProblems.exit_code
        why = said(error.strerror)
        place = "" if error.filename is None else one_line(os.fsdecode(error.filename))
        return shown(at(place, why) if place else why), UsageError.exit_code
    import traceback

    kind = type(error).__name__
    what = t("internal error: {kind}: {error}; please report it", kind=kind, error=error)
    return f"{traceback.format_exc()}{what}", INTERNAL_ERROR


def _write_error(junit: Path, error: str) -> None:
    """Into a new JUnit file or an earlier one: another file of that name may be what the command reads."""
    from tiny_graph_rag.study.gates import junit_xml

    with contextlib.suppress(OSError):
        if str(junit) != STDOUT and (not junit.exists() or b"<testsuite" in junit.read_bytes()[:200]):
            junit.write_bytes(junit_xml((), error))
