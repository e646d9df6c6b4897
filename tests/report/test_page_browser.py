"""The page in a real browser: nothing complains, nothing leaves, and everything that it offers works."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import jsonschema
import pytest
from typer.testing import CliRunner

from tests.conftest import HANGS, ROOT, write_gold, write_kg
from tests.report.make_results import results
from tests.report.test_results_files import SCHEMA, written_by_eval
from tiny_graph_rag.cli import app
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.report.graph_page import core_of
from tiny_graph_rag.report.graph_page import graph_page as page_of_graph
from tiny_graph_rag.report.html import results_page

pages = pytest.importorskip("tests.report.pages", reason="needs playwright")
pytestmark, browser = pages.MARKS, pages.browser

QUESTIONS, REFERENCES = 14_274, 188_000
SCREENS = pages.SCREENS
GRAVE = ("serious", "critical")
KOREAN = "김유정-동백꽃"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def hardset(folder):
    """(page, document) of our own Korean hardset."""
    document = written_by_eval(KOREAN, f"{KOREAN}-hardset")
    path = folder / "hardset.html"
    path.write_text(results_page(document), encoding="utf-8")
    return path, document


@pytest.fixture(scope="module")
def large(folder):
    document = results(QUESTIONS, REFERENCES, entities=43_000)
    path = folder / "large.html"
    path.write_text(results_page(document), encoding="utf-8")
    return path, document


def rows(found) -> list[str]:
    return found.page.locator(".row .asked").all_inner_texts()


@pytest.mark.parametrize("screen", SCREENS)
def test_the_hardset_page_opens_without_a_complaint_or_violation_and_asks_for_nothing(
    browser, hardset, folder, screen
):
    path, document = hardset
    with pages.opened(browser, path, **SCREENS[screen]) as found:
        assert document["results"][0]["query"] in rows(found)
        assert pages.violations(found.page, *GRAVE) == []
        found.page.locator(".row").first.click()
        assert found.page.locator("svg.walk .node").count() > 3
        found.page.screenshot(path=str(folder / f"{screen}.png"), full_page=True)
        assert pages.violations(found.page, *GRAVE) == []
        assert found.complaints == []
        assert found.requests == [path.as_uri()]


def test_filter_search_sort_and_the_picture_work(browser, hardset):
    path, document = hardset
    with pages.opened(browser, path, **SCREENS["light"]) as found:
        page = found.page
        page.get_by_label("search").fill("감자")
        wanted = [result["query"] for result in document["results"] if "감자" in result["query"]]
        assert rows(found) == wanted
        assert page.get_by_role("status").inner_text() == f"{len(wanted)} of 270 questions"
        page.get_by_label("search").fill("")

        lost = {key: many for key, many in document["summary"]["verdicts"].items() if key != "hit"}
        verdict = max(lost, key=lost.__getitem__)
        page.get_by_label("verdict").select_option(verdict)
        wanted = [
            result["query"]
            for result in document["results"]
            if any(reference["verdict"] == verdict for reference in result["references"])
        ]
        assert page.get_by_role("status").inner_text() == f"{len(wanted)} of 270 questions"
        page.get_by_label("verdict").select_option("")

        page.get_by_role("button", name="alias-noise", exact=True).click()
        assert page.get_by_role("combobox", name="tag").input_value() == "alias-noise"
        assert page.get_by_role("status").inner_text() == "65 of 270 questions"
        page.get_by_label("sorted").select_option("best")
        tagged = [result["metrics"] for result in document["results"] if "alias-noise" in result["tags"]]
        best = max(metrics["ndcg@5"] for metrics in tagged if metrics["ndcg@5"] is not None)
        assert float(page.locator(".row .value").first.inner_text()) == round(best, 3)

        page.locator(".row").first.click()
        heading = page.locator(".question h2").inner_text()
        assert heading == rows(found)[0]
        page.locator("svg.walk .node.ranked:not(.seed)").first.focus()
        assert page.locator(".tip").is_visible()
        page.keyboard.press("Enter")
        assert "→" in page.locator(".followed").inner_text() or "←" in page.locator(".followed").inner_text()
        assert page.locator(".node[aria-pressed=true]").count() == 1
        assert found.complaints == []


@pytest.mark.parametrize("width", [400, 870, 1000, 1189, 1240])
def test_a_ranking_with_long_paths_fits_any_screen(browser, hardset, width):
    path, document = hardset
    longest = max(
        document["results"], key=lambda result: max((len(one["walk"]) for one in result["ranked"]), default=0)
    )
    with pages.opened(browser, path, viewport={"width": width, "height": 900}) as found:
        found.page.evaluate("id => location.hash = 'q=' + encodeURIComponent(id)", longest["id"])
        found.page.locator(".ranking .way").last.wait_for()
        page, cell = found.page.evaluate(
            "[document.documentElement.scrollWidth, document.querySelector('.ranking td.cost').clientWidth]"
        )
    assert page <= width
    assert cell > 100  # room for the parts of a cost


def test_on_a_phone_a_question_takes_the_screen_and_gives_it_back(browser, hardset):
    path, _ = hardset
    with pages.opened(browser, path, **SCREENS["phone"]) as found:
        assert not found.page.locator(".question").is_visible()
        found.page.locator(".row").nth(2).click()
        assert found.page.locator(".question").is_visible()
        assert not found.page.locator(".rows").is_visible()
        wide = found.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= SCREENS["phone"]["viewport"]["width"]
        found.page.get_by_role("button", name="all questions").click()
        assert found.page.locator(".rows").is_visible()


@pytest.mark.parametrize("name", ["hardset", "large"])
def test_the_data_in_the_page_is_the_document_and_validates(browser, request, name):
    path, document = request.getfixturevalue(name)
    with pages.opened(browser, path) as found:
        embedded = json.loads(found.page.evaluate("JSON.stringify(report.document())"))
    if name == "hardset":
        jsonschema.validate(embedded, SCHEMA)
    assert set(embedded["entities"]) == set(document["entities"])
    step = max(1, len(document["results"]) // 500)
    for one, other in zip(document["results"][::step], embedded["results"][::step], strict=True):
        assert same(one, other), (one, other)
    assert embedded["summary"] == document["summary"]


def same(one, other) -> bool:
    """Equal but for what the page rounds: it keeps seven digits of a number."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (isinstance(one, float) and math.isclose(one, other, rel_tol=1e-6))


