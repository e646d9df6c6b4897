"""Each file of `examples/` with the real thing behind it, where that is installed.

The libraries are not among the project's own: `uv run --with lightrag-hku pytest tests/examples`, and so on.
Their models are functions here, and services listen on loopback.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import Result

from tests.conftest import ROOT, read_json
from tiny_graph_rag.formats.gold import read_eval_set

EXAMPLES = ROOT / "examples"
GRAPHS = ROOT / "tests" / "fixtures" / "graphs"
SAMPLE = ROOT / "data" / "kg" / "conan-doyle-speckled-band-KG.json"
SAMPLE_GOLD = ROOT / "data" / "eval" / "conan-doyle-speckled-band-eval.jsonl"


def imported(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module(name)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_each_is_one_short_file_with_a_function_and_its_command(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert "retrieve" in functions
    text = ast.get_docstring(tree) or ""
    assert f"--retriever {path.name}:retrieve" in text
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


class Service(BaseHTTPRequestHandler):
    """Finds the sample graph's names in the question; fails for one word."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        question = json.loads(self.rfile.read(length))["question"]
        names = [entity["name"] for entity in read_json(SAMPLE)["entities"].values()]
        found = {"entities": [name for name in names if name in question], "usage": {"total_tokens": 3}}
        self.send_response(500 if "Armitage" in question else 200)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def service() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_plain_http_service(
    service: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Result]
) -> None:
    monkeypatch.setenv("RAG_URL", service)
    monkeypatch.delitem(sys.modules, "http_service", raising=False)
    spec = f"{EXAMPLES / 'http_service.py'}:retrieve"
    run_cli(
        "eval --dataset",
        SAMPLE_GOLD,
        "-g",
        SAMPLE,
        "--retriever",
        spec,
        "--skip-generation",
        "-o",
        tmp_path / "out.json",
        code=0,
    )
    document = read_json(tmp_path / "out.json")
    own = document["summary"]["own_retriever"]
    asked = [question.query for question in read_eval_set(SAMPLE_GOLD)]
    refused = sum("Armitage" in query for query in asked)
    assert (own["failed"], own["usage"]["total_tokens"]) == (refused, 3 * (len(asked) - refused))
    errors = {result["own_retriever"]["error"] for result in document["results"]} - {None}
    assert errors == {"RuntimeError: HTTP 500: Internal Server Error"}


@pytest.mark.skipif(shutil.which("graphify") is None, reason="graphifyy is not installed")
def test_graphify_over_its_own_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHIFY_GRAPH", str(GRAPHS / "graphify" / "graph.json"))
    found = imported("graphify_rag", monkeypatch).retrieve("What raises TooManyLoansError?")
    assert found[0] == {"name": "TooManyLoansError", "id": "errors_toomanyloanserror"}
    assert "loans_loandesk_lend" in [item["id"] for item in found]


def test_lightrags_own_data(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightrag")
    pytest.importorskip("openai")
    assert callable(imported("lightrag_rag", monkeypatch).retrieve)


@pytest.mark.parametrize(
    ("library", "example"),
    [
        ("graphrag", "ms_graphrag_rag"),
        ("llama_index.core", "llama_index_rag"),
        ("neo4j", "neo4j_cypher"),
    ],
)
def test_the_others_fit_the_library_that_is_installed(
    library: str, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    module = imported(example, monkeypatch)
    assert callable(module.retrieve)
    if library == "neo4j":
        asyncio.run(module.driver.close())


def test_the_gold_set_over_our_own_code_fits_its_graph(run_cli: Callable[..., Result]) -> None:
    examples = read_eval_set(EXAMPLES / "lending-eval.jsonl")
    assert len(examples) == 30
    told = run_cli("validate --dataset", examples.path, "-g", GRAPHS / "graphify", code=0)
    assert "no errors" in told.stdout
