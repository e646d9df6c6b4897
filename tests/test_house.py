"""How the house stands: imports point down, versions agree, the public names exist."""

from __future__ import annotations

import ast
import importlib
import tomllib

import tiny_graph_rag
from tests.conftest import ROOT

# Top to bottom; a room may import from itself and from rooms further down.
FLOORS = (
    ("cli",),
    ("report",),
    ("evaluation",),
    ("generation",),
    ("metrics",),
    ("retrieval",),
    ("linking",),
    ("llm",),
    ("dataset",),
    ("graph",),
    ("arrays", "compiled", "config", "files", "secret", "text", "errors", "version"),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def test_imports_point_down() -> None:
    wrong = []
    for path in (ROOT / "tiny_graph_rag").rglob("*.py"):
        room = path.relative_to(ROOT / "tiny_graph_rag").parts[0].removesuffix(".py")
        if room not in FLOOR_OF:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tiny_graph_rag."):
                target = (node.module or "").split(".")[1]
                if FLOOR_OF[target] < FLOOR_OF[room]:
                    wrong.append(f"{path.name}:{node.lineno} imports {node.module}")
    assert wrong == []


def test_every_public_name_can_be_imported() -> None:
    for name in tiny_graph_rag.__all__:
        assert getattr(tiny_graph_rag, name) is not None


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
