"""Everything this program raises on purpose.

    TinyGraphRagError          exit code 2 unless said otherwise
    ├── UsageError             an option or argument that can't be used
    ├── ConfigError            config.yaml or the environment
    ├── RegistrationError      a name that is registered twice, a plug-in that registers nothing
    ├── InputError             a file that could not be used; may hold several problems
    │   ├── GraphError         a knowledge graph
    │   ├── DatasetError       a gold set
    │   └── RunError           a run that some retriever made
    ├── MissingExtraError      an optional package is not installed
    ├── FoundProblems          exit code 1: a gate, a threshold or `validate` found something
    └── ServiceError           exit code 3: an outside service failed

Every message says where, what was wanted, what came and what to do. It is English, and `shown` of an error
says it in the reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Self

from tiny_graph_rag.messages import Said, said, shown

MOST_PROBLEMS = 10_000  # of one file; it is not what it is taken for
SHOWN_PROBLEMS = 20  # a file broken throughout shouldn't scroll its first error away


class TinyGraphRagError(Exception):
    """lines: what is wrong, English with `values` in its braces, or what `said` made before: whoever shows it
    can do so in the reader's language."""

    exit_code = 2

    def __init__(self, *lines: str, **values: object) -> None:
        super().__init__(*(line if isinstance(line, Said) else said(line, **values) for line in lines))

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))

    @property
    def shown(self) -> str:
        """The message in the language spoken."""
        return "\n".join(map(shown, self.args))


class UsageError(TinyGraphRagError):
    pass


class ConfigError(TinyGraphRagError):
    pass


class RegistrationError(TinyGraphRagError):
    pass


class InputError(TinyGraphRagError):
    """One or more problems of one file.

    problems: full sentences, each with its place; the message shows the first 20 and counts the rest.
    """

    @classmethod
    def at(cls, place: object, wrong: object, /, **values: object) -> Self:
        """One problem with its place, as the function `at` words it."""
        return cls(at(place, wrong, **values))

    def __init__(self, *problems: str, **values: object) -> None:
        super().__init__(*problems, **values)
        self.problems: tuple[Said, ...] = self.args
        more = len(problems) - SHOWN_PROBLEMS
        if more > 0:
            self.args = (*self.problems[:SHOWN_PROBLEMS], said("… and more problems: {n}", n=f"{more:,}"))


class GraphError(InputError):
    pass


class DatasetError(InputError):
    pass


class RunError(InputError):
    pass


class MissingExtraError(TinyGraphRagError):
    """An optional package is missing; `extra` names what to install."""

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(
            said(
                "{purpose} needs the package '{package}'. Install it with: uv sync --inexact --extra "
                '{extra}  (or: pip install "tiny-graph-rag[{extra}]")',
                purpose=purpose,
                package=package,
                extra=extra,
            )
        )
        self.extra = extra


def optional(module: str, purpose: str, extra: str, package: str = "") -> Any:
    """The module of a package that is no part of every installation. purpose: what needs it. package: its
    name, where that is not the module's. Raises MissingExtraError.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(purpose, package or module.partition(".")[0], extra) from error


def wrong_value(wrong: str, /, **values: object) -> ValueError:
    """A ValueError in words, for whoever reads values of others and says where they stand."""
    return ValueError(said(wrong, **values))


class FoundProblems(TinyGraphRagError):  # noqa: N818 - a verdict, not a failure of the program
    exit_code = 1


class ServiceError(TinyGraphRagError):
    exit_code = 3


class Problems(list[Said]):
    """What is wrong with one file, in its order. failure: what is raised with them."""

    def __init__(self, failure: type[InputError]) -> None:
        super().__init__()
        self.failure = failure

    def add(self, place: object, wrong: object, /, **values: object) -> None:
        """As `at` words it. Raises `failure` where there are so many that more would only fill memory."""
        self.append(at(place, wrong, **values))
        if len(self) >= MOST_PROBLEMS:
            self.check()

    def check(self) -> None:
        """Raises `failure` with them, if there are any."""
        if self:
            raise self.failure(*self)


def at(place: object, wrong: object, /, **values: object) -> Said:
    """`place: wrong`; what is wrong can still be shown in another language. wrong: a text with the values in
    its braces; a `Said` or an error stays as it is."""
    if type(wrong) is str:
        wrong = said(wrong, **values)
    return said("{place}: {wrong}", place=place, wrong=wrong)


def nearest(
    name: str, known: Sequence[str], limit: int = 3, *, spelled: Mapping[str, str] | None = None
) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing where no known name is near. spelled: how to say a name."""
    found = get_close_matches(name, known, n=limit, cutoff=0.6)
    if spelled is not None:
        found = [spelled[item] for item in found]
    if not found:
        return ""
    names = repr(found[0])
    for item in found[1:]:
        names = said("{names} or {more}", names=names, more=repr(item))
    return said("; did you mean {names}?", names=names)


def unknown(
    what: str,
    name: str,
    known: Sequence[str],
    *,
    near: str | None = None,
    spelled: Mapping[str, str] | None = None,
) -> UsageError:
    """`unknown measure 'mmr@5'; did you mean 'mrr@5'? Choices: …`, for whatever is chosen by name.

    near: the part of the name to compare with the choices. spelled: how to say a choice.
    """
    hint = nearest(near or name, known, spelled=spelled) or "."
    message = said(
        "unknown {what} {name}{hint} Choices: {choices}",
        what=what if isinstance(what, Said) else said(what),
        name=repr(name),
        hint=hint,
        choices=", ".join(known),
    )
    return UsageError(message)


def amount(number: int, one: str, many: str = "") -> Said:
    """`amount(1, "question")` → `1 question`, of 1,200 → `1,200 questions`. many: where an s won't do."""
    return Said(f"{{n}} {one if number == 1 else many or one + 's'}", {"n": f"{number:,}"})


def json_kind(value: object) -> Said:
    """What came, in JSON's words, for the message that says what was wanted instead; Python's own objects
    by the name of their type."""
    if value is None:
        return said("null")
    if isinstance(value, bool):
        return said("the boolean {value}", value=str(value).lower())
    if isinstance(value, str):
        return said("the string {value}", value=repr(value[:40]))
    if isinstance(value, int | float):
        # Python refuses to write an integer of more than 4,300 digits.
        is_short = isinstance(value, float) or abs(value) < 10**300
        return said("the number {value}", value=value if is_short else "1e300 or more")
    if isinstance(value, list | tuple):
        strings = all(isinstance(item, str) for item in value)
        return said("a list") if strings else said("a list with other things in it")
    if isinstance(value, dict):
        return said("an object")
    return said("a value of the type {type}", type=type(value).__name__)
