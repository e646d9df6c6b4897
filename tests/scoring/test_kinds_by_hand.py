"""Relations, depth, completeness and passages of a Korean team, worked out by hand.

The graph is a table of triples with a hub (플랫폼팀), two ways from 지아 to 판교, and one direction a type.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import read_json, write_gold
from tiny_graph_rag import evaluate, load_graph, load_questions

TRIPLES = """source,relation,target
지아,팀장,플랫폼팀
지아,거주,판교
플랫폼팀,소속,개발본부
개발본부,위치,판교
민수,소속,플랫폼팀
서연,소속,플랫폼팀
도윤,소속,플랫폼팀
"""
CHAIN = [("지아", "팀장", "플랫폼팀"), ("플랫폼팀", "소속", "개발본부"), ("개발본부", "위치", "판교")]
MEMBERS = [(name, "소속", "플랫폼팀") for name in ("민수", "서연", "도윤")]


def question(
    id: str, query: str, entities: list[str], seed: str, relations: Any, **more: Any
) -> dict[str, Any]:
    keys = ("source", "type", "target")
    return {
        "id": id,
        "query": query,
        "reference_entities": entities,
        "seed_entities": [seed],
        "reference_relations": [dict(zip(keys, relation, strict=True)) for relation in relations],
        **more,
    }


GOLD = [
    question(
        "chain",
        "지아가 이끄는 팀은 어느 도시에 있나요?",
        ["판교"],
        "지아",
        CHAIN,
        reference_texts=["개발본부는 판교에 있다.", "플랫폼팀은 개발본부에 속한다.", "지아는 팀장이다."],
    ),
    question("list", "플랫폼팀 팀원은 모두 누구인가요?", ["민수", "서연", "도윤"], "플랫폼팀", MEMBERS),
    question("gap", "지아의 본부는 어디에 있나요?", ["판교"], "지아", CHAIN),
]
REPLIES: dict[str, dict[str, Any]] = {
    "chain": {
        "entities": ["판교"],
        # A reference, none, a reference, none: two of three, in two steps from 지아 where three are needed.
        "relations": [CHAIN[0], MEMBERS[0], CHAIN[1], ("지아", "거주", "판교")],
        "passages": [
            {"id": "c1", "text": "민수는 지아와 같은 층에서 일한다."},
            # Two of the three reference texts: one relevant passage.
            {"id": "c2", "text": "플랫폼팀은  개발본부에 속한다. 그리고 개발본부는 판교에 있다! 끝."},
            {"id": "c3", "text": "대개발본부는 판교에 있다."},  # other words: 대개발본부 is no 개발본부
        ],
    },
    "list": {
        "entities": ["민수", "개발본부", "도윤"],
        "relations": [MEMBERS[0], MEMBERS[2], CHAIN[1], CHAIN[2]],  # two steps, where one is enough
        "passages": [],
    },
    "gap": {"entities": [], "relations": CHAIN[1:], "passages": []},  # its first step is missing
}
BY_QUERY = {asked["query"]: REPLIES[asked["id"]] for asked in GOLD}
BY_HAND = {
    "relations:recall@2": (1 / 3, 2 / 3, 2 / 3),
    "relations:recall@3": (2 / 3, 2 / 3, 2 / 3),
    "relations:precision@4": (2 / 4, 2 / 4, 2 / 4),
    "relations:mrr": (1, 1, 1),
    "relations:map": ((1 / 1 + 2 / 3) / 3, (1 + 1) / 3, (1 + 1) / 3),
    "relation_recall": (2 / 3, 2 / 3, 2 / 3),
    "relation_precision": (2 / 4, 2 / 4, 2 / 2),
    "path_completeness": (2 / 3, 1, 0),
    "completeness": (1, 2 / 3, 0),
    "completeness@1": (1, 1 / 3, 0),
}


@pytest.fixture
def files(own_folder: Path) -> Path:
    (own_folder / "team.csv").write_text(TRIPLES, encoding="utf-8")
    write_gold(own_folder / "team-eval.jsonl", *GOLD)
    (own_folder / "mine.py").write_text(f"retrieve = {BY_QUERY!r}.get\n", encoding="utf-8")
    return own_folder


def evaluated(files: Path, measures: Any, **settings: Any) -> Any:
    graph, gold = load_graph(files / "team.csv"), load_questions(GOLD)
    return evaluate(graph, gold, retriever=BY_QUERY.get, measures=measures, **settings)


def test_every_measure_is_the_tables(files: Path) -> None:
    result = evaluated(files, list(BY_HAND), linker="gold")
    for measure, column in result.evaluation.scores.items():
        assert column.tolist() == pytest.approx(BY_HAND[str(measure)]), measure


def test_a_passage_that_contains_references_is_found_and_counts_once(files: Path) -> None:
    def means(match: str) -> tuple[list[float], str]:
        result = evaluated(files, "passages:recall@5,passages:mrr,passages:precision@5", match=match)
        return list(result.means.values()), " ".join(result.evaluation.notes)

    same, notes = means("auto")
    assert same == [0, 0, 0]
    assert "2 of 3 reference texts are part of one: evaluation.match=contains counts those" in notes
    contained, notes = means("contains")
    # c2 holds two of three references and is one relevant passage; 지아는 팀장이다 is not found.
    assert contained == pytest.approx([2 / 3, 1 / 2, 1 / 5])
    assert "evaluation.match=contains" not in notes


def test_score_of_the_saved_run_is_the_same_for_every_kind(
    files: Path, run_cli: Callable[..., Result]
) -> None:
    measures = ",".join([*BY_HAND, "recall@2", "ndcg@5", "passages:recall@5", "passages:ndcg@5"])
    both = ("-g", "./team.csv", "--measures", measures, "--set", "evaluation.match=contains")
    command = "eval --dataset ./team-eval.jsonl --skip-generation --linker gold --retriever mine.py:retrieve"
    saved = "-o ./eval.json --save-run ./run.jsonl --fail-under relations:recall@2>=0.5"
    run_cli(f"{command} {saved}", *both, code=0)
    gate = "--fail-under passages:recall@5>=0.99"  # fails, and nothing else does
    score = "score --run run.jsonl --gold ./team-eval.jsonl"
    done = run_cli(f"{score} -o ./score.json {gate}", *both, code=1)
    evaluated, scored = read_json("eval.json"), read_json("score.json")
    assert [row["metrics"] for row in evaluated["results"]] == [row["metrics"] for row in scored["results"]]
    assert evaluated["summary"]["measures"] == scored["summary"]["measures"]
    assert evaluated["results"][0]["metrics"]["passages:recall@5"] == 2 / 3
    first = evaluated["results"][0]["relations"]["references"][0]
    assert first == {"source": "지아", "target": "플랫폼팀", "type": "팀장", "id": "", "rank": 1}
    assert "--match changes nothing" not in done.output
    for match, code, said in (
        ("name", 2, "with -g names become entities"),
        ("contain", 2, "match must be auto, id"),
        ("text --measures recall@2", 0, "--match changes nothing here"),
    ):
        assert said in run_cli(f"{score} -g ./team.csv -o ./score.json --match {match}", code=code).output


def test_two_chunkings_of_one_evidence_have_one_recall(
    tmp_path: Path, run_cli: Callable[..., Result]
) -> None:
    gold = {"id": "q", "query": "Q?", "reference_texts": ["alpha beta", "gamma delta", "epsilon zeta"]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold), encoding="utf-8")
    chunkings = (["none", "alpha beta, gamma delta"], ["none", "alpha beta", "gamma delta"])
    for retrieved, precision in zip(chunkings, (1 / 5, 2 / 5), strict=True):
        for run, key in (("a.jsonl", "retrieved"), ("b.jsonl", "passages")):
            (tmp_path / run).write_text(json.dumps({"id": "q", key: retrieved}), encoding="utf-8")
            kind = "passages:" if key == "passages" else ""
            how = ("--set", "evaluation.match=contains") if kind else ("--match", "contains")
            asked = ",".join(f"{kind}{name}@5" for name in ("recall", "precision", "all_hit"))
            command = f"score --run {run} --gold gold.jsonl --measures {asked} -o ./out.json"
            run_cli(command, *how, code=0)
            found = read_json("out.json")["results"][0]
            assert list(found["metrics"].values()) == pytest.approx([2 / 3, precision, 0])
            if not kind:
                assert found["fn"] == ["epsilon zeta"]
