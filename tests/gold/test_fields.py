"""`validate` without a graph: the fields of the RAG gold JSON, one broken record a rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.conftest import read_json
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.gold.keep import differing_fields


def record(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "query_id": f"Q{number:03d}",
        "query": f"질문 {number}?",
        "query_type": "general_inquiry",
        "expected_doc_types": ["law"],
        "relevant_chunk_ids": [f"c{number}"],
        "highly_relevant_chunk_ids": [f"c{number}"],
        "irrelevant_chunk_ids": [],
        "metadata": {"difficulty": "easy", "created_at": "2026-01-05T14:30:00", "annotator": "a"},
    } | fields


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


BROKEN = {
    "duplicate id": (record(1, query="other?"), "the id is used 2 times; the later ones were renamed"),
    "empty query": (record(2, query=" "), "'query' must be a question in words"),
    "missing relevant ids": (
        without(record(2), "relevant_chunk_ids", "highly_relevant_chunk_ids"),
        "'reference_entities' is missing",
    ),
    "overlap": (record(2, irrelevant_chunk_ids=["c2"]), "'c2': relevant and irrelevant at once"),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_record_is_an_error_of_its_rule(
    own_folder: Path, run_cli: Callable[..., Result], rule: str
) -> None:
    broken, said = BROKEN[rule]
    (own_folder / "gold.json").write_text(json.dumps([record(1), broken], ensure_ascii=False))
    done = run_cli("validate --dataset ./gold.json", code=1)
    assert said in done.stdout
    assert "error" in done.stderr


def test_a_sound_set_passes(own_folder: Path, run_cli: Callable[..., Result]) -> None:
    rows = [record(1), record(2), record(3, relevant_chunk_ids=[], highly_relevant_chunk_ids=[])]
    (own_folder / "gold.json").write_text(json.dumps(rows))
    run_cli("validate --dataset ./gold.json -o ./v.json", code=0)
    found = read_json(Path("v.json"))
    assert (found["errors"], found["warnings"], found["questions"]) == (0, 0, 3)


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"query_type": "chat"}, "no other question has the tag 'query_type:chat'"),
        ({"metadata": {"difficulty": "extreme"}}, "no other question has the tag 'difficulty:extreme'"),
        ({"query_id": None}, "1 of 3 questions have no id and are named by their line"),
    ],
)
def test_any_vocabulary_will_do_and_what_looks_like_a_slip_is_a_warning(
    own_folder: Path, run_cli: Callable[..., Result], odd: dict[str, Any], said: str
) -> None:
    (own_folder / "gold.json").write_text(json.dumps([record(1), record(2), record(3, **odd)]))
    done = run_cli("validate --dataset ./gold.json", code=0)
    assert said in " ".join(done.stdout.split())


def test_metadata_survives_every_conversion_and_versions_are_one_history(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    rows = [record(1), record(2)]
    (own_folder / "gold_v1.json").write_text(json.dumps(rows, ensure_ascii=False, indent=2))
    (own_folder / "gold_v2.json").write_text(json.dumps([*rows, record(3)], ensure_ascii=False, indent=2))
    for name in ("b.jsonl", "c.csv", "d.json"):
        form = ("--format", "sheet") if name == "c.csv" else ()
        run_cli("dataset convert ./gold_v1.json -o", f"./{name}", *form, code=0)
        pairs = zip(read_gold(Path(name)), read_gold(Path("gold_v1.json")), strict=True)
        assert [differing_fields(one, other) for one, other in pairs] == [[], []], name
    assert run_cli("dataset version ./gold_v1.json -m first").exit_code == 0
    run_cli("dataset version ./gold_v2.json -m second", code=0)
    listed = read_json(Path("gold.versions.json"))
    assert [entry["version"] for entry in listed] == ["1", "2"]
