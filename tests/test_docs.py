"""Docs, `--help`, config.yaml and code say the same; tables that name their script hold what it prints (cheap
rows; `benchmarks/tables.py` has all)."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import PAGES, ROOT, script
from tiny_graph_rag.config import Config, all_settings
from tiny_graph_rag.config.sources import config_yaml

READMES = ("README.md", "README.ko.md")
SETUP = ("docs/setup.md", "docs/setup.ko.md")  # what the README leaves to them


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", script(PAGES).PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert read(f"docs/{name}") == script(PAGES).PAGES[name](), "run: uv run python docs/pages.py"


def test_the_shipped_config_yaml_is_the_built_in_defaults() -> None:
    assert read("config.yaml") == config_yaml(), "copy what `init --lang en` writes"


@pytest.mark.parametrize("readme", READMES)
def test_the_readme_is_short_and_shows_five_commands_and_more(readme: str) -> None:
    text = read(readme)
    assert len(text) < 7000
    assert [
        name for name in ("eval", "sweep", "compare", "generate", "curate") if f"# {name}: " not in text
    ] == []
    headings = re.findall(r"^## ", text, re.M)
    assert len(headings) == 5
    assert text.index("docs/pictures/eval.svg") < text.index("\n## "), "the picture comes first"


@pytest.mark.parametrize("readme", [*READMES, *SETUP])
def test_options_and_files_in_the_readme_exist(readme: str) -> None:
    text = read(readme)
    known = set(re.findall(r"`(--[a-z-]+)`", read("docs/commands.md"))) | {
        *("--version", "--extra", "--help", "--clone", "--install-completion"),
        *("--target", "--no-dev", "--from", "--inexact"),  # of pip and uv
    }
    assert [option for option in re.findall(r"(--[a-z][a-z-]+)", text) if option not in known] == []
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / readme).parent.joinpath(link).exists()] == []


@pytest.mark.parametrize("readme", SETUP)
def test_the_readme_names_the_extras_that_there_are_and_no_other(readme: str) -> None:
    rows = re.findall(
        r"^\| ((?:`[a-z0-9]+`(?:, )?)+) \|", read(readme).split("| `--dataset FILE` |")[0], re.M
    )
    named = {name for row in rows for name in re.findall(r"`([a-z0-9]+)`", row)}
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    assert named == set(extras)


@pytest.mark.parametrize("readme", SETUP)
def test_defaults_in_the_readme_are_those_of_the_code(readme: str) -> None:
    rows = dict(re.findall(r"^\| `--([a-z-]+)(?: [A-Z]+)?` .*\| `([^`|]*)` \|$", read(readme), re.M))
    settings = {
        name.replace("_", "-"): value for part in Config().as_dict().values() for name, value in part.items()
    }
    shown = {name: default for name, default in rows.items() if name in settings}
    assert shown, "the README's table of options was not found"
    assert shown == {name: str(settings[name]) for name in shown}


SOURCES = {
    path.relative_to(ROOT): path.read_text("utf-8")
    for folder in ("tiny_graph_rag", "tests", "benchmarks", "docs", "examples")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".js")
}
PAGES_TO_READ = [
    *READMES,
    "CONTRIBUTING.md",
    *(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
]
# Functions and settings of other programs; our entry point and files that readers write themselves.
OTHERS = {"neighborhood", "_at_k", "storage.hardset_dir", "ranking.names"}
READERS_OWN = {"main.py", "file.py", "my_rag.py", "test_fbeta.py"}


@pytest.mark.parametrize("page", PAGES_TO_READ)
def test_functions_files_and_settings_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", read(page), flags=re.S))
    code = " ".join(text for path, text in SOURCES.items() if path.parts[0] == "tiny_graph_rag")
    files = {path.name for path in SOURCES}
    settings = {setting.full_name for setting in all_settings()}
    sections = "|".join({name.partition(".")[0] for name in settings})
    functions = {name for text in named for name in re.findall(r"^(_[a-z]\w+|\w+(?=\([^)]*\)$))", text)}
    modules = {name for text in named for name in re.findall(r"(\w+\.(?:py|js))\b", text)}
    values = {name for text in named for name in re.findall(rf"^((?:{sections})\.[a-z_]+)(?==|$)", text)}
    assert {name for name in functions - OTHERS if not re.search(rf"\b{name}\b", code)} == set()
    assert modules - READERS_OWN - files == set()
    assert values - OTHERS - settings == set()


def test_both_readmes_give_the_same_commands() -> None:
    blocks = [re.findall(r"^(?:python3 -m pip|uv run) .*?(?=\s+#|$)", read(path), re.M) for path in READMES]
    assert blocks[0] == blocks[1]


sys.path.insert(0, str(ROOT / "benchmarks"))
tables = pytest.importorskip("tables")
sys.path.remove(str(ROOT / "benchmarks"))

MARKED = [table for page in sorted((ROOT / "docs").glob("**/*.md")) for table in tables.marked_tables(page)]


def test_pages_of_simulations_have_marked_tables() -> None:
    assert len([table for table in MARKED if table.path.name == "statistics.md"]) == 5
    assert len([table for table in MARKED if table.path.name == "benchmarks.md"]) >= 5
    tables_of_page = (ROOT / "docs/statistics.md").read_text("utf-8").count("\n|---")
    assert tables_of_page == 5, "every table of the page is marked"


@pytest.mark.slow
@pytest.mark.parametrize("table", [table for table in MARKED if table.quick], ids=lambda table: table.name)
def test_cheap_rows_are_what_the_script_prints(table) -> None:
    assert table.differences(quick=True) == []


def test_a_figure_that_the_script_does_not_print_is_found(tmp_path: Path) -> None:
    """A script of two tables; the page has a changed figure, a row too many, and lacks one."""
    script = tmp_path / "two.py"
    script.write_text(
        "import sys\n"
        "print('text\\n\\n| other | n |\\n|---|---|\\n| a | 1 |\\n\\n| name | n |\\n|---|---|\\n| a | 1 |')\n"
        "if '--only' not in sys.argv:\n"
        "    print('| b | 2 |\\n| c | 3 |')\n",
        encoding="utf-8",
    )
    page = tmp_path / "page.md"
    page.write_text(
        f"<!-- table: {script} | --only a -->\n| name | n |\n|---|---|\n"
        "| a | 1 |\n| b | 9 |\n| d | 4 |\n\nEnd.\n",
        encoding="utf-8",
    )
    (table,) = tables.marked_tables(page)
    assert table.differences(quick=True) == []
    assert table.differences(quick=False) == ["+ | b | 2 |", "+ | c | 3 |", "- | b | 9 |", "- | d | 4 |"]
    assert tables.main([str(page)]) == 1
    assert tables.main([str(page), "--write"]) == 0
    assert page.read_text("utf-8").endswith("| a | 1 |\n| b | 2 |\n| c | 3 |\n\nEnd.\n")
    assert tables.main([str(page)]) == 0
