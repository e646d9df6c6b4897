"""Registration by name: found without importing, from this package and others, each name once."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from tiny_graph_rag.answers.rubrics import JUDGES
from tiny_graph_rag.errors import RegistrationError, UsageError
from tiny_graph_rag.formats.gold import GOLD_FORMATS
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS
from tiny_graph_rag.formats.runs import RUN_FORMATS
from tiny_graph_rag.formats.writing import GOLD_WRITERS, GRAPH_WRITERS, RUN_WRITERS
from tiny_graph_rag.linking import LINKERS
from tiny_graph_rag.measures import KINDS
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.reports import REPORTS
from tiny_graph_rag.retrieval import RETRIEVERS

EVERY = {
    item.kind: item
    for item in (
        *(KINDS, RETRIEVERS, LINKERS, GRAPH_FORMATS, GOLD_FORMATS, RUN_FORMATS, REPORTS, JUDGES),
        *(GRAPH_WRITERS, GOLD_WRITERS, RUN_WRITERS),
    )
}
BASE = """
from tiny_graph_rag.registry import Registry

DISHES = Registry("dish", "ROOM", first=("soups",))


def dish(name, line="", **more):
    def register(made):
        DISHES.add(name, made, made)
        return made

    return register
"""
SOUPS = """
from ROOM.base import dish


@dish(
    "pho",
    "noodles, "
    "in broth",
    warm=True,
    price=len("four"),
)
def pho():
    return "pho"
"""
CAKES = """
from ROOM.base import dish

raise_if_imported()


