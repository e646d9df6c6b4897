"""How the house stands: imports point down, versions agree, the public names exist."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from importlib.util import find_spec

import networkx

import tiny_graph_rag
from tests.conftest import ROOT, parsed
from tests.tools.architecture import FLOOR_OF, PACKAGE, PICTURE, drawn, imported, room


def test_imports_point_down() -> None:
    wrong = [
        f"{module}:{line} imports {target}"
        for module, targets in imported().items()
        for target, line in targets.items()
        if room(module) in FLOOR_OF and room(target) in FLOOR_OF
        if FLOOR_OF[room(target)] < FLOOR_OF[room(module)]
    ]
    assert wrong == []


def test_no_imports_go_in_a_circle_inside_a_room_either() -> None:
    graph = imported()
    circles = [
        circle
        for circle in networkx.strongly_connected_components(
            networkx.DiGraph([(module, target) for module, targets in graph.items() for target in targets])
        )
        if len(circle) > 1
    ]
    assert circles == []


def test_the_picture_of_the_architecture_is_what_the_imports_say() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(), "run: uv run python -m tests.tools.architecture"


def test_the_page_of_the_architecture_names_every_room_and_files_that_exist() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.M))
    assert set(rows) == set(FLOOR_OF)
    files = [(name, path) for name, row in rows.items() for path in re.findall(r"`([\w/]+\.py)`", row)]
    assert [(name, path) for name, path in files if not (PACKAGE / path).exists()] == []


def test_every_room_stands_on_a_floor() -> None:
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix in ("", ".py")}
    assert rooms - {"__init__", "__main__", "__pycache__"} == set(FLOOR_OF)


def test_every_public_name_can_be_imported() -> None:
    names: dict[str, object] = {}
    exec("from tiny_graph_rag import *", names)
    assert {*tiny_graph_rag.PUBLIC} == {*tiny_graph_rag.__all__}
    assert set(tiny_graph_rag.__all__) <= set(names)


def test_importing_the_package_imports_nothing_else() -> None:
    import subprocess
    import sys

    code = "import tiny_graph_rag, sys; print('numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == importlib.import_module("tiny_graph_rag.version").__version__


def test_what_a_script_hands_to_another_process_imports_what_exists() -> None:
    """No checker looks into code that stands in a string."""
    missing = []
    for path in sorted([*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for module in re.findall(r"\bfrom (tiny_graph_rag[\w.]*) import\b", node.value):
                    if find_spec(module) is None:
                        missing.append(f"{path.name}:{node.lineno}: {module}")
    assert missing == []


def test_no_local_is_called_each() -> None:
    """A loop binds what it loops over: `question`, `path`, `measure`."""
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("tiny_graph_rag", "tests", "benchmarks", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "each")
        or (isinstance(node, ast.arg) and node.arg == "each")
    ]
    assert named == []