def test_a_page_of_14274_questions_is_small_and_draws_no_more_than_a_small_one(browser, hardset, large):
    path, _ = large
    assert path.stat().st_size <= 12_000_000
    with pages.opened(browser, hardset[0]) as found:
        small = found.page.locator("*").count()
    with pages.opened(browser, path) as found:
        page = found.page
        for control, value in (("", ""), ("verdict", "beyond_hops"), ("sorted", "worst"), ("search", "Anna")):
            if control == "search":
                page.get_by_label(control).fill(value)
            elif control:
                page.get_by_label(control).select_option(value)
            assert 0 < page.locator(".row").count() <= 60, control
            assert page.locator("*").count() < 2 * small, control
        page.get_by_label("search").fill("")
        page.get_by_label("verdict").select_option("")
        assert page.get_by_role("status").inner_text() == f"{QUESTIONS:,} questions"


EVIL = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "\"><svg onload=alert(3)>'",
    "‮dettimbus‬ &lt;b&gt;",
    "Ω" * 10_000,
    "👩‍👩‍👧‍👦🇰🇷 점순",
    "__proto__",
    "${alert(4)} `{{7*7}}`",
    "<!--",
    "line\u2028separator\u0000\x1b[31m",
)


def test_malicious_names_neither_run_nor_break(browser, folder):
    document = results(len(EVIL) * 2, 60, entities=40)
    ids = list(document["entities"])
    renamed = dict(zip(ids, (EVIL * len(ids))[: len(ids)], strict=True))
    for entity, value in document["entities"].items():
        value |= {"name": renamed[entity], "description": renamed[entity], "type": renamed[entity]}
    for row, question in enumerate(document["results"]):
        text = EVIL[row % len(EVIL)]
        question |= {"query": f"Who is {text}?", "tags": [text], "id": f"{row}{text}"}
        answer = {"text": text, "citations": [ids[0], text], "scores": {text: text}, "error": text}
        question["answer"] = answer
        for item in (*question["linked"], *question["ranked"]):
            item |= {"name": renamed[item["id"]]}
            for step in item.get("walk", ()):
                step["relation"] = text
        for reference in question["references"]:
            reference |= {"name": text, "verdict": reference["verdict"] if row % 2 else text}
    part = document["summary"]["by_tag"]["1-hop"]
    document["summary"] |= {"by_tag": dict.fromkeys(EVIL, part), "verdicts": dict.fromkeys(EVIL, 3)}
    document["dataset"]["name"] = document["graph"]["name"] = EVIL[0]
    path = folder / "evil.html"
    path.write_text(results_page(document), encoding="utf-8")
    with pages.opened(browser, path, **SCREENS["light"]) as found:
        for row in range(len(EVIL) * 2):
            found.page.locator(".rows").focus()
            found.page.keyboard.press("Home" if row == 0 else "ArrowDown")
            assert found.page.locator(".question h2").inner_text().startswith("Who is ")
        assert found.page.locator("script").count() == 2
        assert found.page.locator("img").count() == 0
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert found.complaints == []
        assert found.requests == [path.as_uri()]


