"""What other libraries' retrievers return: classes with the attributes that theirs have."""

from __future__ import annotations

import json
import re
from collections import namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from tests.conftest import ROOT
from tiny_graph_rag import load_questions
from tiny_graph_rag.retrieval.native import reply_from, reply_of


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
