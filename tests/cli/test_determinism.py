"""The same results, byte for byte, however they were computed: compiled or not, any cache."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from tests.conftest import HANGS, ROOT
from tiny_graph_rag.columns import arrays
from tiny_graph_rag.formats import graphs

# What says when and how fast, not what.
TIMES = ("latency_seconds", "latency", "questions_per_second", "made")
EVAL = "eval --dataset some-eval.jsonl -g some-KG.json --hops 3 --set evaluation.latency_sample=0 -o ./r.json"

pytestmark = pytest.mark.slow


@pytest.fixture
def results(
    own_folder: Path, run_cli: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., bytes]:
    """What `eval` writes, times aside; on a graph of the benchmarks' generator, which is always cached."""
    monkeypatch.setattr(arrays, "WORTH_STEPS", 0)
    monkeypatch.setattr(graphs, "CACHED_FROM_BYTES", 0)
    generate = [
        sys.executable,
        ROOT / "benchmarks/generate.py",
        own_folder / "some-KG.json",
        "--entities",
        "300",
    ]
    subprocess.run(generate, check=True, capture_output=True, timeout=HANGS)
    Path("interpreted.yaml").write_text("running:\n  compiled: false\n")

    def written(*more: str) -> bytes:
        run_cli(EVAL, *more, code=0)
        document = json.loads(Path("r.json").read_text("utf-8"), object_hook=without_times)
        return json.dumps(document, ensure_ascii=False).encode()

    return written


def without_times(found: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in found.items() if key not in TIMES}


@pytest.mark.parametrize("retriever", ["bfs", "pagerank", "hybrid:bfs+bm25"])
def test_compiling_changes_no_byte(results: Callable[..., bytes], retriever: str) -> None:
    assert arrays.worth_compiling(0)
    few = ("--limit", "30", "--retriever", retriever)
    wanted = results(*few)
    assert b'"ranked": [{' in wanted
    assert results(*few, "--config", "interpreted.yaml") == wanted
    assert results(*few, "--set", "running.graph_cache=false") == wanted
