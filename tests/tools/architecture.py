"""The rooms of the package and which imports which, read from the source; and their picture.

`uv run python -m tests.tools.architecture` draws docs/pictures/architecture.svg anew, which
docs/architecture.md shows. `tests/test_house.py` holds the picture to the imports.
"""

from __future__ import annotations

import ast
from functools import cache

import networkx

from tests.conftest import ROOT, parsed

PACKAGE = ROOT / "tiny_graph_rag"
PICTURE = ROOT / "docs/pictures/architecture.svg"

# Top to bottom; a room may import from itself and from rooms further down.
FLOORS = (
    ("cli", "library"),
    ("report",),
    ("fixing",),
    ("study",),
    ("scoring",),
    ("answers",),
    ("measures",),
    ("retrieval",),
    ("linking",),
    ("formats",),
    ("gold",),
    ("llm",),
    ("graph",),
    ("language",),
    ("run",),
    ("columns",),
    ("config",),
    ("documents",),
    ("files", "outputs", "results"),
    ("inputs", "journals", "messages", "registry", "secret", "errors", "version"),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
GROUND = 16  # from this floor down everything may be imported by every room: one bar of the picture

# Room → (where it stands from left to right, in hundredths of the width; what it does). How high it stands
# is its depth in the imports.
ROOMS = {
    "cli": (28, "one module per command"),
    "library": (56, "the same from Python"),
    "report": (42, "terminal, page, files"),
    "fixing": (42, "changes that would help"),
    "study": (42, "evaluate, why, compare"),
    "scoring": (37, "runs of any program"),
    "answers": (42, "prompt, answer, judges"),
    "retrieval": (68, "link → walk → rank"),
    "measures": (10, "run against judgments"),
    "formats": (48, "files that are read"),
    "linking": (74, "question → seeds"),
    "gold": (62, "questions, references"),
    "graph": (62, "columns, names, cache"),
    "run": (14, "ranked entities"),
    "language": (62, "English and Korean"),
    "llm": (89, "calls, cost, journal"),
    "columns": (50, "arrays of everything"),
}
WIDTH, LAYER, BOX_WIDTH, BOX_HEIGHT, MARGIN = 1080, 82, 172, 46, 16


@cache
def imported() -> dict[str, dict[str, int]]:
    """Module → the modules of the package that it imports from, each with a line.

    Imports inside functions and under TYPE_CHECKING count too.
    """
    modules = {
        ".".join(("tiny_graph_rag", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }
    targets: dict[str, dict[str, int]] = {module: {} for module in modules}
    for module, path in modules.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "") in modules:
                for name in node.names:
                    inner = f"{node.module}.{name.name}"
                    targets[module][inner if inner in modules else str(node.module)] = node.lineno
            elif isinstance(node, ast.Import):
                for name in node.names:
                    if name.name in modules:
                        targets[module][name.name] = node.lineno
    return targets


def room(module: str) -> str:
    """The room of a module's dotted name; "" for the package itself."""
    return [*module.split("."), ""][1]


def arrows() -> networkx.DiGraph[str]:
    """Rooms above the ground floor, and an arrow for each pair of which one imports the other."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    graph.add_nodes_from(name for floor in FLOORS[:GROUND] for name in floor)
    for module, targets in imported().items():
        for target in targets:
            if room(module) != room(target) and {room(module), room(target)} <= set(graph):
                graph.add_edge(room(module), room(target))
    return graph


def drawn() -> str:
    """The picture as SVG: rooms by depth, and the arrows that no chain of other arrows implies."""
    graph = arrows()
    layers = list(networkx.topological_generations(graph.reverse()))
    height = MARGIN * 2 + LAYER * len(layers) + BOX_HEIGHT
    top = {
        name: MARGIN + LAYER * (len(layers) - 1 - depth)
        for depth, layer in enumerate(layers)
        for name in layer
    }
    centre = {name: WIDTH * ROOMS[name][0] / 100 for name in graph}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif"'
        ' font-size="13" text-anchor="middle" role="img">',
        "<title>The rooms of the package and which imports which</title>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b6472"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
    ]
    parts += [
        f'<line x1="{centre[one]:g}" y1="{top[one] + BOX_HEIGHT}" x2="{centre[two]:g}" y2="{top[two]}"'
        ' stroke="#5b6472" stroke-width="1.3" marker-end="url(#head)"/>'
        for one, two in sorted(networkx.transitive_reduction(graph).edges)
    ]
    for name in sorted(graph):
        left, middle, upper = centre[name] - BOX_WIDTH / 2, centre[name], top[name]
        parts += [
            f'<rect x="{left:g}" y="{upper}" width="{BOX_WIDTH}"'
            f' height="{BOX_HEIGHT}" rx="5" fill="#eef2fb" stroke="#3f51b5"/>',
            f'<text x="{middle:g}" y="{upper + 19}" font-weight="bold">{name}</text>',
            f'<text x="{middle:g}" y="{upper + 36}" font-size="12" fill="#414958">{ROOMS[name][1]}</text>',
        ]
    ground = ", ".join(name for floor in FLOORS[GROUND:] for name in floor)
    bar = MARGIN + LAYER * len(layers)
    parts += [
        f'<rect x="{MARGIN}" y="{bar}" width="{WIDTH - 2 * MARGIN}" height="{BOX_HEIGHT}" rx="5"'
        ' fill="#f3f3ee" stroke="#8a8a7b"/>',
        f'<text x="{WIDTH / 2:g}" y="{bar + 19}" font-weight="bold">every room may import these</text>',
        f'<text x="{WIDTH / 2:g}" y="{bar + 36}" font-size="12" fill="#414958">{ground}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
