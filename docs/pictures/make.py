"""Makes the pictures of the README and the docs: `uv run python docs/pictures/make.py`.

Each shows what the command printed in it, run here and now, gives: eval.svg the terminal; page.png and
question.png the page in a real Chromium (Debian's). Next to them is shown.json, the figures that stand in
them: `tests/test_pictures.py` runs the command again and fails where one of them is stale.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).parent
GRAPH, DATASET, HOPS = "김유정-동백꽃-KG.json", "김유정-동백꽃-hardset.jsonl", 3
ARGUMENTS = ("eval", "--dataset", DATASET, "-g", GRAPH, "--hops", str(HOPS), "--skip-generation")
COMMAND = f"uv run python main.py {' '.join(ARGUMENTS)}"
COLUMNS = 100
WIDTH, HEIGHT = 1240, 860
NOT_DRAWN = "results: "  # the file, which differs from run to run


def printed(results: Path) -> str:
    """What the command prints, less what differs from run to run; the results go to `results`."""
    done = subprocess.run(
        [sys.executable, "main.py", *ARGUMENTS, "-o", str(results)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(COLUMNS), "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    lines = [line for line in done.stdout.splitlines() if not line.startswith(NOT_DRAWN)]
    return "\n".join(lines).rstrip() + "\n"


def figures(results: Path) -> dict[str, Any]:
    """What can be read in page.png and question.png: means, first sentences, the question, its ranking."""
    from tiny_graph_rag.report.headline import headline

    content = json.loads(results.read_text(encoding="utf-8"))
    question = next(
        row
        for row in content["results"]
        if any(reference["verdict"] == "beyond_hops" for reference in row["references"])
    )
    return {
        "means": {name: round(mean["mean"], 3) for name, mean in content["summary"]["measures"].items()},
        "sentences": [str(sentence) for sentence in headline(content)],
        "question": question["id"],
        "ranked": [[row["name"], round(row["score"], 3)] for row in question["ranked"]],
    }


def terminal(text: str) -> str:
    """The SVG of a terminal that shows the command and what it printed."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(Text(text))
    drawn = console.export_svg(title="Tiny-Graph-RAG eval", unique_id="eval")
    # A picture fetches nothing: without rich's web fonts the reader's own monospace one is used.
    return re.sub(r"@font-face \{.*?\}\s*|<!-- .*? -->\s*", "", drawn, flags=re.S)


def page(results: Path) -> None:
    """The page as it opens, and a question that was missed with its path."""
    from playwright.sync_api import sync_playwright

    sys.path.insert(0, str(ROOT))
    from tests.report.pages import CHROMIUM, FLAGS

    subprocess.run(
        [sys.executable, "main.py", "report", str(results), "--report", "html", "--quiet"],
        cwd=ROOT,
        env={**os.environ, "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"},
        check=True,
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        opened.goto(results.with_suffix(".html").as_uri())
        opened.wait_for_selector("main:not([aria-busy])")
        opened.screenshot(path=str(FOLDER / "page.png"))
        opened.get_by_label("verdict").select_option("beyond_hops")  # has the path that would have reached it
        opened.locator(".row").first.click()
        opened.evaluate("document.getElementById('questions').scrollIntoView()")
        opened.screenshot(path=str(FOLDER / "question.png"))
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        text = printed(results)
        (FOLDER / "eval.svg").write_text(terminal(text), encoding="utf-8")
        page(results)
        shown = json.dumps({"printed": text.splitlines(), **figures(results)}, ensure_ascii=False, indent=1)
        (FOLDER / "shown.json").write_text(shown + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
