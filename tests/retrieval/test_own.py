"""A retriever of one's own that does what it likes: its question fails, and nothing else does."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from tests.conftest import HANGS, ROOT
from tiny_graph_rag import load_questions
from tiny_graph_rag.retrieval.native import OwnReply, reply_from, reply_of
from tiny_graph_rag.retrieval.own import worker_of
from tiny_graph_rag.retrieval.own_calls import InThread, asked, callable_of

QUESTIONS = {"good": "Where does Ann live?", "bad": "Do your worst", "also": "Who is Ben?"}
HEAD = """
import asyncio, atexit, ctypes, itertools, os, signal, sys, threading, time
def well(q): return ['Ann', 'Dover']
"""


def replies(
    tmp_path: Path, code: str, timeout: float = 60, concurrency: int = 1, *, in_process: bool = False
) -> dict[str, OwnReply]:
    """What each question brings where `code` is what the worst of them does."""
    path = tmp_path / "my_rag.py"
    path.write_text(HEAD + code, encoding="utf-8")
    worker = worker_of(f"{path}:retrieve", in_process=in_process)
    try:
        return dict(asked(worker, QUESTIONS, concurrency, timeout))
    finally:
        worker.close()


def only_bad(body: str) -> str:
    return f"def retrieve(q):\n    if 'worst' not in q: return well(q)\n    {body}\n"


WORST = {
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
    "calls itself": ("return retrieve(q)", "RecursionError"),
}


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
    ("body", "error"),
    [
        ("os._exit(0)", "its process ended with exit code 0"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "its process ended with exit code -15"),
        ("ctypes.string_at(0)", "its process ended with exit code -11"),
        ("time.sleep(1000)", "no reply within 6 s (openai.timeout)"),
        ("raise ValueError('no')", "ValueError: no"),
    ],
)
def test_a_process_of_its_own_ends_alone(tmp_path: Path, body: str, error: str) -> None:
    found = replies(tmp_path, only_bad(f"print('noise'); {body}"), 6, in_process=True)
    assert found["bad"].error == error
    assert [place.name for place in found["also"].entities or ()] == ["Ann", "Dover"]


@pytest.mark.parametrize(
    "code",
    [
        only_bad("time.sleep(30)"),
        only_bad("return (time.sleep(1) or str(n) for n in itertools.count() if n < 30)"),
        only_bad("return asyncio.sleep(30)"),
    ],
    ids=["sleeps", "yields slowly", "awaits"],
)
def test_a_call_that_does_not_end_is_given_up_and_the_next_is_asked(tmp_path: Path, code: str) -> None:
    started = time.monotonic()
    found = replies(tmp_path, code, timeout=0.4)
    assert found["bad"].error == "no reply within 0.4 s (openai.timeout)"
    assert found["good"].error is None
    assert found["also"].error is None
    assert time.monotonic() - started < HANGS


def test_amounts_that_are_none_are_left_out(tmp_path: Path) -> None:
    usage = "{'a': 10 ** 5000, 'b': float('nan'), 'c': -1, 'd': 7, 'e': True, 'f': [1], 'model': 'x'}"
    found = replies(tmp_path, f"def retrieve(q):\n    return {{'entities': ['Ann'], 'usage': {usage}}}\n")
    assert found["good"].usage == {"d": 7, "model": "x"}


def test_a_file_next_to_the_function_hides_no_module(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("NAMES = ['Ann']\n", encoding="utf-8")
    (tmp_path / "html.py").write_text("raise ImportError('a file of the user')\n", encoding="utf-8")
    found = replies(tmp_path, "import beside, html\ndef retrieve(q): return beside.NAMES\n")
    assert found["good"].error is None
    sys.path.remove(str(tmp_path))


@pytest.mark.parametrize(
    "code",
    [
        "def retrieve(q): return well(q)",
        "async def retrieve(q): return well(q)",
        "def retrieve(q): yield from well(q)",
        "async def retrieve(q):\n    for name in well(q): yield name",
        "def retrieve(questions): return [well(q) for q in questions]",
        "def retrieve(asked: list[str]): return [well(q) for q in asked]",
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
    again = dict(asked(InThread(callable_of(names["retrieve"], "retrieve")), QUESTIONS, 2, 60))
    assert {key: reply.entities for key, reply in again.items()} == {
        key: reply.entities for key, reply in found.items()
    }


@dataclass
class Document:
    """LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    """LlamaIndex's."""

    text: str
    id_: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    node: TextNode
    score: float | None = None


TOLD = "Bea lives in Dover."
LIVES = ("Bea", "LIVES_IN", "Dover")
HOME = [("Bea", "", "Dover")]
BEA = TextNode(TOLD, "c2", {"file_name": "a.txt"})
Entity = namedtuple("Entity", "name type")
Label = namedtuple("Label", "label")


