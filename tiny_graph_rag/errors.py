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

Every message says where, what was wanted, what came and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

MOST_PROBLEMS = 10_000  # of one file; it is not what it is taken for
SHOWN_PROBLEMS = 20  # a file broken throughout shouldn't scroll its first error away


class TinyGraphRagError(Exception):
    exit_code = 2


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

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        shown = list(problems[:SHOWN_PROBLEMS])
        if len(problems) > SHOWN_PROBLEMS:
            shown.append(f"… and {len(problems) - SHOWN_PROBLEMS:,} more problems")
        super().__init__("\n".join(shown))


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
            f"{purpose} needs the package '{package}'. Install it with: "
            f'uv sync --extra {extra}  (or: pip install "tiny-graph-rag[{extra}]")'
        )
        self.extra = extra


class FoundProblems(TinyGraphRagError):  # noqa: N818 - a verdict, not a failure of the program
    exit_code = 1


class ServiceError(TinyGraphRagError):
    exit_code = 3


def check_few(problems: Sequence[str], failure: type[InputError]) -> None:
    """Raises `failure` with them where they are so many that reading on would only fill memory."""
    if len(problems) >= MOST_PROBLEMS:
        raise failure(*problems)


def nearest(
    name: str, known: Sequence[str], limit: int = 3, *, spelled: Mapping[str, str] | None = None
) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing where no known name is near. spelled: how to say a name."""
    found = get_close_matches(name, known, n=limit, cutoff=0.6)
    if spelled is not None:
        found = [spelled[each] for each in found]
    return f"; did you mean {' or '.join(repr(each) for each in found)}?" if found else ""


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
    return UsageError(f"unknown {what} {name!r}{hint} Choices: {', '.join(known)}")


def amount(number: int, one: str, many: str = "") -> str:
    """`amount(1, "question")` → `1 question`, of 1,200 → `1,200 questions`. many: where an s won't do."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def json_kind(value: object) -> str:
    """What came, in JSON's words, for the message that says what was wanted instead."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, list):
        return "a list" if all(isinstance(item, str) for item in value) else "a list with other things in it"
    return "an object"
