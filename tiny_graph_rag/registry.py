"""One way to register whatever is chosen by name: measures, retrievers, linkers, formats, reports, judges.

A thing registers itself next to its code, by its room's decorator with its name first:

    @retriever("bfs", "walks from the seeds, ranked by the cheapest explanation")
    class BfsRetriever(Retriever): ...

Nothing else names it. A registry reads the source of its room's modules for such lines, which is quick and
imports nothing; the module is imported when the name is used. Another package registers by an entry point in
the group that the registry names, name to `module:object`, the object decorated in the same way.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from pkgutil import iter_modules
from typing import Any, Generic, TypeVar

from tiny_graph_rag.errors import RegistrationError, TinyGraphRagError, UsageError, unknown

T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Choice:
    """What is known of a thing before its code is imported.

    line: what it is, in one line; "" where only its docstring says it. module: where its code is. place:
    `file:line`, or the entry point and its package. settings: the other arguments of its decorator, as far as
    they are literals.
    """

    name: str
    line: str
    module: str
    place: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class Registry(Generic[T]):
    """Name → thing of one kind, loaded when asked for; iterates over names, built-in ones first.

    kind: for messages ("graph format"). room: the package whose modules hold the built-in ones. first: the
    modules of the room whose things are listed first; the others follow by name. The decorator has the kind's
    name, the entry points' group too: `@graph_format(…)` and `tiny_graph_rag.graph_formats`.
    """

    def __init__(self, kind: str, room: str, *, first: tuple[str, ...] = ()) -> None:
        self.kind, self.room, self.first = kind, room, first
        self.decorator = kind.replace(" ", "_")
        self.group = f"tiny_graph_rag.{self.decorator}s"
        self._things: dict[str, tuple[T, str]] = {}  # with the place of its code
        self._built_in: dict[str, Choice] | None = None
        self._plugged_in: dict[str, Choice] | None = None

    def add(self, name: str, thing: T, code: Any) -> None:
        """What the room's decorator does with `code`, the function or class it decorates.

        Raises RegistrationError where the name is taken.
        """
        place = f"{code.__module__}:{code.__qualname__}"
        taken = self._things[name][1] if name in self._things else place
        if not code.__module__.startswith(f"{self.room}.") and name in self.built_in:
            taken = self.built_in[name].place
        if taken != place:
            raise self._twice(name, taken, place)
        self._things[name] = (thing, place)

    def register(self, name: str, made: Callable[[C], T]) -> Callable[[C], C]:
        """A decorator that adds what `made` makes of the function or class below it."""

        def decorate(code: C) -> C:
            self.add(name, made(code), code)
            return code

        return decorate

    def __getitem__(self, name: str) -> T:
        """The thing. Raises UsageError for an unknown name, with the nearest and all choices."""
        if name not in self._things:
            choice = self.choice(name)
            try:
                importlib.import_module(choice.module)
            except Exception as error:
                if choice.module.startswith(f"{self.room}.") or isinstance(error, TinyGraphRagError):
                    raise
                why = f"{type(error).__name__}: {error}"
                raise RegistrationError(
                    "{place}: can't be imported: {why}", place=choice.place, why=why
                ) from error
            if name not in self._things:
                raise RegistrationError(
                    "{place}: {module} registers no {kind} {name}; decorate it: "
                    '@{decorator}("{name_2}", "what it does in one line")',
                    place=choice.place,
                    module=choice.module,
                    kind=self.kind,
                    name=repr(name),
                    decorator=self.decorator,
                    name_2=name,
                )
        return self._things[name][0]

    def __contains__(self, name: object) -> bool:
        return name in self._things or name in self.built_in or name in self.choices()

    def __iter__(self) -> Iterator[str]:
        """Others' only after the built-in ones: who stops before needs no look at other packages."""
        yield from self.built_in
        yield from (name for name in self.choices() if name not in self.built_in)

    def items(self) -> Iterator[tuple[str, T]]:
        """Loads everything, other packages' things too."""
        return ((name, self[name]) for name in self)

    def unknown(self, name: str) -> UsageError:
        return unknown(self.kind, name, list(self))

    def choice(self, name: str) -> Choice:
        """What is known of it. Raises UsageError for an unknown name."""
        found = self.built_in.get(name) or self.choices().get(name)
        if found is None:
            raise self.unknown(name)
        return found

    @property
    def built_in(self) -> dict[str, Choice]:
        """The room's own, without importing a module of it."""
        if self._built_in is None:
            found: dict[str, Choice] = {}
            for module, path, source in _sources(self.room):
                for choice in self._declared(module, path, source):
                    if choice.name in found:
                        raise self._twice(choice.name, found[choice.name].place, choice.place)
                    found[choice.name] = choice
            listed = {f"{self.room}.{module}": place for place, module in enumerate(self.first)}
            ordered = sorted(found.values(), key=lambda choice: listed.get(choice.module, len(listed)))
            self._built_in = {entry.name: entry for entry in ordered}
        return self._built_in

    def choices(self) -> dict[str, Choice]:
        """Everything that can be chosen. Raises RegistrationError where two things have one name."""
        if self._plugged_in is None:
            from importlib.metadata import entry_points  # slow, and built-in names can do without

            found: dict[str, Choice] = {}
            for point in sorted(
                entry_points(group=self.group), key=lambda rubric: (rubric.name, rubric.value)
            ):
                package = f" of {point.dist.name}" if point.dist else ""
                place = f"entry point {point.name} = {point.value}{package}"
                taken = self.built_in.get(point.name) or found.get(point.name)
                if taken is not None:
                    raise self._twice(point.name, taken.place, place)
                module = point.value.partition(":")[0].strip()
                lines = {entry.name: entry for entry in self._declared(module, *_source(module))}
                line = lines[point.name].line if point.name in lines else f"plugged in{package}"
                settings = lines[point.name].settings if point.name in lines else {}
                found[point.name] = Choice(point.name, line, module, place, settings)
            self._plugged_in = found
        return {**self.built_in, **self._plugged_in}

    def _declared(self, module: str, path: str, raw: bytes) -> Iterator[Choice]:
        """The decorator's uses at the beginning of a line, with arguments as far as they are literals."""
        if f"@{self.decorator}(".encode() not in raw:
            return
        source = raw.decode("utf-8").replace("\r\n", "\n")
        for use in re.finditer(rf"^@{self.decorator}\(", source, re.M):
            place = f"{path}:{source.count(chr(10), 0, use.start()) + 1}"
            call = _call(source[use.start() + 1 :])
            arguments = [getattr(argument, "value", None) for argument in call.args[:2]] if call else []
            words = [argument for argument in arguments if isinstance(argument, str)]
            if call is None or not words or len(words) < len(arguments):
                raise RegistrationError(
                    "{place}: @{decorator} wants a name and the line that explains it as plain strings",
                    place=place,
                    decorator=self.decorator,
                )
            settings = {}
            for keyword in call.keywords:
                try:
                    settings[str(keyword.arg)] = ast.literal_eval(keyword.value)
                except ValueError:
                    continue  # known once the module is imported
            yield Choice(words[0], words[1] if len(words) > 1 else "", module, place, settings)

    def _twice(self, name: str, one: str, other: str) -> RegistrationError:
        return RegistrationError(
            "{kind} {name} is registered twice: {one} and {other}; rename one",
            kind=self.kind,
            name=repr(name),
            one=one,
            other=other,
        )


