"""How a function becomes a command: its groups of options, and its errors in words.

`command` spreads the fields of each group into the signature for Typer and hands the values over as frozen
records; a parameter `common: Common` gets the options that stand before the command's name.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from tiny_graph_rag.cli.options import Common, Settings
from tiny_graph_rag.cli.usage import ParsedCommand
from tiny_graph_rag.errors import FoundProblems, TinyGraphRagError, UsageError, at
from tiny_graph_rag.messages import said, shown, t

CONTEXT = "context"  # of the parser, which has what stands before the command
INTERNAL_ERROR = 70  # EX_SOFTWARE: a mistake of ours, none of the documented codes
LONGEST_SHOWN = 200  # characters of a name in a message


def command(
    app: typer.Typer, name: str, panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose parameters may be option groups, and report its errors in words.

    panel: the group of commands that it is listed under.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        parameters = {
            CONTEXT: inspect.Parameter(CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        }
        groups: dict[str, type] = {}
        settings: dict[str, list[str]] = {}
        for parameter in inspect.signature(function).parameters.values():
            hint = hints[parameter.name]
            if hint is Common:
                continue
            if get_origin(hint) is Annotated and isinstance(hint.__metadata__[0], Settings):
                settings[parameter.name] = list(hint.__metadata__[0].options)
                parameters |= {
                    name: inspect.Parameter(name, parameter.KEYWORD_ONLY, default=None, annotation=option)
                    for name, option in hint.__metadata__[0].options.items()
                }
            elif is_dataclass(hint) and isinstance(hint, type):
                groups[parameter.name] = hint
                field_hints = get_type_hints(hint, include_extras=True)
                for field in fields(hint):
                    parameters[field.name] = inspect.Parameter(
                        field.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=inspect.Parameter.empty if field.default is MISSING else field.default,
                        annotation=_declared(
                            field.name, field_hints[field.name], getattr(hint, "PANEL", None)
                        ),
                    )
            else:
                parameters[parameter.name] = parameter.replace(
                    kind=inspect.Parameter.KEYWORD_ONLY, annotation=_declared(parameter.name, hint)
                )

        @functools.wraps(function)
        def run(**values: Any) -> None:
            common: Common = values.pop(CONTEXT).find_root().obj
            for name, group in groups.items():
                values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, flags in settings.items():
                values[name] = {flag: values.pop(flag) for flag in flags}
            junit = next((group.junit for group in values.values() if hasattr(group, "junit")), None)
            _reported(functools.partial(function, common=common, **values), common.debug, junit)

        declare(run, parameters.values())
        app.command(name, cls=ParsedCommand, rich_help_panel=panel)(run)
        return function

    return register


def declare(function: Any, parameters: Iterable[inspect.Parameter]) -> None:
    """Give a function that takes any keywords the signature that Typer reads its options from."""
    function.__dict__.pop("__wrapped__", None)
    function.__signature__ = inspect.Signature(list(parameters))
    function.__annotations__ = {part.name: part.annotation for part in parameters}


def _declared(name: str, hint: Any, panel: str | None = None) -> Any:
    """An option's annotation, its flag that of its parameter and its group in `--help` that of its record,
    unless it names one."""
    option = hint.__metadata__[0] if get_origin(hint) is Annotated else None
    if not isinstance(option, OptionInfo):
        return hint
    own = copy.copy(option)
    own.rich_help_panel = option.rich_help_panel or panel
    flags = option.param_decls or ()
    if not any(flag.startswith("--") for flag in flags):
        own.param_decls = (*flags, f"--{name.strip('_').replace('_', '-')}")
    return Annotated[get_args(hint)[0], own]


def _reported(work: Callable[[], None], debug: bool, junit: Path | None) -> None:
    """Run a command; an error is one or two lines on standard error and an exit code, and the only case of
    the JUnit file, where CI asks for one."""
    try:
        work()
        sys.stdout.flush()  # a full disk is an error of this run, not a complaint after its end
    except TinyGraphRagError as error:
        _say_failed(f"{t('error')}: {error.shown}", debug)
        if junit is not None and error.exit_code > FoundProblems.exit_code:
            _write_error(junit, error.shown)
        raise typer.Exit(error.exit_code) from None
    except (typer.Exit, typer.Abort):
        raise
    except OSError as error:
        raise typer.Exit(_refused(error, debug)) from None
    except Exception as error:
        _unexpected(error, debug)


def _write_error(junit: Path, error: str) -> None:
    """Into a new JUnit file or an earlier one: another file of that name may be what the command reads."""
    from tiny_graph_rag.study.gates import junit_xml

    with contextlib.suppress(OSError):
        if not junit.exists() or b"<testsuite" in junit.read_bytes()[:200]:
            junit.write_bytes(junit_xml((), "tiny-graph-rag", error))


def end_refused(error: OSError) -> NoReturn:
    """The same for what fails before a command runs."""
    sys.exit(_refused(error, False))


def _refused(error: OSError, debug: bool) -> int:
    """Say what the machine refused; the exit code. Where nobody reads standard output any more, the program
    ends as others do."""
    if error.filename is None:
        _drop_output()
    if isinstance(error, BrokenPipeError):
        return FoundProblems.exit_code
    told = _told(error)
    if told is None:
        _unexpected(error, debug)
    _say_failed(f"{t('error')}: {shown(told)}", debug)
    return UsageError.exit_code


def _drop_output() -> None:
    """Send what is left in standard output's buffer nowhere: Python would fail over it again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# What a disk or a device says that takes no more.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
_CLOSED = (errno.EACCES, errno.EPERM)
_NO_PLACE = (
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EINVAL,
    errno.EEXIST,
)


def _told(error: OSError) -> str | None:
    """What the machine refused, in words; None for what no file or disk explains."""
    place = error.filename or said("standard output")
    why = said(error.strerror or "")
    if error.errno in _FULL:
        return said(
            "{place}: can't be written ({why}); free some space, or write to another place",
            place=place,
            why=why,
        )
    if error.errno in _CLOSED and _is_kept_from_reading(place):
        return said("{place}: can't be read ({why})", place=place, why=why)
    if error.errno in _CLOSED:
        return said("{place}: can't be written ({why}); choose another place", place=place, why=why)
    if error.errno in _NO_PLACE and error.filename:
        name = str(place)
        return at(name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…", why)
    return None


def _is_kept_from_reading(place: str | bytes) -> bool:
    """Whether it is not for us to look at, else it is to write: an error does not say what was tried."""
    path = Path(os.fsdecode(place))
    reached = os.access(path.parent, os.X_OK)
    return not reached or (path.exists() and not os.access(path, os.R_OK))


def _say_failed(message: str, debug: bool) -> None:
    if debug:
        import traceback

        traceback.print_exc()
    from tiny_graph_rag.report.plain import without_controls

    with contextlib.suppress(OSError):
        sys.stdout.flush()  # both may end in one log
    typer.echo(without_controls(message), err=True)


def _unexpected(error: Exception, debug: bool) -> NoReturn:
    what = t("internal error: {kind}: {error}", kind=type(error).__name__, error=error)
    _say_failed(what if debug else f"{what} {t('(run again with --debug and report it)')}", debug)
    raise typer.Exit(INTERNAL_ERROR) from None
