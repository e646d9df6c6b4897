"""Tables of docs that name their script hold what it prints (cheap rows; `benchmarks/tables.py` has all)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

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
