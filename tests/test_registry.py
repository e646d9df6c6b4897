"""Registration by name: listed without importing, from this package and others, every name once."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

from tiny_graph_rag.answers.rubrics import JUDGES
from tiny_graph_rag.errors import RegistrationError, UsageError
from tiny_graph_rag.formats.gold import GOLD_FORMATS
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS
from tiny_graph_rag.formats.runs import RUN_FORMATS
from tiny_graph_rag.linking import LINKERS
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.reports import REPORTS
from tiny_graph_rag.retrieval import RETRIEVERS

EVERY = {
    item.kind: item
    for item in (*(KINDS, RETRIEVERS, LINKERS, GRAPH_FORMATS, GOLD_FORMATS, RUN_FORMATS, REPORTS, JUDGES),)
}
Kitchen = tuple[Registry[Any], Callable[..., None]]


@pytest.fixture
def kitchen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Kitchen:
    """A registry of a package that can't be imported twice under one name."""
    name = f"kitchen_{abs(hash(request.node.name))}"
    (tmp_path / name).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    dishes: Registry[Any] = Registry("dish", name, {"pho": "soups:pho", "tart": "cakes:tart"})
    (tmp_path / f"{name}_menu.py").write_text("")
    menu = import_module(f"{name}_menu")
    menu.dish = lambda name, line: dishes.register(name, line, lambda made: made)  # type: ignore[attr-defined]
    start = f"from {name}_menu import dish\n\n\n"
    (tmp_path / name / "soups.py").write_text(f"{start}@dish('pho', 'noodles')\ndef pho(): ...\n")
    (tmp_path / name / "cakes.py").write_text("raise RuntimeError('listing must not import')\n")

    def plug_in(name: str, place: str, source: str = "") -> None:
        points = EntryPoints([EntryPoint(name, place, dishes.group)])
        monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: points.select(**wanted))
        (tmp_path / f"{place.partition(':')[0]}.py").write_text(start + source)

    return dishes, plug_in


@pytest.mark.parametrize("kind", EVERY)
def test_everything_in_the_table_is_there_when_asked_for(kind: str) -> None:
    registry = EVERY[kind]
    for name, place in registry.table.items():
        assert registry.entry(name).thing is not None
        assert registry.entry(name).place == place


@pytest.mark.parametrize("kind", [name for name in EVERY if name != "measure"])
def test_every_choice_says_in_one_line_what_it_is(kind: str) -> None:
    longest = 95 if kind == "graph format" else 58
    for name in EVERY[kind].table:
        assert 10 <= len(EVERY[kind].entry(name).line) <= longest, (
            f"{name}: wanted 10 to {longest} characters"
        )


@pytest.mark.parametrize("kind", EVERY)
def test_every_decorated_thing_of_a_room_is_in_its_table(kind: str) -> None:
    registry = EVERY[kind]
    room = import_module(next(iter(registry.table.values())).partition(":")[0].rpartition(".")[0])
    for module in iter_modules(room.__path__, f"{room.__name__}."):
        import_module(module.name)
    mine = {name for name, entry in registry._entries.items() if entry.place.startswith(room.__name__)}
    assert mine == set(registry.table)


def test_listing_the_choices_imports_none_of_them(kitchen: Kitchen) -> None:
    dishes, plug_in = kitchen
    plug_in("ramen", "no_such_module_at_all:ramen")
    assert list(dishes) == ["pho", "tart", "ramen"]
    assert dishes.entry("pho").line == "noodles"
    with pytest.raises(UsageError, match=r"^unknown dish 'phoo'; did you mean 'pho'\? Choices: pho, tart"):
        dishes["phoo"]
    with pytest.raises(RuntimeError, match="listing"):
        dishes["tart"]


@pytest.mark.parametrize(
    ("name", "source", "wrong"),
    [
        ("pho", "", r"'pho' is registered twice: .*soups:pho and my_{n}:x; rename one"),
        ("ramen", "", r"^my_{n}:x: no @dish\(\"ramen\", …\) could be imported"),
        ("ramen", "import no_such_module", r"^my_{n}:x: .* ModuleNotFoundError"),
        (
            "ramen",
            "@dish('pho', 'mine')\ndef x(): ...",
            r"'pho' is registered twice: .*soups:pho and my_{n}:x",
        ),
    ],
)
def test_a_plug_in_that_can_not_be_used_is_refused_with_its_place(
    kitchen: Kitchen, name: str, source: str, wrong: str, request: pytest.FixtureRequest
) -> None:
    dishes, plug_in = kitchen
    number = str(abs(hash(request.node.name)))
    plug_in(name, f"my_{number}:x", source)
    with pytest.raises(RegistrationError, match=wrong.replace("{n}", number)):
        dishes["ramen"]
