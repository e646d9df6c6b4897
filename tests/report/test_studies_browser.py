"""Pages of sweeps, comparisons and results over time in a real browser, also in the page of their results."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT, read_json
from tiny_graph_rag.cli.command import app, load

pages = pytest.importorskip("tests.report.pages", reason="needs playwright")
pytestmark, browser = pages.MARKS, pages.browser

SCREENS = pages.SCREENS
PAGES = ("sweep", "comparison", "everything")
HARDSET = "김유정-동백꽃-hardset.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What the commands write about our own hardset: a sweep, a comparison, and one page of all of it."""
    load()
    folder = tmp_path_factory.mktemp("studies")

    def run(*arguments: str) -> None:
        places = ("--results-dir", str(folder), "--quiet")
        done = CliRunner().invoke(app, [*arguments, *places])
        assert done.exit_code == 0, done.output

    where = (
        *("--dataset-dir", str(ROOT / "data/eval"), "--kg-dir", str(ROOT / "data/kg")),
        *("--dataset", HARDSET),
    )
    retrievers = ("--retriever", "bfs,bfs-plain")
    run("sweep", *where, *retrievers, "--hops", "0-3", "-o", "sweep.json", "--report", "html")
    for hops in ("1", "3"):
        run("eval", *where, "--skip-generation", "--hops", hops, "-o", f"hops{hops}.json")
    run("compare", "hops1.json", "hops3.json", "-o", "comparison.json", "--report", "html")
    run("report", "hops3.json", "sweep.json", "comparison.json", "-o", str(folder / "everything"))
    (folder / "everything/hops3.html").rename(folder / "everything.html")
    return folder


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_a_complaint_fits_and_has_no_violation(browser, folder, name, screen):
    path = folder / f"{name}.html"
    with pages.opened(browser, path, **SCREENS[screen]) as found:
        found.page.screenshot(path=str(folder / f"{name}-{screen}.png"), full_page=True)
        assert pages.violations(found.page) == []
        wide = found.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= SCREENS[screen]["viewport"]["width"]
        assert found.complaints == []
        assert found.requests == [path.as_uri()]


def test_a_sweep_shows_the_chosen_measure_and_tag(browser, folder):
    sweep = read_json(folder / "sweep.json")
    with pages.opened(browser, folder / "sweep.html", **SCREENS["light"]) as found:
        table = found.page.get_by_role("region", name="Settings").locator("tbody tr")
        assert table.count() == len(sweep["settings"]) == 8
        found.page.get_by_label("measure").select_option("mrr")
        found.page.get_by_label("tag").select_option("multi-hop")
        third = sweep["settings"][3]
        cells = table.nth(3).locator("td").all_inner_texts()
        assert table.nth(3).locator("th").inner_text() == third["retriever"]
        assert cells[0] == str(third["hops"])
        assert cells[1].startswith(f"{third['by_tag']['multi-hop']['measures']['mrr']['mean']:.3f}")


def test_a_comparison_shows_every_measure_with_its_difference(browser, folder):
    comparison = read_json(folder / "comparison.json")
    with pages.opened(browser, folder / "comparison.html", **SCREENS["light"]) as found:
        flips = found.page.locator("table.flips tbody tr")
        assert flips.count() == len(comparison["flips"])
        first = comparison["flips"][0]
        assert flips.nth(0).locator("td").nth(0).inner_text() == first["change"]
        assert first["query"] in flips.nth(0).inner_text()
        assert f"{first['references'][0]['name']}: " in flips.nth(0).inner_text()
        captions = found.page.locator("table.compared caption").all_inner_texts()
        assert captions == list(comparison["measures"])
        for caption, rows in comparison["measures"].items():
            table = found.page.locator("table.compared", has=found.page.get_by_text(caption, exact=True))
            assert table.locator("tbody tr").nth(0).inner_text().count("baseline") == 1
            assert f"+{rows[1]['difference']:.3f}" in table.locator("tbody tr").nth(1).inner_text()
