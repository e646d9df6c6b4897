"""What a reader is shown, in the reader's language: what the terminal says, and the pages; numbers as people
read them (the one place that rounds), and lists by their first names.

English stands in the code and is the key; `LANGUAGE.toml` next to this module holds each text in another
language, with the same names in braces. Files keep English: what a program reads does not change with a
locale. To add a language, write its file; a test tells which texts it lacks.

`t` says a text at once. An error is made far from who shows it, and may end in a file or in a log: it is a
`Said`, English that remembers how it was made, and `shown` says it in the reader's language.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache

ENGLISH = "en"
ENDING = ".toml"
UNDEFINED = "–"


def _languages() -> tuple[str, ...]:
    """English, and what a file next to this module speaks."""
    try:
        names = os.listdir(os.path.dirname(__file__))  # noqa: PTH120, PTH208 - at every start
    except OSError:  # in an archive
        from importlib import resources

        names = [file.name for file in resources.files(__package__).iterdir()]
    return ENGLISH, *sorted(name.removesuffix(ENDING) for name in names if name.endswith(ENDING))


LANGUAGES = _languages()

_language: ContextVar[str] = ContextVar("language", default=ENGLISH)


def speak(language: str) -> None:
    """Show everything from here on in one of LANGUAGES."""
    _language.set(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    before = _language.set(language)
    try:
        yield
    finally:
        _language.reset(before)


def spoken() -> str:
    return _language.get()


def t(text: str, /, **values: object) -> str:
    """`text` in the language spoken, with the values in its braces. What has no translation stays English."""
    said = catalogue(_language.get()).get(text, text)
    return said.format(**values) if values else said


class Said(str):
    """A text in English that another language can still show: `template` with `values` in its braces."""

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, values: Mapping[str, object]) -> Said:
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made

    def __getnewargs__(self) -> tuple[str, Mapping[str, object]]:  # type: ignore[override]
        """For pickle: errors come back from other processes."""
        return self.template, self.values


def said(template: str, /, **values: object) -> Said:
    """What went wrong, with the values in its braces, for whoever catches it to show."""
    return Said(template, values)


def verbatim(text: str) -> Said:
    """What others said, or a name: as it stands in every language; a `Said` stays one."""
    return text if isinstance(text, Said) else Said("{text}", {"text": text})


def shown(text: str) -> str:
    """`text` in the language spoken where it is a `Said`, its values that are too; else as it stands."""
    if not isinstance(text, Said):
        return text
    return t(text.template, **{name: _shown_value(value) for name, value in text.values.items()})


def _shown_value(value: object) -> object:
    if isinstance(value, BaseException):  # what went wrong because something else did
        value = getattr(value, "shown", value.args[0] if len(value.args) == 1 else str(value))
    return shown(value) if isinstance(value, Said) else value


def counted(number: int, one: str, many: str, /, **values: object) -> str:
    """`one` or `many`, as English wants it; both may hold {n}, the number with its thousands marked."""
    return t(one if number == 1 else many, n=f"{number:,}", **values)


def listed(names: Sequence[str], most: int) -> str:
    """`a, b, …`: the first `most` names, and an ellipsis where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def three(value: float | None) -> str:
    """Three digits with a true minus sign, – where undefined (None or NaN)."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")  # no negative zero


def signed(value: float | None) -> str:
    """A difference: three digits with + or a true minus sign before them, – where undefined."""
    return (
        UNDEFINED if value is None or math.isnan(value) else f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")
    )


def figure(value: float | None, digits: int = 3) -> str:
    """A time, rate or factor in so many significant digits (0.00412, 4.12), all of a whole number (4,120),
    – where undefined."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    places = max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def p_value(value: float | None) -> str:
    """`<.001` or three digits, – where undefined."""
    if value is None or math.isnan(value):
        return UNDEFINED
    return "<.001" if value < 0.001 else f"{value:.3f}"


@lru_cache
def catalogue(language: str) -> Mapping[str, str]:
    """English → another language; empty for English."""
    if language == ENGLISH:
        return {}
    import tomllib  # English needs neither
    from importlib import resources

    text = (resources.files(__package__) / f"{language}.toml").read_text(encoding="utf-8")
    sections = tomllib.loads(text)
    return {english: said for section in sections.values() for english, said in section.items()}


def of_locale(environment: Mapping[str, str]) -> str:
    """The language that LC_ALL, LC_MESSAGES or LANG names, the first that is set; English where unknown."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = environment.get(name)
        if value:
            language = value.partition(".")[0].partition("_")[0].lower()
            return language if language in LANGUAGES else ENGLISH
    return ENGLISH
