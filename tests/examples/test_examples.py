"""Each file of `examples/` with the real thing behind it, where that is installed.

The libraries are not among the project's own: `uv run --with lightrag-hku pytest tests/examples`, and so on.
Their models are functions here, and services listen on loopback.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import json
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
from tests.tools.bolt_server import RUN, Answer, BoltServer
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
    service: str, monkeypatch: pytest.MonkeyPatch, run_cli: Callable[..., Result]
) -> None:
    monkeypatch.setenv("RAG_URL", service)
    monkeypatch.delitem(sys.modules, "http_service", raising=False)
    spec = f"{EXAMPLES / 'http_service.py'}:retrieve"
    given = ("--retriever", spec, "--skip-generation", "-o", "./out.json")
    run_cli("eval --dataset", SAMPLE_GOLD, "-g", SAMPLE, *given, code=0)
    document = read_json("out.json")
    own = document["summary"]["own_retriever"]
    asked = [question.query for question in read_eval_set(SAMPLE_GOLD)]
    refused = sum("Armitage" in query for query in asked)
    assert (own["failed"], own["usage"]["total_tokens"]) == (refused, 3 * (len(asked) - refused))
    errors = {result["own_retriever"]["error"] for result in document["results"]} - {None}
    assert errors == {"RuntimeError: HTTP 500: Internal Server Error"}


def test_the_gold_set_over_our_own_code_fits_its_graph(run_cli: Callable[..., Result]) -> None:
    examples = read_eval_set(EXAMPLES / "lending-eval.jsonl")
    assert len(examples) == 30
    told = run_cli("validate --dataset", examples.path, "-g", GRAPHS / "graphify", code=0)
    assert "no errors" in told.stdout


@pytest.mark.parametrize("name", ["neo4j_cypher", "neo4j_vector_rag"])
def test_neo4j_by_its_own_driver(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("neo4j")
    found = Answer(["name", "score"], [["Ben Gunn", 0.9], ["Flint", 0.5]])
    with BoltServer(lambda query: found if "YIELD node, score" in query else Answer([], [])) as server:
        monkeypatch.setenv("NEO4J_URI", f"bolt://127.0.0.1:{server.port}")
        monkeypatch.setenv("NEO4J_PASSWORD", "secret")
        example = imported(name, monkeypatch)
        if hasattr(example, "embedded"):

            async def embedded(question: str) -> list[float]:
                return [float(len(question)), 1.0]

            monkeypatch.setattr(example, "embedded", embedded)

        async def asked() -> object:
            try:
                return await example.retrieve("Who moved the treasure of Flint?")
            finally:
                await example.driver.close()

        result = asyncio.run(asked())
        assert dict(result) == {"Ben Gunn": 0.9, "Flint": 0.5}  # type: ignore[call-overload]
        parameters = [fields[1] for tag, fields in server.received if tag == RUN]
        assert parameters[-1].get("words", parameters[-1].get("vector")) in (
            "Who moved the treasure of Flint",
            [32.0, 1.0],
        )