@pytest.fixture(scope="module")
def graph_page(folder):
    graph = read_graph(ROOT / f"data/kg/{KOREAN}-KG.json")
    path = folder / "graph.html"
    path.write_text(page_of_graph(graph, core_of(graph, most=len(graph))), encoding="utf-8")
    return path, len(graph)


def test_the_graph_page_opens_follows_a_choice_and_has_no_serious_violation(browser, graph_page):
    path, entities = graph_page
    with pages.opened(browser, path, **SCREENS["light"]) as found:
        assert found.page.locator(".node").count() == entities
        found.page.get_by_label("find").fill("점순네 수탉")
        assert found.page.locator(".about h2").inner_text() == "점순네 수탉"
        assert found.page.locator(".ties li").count() > 0
        assert pages.violations(found.page, *GRAVE) == []
        assert found.complaints == []
        assert found.requests == [path.as_uri()]


def test_the_graph_page_fits_a_phone_and_names_relations_on_a_tap(browser, graph_page):
    with pages.opened(browser, graph_page[0], has_touch=True, **SCREENS["phone"]) as found:
        picture = found.page.locator("svg.graph").bounding_box()
        assert picture["x"] >= 0
        assert picture["x"] + picture["width"] <= 390
        assert found.page.evaluate("document.documentElement.scrollWidth") <= 390
        found.page.locator(".node").first.dispatch_event("click")
        assert found.page.locator("svg.graph .names .relation").count() > 0
        found.page.locator("svg.graph .reach").first.dispatch_event("click", {"clientX": 50, "clientY": 300})
        assert "—" in found.page.locator(".tip").inner_text()
        assert found.complaints == []


def test_judged_scores_stand_on_their_own_scale(browser, folder):
    """A judge's grade of 3, from 1 to 5, is drawn at 3/5 and is not the best; a share of .6 there too."""
    document = results(4, 8, entities=20)
    for row, question in enumerate(document["results"]):
        question["answer"] = {"text": "so", "scores": {"coherence": float(row + 2), "correctness": 0.6}}
    mean = {"mean": 3.0, "low": 2.0, "high": 4.0, "n": 4, "reliable": False}
    correct = {"mean": 0.6, "low": 0.4, "high": 0.8, "n": 4, "reliable": False, "failed": 2}
    own = {"mean": 40.0, "low": 30.0, "high": 50.0, "n": 4, "reliable": False}
    document["summary"]["answers"] = {"scores": {"coherence": mean, "correctness": correct, "of_my_own": own}}
    path = folder / "judged.html"
    path.write_text(results_page(document), encoding="utf-8")
    with pages.opened(browser, path, **SCREENS["light"]) as found:
        stat = {
            name: found.page.locator(".stat", has=found.page.get_by_text(name, exact=True))
            for name in ("coherence", "correctness", "of_my_own")
        }
        assert "3.000 / 5" in " ".join(stat["coherence"].inner_text().split())
        assert "2 failed (worst value)" in stat["correctness"].inner_text()
        for name in ("coherence", "correctness"):
            assert stat[name].locator(".mean").get_attribute("cx") == "60%"
        assert stat["of_my_own"].locator(".mean").count() == 0
        found.page.get_by_label("measure").select_option("coherence")
        found.page.get_by_role("combobox", name="score").select_option("full")
        assert found.page.locator(".row .value.full").all_inner_texts() == ["5.000"]
        found.page.get_by_role("combobox", name="score").select_option("low")
        assert found.page.locator(".row .value").all_inner_texts() == ["2.000"]


