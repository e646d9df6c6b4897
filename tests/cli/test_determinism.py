"""The same results, byte for byte, however they were computed: compiled or not, any cache."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
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


def damaged(cache: Path) -> Iterator[str]:
    """Harm every file of the cache in another way each time; yields what was done."""
    whole = {path: path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()}
    assert whole
    draw = random.Random(0)

    def flipped(content: bytes) -> bytes:
        changed = bytearray(content)
        for _ in range(20):
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        return bytes(changed)

    for harm, change in {
        "bits flipped": flipped,
        "cut off": lambda content: content[: len(content) // 2],
        "emptied": lambda content: b"",
        "foreign": lambda content: b"x" * len(content),
        "head of another version": lambda content: content[:64].swapcase() + content[64:],
    }.items():
        for path, content in whole.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(change(content) if content else content)
        yield harm


@pytest.mark.parametrize("retriever", ["bfs", "pagerank", "hybrid:bfs+bm25"])
def test_compiling_changes_no_byte(results: Callable[..., bytes], retriever: str) -> None:
    assert arrays.worth_compiling(0)
    few = ("--limit", "30", "--retriever", retriever)
    wanted = results(*few)
    assert b'"ranked": [{' in wanted
    assert results(*few, "--config", "interpreted.yaml") == wanted
    assert results(*few, "--set", "running.graph_cache=false") == wanted


def test_no_state_of_the_cache_changes_a_byte(results: Callable[..., bytes], own_folder: Path) -> None:
    few = ("--limit", "10")
    wanted = results(*few)
    cache = own_folder.with_name(f"{own_folder.name}-cache") / "tiny-graph-rag"
    assert (cache / "graphs").is_dir()
    for harm in damaged(cache / "graphs"):
        assert results(*few) == wanted, harm
    assert results(*few) == wanted, "again"
