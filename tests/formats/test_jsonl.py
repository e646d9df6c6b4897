"""Reading gold sets: every broken line is named with what was wanted and what came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import write_gold
from tiny_graph_rag.errors import DatasetError, InputError, UsageError
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.gold.examples import Selection


def q(**fields: object) -> dict[str, object]:
    return {"query": "Who?", "reference_entities": [], **fields}


def test_optional_fields_have_defaults_and_unknown_keys_are_kept(tmp_path: Path) -> None:
    path = write_gold(tmp_path / "a-eval.jsonl", q(), q(id="x", ground_truth="A", level=3))
    first, second = read_eval_set(path)
    assert (first.id, first.tags, first.seed_entities) == ("line-1", (), None)
    assert (second.ground_truth, second.unknown) == (("A",), {"level": 3})


BROKEN: list[tuple[str | dict[str, object], str]] = [  # a line or its record, and what is said of it
    ("{", "a-eval.jsonl:1:2: not JSON"),
    ("[]", "the gold set is empty; wanted at least one question"),
    ("\n\n", "the gold set is empty"),
    ({"query": "Who?"}, "1 question without 'reference_entities'"),
    (q(reference_entities="점순"), "must be a list of strings, got the string '점순'. Write [\"점순\"]"),
    (q(query=5), "'query' must be a question in words, got the number 5"),
    (q(query=" "), "'query' must be a question in words"),
    (q(query=[], gold_answer="Mill"), "'query' must be a question in words, got a list"),
    (q(reference_entities=[1]), "got a list with other things in it"),
    (q(reference_entities=[""]), "holds an empty string"),
    (q(context="x"), "'context' must be a list of strings"),
    (q(id=1.5), "'id' must be a string that is not empty, got the number 1.5"),
    (q(reference_relationships=[{}]), "'reference_relations'"),
    (q(query="Who is \ud83d?"), r"a-eval.jsonl:1: contains half a character (\ud83d)"),
    ('{"query": "Who?", "reference_entities": [], "n": ' + "9" * 5000 + "}", "too many digits"),
]


@pytest.mark.parametrize(("line", "expected"), BROKEN)
def test_a_broken_line_says_where_and_what(tmp_path: Path, line: str | dict, expected: str) -> None:
    path = tmp_path / "a-eval.jsonl"
    path.write_text((line if isinstance(line, str) else json.dumps(line)) + "\n", encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        read_eval_set(path)
    assert expected in str(caught.value)


def test_an_id_that_is_used_twice_is_made_different_and_said(tmp_path: Path) -> None:
    gold = read_eval_set(write_gold(tmp_path / "a-eval.jsonl", q(id="x"), q(), q(id="x")))
    assert [example.id for example in gold] == ["x", "line-2", "x-2"]
    assert "ids used twice: 1, such as x; the later question is called x-2" in str(gold.notes[0])


def test_a_question_that_every_record_lacks_is_said_once_with_the_nearest_field(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("qestion,references\nWho?,Ann\nWhom?,Bob\n")
    with pytest.raises(InputError) as caught:
        read_gold(path, "sheet")
    assert str(caught.value).count("'query' is missing in all 2 records; they have: qestion, references") == 1
    assert "'qestion'" in str(caught.value)


@pytest.mark.parametrize("encoding", ["cp949", "utf-16"])
def test_another_encoding_is_read_and_said(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a-eval.jsonl"
    path.write_bytes('{"query": "누구?", "reference_entities": ["점순"]}\n'.encode(encoding))
    found = read_eval_set(path)
    assert (found[0].query, found[0].reference_entities) == ("누구?", ("점순",))
    assert f"read as {encoding.upper()}" in str(found.notes[0])


def test_bytes_of_no_encoding_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a-eval.jsonl"
    path.write_bytes(b'{"query": "Who?", "reference_entities": []}\n{"query": "\xff\xff\xff"}')
    with pytest.raises(InputError, match=r"a-eval.jsonl:2: not UTF-8 text"):
        read_eval_set(path)


def test_selection_keeps_file_order_and_is_recorded(tmp_path: Path) -> None:
    rows = q(id="1", tags=["a"]), q(id="2"), q(id="3", tags=["a", "b"])
    examples = read_eval_set(write_gold(tmp_path / "a.jsonl", *rows))
    chosen = examples.select(Selection(tags=("a",)))
    assert [item.id for item in chosen] == ["1", "3"]
    assert [question.id for question in examples.select(Selection(limit=2))] == ["1", "2"]
    assert chosen.selection.tags == ("a",)


def test_an_unknown_tag_or_id_is_refused_with_the_nearest(tmp_path: Path) -> None:
    examples = read_eval_set(write_gold(tmp_path / "a.jsonl", q(id="q-one", tags=["multi-hop"])))
    with pytest.raises(UsageError, match="did you mean 'multi-hop'"):
        examples.select(Selection(tags=("multihop",)))
    with pytest.raises(UsageError, match="did you mean 'q-one'"):
        examples.select(Selection(ids=("q-on",)))
