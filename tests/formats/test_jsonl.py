"""Reading gold sets: every broken line is named with what was wanted and what came; `NAME-columns.yaml`
next to a gold set or a run says what its columns are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import write_gold
from tiny_graph_rag.errors import DatasetError, InputError, UsageError
from tiny_graph_rag.formats.gold import read_eval_set, read_gold
from tiny_graph_rag.formats.gold.drafts import read_questions
from tiny_graph_rag.formats.graphs import columns_beside
from tiny_graph_rag.formats.runs import read_run
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
    assert "ids used again: 1, such as x; the later question is called x-2" in str(gold.notes[0])


def test_lists_next_to_that_of_the_questions_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a-eval.json"
    turns = [{"id": 1, "turns": ["Who?", "Why?"]}]
    path.write_text(json.dumps({"questions": [q(), q()], "multi_turn": turns, "sources": ["a.md"]}))
    gold = read_eval_set(path)
    assert len(gold) == 2
    assert gold.notes == ("lists that are not read: 'multi_turn' (1)",)


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


@pytest.mark.parametrize(
    ("encoding", "query"), [("gb18030", "林黛玉住在哪里?"), ("shift_jis", "彼は誰ですか?")]
)
def test_chinese_and_japanese_are_not_read_as_korean(tmp_path: Path, encoding: str, query: str) -> None:
    path = tmp_path / "a-eval.jsonl"
    path.write_bytes(json.dumps({"query": query}, ensure_ascii=False).encode(encoding))
    with pytest.raises(InputError, match=f"iconv -f {encoding.upper()}"):
        read_eval_set(path)


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


ROW = {"asked": "Who keeps hens?", "wanted": "Ann; Ben", "nr": "7"}


def put(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gold.csv", "nr,asked,wanted\n7,Who keeps hens?,Ann; Ben\n"),
        ("gold.json", [{**ROW, "wanted": ["Ann", "Ben"]}]),
        ("gold.jsonl", json.dumps({**ROW, "wanted": ["Ann", "Ben"]}) + "\n"),
    ],
)
def test_a_gold_set_whose_columns_are_named(tmp_path: Path, name: str, content: Any) -> None:
    path = put(tmp_path, name, content)
    with pytest.raises((DatasetError, UsageError)):
        read_gold(path)
    put(tmp_path, "gold-columns.yaml", "id: nr\nquery: asked\nreference_entities: wanted\n")
    (example,) = read_gold(path)
    assert (example.id, example.query, example.reference_entities) == ("7", ROW["asked"], ("Ann", "Ben"))


def test_ids_that_questions_share_are_documents_where_the_user_says_so(tmp_path: Path) -> None:
    path = put(tmp_path, "gold.csv", "id,question\nd1,Who?\nd1,Where?\nd2,When?\n")
    shared = read_gold(path)
    assert [example.id for example in shared] == ["d1", "d1-2", "d2"]
    assert "reference_chunks: id" in shared.notes[0]
    put(tmp_path, "gold-columns.yaml", "reference_chunks: id\n")
    documents = [(example.id, example.reference_chunks) for example in read_gold(path)]
    assert documents == [("line-2", ("d1",)), ("line-3", ("d1",)), ("line-4", ("d2",))]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.csv", "asked,hits\nWho keeps hens?,Ann; Ben\n"),
        ("run.jsonl", '{"asked": "Who keeps hens?", "hits": ["Ann", "Ben"]}\n'),
    ],
)
def test_a_run_whose_columns_are_named(tmp_path: Path, name: str, content: str) -> None:
    path = put(tmp_path, name, content)
    put(tmp_path, "run-columns.yaml", "query: asked\nretrieved_entities: hits\n")
    assert [hit.name for hit in read_run(path).rankings["Who keeps hens?"]] == ["Ann", "Ben"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("- a\n", "wanted lines such as"),
        ("2026-01-31\n", "wanted lines such as"),
        ("1: asked\n", "wanted lines such as"),
        ("query: [a]\n", "wanted lines such as"),
        ("quarry: asked\n", "unknown .*quarry"),
        ("2026-01-31: asked\n", "unknown .*2026-01-31"),
    ],
)
def test_what_names_no_columns_is_refused(tmp_path: Path, columns: str, said: str) -> None:
    with pytest.raises((InputError, UsageError), match=said):
        columns_beside(put(tmp_path, "graph-columns.yaml", columns).with_name("graph.json"))
    path = put(tmp_path, "gold.json", [ROW])
    put(tmp_path, "gold-columns.yaml", columns)
    with pytest.raises((InputError, UsageError), match=said):
        read_gold(path)


def test_records_without_a_question_are_told_once_where_to_name_it(tmp_path: Path) -> None:
    path = put(tmp_path, "gold.json", [ROW, ROW])
    with pytest.raises(DatasetError, match=r"in all 2 records.*gold-columns\.yaml: query: COLUMN"):
        read_questions(path)


def test_a_collection_of_passages_is_a_graph(run_cli: Callable[..., Result], own_folder: Path) -> None:
    texts = {"c1": "Bea lives in Dover since spring.", "c2": "Cy knows Ann.", "c3": "Calais has a harbour."}
    write_gold(
        own_folder / "corpus.jsonl", *({"_id": id, "title": "", "text": text} for id, text in texts.items())
    )
    write_gold(
        own_folder / "gold.jsonl",
        {"query": "Where does Bea live?", "reference_chunks": ["c1"]},
        {"query": "Who knows Ann?", "reference_texts": [texts["c2"]]},
    )
    graph = ("--dataset", "./gold.jsonl", "-g", "./corpus.jsonl")
    done = run_cli("eval", *graph, "--retriever", "bm25", "--skip-generation", "-o", "./r.json")
    assert "passages:recall@5 1.000" in done.output
    run_cli("recommend", *graph, "--retrievers", "bm25", "-o", "./draft.jsonl")
    drafts = map(json.loads, (own_folder / "draft.jsonl").read_text().splitlines())
    assert [row["candidates"][0]["id"] for row in drafts] == ["c1", "c2"]
