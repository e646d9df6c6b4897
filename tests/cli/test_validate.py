"""`validate`: what it finds in a gold set, its exit codes, stamps and suggestions."""

from __future__ import annotations

import json
import re

import pytest

from tests.conftest import real, write_gold, write_set
from tiny_graph_rag import evaluate

GOLD = "data/eval/tale-eval.jsonl"
ENTITIES = ["Anna", ("Bert", ["Bertie"]), "Rex", "Anna Maria"]
RELATIONS = [("Anna", "KNOWS", "Bert"), ("Bert", "OWNS", "Rex")]


@pytest.fixture
def validated(run_cli, tmp_path):
    def run(questions, *options, entities=ENTITIES, code=None):
        write_set(tmp_path, "tale", entities, RELATIONS, *questions)
        return run_cli("validate --dataset tale-eval.jsonl --details", *options, code=code)

    return run


def question(query="Whom does Anna know?", references=("Bert",), **more):
    return {"query": query, "reference_entities": list(references), **more}


def test_a_sound_gold_set_is_sound(validated) -> None:
    assert "no errors, 0 warnings" in validated([question()], code=0).stdout


def test_a_reference_that_is_not_in_the_graph_is_an_error_with_the_nearest_name(validated) -> None:
    done = validated([question(references=["Berta", "Bert"]), question("Who is it?", ["Rex"])], code=1)
    assert "reference 'Berta': no entity has this name; nearest: Bert (0.89)" in done.stdout
    # One of two references is missing in the first question, none in the second: (1/2 + 1) / 2.
    assert re.search(r"recall ceiling\s+0\.750", done.stdout)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([question(references=["Bertie"])], "'Bertie': matches 'Bert' only by an alias"),
        (
            [question(references=["bert"])],
            "'bert': matches 'Bert' only if case, spaces and punctuation are ignored",
        ),
        ([question(references=["Bert", "Bertie"])], "'Bert', 'Bertie': the same entity, counted once"),
        ([question(), question()], "the same question as line 1"),
        ([question(), question(references=["Rex"])], "the same question with other references as line 1"),
        ([question(), question("Whom does Anna know now?")], "nearly the question of line 1"),
        ([question("Does Bert know Anna?", ["Anna"])], "1 of 1 questions (100%) name all their references"),
        *(
            (
                [question(**{field: ["odd"]}), question("Whose is it?", ["Rex"])],
                "no other question has the tag or type 'odd'",
            )
            for field in ("tags", "expected_types")
        ),
        ([question(seed_entities=["Zoe"])], "seed_entities: no entity has the name 'Zoe'"),
        (
            [question(references=["Rex"], tags=["2-hop"]), question("Anna?", ["Bert"], tags=["2-hop"])],
            "tag 2-hop: 1 of 2 questions need that many hops, 1 don't",
        ),
        (
            [question(reference_relationships=[{"source": "Anna", "target": "Rex", "type": "KNOWS"}])],
            "Anna —KNOWS→ Rex: the graph has no such relation",
        ),
    ],
)
def test_what_is_odd_is_a_warning(validated, rows, said) -> None:
    assert said in validated(rows, code=0).stdout


def test_a_name_that_two_entities_have_is_reported(run_cli, tmp_path) -> None:
    graph = {"entities": {"a": {"name": "Kim"}, "b": {"name": "Kim"}}, "relationships": []}
    (tmp_path / "x-KG.json").write_text(json.dumps(graph))
    write_gold(tmp_path / "x-eval.jsonl", question(references=["Kim"]))
    done = run_cli("validate --dataset x-eval.jsonl -g x-KG.json --details")
    assert "'Kim': ambiguous name, 2 entities have it: a, b" in done.stdout


def test_broken_lines_are_errors_and_the_others_are_checked(validated, tmp_path, run_cli) -> None:
    validated([question()])
    with (tmp_path / GOLD).open("a") as file:
        file.write('{"query": "x", "reference_entities": "Bert"}\n{\n')
    done = run_cli("validate --dataset tale-eval.jsonl", code=1)
    assert "tale-eval.jsonl:2: 'reference_entities' must be a list of strings" in done.stdout
    assert "tale-eval.jsonl:3" in done.stdout


@pytest.mark.parametrize("raw", [b"", b"{}\n", b"\xff\xfe\x00"])
def test_a_file_without_a_usable_line_is_exit_2(validated, tmp_path, run_cli, raw) -> None:
    validated([question()])
    (tmp_path / GOLD).write_bytes(raw)
    assert run_cli("validate --dataset tale-eval.jsonl").exit_code == 2
    assert run_cli("validate --dataset none.jsonl").exit_code == 2