def two_results(browser, folder):
    """A page of two systems on one gold set, one hop apart."""
    names = [("a.json", "1"), ("b.json", "2")]
    relations = [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")]
    write_kg(folder / "t-KG.json", ["Anna", "Bert", "Rex"], relations)
    write_gold(
        folder / "t-eval.jsonl",
        {"id": "q 1&=ü", "query": "=Whom does Anna know?", "reference_entities": ["Bert"],
         "context": ["Who is Anna?"], "ground_truth": "She knows Bert."},
        {"id": "q2", "query": "What does Anna dread?", "reference_entities": ["Rex"], "tags": ["far"]},
    )  # fmt: skip
    where = ("--dataset", str(folder / "t-eval.jsonl"), "-g", str(folder / "t-KG.json"), "--skip-generation")
    for name, hops in names:
        done = CliRunner().invoke(
            app, ["eval", *where, "--hops", hops, "-o", str(folder / name), "--label", "mine"]
        )
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["report", *(str(folder / name) for name, _ in names)])
    assert done.exit_code == 0, done.output
    return folder / "a.html"


@pytest.fixture
def beside(browser, tmp_path):
    return two_results(browser, tmp_path)


def test_a_link_opens_its_question_and_filters_stand_in_the_address(browser, beside):
    with pages.opened(browser, beside) as found:
        page = found.page
        page.select_option("label:has-text('flipped') select", "won")
        assert "flip=won" in page.evaluate("location.hash")
        assert page.locator(".row").count() == 1
        page.locator(".row").first.click()
        address = page.url
        assert not found.complaints
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(HANGS * 1000)
        page.goto(address)
        page.wait_for_selector("main:not([aria-busy])")
        assert page.locator("#query").inner_text() == "What does Anna dread?"
        assert page.locator("label:has-text('flipped') select").input_value() == "won"
        page.goto(address.split("#")[0] + "#q=q%201%26%3D%C3%BC")
        page.wait_for_function("document.querySelector('#query').textContent.includes('Whom')")


def test_two_results_stand_side_by_side_with_what_flipped(browser, beside):
    with pages.opened(browser, beside) as found:
        page = found.page
        page.locator(".row", has_text="dread").click()
        text = page.locator(".compared-with").inner_text()
        assert "farther than 1 hop from the named entities → " in " ".join(text.split())
        assert "rank" in text
        assert page.locator(".row", has_text="dread").locator(".flip.won").count() == 1
        assert page.locator(".flip").count() == 1


def test_what_is_filtered_is_saved_as_csv_without_formulas(browser, beside):
    with pages.opened(browser, beside) as found:
        page = found.page
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8-sig"))))
        assert [row["id"] for row in rows] == ["q 1&=ü", "q2"]
        assert rows[0]["query"] == "'=Whom does Anna know?"
        assert rows[1]["verdicts"] == "beyond_hops"
        assert rows[1]["flip"] == "won"
        page.select_option("label:has-text('tag') select", "far")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        assert Path(download.value.path()).read_bytes().count(b"\r\n") == 2


def test_the_page_speaks_korean(browser, tmp_path):
    path = two_results(browser, tmp_path)
    done = CliRunner().invoke(app, ["report", str(tmp_path / "a.json"), "--lang", "ko", "-o", str(path)])
    assert done.exit_code == 0, done.output
    with pages.opened(browser, path) as found:
        page = found.page
        assert page.locator("html").get_attribute("lang") == "ko"
        assert page.locator("#loss").inner_text() == "recall을 잃는 단계"
        assert page.locator("#questions").inner_text() == "질문"
        assert not found.complaints


def test_the_page_begins_with_a_sentence_and_the_worst_questions_opened(browser, hardset):
    path, document = hardset
    whole = sum(bool(row["references"]) and not row["fn"] for row in document["results"])
    scored = sum(bool(row["references"]) for row in document["results"])
    with pages.opened(browser, path, **SCREENS["light"]) as found:
        first = found.page.locator(".lead p").first.inner_text()
        assert first.startswith(f"{whole} of {scored} questions: the whole answer is among the first 5")
        cards = found.page.locator("details.worst-card[open]")
        assert cards.count() == 3
        asked = cards.nth(1).locator(".asked").inner_text()
        cards.nth(1).get_by_role("button", name="Show this question").click()
        assert found.page.locator(".question h2").inner_text() == asked
        assert found.complaints == []