@dish("tart", 'of "plums"')
def tart(): ...
"""


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A package on the path, of a name that no other test uses."""
    name = f"kitchen_{abs(hash(request.node.name))}"
    folder = tmp_path / name
    folder.mkdir()
    for file, source in {"__init__": "", "base": BASE, "cakes": CAKES, "soups": SOUPS}.items():
        (folder / f"{file}.py").write_text(source.replace("ROOM", name), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def dishes(room: Path) -> Registry[object]:
    from importlib import import_module

    found: Registry[object] = import_module(f"{room.name}.base").DISHES
    return found


def plugged_in(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda **wanted: EntryPoints(points).select(**wanted)
    )


@pytest.mark.parametrize("kind", EVERY)
def test_everything_is_known_before_it_is_imported_and_is_there_when_asked_for(kind: str) -> None:
    registry = EVERY[kind]
    assert list(registry.built_in)
    for name, choice in registry.built_in.items():
        assert registry[name] is not None
        assert choice.module in sys.modules
        assert Path(choice.place.rpartition(":")[0]).is_file()


@pytest.mark.parametrize("kind", [name for name in EVERY if name != "measure"])
def test_every_choice_says_in_one_line_what_it_is(kind: str) -> None:
    longest = 95 if kind == "graph format" else 58
    for choice in EVERY[kind].built_in.values():
        assert 10 <= len(choice.line) <= longest, f"{choice.place}: wanted 10 to {longest} characters"


def test_listing_the_choices_imports_none_of_them() -> None:
    code = (
        "import sys\n"
        "from tiny_graph_rag.retrieval.base import RETRIEVERS\n"
        "from tiny_graph_rag.linking.base import LINKERS\n"
        "names = [*RETRIEVERS, *LINKERS]\n"
        "assert len(names) > 10\n"
        "homes = {each.choices()[name].module for each in (RETRIEVERS, LINKERS) for name in each}\n"
        "print(sorted(homes & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_names_lines_and_literal_settings_are_read_without_importing(room: Path) -> None:
    found = dishes(room).built_in
    assert list(found) == ["pho", "tart"]  # `first` before the alphabet
    assert found["pho"].line == "noodles, in broth"
    assert found["pho"].settings == {"warm": True}  # the price is no literal
    assert found["tart"].line == 'of "plums"'
    assert found["pho"].place == f"{room / 'soups.py'}:5"
    assert f"{room.name}.cakes" not in sys.modules


def test_one_name_in_two_files_is_refused_with_both_places(room: Path) -> None:
    (room / "stews.py").write_text('@dish("pho", "again")\ndef pho(): ...\n')
    wanted = rf"dish 'pho' is registered twice: .*{room.name}/soups.py:5 and .*{room.name}/stews.py:1"
    with pytest.raises(RegistrationError, match=wanted):
        dishes(room)["tart"]


def test_a_name_that_is_no_plain_string_is_refused_with_its_place(room: Path) -> None:
    (room / "stews.py").write_text('NAME = "stew"\n\n\n@dish(NAME, "hot")\ndef stew(): ...\n')
    with pytest.raises(RegistrationError, match=r"stews.py:4: @dish wants a name and the line"):
        dishes(room).built_in  # noqa: B018


def test_an_unknown_name_is_answered_with_the_nearest_and_all(room: Path) -> None:
    with pytest.raises(UsageError, match=r"^unknown dish 'phoo'; did you mean 'pho'\? Choices: pho, tart$"):
        dishes(room)["phoo"]


def test_another_package_plugs_in_and_is_explained_before_it_is_imported(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = room.parent / f"{room.name}_plug"
    other.mkdir()
    (other / "__init__.py").write_text("raise RuntimeError('listing must not import')\n")
    source = f"from {room.name}.base import dish\n\n\n@dish('ramen', 'also noodles')\ndef ramen(): ...\n"
    (other / "more.py").write_text(source)
    plugged_in(monkeypatch, EntryPoint("ramen", f"{other.name}.more:ramen", "tiny_graph_rag.dishs"))
    assert dishes(room).choice("ramen").line == "also noodles"
    assert f"{other.name}.more" not in sys.modules
    (other / "__init__.py").write_text("")
    assert dishes(room)["ramen"].__name__ == "ramen"  # type: ignore[attr-defined]


def test_a_plug_in_with_the_name_of_a_built_in_is_refused_with_both_places(
    room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugged_in(monkeypatch, EntryPoint("pho", "json:dumps", "tiny_graph_rag.dishs"))
    wanted = r"dish 'pho' is registered twice: .*soups.py:5 and entry point pho = json:dumps; rename one"
    with pytest.raises(RegistrationError, match=wanted):
        list(dishes(room))


def test_a_decorated_thing_from_outside_can_not_take_a_built_in_name(room: Path) -> None:
    def pho() -> None: ...

    with pytest.raises(
        RegistrationError, match=r"'pho' is registered twice: .*soups.py:5 and tests.test_reg"
    ):
        dishes(room).add("pho", pho, pho)


def test_a_plug_in_that_registers_nothing_is_refused(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugged_in(monkeypatch, EntryPoint("ramen", "json:dumps", "tiny_graph_rag.dishs"))
    with pytest.raises(
        RegistrationError, match=r'json registers no dish \'ramen\'; decorate it: @dish\("ramen"'
    ):
        dishes(room)["ramen"]


def test_a_plug_in_that_can_not_be_imported_says_so(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugged_in(monkeypatch, EntryPoint("ramen", "no_such_module_at_all:ramen", "tiny_graph_rag.dishs"))
    wanted = r"^entry point ramen = no_such.*: can't be imported: ModuleNotFoundError: No module"
    with pytest.raises(RegistrationError, match=wanted):
        dishes(room)["ramen"]


def test_a_room_in_a_zip_file_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "kitchen.zip", "w") as archive:
        for file, source in {"__init__": "", "base": BASE, "soups": SOUPS}.items():
            archive.writestr(f"zipped_kitchen/{file}.py", source.replace("ROOM", "zipped_kitchen"))
    monkeypatch.syspath_prepend(str(tmp_path / "kitchen.zip"))
    found = dishes(Path("zipped_kitchen"))
    assert list(found) == ["pho"]
    assert found["pho"]() == "pho"  # type: ignore[operator]
