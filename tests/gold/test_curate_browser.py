"""Curating in a real browser against a real server: keys, search, two windows, a kill in the middle, axe."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import HANGS, ROOT, write_kg
from tests.gold.curating import serving
from tiny_graph_rag.formats.gold import read_eval_set

pages = pytest.importorskip("tests.report.pages", reason="needs playwright")
pytestmark, browser = pages.MARKS, pages.browser
GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"
KOREAN = ROOT / "data/kg/김유정-동백꽃-KG.json"
QUESTIONS = "Who killed Julia Stoner?\nWhere does Helen Stoner live?\nWho visited Stoke Moran?\n"


@pytest.fixture
def draft(run_cli, tmp_path: Path) -> Path:
    source, path = tmp_path / "q.txt", tmp_path / "q-draft.jsonl"
    source.write_text(QUESTIONS, encoding="utf-8")
    run_cli("recommend --dataset", source, "-g", GRAPH, "--retrievers", "bfs,pagerank", "-o", path, code=0)
    return path


@contextmanager
def window(browser, address: str, by: str, **options: object):
    """A window of its own storage, as another person's browser; complaints are what the console said."""
    context = browser.new_context(**options)
    context.set_default_timeout(HANGS * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
    page.goto(f"{address}&annotator={by}")
    page.wait_for_selector("main:not([aria-busy])")
    yield page, complaints
    context.close()


@pytest.fixture
def anna(browser, draft) -> Iterator[Any]:
    """One window of a server of its own, whose console stays silent."""
    with serving(draft, GRAPH) as running, window(browser, running.address, "anna") as (page, complaints):
        yield page
        assert complaints == []


def journal_of(draft: Path) -> list[dict]:
    return [
        json.loads(line)
        for line in draft.with_name("q-draft.journal.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def grade_of(page, name: str) -> str | None:
    pressed = page.locator("#candidates li", has=page.get_by_text(name, exact=True)).locator(
        "button[aria-pressed=true]"
    )
    return pressed.inner_text() if pressed.count() else None


def wait(page, holds: Callable[[], object], what: object) -> None:
    ends = time.monotonic() + HANGS
    while not holds():
        assert time.monotonic() < ends, (what, page.locator("body").inner_text()[:2000])
        page.wait_for_timeout(30)


def until(page, script: str) -> None:
    """Wait for a script to be true. The page's own policy forbids what Playwright waits with."""
    wait(page, lambda: page.evaluate(script), script)


def asks(page, text: str) -> None:
    """Wait for the question on the screen to begin so."""
    until(page, f"document.getElementById('query').textContent.startsWith('{text}')")


def saved(page, number: int) -> None:
    """Wait for the page to say so: for pages that nobody else's decisions make say something else."""
    until(page, f"document.getElementById('saved').textContent.includes('decision {number}')")


def recorded(page, draft: Path, number: int) -> None:
    """Wait for as many decisions on disk: what a page shows of its own ones it shows before they are sent."""
    journal = draft.with_name("q-draft.journal.jsonl")
    wait(page, lambda: journal.read_bytes().count(b"\n") >= number, f"{number} decisions")


def arrived(page, waiting: list, number: int) -> None:
    """Wait for as many requests to be held back."""
    wait(page, lambda: len(waiting) >= number, waiting)


def test_a_question_is_judged_by_keys_alone_and_becomes_gold(browser, draft) -> None:
    with serving(draft, GRAPH) as running, window(browser, running.address, "anna") as (page, complaints):
        assert page.locator("#query").inner_text() == "Who killed Julia Stoner?"
        names = page.locator("#candidates .name").all_inner_texts()
        keys = {"Dr. Grimesby Roylott": "2", "Swamp adder": "1"}
        for name in names[:4]:
            page.keyboard.press(keys.get(name, "0"))
        page.keyboard.press("s")
        page.keyboard.press("u")  # the last of the four
        saved(page, 5)
        until(page, "document.querySelectorAll('#candidates button[aria-pressed=true]').length === 3")
        page.keyboard.press("/")
        page.keyboard.type("gypsi")
        page.wait_for_selector("#found li")
        page.keyboard.press("Escape")
        page.keyboard.press("m")
        page.keyboard.type("the doctor did it by the snake")
        page.keyboard.press("Enter")
        page.keyboard.press("t")
        page.keyboard.type("murder, single-hop")
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # done, next
        asks(page, "Where")
        page.keyboard.press("x")  # asks first: nobody has searched all entities for an answer
        until(page, "document.getElementById('banner').textContent.includes('leaves every mean')")
        until(page, "document.getElementById('progress').value === 1")
        page.keyboard.press("x")
        until(page, "document.getElementById('progress').value === 2")
        assert page.locator("#banner").is_hidden()
        asks(page, "Who visited")
        page.keyboard.press("/")
        page.keyboard.type("gyps")
        page.wait_for_selector("#found li")
        page.keyboard.press("Escape")
        page.keyboard.press("x")  # searched for: not asked about
        until(page, "document.getElementById('progress').value === 3")
        saved(page, 10)  # 4 grades, 1 undone, note, tags, 3 done
        page.select_option("#filter", "empty")
        until(page, "document.querySelectorAll('#list li').length === 2")
        said = running.stop()
        assert "questions done: 3, left: 0" in said
        assert re.search(r"questions without a reference leave every mean.*: 2 \(q002, q003\)", said)
        # The server is gone by now; what the page says of that is no complaint of its own.
        assert [complaint for complaint in complaints if "ERR_CONNECTION" not in complaint] == []
    first, second, _ = read_eval_set(draft.with_name("q-eval.jsonl"))
    graded = {name: keys.get(name, "0") for name in names[:3]}
    assert set(first.highly_relevant_entities) == {name for name, grade in graded.items() if grade == "2"}
    assert set(first.reference_entities) == {name for name, grade in graded.items() if grade == "1"}
    assert set(first.irrelevant_entities) == {name for name, grade in graded.items() if grade == "0"}
    assert first.tags == ("murder", "single-hop")
    assert first.unknown["note"] == "the doctor did it by the snake"
    assert first.unknown["annotations"]["anna"] == {name: int(grade) for name, grade in graded.items()}
    assert (second.reference_entities, second.tags) == ((), ("no-answer",))


def test_another_annotators_grades_show_once_ones_own_question_is_done(browser, draft) -> None:
    with (
        serving(draft, GRAPH) as running,
        window(browser, running.address, "anna") as (first, _),
        window(browser, running.address, "bert") as (second, _),
    ):
        first.keyboard.press("2")
        saved(first, 1)
        second.reload()
        second.wait_for_selector("main:not([aria-busy])")
        second.keyboard.press("1")
        saved(second, 2)
        assert "anna" not in second.locator("#candidates").inner_text()
        second.keyboard.press("Enter")
        asks(second, "Where")
        saved(second, 3)
        second.select_option("#filter", "all")
        second.locator("#list button").first.click()
        second.wait_for_selector("#candidates .others")
        assert "judged by anna: 2" in second.locator("#candidates").inner_text()


def test_what_no_retriever_found_is_found_by_typing_it_and_added(anna, draft) -> None:
    anna.keyboard.press("/")
    anna.keyboard.type("crown i")
    anna.wait_for_selector("#found li:has-text('Crown Inn')")
    anna.keyboard.press("Shift+Enter")
    saved(anna, 1)
    assert grade_of(anna, "Crown Inn") == "2"
    assert journal_of(draft)[0]["entity"] == "e-crown-inn"


def test_half_a_korean_syllable_finds_the_name_while_it_is_typed(browser, run_cli, tmp_path) -> None:
    source, path = tmp_path / "q.txt", tmp_path / "q-draft.jsonl"
    source.write_text("점순은 누구를 좋아해?\n", encoding="utf-8")
    run_cli("recommend --dataset", source, "-g", KOREAN, "--retrievers", "bfs", "-o", path)
    with (
        serving(path, KOREAN) as running,
        window(browser, running.address, "안나") as (page, complaints),
    ):
        page.keyboard.press("/")
        client = page.context.new_cdp_session(page)
        for composing in ("ㅈ", "저", "점", "점ㅅ", "점수", "점순"):  # as an input method sends them
            client.send(
                "Input.imeSetComposition", {"text": composing, "selectionStart": 1, "selectionEnd": 1}
            )
            until(page, f"document.getElementById('search').value === '{composing}'")
            page.wait_for_selector("#found li:has-text('점순')")
        client.send("Input.insertText", {"text": "점순"})
        page.wait_for_selector("#found li[aria-selected=true]")
        page.keyboard.press("Enter")
        saved(page, 1)
        assert grade_of(page, "점순") == "1"
        assert journal_of(path)[0]["by"] == "안나"
        assert complaints == []


def test_the_page_speaks_korean(browser, draft) -> None:
    with (
        serving(draft, GRAPH, "--lang", "ko") as running,
        window(browser, running.address, "안나") as (page, complaints),
    ):
        assert page.evaluate("document.documentElement.lang") == "ko"
        shown = page.locator("body").inner_text()
        for text in ("3개 중 0개 끝냄", "다른 개체 추가", "그래프에 답이 없음"):
            assert text in shown
        page.keyboard.press("1")
        until(page, "document.getElementById('saved').textContent === '저장됨, 판정 1'")
        page.keyboard.press("?")
        page.wait_for_selector("#help[open] >> text=답 그 자체(매우 관련 있음)")
        english = re.findall(r"\b(?:the|done|judged|question|entity)\b", page.locator("#help").inner_text())
        assert english == []
        page.screenshot(path=str(draft.with_name("korean.png")))
        assert complaints == []


def test_a_kill_in_the_middle_loses_nothing(browser, draft) -> None:
    with serving(draft, GRAPH) as running, window(browser, running.address, "anna") as (page, _):
        page.keyboard.press("2")
        saved(page, 1)
        running.process.kill()
        running.process.communicate()
        page.keyboard.press("1")  # with nobody to take them
        page.keyboard.press("0")
        until(page, "document.getElementById('banner').textContent.includes(\"2 decisions aren't saved\")")
        page.evaluate(
            """() => {
                banners_seen = [];
                new MutationObserver(() => banners_seen.push(document.getElementById("banner").textContent))
                    .observe(document.getElementById("banner"), { childList: true });
            }"""
        )
        for _ in "ab":  # asking for changes fails too, which isn't said instead
            page.wait_for_event("requestfailed", lambda request: "/api/changes" in request.url)
        seen = page.evaluate("banners_seen")
        assert seen
        assert [text for text in seen if "2 decisions aren't saved" not in text] == []
        with serving(draft, GRAPH, "--port", running.port) as again:
            page.goto(f"{again.address}&annotator=anna")
            page.wait_for_selector("main:not([aria-busy])")
            until(page, "document.querySelectorAll('#candidates button[aria-pressed=true]').length === 3")
            saved(page, 3)
            assert [entry["grade"] for entry in journal_of(draft)] == [2, 1, 0]
            again.stop(signal.SIGTERM)


def test_two_people_at_once_overwrite_nothing_and_their_differences_are_settled(browser, draft) -> None:
    with (
        serving(draft, GRAPH) as running,
        window(browser, running.address, "anna") as (anna, _),
        window(browser, running.address, "ben") as (ben, _),
    ):
        for page, keys, decisions in ((anna, "210", 3), (ben, "220", 6)):
            for key in keys:
                page.keyboard.press(key)
            recorded(page, draft, decisions)
            until(page, "!queue.length")
            until(page, "document.querySelectorAll('#candidates button[aria-pressed=true]').length === 3")
        until(anna, "document.getElementById('saved').textContent.includes('ben also judged this question')")
        # Both change the question; the second is told, not overwritten.
        for page, text in ((anna, "Who killed Julia?"), (ben, "Who murdered Julia?")):
            page.keyboard.press("e")
            page.locator("#text").fill(text)
        anna.keyboard.press("Enter")
        recorded(anna, draft, 7)
        ben.keyboard.press("Enter")
        until(ben, "document.getElementById('banner').textContent.includes('somebody else has changed')")
        assert "Who murdered Julia?" in ben.locator("#banner").inner_text()
        for page in (anna, ben):
            asks(page, "Who killed Julia?")
            page.keyboard.press("Enter")
            asks(page, "Where")
        recorded(ben, draft, 9)
        assert ben.evaluate("document.getElementById('progress').value") == 1
        ben.get_by_role("button", name="agreement").click()
        ben.wait_for_selector("#kappa td")
        cells = ben.locator("#kappa tbody tr").first.locator("td").all_inner_texts()
        # Grades 2 1 0 and 2 2 0 differ in one; by chance, of 1 1 1 and 1 0 2 thirds, in 2/3 + 1 + 1/3 = 2:
        # κ = 1 - 1/2. With squared distances in 8/3 + 1 + 4/3 = 5: κ = 1 - 1/5.
        assert cells == ["all", "3", "2", "0.500", "0.800"]
        ben.locator("#differing button[data-grade='1']").click()
        ben.wait_for_selector("#differing button[data-grade='1'][aria-pressed=true]")
        ben.keyboard.press("Escape")
        said = running.stop()
        assert "left: 2" in said
        assert "differ" not in said
    (question,) = read_eval_set(draft.with_name("q-eval.jsonl"))
    assert len(question.highly_relevant_entities) == len(question.reference_entities) == 1
    assert question.query == "Who killed Julia?"


@pytest.mark.parametrize("screen", pages.SCREENS)
def test_axe_finds_nothing_serious_and_the_phone_needs_no_side_scrolling(browser, draft, screen) -> None:
    options = pages.SCREENS[screen]
    states = {
        "as it opens": (), "judged": "210", "searching": "/stoner", "editing": ("Escape", "e"),
        "help": ("Escape", "?"), "agreement": ("Escape",),
    }  # fmt: skip
    with (
        serving(draft, GRAPH) as running,
        window(browser, running.address, "anna", **options) as (page, complaints),
    ):
        for state, keys in states.items():
            for key in keys:
                page.keyboard.press(key)
            if state == "judged":
                saved(page, 3)
            elif state == "searching":
                page.wait_for_selector("#found li")
            elif state == "agreement":
                page.get_by_role("button", name="agreement").click()
                page.wait_for_selector("#agreement[open]")
            assert pages.violations(page, "serious", "critical") == [], state
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= options["viewport"]["width"], state
        assert complaints == []


def test_markup_in_names_and_questions_is_text(browser, tmp_path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    graph = write_kg(tmp_path / "evil-KG.json", [(evil, ["</script>"]), "B"], [(evil, "<b>x</b>", "B")])
    path = tmp_path / "q-draft.jsonl"
    candidate = {"id": evil, "name": evil, "type": evil, "description": evil, "words": [evil]}
    row = {"draft": True, "id": evil, "query": f"Who is {evil}?", "tags": [evil], "candidates": [candidate]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with (
        serving(path, graph) as running,
        window(browser, running.address, "anna") as (page, complaints),
    ):
        page.keyboard.press("2")
        saved(page, 1)
        page.keyboard.press("/")
        page.keyboard.type("img")
        page.wait_for_selector("#found li")
        assert page.locator("img").count() == 0
        assert complaints == []
        running.stop()
    written = tmp_path / "q-eval.jsonl"
    questions = list(read_eval_set(written)) if written.exists() else []
    assert all(question.highly_relevant_entities == (evil,) for question in questions)
