"""The same results, byte for byte, however they were computed: threads, compiled or not, any cache."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT

ENTITIES, QUESTIONS = 3_000, 150  # enough that the compiled path is taken
RETRIEVERS = ("bfs", "pagerank", "hybrid:bfs+bm25")
# What says when and how fast, not what.
TIMES = ("latency_seconds", "latency", "questions_per_second", "made")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with a gold set of the benchmarks' generator, and settings without the compiled path."""
    made = tmp_path_factory.mktemp("determinism")
    generator = str(ROOT / "benchmarks" / "generate.py")
    subprocess.run(
        [sys.executable, generator, str(made / "some-KG.json"), "--entities", str(ENTITIES)],
        check=True,
        capture_output=True,
        timeout=HANGS,
    )
    (made / "interpreted.yaml").write_text("running:\n  compiled: false\n")
    return made


def results(folder: Path, retriever: str, *more: str) -> bytes:
    """What `eval` writes, times aside."""
    out = folder / "results.json"
    done = subprocess.run(
        [
            *(sys.executable, "main.py", "eval", "--dataset", str(folder / "some-eval.jsonl")),
            *("-g", str(folder / "some-KG.json"), "--hops", "3", "--retriever", retriever),
            *("--limit", str(QUESTIONS), "--latency-sample", "0", "-o", str(out), *more),
        ],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(out.read_text(encoding="utf-8"), object_hook=without_times)
    out.unlink()
    return json.dumps(document, ensure_ascii=False).encode()


def without_times(found: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in found.items() if key not in TIMES}


def damaged(cache: Path) -> Iterator[str]:
    """Harm every file of the cache in another way each time; yields what was done."""
    files = sorted(path for path in cache.rglob("*") if path.is_file())
    assert files
    whole = {path: path.read_bytes() for path in files}
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


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_threads_and_compiling_change_no_byte(folder: Path, retriever: str) -> None:
    wanted = results(folder, retriever, "--threads", "2")
    assert b'"ranked": [{' in wanted
    for way in (("--threads", "1"), ("--config", str(folder / "interpreted.yaml")), ("--no-graph-cache",)):
        assert results(folder, retriever, *way) == wanted, way


def test_no_state_of_the_cache_changes_a_byte(folder: Path) -> None:
    wanted = results(folder, "bfs")
    assert results(folder, "bfs") == wanted
    for harm in damaged(folder / "cache"):
        assert results(folder, "bfs") == wanted, harm
        assert results(folder, "bfs") == wanted, f"again after {harm}"