def test_a_pin_tells_which_references_a_changed_graph_broke(validated, tmp_path) -> None:
    assert validated([question(references=["Bert", "Rex"])], "--pin").exit_code == 0
    assert (tmp_path / "data/eval/tale-eval.meta.json").is_file()
    assert "pinned to this version of the graph" in validated([question(references=["Bert", "Rex"])]).stdout
    done = validated([question(references=["Bert", "Rex"])], entities=["Anna", "Bert", "Fido"])
    assert done.exit_code == 1
    assert "the graph has changed since the gold set was pinned to tale" in done.stdout
    assert "references that no longer match an entity (1): Rex" in done.stdout


def test_what_does_not_fit_is_not_pinned(validated, tmp_path) -> None:
    done = validated([question(references=["Nobody"])], "--pin")
    assert done.exit_code == 1
    assert "not pinned" in done.stderr
    assert not (tmp_path / "data/eval/tale-eval.meta.json").exists()


def test_a_damaged_pin_is_named(validated, tmp_path) -> None:
    validated([question()], "--pin")
    (tmp_path / "data/eval/tale-eval.meta.json").write_text('{"graph": 1}')
    done = validated([question()])
    assert done.exit_code == 2
    assert "validate --pin" in done.stderr


def test_suggested_fixes_rename_what_is_missing_and_nothing_else(validated, tmp_path) -> None:
    # Another letter may be another name; an article is none.
    rows = [question(references=["Berts", "Rex"], note="kept"), question("Who?", ["Berta"])]
    done = validated(rows, "--fix-suggestions", "fixed.jsonl")
    assert done.exit_code == 1
    first, second = (tmp_path / "fixed.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {
        "id": "line-1",
        **rows[0],
        "reference_entities": ["Bert", "Rex"],
        "suggested_renames": {"Berts": {"to": "Bert", "likeness": 0.889}},
    }
    assert json.loads(second) == {"id": "line-2", **rows[1]}


def test_ids_of_entities_as_references_are_told_and_replaced(run_cli, tmp_path) -> None:
    names = {"n1": "Calais", "n3": "Dover", "7": "Ann"}
    graph = {
        "entities": [{"id": id, "name": name} for id, name in names.items()],
        "relationships": [
            *({"source": "n1", "target": "n3", "type": type} for type in ("FERRY", "TRAIN")),
            {"source": "n1", "target": "n9"},
        ],
    }
    path = tmp_path / "data/kg/ferry-KG.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(graph), encoding="utf-8")
    gold = write_gold(tmp_path / "ids.jsonl", question("Whereto?", ["n3"]), question("Who is seven?", ["7"]))
    done = run_cli("validate -g", path, "--dataset", gold, "--fix-suggestions", "fixed.jsonl", code=1)
    assert "'n3': no entity has this name, but it is the id of 'Dover'" in " ".join(done.stdout.split())
    assert "the id of 'Ann'" not in done.stdout  # a number may be the answer itself
    fixed = map(json.loads, (tmp_path / "fixed.jsonl").read_text(encoding="utf-8").splitlines())
    assert [row["reference_entities"] for row in fixed] == [["Dover"], ["7"]]
    result = evaluate(path, gold)
    assert [line[:30] for line in result.notes] == [
        "1 relation left out because an",
        "1 reference is the id of an en",
    ]
    assert "2 in .notes" in repr(result)
    assert "1 relation left out" in repr(result.evaluation.graph)


def test_a_set_that_says_nowhere_what_is_relevant_is_an_error(validated) -> None:
    misspelt = {"query": "Whom does Anna know?", "reference_entitis": ["Bert"]}
    assert "error line 1" in validated([misspelt], code=1).stdout


@pytest.mark.realdata
def test_gold_sets_written_for_another_graph_no_longer_fit(run_cli) -> None:
    for folder, code in (("kg-original", 0), ("kg-resolved", 1)):
        run_cli(
            "validate --dataset",
            real("tiny-graph-rag", "eval", "김유정-동백꽃-hardset.jsonl"),
            "-g",
            real("tiny-graph-rag", folder, "김유정-동백꽃-KG.json"),
            code=code,
        )


def test_passages_beside_entities_that_the_graph_lacks_are_a_warning(run_cli, tmp_path) -> None:
    graph = {"entities": {"a": {"name": "Anna", "source_chunks": ["c1"]}}, "relationships": []}
    (tmp_path / "x-KG.json").write_text(json.dumps(graph))
    write_gold(tmp_path / "x-eval.jsonl", question("Who sails?", ["Anna"], reference_chunks=["p7"]))
    done = run_cli("validate", "--dataset", "x-eval.jsonl", "-g", "x-KG.json", "--details", code=0)
    assert "warning line 1 (line-1): reference passage 'p7'" in done.stdout
