"""Makes the README's pictures from our own data: `uv run python docs/pictures/make.py`.

eval.svg is what the terminal shows; page.png and question.png are the page in a real Chromium (Debian's).
"""

from __future__ import annotations

import io
import json
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.report.pages import CHROMIUM, FLAGS  # noqa: E402
from tiny_graph_rag.config import Config  # noqa: E402
from tiny_graph_rag.formats.gold.jsonl import read_eval_set  # noqa: E402
from tiny_graph_rag.formats.graphs import read_graph  # noqa: E402
from tiny_graph_rag.measures import default_measures  # noqa: E402
from tiny_graph_rag.report.html import results_page  # noqa: E402
from tiny_graph_rag.report.json.results import document_parts  # noqa: E402
from tiny_graph_rag.report.terminal.evaluation import print_evaluation  # noqa: E402
from tiny_graph_rag.study.evaluate import Evaluation, evaluate  # noqa: E402

FOLDER = Path(__file__).parent
GRAPH, DATASET, HOPS = "김유정-동백꽃-KG.json", "김유정-동백꽃-hardset.jsonl", 3
COMMAND = f"python main.py eval --dataset {DATASET} --hops {HOPS}"
WIDTH, HEIGHT = 1240, 860


def main() -> None:
    config = Config().override(hops=HOPS, latency_sample=0)
    examples = read_eval_set(ROOT / "data/eval" / DATASET)
    measures = default_measures(config.evaluation.top_k)
    evaluation = evaluate(read_graph(ROOT / "data/kg" / GRAPH), examples, config, measures)
    terminal(evaluation)
    page(evaluation)


def terminal(evaluation: Evaluation) -> None:
    console = Console(record=True, width=118, file=io.StringIO(), highlight=False)
    console.print(f"$ {COMMAND}")
    print_evaluation(evaluation, console)
    drawn = console.export_svg(title="Tiny-Graph-RAG eval", unique_id="eval")
    # A picture fetches nothing: without rich's web fonts the reader's own monospace one is used.
    drawn = re.sub(r"@font-face \{.*?\}\s*|<!-- .*? -->\s*", "", drawn, flags=re.S)
    (FOLDER / "eval.svg").write_text(drawn, encoding="utf-8")


def page(evaluation: Evaluation) -> None:
    """The page as it opens, and a question that was missed with its walk."""
    document = json.loads(b"".join(document_parts(evaluation)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(results_page(document), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        opened = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        opened.goto(path.as_uri())
        opened.wait_for_selector("main:not([aria-busy])")
        opened.screenshot(path=str(FOLDER / "page.png"))
        opened.get_by_label("verdict").select_option("beyond_hops")  # has the path that would have reached it
        opened.locator(".row").first.click()
        opened.evaluate("document.getElementById('questions').scrollIntoView()")
        opened.screenshot(path=str(FOLDER / "question.png"))
        browser.close()


if __name__ == "__main__":
    main()