LIGHTRAG = {
    "status": "success",
    "data": {
        "entities": [{"entity_name": "Bea", "source_id": "c1<SEP>c2"}],
        "relationships": [{"src_id": "Bea", "tgt_id": "Dover", "keywords": "home"}],
        "chunks": [{"content": TOLD, "chunk_id": "c2"}],
    },
}
GRAPHRAG = {
    "entities": pandas.DataFrame({"id": ["0"], "entity": ["Bea"]}),
    "relationships": pandas.DataFrame({"id": ["0"], "source": ["Bea"], "target": ["Dover"]}),
    "sources": pandas.DataFrame({"id": ["7"], "text": [TOLD]}),
    "reports": pandas.DataFrame({"id": ["0"], "title": ["A town"]}),
}
FAST_GRAPHRAG = SimpleNamespace(
    entities=[(Entity("Bea", "PERSON"), np.float32(0.9))],
    relations=[(SimpleNamespace(source="Bea", target="Dover"), np.float32(0.5))],
    chunks=[(SimpleNamespace(id="c2", content=TOLD), np.float32(0.1))],
)


def kinds(value: Any) -> tuple[Any, Any, Any]:
    """Names, (source, type, target), (id, text) of a reply; None where nothing of the kind came."""
    found = reply_of(value)
    return (
        None if found.entities is None else [place.name or place.id for place in found.entities],
        None if found.relations is None else [(one.source, one.type, one.target) for one in found.relations],
        None if found.passages is None else [(one.id, one.text) for one in found.passages],
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ([("Bea", 0.9), ("Dover", 0.5)], (["Bea", "Dover"], None, None)),
        ({"Bea": 0.9, "Dover": np.float32(0.5).item()}, (["Bea", "Dover"], None, None)),
        ([LIVES], (None, [LIVES], None)),
        ([{"source": "Bea", "target": "Dover", "relation": "LIVES_IN"}], (None, [LIVES], None)),
        ({"triples": ["Bea -[LIVES_IN]-> Dover"]}, (None, [LIVES], None)),
        ([(Entity("Bea", "PERSON"), Label("LIVES_IN"), Entity("Dover", "PLACE"))], (None, [LIVES], None)),
        ([Document(TOLD, {"source": "a"}, "c2")], (None, None, [("c2", TOLD)])),
        ([(Document(TOLD, {"chunk_id": "c2"}), 0.1)], (None, None, [("c2", TOLD)])),
        ([NodeWithScore(BEA, 0.8), NodeWithScore(BEA)], (None, None, [("c2", TOLD)] * 2)),
        (SimpleNamespace(source_nodes=[NodeWithScore(BEA)]), (None, None, [("c2", TOLD)])),
        (LIGHTRAG, (["Bea"], HOME, [("c2", TOLD)])),
        (("Dover", GRAPHRAG), (["Bea"], HOME, [("7", TOLD)])),
        (SimpleNamespace(response="Dover", context=FAST_GRAPHRAG), (["Bea"], HOME, [("c2", TOLD)])),
        (SimpleNamespace(docs=[TOLD], doc_scores=np.array([0.9])), (None, None, [("", TOLD)])),
        ({"user_input": "?", "retrieved_contexts": [TOLD]}, (None, None, [("", TOLD)])),
        (SimpleNamespace(input="?", retrieval_context=[TOLD]), (None, None, [("", TOLD)])),
        ({"entities": [], "passages": ["c2"]}, ([], None, [("c2", "c2")])),
        (
            ["Dover", NodeWithScore(BEA), LIVES],
            (["Dover"], [LIVES], [("c2", TOLD)]),
        ),
    ],
)
def test_what_a_library_returns_is_what_it_means(value: Any, wanted: Any) -> None:
    assert kinds(value) == wanted
    reply = reply_of(value)
    assert reply_from(reply.as_dict()) == reply, "what a journal holds is what its reader takes"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Bea", "Dover"}, "a set has no order"),
        ({"relations": {("a", "b", "c")}}, "relations: a set has no order"),
        ({"relations": [("a", "b")]}, r"a relation must be \(source, type, target\)"),
        ({"relations": ["Bea"]}, r"a relation must be \(source, type, target\)"),
        ({"passages": [3]}, "a passage must be a text"),
        ({"passages": "c2"}, "passages must be a list, got the string 'c2'"),
        ({"hits": ["Bea"]}, "got an object with the keys 'hits'"),
        ([("Bea", float("inf"))], "a score must be a finite number"),
        (b"Bea", "wanted a list of names"),
        (None, "wanted a list of names"),
    ],
)
def test_what_is_none_of_these_is_refused_by_name(value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reply_of(value)


def test_what_the_docs_return_is_read() -> None:
    page = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "passages" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    assert kinds(names["retrieve"]("?")) == (
        ["Dover", "Calais"],
        [LIVES],
        [("c2", TOLD)],
    )
    gold = next(line for line in page.splitlines() if line.startswith('{"query"'))
    assert load_questions([json.loads(gold)])[0].reference_relations[0].type == "SISTER_OF"


def test_answers_and_scores_come_along() -> None:
    assert reply_of(("Dover", {"entities": ["Bea"]})).answer == "Dover"
    passages = reply_of(SimpleNamespace(docs=["a b", "c d"], doc_scores=np.array([0.9, 0.1]))).passages
    assert [passage.score for passage in passages or ()] == [0.9, 0.1]
    # Distances rise where a list gets worse: the order of a list of documents is its own.
    near = reply_of([(Document("near", {}, "c1"), 0.1), (Document("far", {}, "c2"), 0.7)]).passages
    assert [passage.id for passage in near or ()] == ["c1", "c2"]
