"""`NAME-columns.yaml` next to a gold set or a run says what its columns are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import write_gold
from tiny_graph_rag.errors import DatasetError, InputError, UsageError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.gold.drafts import read_questions
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.formats.runs import read_run

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
        Columns.read(put(tmp_path, "graph-columns.yaml", columns))
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
