"""A retriever of one's own that does what it likes: its question fails, and nothing else does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import HANGS, ROOT
from tiny_graph_rag.retrieval.native import OwnReply
from tiny_graph_rag.retrieval.own import Asking, Schedule
from tiny_graph_rag.retrieval.own_calls import Calls, callable_of
from tiny_graph_rag.retrieval.own_process import RetrieverProcess

QUESTIONS = {"good": "Where does Ann live?", "bad": "Do your worst", "also": "Who is Ben?"}
HEAD = """
import asyncio, atexit, ctypes, itertools, os, signal, sys, threading, time
def well(q): return ['Ann', 'Dover']
"""


def replies(tmp_path: Path, code: str, timeout: float = 60, concurrency: int = 1) -> dict[str, OwnReply]:
    """What each question brings where `code` is what the worst of them does."""
    path = tmp_path / "my_rag.py"
    path.write_text(HEAD + code, encoding="utf-8")
    worker = RetrieverProcess(f"{path}:retrieve")
    try:
        return Schedule(worker, QUESTIONS, Asking(concurrency, timeout), None, 0).replies()
    finally:
        worker.close()


def only_bad(body: str) -> str:
    return f"def retrieve(q):\n    if 'worst' not in q: return well(q)\n    {body}\n"


WORST = {
    "exits": ("os._exit(0)", "its process ended with exit code 0"),
    "ends by a signal": ("os.kill(os.getpid(), signal.SIGTERM)", "its process was stopped by SIGTERM"),
    "crashes": ("ctypes.string_at(0)", "its process was stopped by SIGSEGV"),
    "leaves": ("sys.exit(0)", "SystemExit: 0"),
    "pretends Ctrl-C": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "raises what has no words": (
        "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
        "E",
    ),
    "raises escape signs": ("raise ValueError('a\\x1b[2Jb\\nsecond line')", "ValueError: a [2Jb"),
    "returns a set": ("return {'Ann', 'Ben'}", "ValueError: the returned list: a set has no order"),
    "returns text": ("return 'Ann'", "ValueError: wanted a list of names"),
    "returns NaN": ("return [('Ann', float('nan'))]", "ValueError: a score must be a finite number, got nan"),
    "returns itself": ("a = ['Ann']; a.append(a); return a", "ValueError: the returned list"),
    "never ends to yield": ("return (str(n) for n in itertools.count())", "more than 100,000 items"),
    "says too much": ("return {'entities': ['Ann'], 'answer': 'x' * 5_000_000}", "5,000,000 characters"),
    "calls itself": ("return retrieve(q)", "RecursionError"),
}


@pytest.mark.slow
@pytest.mark.parametrize("worst", WORST)
def test_the_worst_fails_alone(tmp_path: Path, worst: str) -> None:
    body, error = WORST[worst]
    found = replies(tmp_path, only_bad(body), concurrency=3)
    assert error in (found["bad"].error or "")
    for key in ("good", "also"):
        assert found[key].error is None
        assert [place.name for place in found[key].entities or ()] == ["Ann", "Dover"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        only_bad("time.sleep(1000)"),
        only_bad("return (time.sleep(1) or str(n) for n in itertools.count())"),
        only_bad("return asyncio.sleep(1000)"),
        "async def retrieve(q):\n    while 'worst' in q: pass\n    return well(q)\n",
        "async def retrieve(q):\n"
        "    try: await asyncio.sleep(1000 * ('worst' in q))\n"
        "    except asyncio.CancelledError:\n        while True: pass\n"
        "    return well(q)\n",
    ],
    ids=["sleeps", "yields slowly", "awaits", "blocks the loop", "swallows the end"],
)
def test_a_call_that_does_not_end_is_given_up_and_the_next_is_asked(tmp_path: Path, code: str) -> None:
    started = time.monotonic()
    found = replies(tmp_path, code, timeout=6)
    assert found["bad"].error == "no reply within 6 s (--timeout)"
    assert found["good"].error is None
    assert found["also"].error is None
    assert time.monotonic() - started < HANGS  # it would sleep for a quarter of an hour


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "print('noise'); sys.stdout.write('more'); os.write(1, b'raw'); return well(q)",
        "sys.stdout.close(); return well(q)",
        "sys.stdout = sys.stderr = None; return well(q)",
        "os.chdir('/'); return well(q)",
        "threading.Thread(target=time.sleep, args=(60,)).start(); return well(q)",
        "atexit.register(lambda: 1 / 0); return well(q)",
        "return well(q) if os.fork() else ['child']",
        "return type('L', (list,), {'__len__': lambda self: -1})(well(q))",
        "return [type('S', (str,), {'__hash__': None})(name) for name in well(q)]",
        "return {name: 1 / rank for rank, name in enumerate(well(q), 1)}",
    ],
)
def test_whatever_else_it_does_its_answer_counts(tmp_path: Path, body: str) -> None:
    found = replies(tmp_path, f"def retrieve(q):\n    {body}\n")
    assert [[place.name for place in reply.entities or ()] for reply in found.values()] == [
        ["Ann", "Dover"]
    ] * 3


def test_amounts_that_are_none_are_left_out_and_counted(tmp_path: Path) -> None:
    usage = "{'a': 10 ** 5000, 'b': float('nan'), 'c': -1, 'd': 7, 'e': True, 'f': [1], 'model': 'x'}"
    found = replies(tmp_path, f"def retrieve(q):\n    return {{'entities': ['Ann'], 'usage': {usage}}}\n")
    assert (found["good"].usage, found["good"].left_out) == ({"d": 7, "model": "x"}, 3)


@pytest.mark.slow
def test_a_process_that_always_ends_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "my_rag.py"
    path.write_text("import os\ndef retrieve(q): os._exit(3)\n", encoding="utf-8")
    worker = RetrieverProcess(f"{path}:retrieve")
    found = Schedule(worker, {str(n): "?" for n in range(50)}, Asking(4, 60), None, 0).replies()
    worker.close()
    assert len(found) == 50
    stopped = "stopped because the process ended 5 times in a row"
    assert sum(stopped in (reply.error or "") for reply in found.values()) > 40


def test_the_folder_of_the_file_stays_out_of_the_programs_path(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAMES = ['Ann']\n", encoding="utf-8")
    (tmp_path / "html.py").write_text("raise ImportError('a file of the user')\n", encoding="utf-8")
    before = list(sys.path)
    found = replies(tmp_path, "import beside\ndef retrieve(q): return beside.NAMES\n")
    assert found["good"].error is None
    assert sys.path == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "def retrieve(q): return well(q)",
        "async def retrieve(q): return well(q)",
        "def retrieve(q): yield from well(q)",
        "async def retrieve(q):\n    for name in well(q): yield name",
        "def retrieve(questions): return [well(q) for q in questions]",
        "def retrieve(asked: list[str]): return {q: well(q) for q in asked}",
        "class retrieve:\n    def invoke(self, q): return well(q)",
        "class retrieve:\n    async def ainvoke(self, q): return well(q)",
        "class R:\n    def get_relevant_documents(self, q): return well(q)\nretrieve = R()",
        "class retrieve:\n    async def __call__(self, q): return well(q)",
        "import functools\nretrieve = functools.partial(lambda more, q: well(q), None)",
    ],
)
def test_every_kind_of_callable_is_asked(tmp_path: Path, code: str) -> None:
    found = replies(tmp_path, code + "\n", concurrency=2)
    assert {tuple(place.name for place in reply.entities or ()) for reply in found.values()} == {
        ("Ann", "Dover")
    }
    names: dict[str, object] = {}
    exec(HEAD + code, names)
    worker = Calls(callable_of(names["retrieve"], "retrieve"))
    again = Schedule(worker, QUESTIONS, Asking(2, 60), None, 0).replies()
    worker.close()
    assert {key: reply.entities for key, reply in again.items()} == {
        key: reply.entities for key, reply in found.items()
    }


@pytest.mark.slow
def test_ctrl_c_ends_the_program_and_the_retriever(tmp_path: Path) -> None:
    (tmp_path / "my_rag.py").write_text(
        "import os, time\n"
        "def retrieve(q):\n    open('pid', 'w').write(str(os.getpid()))\n    time.sleep(1000)\n",
        encoding="utf-8",
    )
    (tmp_path / "g-KG.json").write_text('{"entities": {"Ann": {"name": "Ann"}}, "relationships": []}')
    line = json.dumps({"query": "Ann?", "reference_entities": ["Ann"]})
    (tmp_path / "g-eval.jsonl").write_text(line)
    process = subprocess.Popen(
        [
            *(sys.executable, str(ROOT / "main.py"), "eval", "--dataset", "g-eval.jsonl", "-g", "g-KG.json"),
            *("--retriever", "my_rag.py:retrieve", "--skip-generation", "-o", "./o.json"),
        ],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    own = int((tmp_path / "pid").read_text())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANGS)
    assert (process.returncode, errors) == (130, "interrupted; nothing was overwritten\n")
    with pytest.raises(ProcessLookupError):
        os.kill(own, 0)
    assert not (tmp_path / "o.json").exists()