def _call(source: str) -> ast.Call | None:
    """The call that the text begins with."""
    end = source.find(")\n")
    while end >= 0:
        try:
            found = ast.parse(source[: end + 1], mode="eval").body
        except SyntaxError:
            end = source.find(")\n", end + 1)
        else:
            return found if isinstance(found, ast.Call) else None
    return None


def _sources(room: str) -> Iterator[tuple[str, str, bytes]]:
    """(module, path, source) of a package's modules, by name; nothing is imported."""
    spec = _spec(room)
    for item in iter_modules((spec.submodule_search_locations if spec else None) or ()):
        module = f"{room}.{item.name}"
        path, source = _source(module)
        yield module, path, source


def _source(module: str) -> tuple[str, bytes]:
    """(path, source) of a module without importing it; empty where there is no source."""
    spec = _spec(module)
    if spec is None or spec.origin is None or not hasattr(spec.loader, "get_data"):
        return "", b""
    is_source = spec.origin.endswith(".py")
    return spec.origin, spec.loader.get_data(spec.origin) if is_source else b""  # type: ignore[union-attr]


def _spec(module: str) -> ModuleSpec | None:
    """As importlib.util.find_spec, which would import the packages above."""
    known = getattr(sys.modules.get(module), "__spec__", None)
    if known is not None:
        return known  # type: ignore[no-any-return]
    above, _, _ = module.rpartition(".")
    if not above:
        return importlib.util.find_spec(module)
    parent = _spec(above)
    return PathFinder.find_spec(module, parent.submodule_search_locations) if parent else None
