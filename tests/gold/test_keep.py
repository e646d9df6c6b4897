"""Gold sets merged, split, converted and versioned; the fields of the RAG gold JSON, one broken record a
rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.conftest import read_json, write_gold
from tiny_graph_rag.errors import DatasetError, UsageError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.writing import lost, written
from tiny_graph_rag.gold.examples import EvalSet, Example
from tiny_graph_rag.gold.keep import differing_fields, group_of, merge, parse_shares, split


def question(id: str, *references: str, query: str = "", **more: object) -> Example:
    return Example(id=id, query=query or f"Who is {id}?", reference_entities=references, **more)  # type: ignore[arg-type]


def test_merging_keeps_each_id_once_and_refuses_two_meanings_of_one() -> None:
    one = EvalSet((question("a", "Anna"), question("b", "Ben")), name="one")
    other = EvalSet((question("b", "Ben"), question("c", "Cleo", query="Who is a?")), name="other")
    found = merge([one, other])
    assert [row_question.id for row_question in found.examples] == ["a", "b", "c"]
    assert (found.agreed, found.doubled) == (1, (("a", "c"),))
    third = EvalSet((question("b", "Bob", irrelevant_entities=("Ben",)),), name="third")
    with pytest.raises(DatasetError, match="b: third differs from one in reference_entities, irrelevant"):
        merge([one, third])
    assert merge([one, third], "first").examples[1].reference_entities == ("Ben",)
    assert merge([one, third], "last").examples[1].reference_entities == ("Bob",)


def test_groups_stay_whole_and_tags_are_parted_alike() -> None:
    rows = [
        question(f"q{number}-{variant}", tags=("even" if number % 2 else "odd",), group=str(number))
        for number in range(80)
        for variant in range(1 + number % 3)
    ]
    parts = split(rows, (50, 25, 25), seed=0)
    assert sorted(item.id for part in parts for item in part) == sorted(row.id for row in rows)
    homes = [{group_of(item) for item in part} for part in parts]
    assert not homes[0] & homes[1]
    assert not homes[0] & homes[2]
    assert not homes[1] & homes[2]
    whole = Counter(row.tags[0] for row in rows)
    for part, share in zip(parts, (0.5, 0.25, 0.25), strict=True):
        found = Counter(item.tags[0] for item in part)
        assert all(abs(found[tag] - whole[tag] * share) <= 2 for tag in whole)
    assert parts == split(rows, (50, 25, 25), seed=0) != split(rows, (50, 25, 25), seed=1)


def test_no_part_is_empty() -> None:
    for shares in ((1, 1, 1), (50, 1)):
        with pytest.raises(UsageError, match="2 groups of questions can't be split in these shares"):
            split([question("a"), question("b")], shares, seed=0)


@pytest.mark.parametrize("text", ["50", "a/b", "50/-1", "100/0", "50/20", "nan/50"])
def test_shares_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--share"):
        parse_shares(text)


FULL = question(
    "q 1",
    "Anna",
    "Ben",
    highly_relevant_entities=("Cleo",),
    irrelevant_entities=("Dora",),
    tags=("query_type:multi", "hard"),
    expected_types=("PERSON",),
    context=("Earlier.",),
    seed_entities=(),
    group="g",
    unknown={"extra": {"kept": [1, 2]}},
)


@pytest.mark.parametrize("name", ["set.jsonl", "set.json", "set.qrels", "set.csv", "set.tsv"])
def test_every_format_gives_back_the_judgments_that_were_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"".join(written([FULL], path)))
    (again,) = read_gold(path)
    assert again.id == "q 1"
    assert set(again.reference_entities) == {"Anna", "Ben"}
    assert (again.highly_relevant_entities, again.irrelevant_entities) == (("Cleo",), ("Dora",))


def test_our_own_format_gives_back_everything(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(b"".join(written([FULL], path)))
    assert not differing_fields(FULL, read_gold(path)[0])
    assert lost([FULL], path) == {}
    assert lost([FULL], tmp_path / "set.csv") == {}
    assert lost([FULL], tmp_path / "set.qrels").keys() >= {"query", "tags", "context", "extra"}


def gold(path: Path, *ids: str, **more: object) -> Path:
    rows = ({"id": id_, "query": f"Who is {id_}?", "reference_entities": [id_], **more} for id_ in ids)
    return write_gold(path, *rows)


def test_the_commands_merge_and_split(run_cli, tmp_path: Path) -> None:
    one = gold(tmp_path / "one.jsonl", *"abcd", tags=["x"])
    two = gold(tmp_path / "two.jsonl", *"defgh", tags=["x"])
    merged = tmp_path / "all.jsonl"
    found = run_cli("dataset merge", one, two, "-o", merged, code=0)
    assert "Merged 9 questions into 8: 1 duplicate ids" in found.stdout
    found = run_cli("dataset split", merged, "--share", "50/50", "-o", tmp_path / "part.jsonl", code=0)
    parts = [read_gold(tmp_path / f"part-{name}.jsonl") for name in ("dev", "test")]
    assert sorted(item.id for part in parts for item in part) == list("abcdefgh")


def test_versions_say_what_changed_and_notice_an_edit(run_cli, tmp_path: Path) -> None:
    path = gold(tmp_path / "set.jsonl", "a", "b")
    assert run_cli("dataset version", path).exit_code == 1
    assert run_cli("dataset version", path, "--note", "first").exit_code == 0
    gold(path, "a", "b", "c")
    found = run_cli("dataset version", path, code=1)
    assert "has changed since version 1" in found.stderr
    assert run_cli("dataset version", path, "--note", "c added").exit_code == 0
    history = read_json(tmp_path / "set.versions.json")
    assert [(entry["version"], entry["questions"]) for entry in history] == [("1", 2), ("2", 3)]
    assert "the file has not changed" in run_cli("dataset version", path, "--note", "again").stderr


def test_generate_writes_the_same_bytes_again_and_a_stamp(run_cli, tmp_path: Path) -> None:
    from tests.conftest import ROOT

    graph = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"
    for name in ("one.jsonl", "two.jsonl"):
        run_cli("generate -g", graph, "--n", 30, "-o", tmp_path / name, code=0)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    checked = run_cli("validate --dataset", tmp_path / "one.jsonl", "-g", graph, code=0)
    assert "pinned to this version of the graph" in checked.stdout
    shown = run_cli("generate -g", graph, "--n", 3, "-o", "-")
    assert [json.loads(line)["shape"] for line in shown.stdout.splitlines()]


@pytest.mark.parametrize("format", ["trec", "jsonl", "sheet"])
def test_grades_above_two_are_kept(tmp_path: Path, format: str) -> None:
    source, path = tmp_path / "set.qrels", tmp_path / "again"
    source.write_text("q 0 a 3\nq 0 b 1\nq 0 c 2\n")
    examples = list(read_gold(source))
    path.write_bytes(b"".join(written(examples, path, format)))
    assert read_gold(path).questions[0].grades == {"a": 3, "b": 1, "c": 2}


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_name_like_a_formula_is_text_in_tables_and_comes_back(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"set{suffix}"
    path.write_bytes(b"".join(written([question("=1+1", "-5", "'=x")], path)))
    (again,) = read_gold(path)
    assert (again.id, again.reference_entities) == ("=1+1", ("-5", "'=x"))
    cells = path.read_text().splitlines()[1].replace("\t", ",").split(",")
    assert cells[0] == "'=1+1"
    assert cells[2].startswith("'-5")


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
        ({"query_type": "chat"}, "no other question has the tag or type 'query_type:chat'"),
        (
            {"metadata": {"difficulty": "extreme"}},
            "no other question has the tag or type 'difficulty:extreme'",
        ),
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
