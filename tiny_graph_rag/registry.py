"""One way to register whatever is chosen by name: measures, retrievers, linkers, formats, reports, judges.

A registry is a table of names and where their code is; other packages' entry points add to it. The code
registers itself by its room's decorator, with its name and what it is in one line:

    @retriever("bfs", "paths from the seeds, ranked by their lowest cost")
    class BfsRetriever(Retriever): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar

from tiny_graph_rag.errors import RegistrationError, TinyGraphRagError, unknown

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class Registered(NamedTuple, Generic[T]):
    """What is registered. line: what it is, for `--help` and the docs. place: `module:object`."""

    thing: T
    line: str
    place: str


class Registry(Generic[T]):
    """Name → thing of one kind, imported when asked for; iterates over names, built-in ones first.

    kind: "graph format" means also `@graph_format(…)` and the entry points `tiny_graph_rag.graph_formats`.
    table: name → `module:object` in the package `room`, in the order in which they are listed.
    """

    def __init__(self, kind: str, room: str, table: Mapping[str, str]) -> None:
        self.kind, self.decorator = kind, kind.replace(" ", "_")
        self.table = {name: f"{room}.{code}" for name, code in table.items()}
        self.group = f"tiny_graph_rag.{self.decorator}s"
        self._entries: dict[str, Registered[T]] = {}

    def register(
        self, name: str, line: str, made: Callable[[Any], T] = lambda code: code
    ) -> Callable[[C], C]:
        """A decorator that adds the code, or what `made` makes of it. Raises RegistrationError for a taken
        name."""

        def decorate(code: C) -> C:
            place = f"{code.__module__}:{code.__qualname__}"
            self._check(name, place, self.table.get(name))
            self._entries[name] = Registered(made(code), line, place)
            return code

        return decorate

    def __getitem__(self, name: str) -> T:
        """The thing. Raises UsageError for an unknown name, with the nearest and all choices."""
        return self.entry(name).thing

    def entry(self, name: str) -> Registered[T]:
        """The thing with its line. Raises UsageError, and RegistrationError for a plug-in without it."""
        if name not in self._entries:
            place = self.table.get(name) or self._plugged_in.get(name)
            if place is None:
                raise unknown(self.kind, name, list(self))
            try:
                import_module(place.partition(":")[0])
                return self._entries[name]
            except Exception as error:
                if name in self.table or isinstance(error, TinyGraphRagError):
                    raise
                values = {"place": place, "decorator": self.decorator, "name": name, "error": repr(error)}
                raise RegistrationError(
                    '{place}: no @{decorator}("{name}", …) could be imported from there: {error}', **values
                ) from error
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.table or name in self._entries or name in self._plugged_in

    def __iter__(self) -> Iterator[str]:
        yield from self.table
        yield from self._plugged_in  # who stops before needs no look at other packages

    @cached_property
    def _plugged_in(self) -> dict[str, str]:
        """Other packages' names → `module:object`. Raises RegistrationError where a name is taken."""
        from importlib.metadata import entry_points  # slow, and built-in names can do without

        places: dict[str, str] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: (point.name, point.value)):
            self._check(point.name, point.value, self.table.get(point.name) or places.get(point.name))
            places[point.name] = point.value
        return places

    def _check(self, name: str, place: str, taken: str | None) -> None:
        if taken not in (None, place):
            values = {"kind": self.kind, "name": repr(name), "one": taken, "other": place}
            raise RegistrationError(
                "{kind} {name} is registered twice: {one} and {other}; rename one", **values
            )
