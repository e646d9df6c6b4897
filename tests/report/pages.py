"""A real Chromium for the tests of pages: Debian's, driven by Playwright, opening files as people do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.conftest import HANGS

CHROMIUM = Path("/usr/bin/chromium")
SCREENS: dict[str, Any] = {
    "light": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


MARKS = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@dataclass
class Opened:
    """A page and everything that went wrong in it or tried to leave it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def settled(self) -> None:
        self.page.wait_for_selector("main:not([aria-busy])")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=list(FLAGS), timeout=HANGS * 1000
        )
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Opened]:
    """options: of Browser.new_page, such as viewport and color_scheme."""
    page = browser.new_page(**options)
    page.set_default_timeout(HANGS * 1000)
    found = Opened(page)
    page.on("console", lambda message: found.complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: found.complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (found.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: found.requests.append(request.url))
    page.goto(path.as_uri())
    found.settled()
    yield found
    page.close()


def violations(page: Page, *impacts: str) -> list[tuple[str, list[str]]]:
    """What axe finds: rule, and the first elements that break it. impacts: how grave, any without."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        (found["id"], [node["html"][:200] for node in found["nodes"][:3]])
        for found in Axe().run(page).response["violations"]
        if not impacts or found["impact"] in impacts
    ]
