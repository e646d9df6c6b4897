"""Relations and passages against tables worked out by hand, and `score` of what `eval` wrote.

TEAM is a Korean team: a table of triples with a hub (플랫폼팀), two ways from 지아 to 판교, and one direction
a type.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.conftest import kg, read_json, write_gold, write_kg
from tiny_graph_rag import KnowledgeGraph, evaluate, load_graph, load_questions, sweep
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.study.trials import GoldQuestions

KNOWN = [
    ("Ann", "SISTER_OF", "Bea"),
    ("Bea", "LIVES_IN", "Dover"),
    ("Bea", "BORN_IN", "Calais"),
    ("Cy", "KNOWS", "Ann"),
]
GOLD: list[dict[str, Any]] = [
    {
        "id": "a",
        "query": "Where does Ann's sister live?",
        "reference_entities": ["Dover"],
        "seed_entities": ["Ann"],
        "reference_relations": [
            {"source": "Ann", "type": "SISTER_OF", "target": "Bea"},
            {"source": "Bea", "type": "LIVES_IN", "target": "Dover"},
        ],
        "reference_chunks": ["c1", "c2"],
    },
    {
        "id": "b",
        "query": "Whom does Cy know?",
        "reference_entities": ["Ann"],
        "seed_entities": ["Cy"],
        "reference_relations": [["Cy", "KNOWS", "Ann"]],
        "reference_texts": ["Cy knows Ann."],
    },
    {"id": "c", "query": "Is it late in Calais?", "reference_entities": [], "seed_entities": ["Calais"]},
]
REPLIES: dict[str, dict[str, Any]] = {
    GOLD[0]["query"]: {
        "entities": ["Dover"],
        "relations": [
            ("Bea", "SISTER_OF", "Ann"),  # 1: the wrong way round, and it has a type: another relation
            ("ann", "sister of", "BEA"),  # 2: the first reference
            ("Ann", "SISTER_OF", "Bea"),  # dropped: the same again
            {"source": "Dover", "target": "Bea"},  # 3: no type and so no direction: the second reference
            ("Bea", "BORN_IN", "Calais"),  # 4
        ],
        "passages": ["c9", "c2", "c2", "c1"],  # c2 at 2, c1 at 3
    },
    GOLD[1]["query"]: {
        "entities": ["Ann"],
        "relations": [("Cy", "KNOWS", "Ann")],
        "passages": [{"id": "c7", "text": "cy  KNOWS ann."}],
    },
    GOLD[2]["query"]: {"entities": [], "relations": [], "passages": []},
}


@pytest.fixture
def graph() -> KnowledgeGraph:
    document = kg(["Ann", "Bea", "Dover", "Calais", "Cy"], KNOWN)
    chunks = {"Ann": ["c1", "c3"], "Bea": ["c1", "c2"], "Dover": ["c2"], "Calais": ["c8"]}
    for name, ids in chunks.items():
        document["entities"][name]["source_chunks"] = ids
    return KnowledgeGraph.from_records(document["entities"], document["relationships"], name="town")


def means(graph: KnowledgeGraph, measures: str, replies: Any = REPLIES.get, **settings: Any) -> list[float]:
    result = evaluate(graph, load_questions(GOLD), retriever=replies, measures=measures, **settings)
    return list(result.means.values())


def test_recall_of_triples_is_the_tables(graph: KnowledgeGraph) -> None:
    measures = "relations:recall@2,relations:recall@3,relations:precision@4,relations:mrr,relations:map"
    # a finds its two references at 2 and 3, b its one at 1; c has none and is in no mean.
    by_hand = [(1 / 2 + 1) / 2, 1, (2 / 4 + 1 / 4) / 2, (1 / 2 + 1) / 2, ((1 / 2 + 2 / 3) / 2 + 1) / 2]
    assert means(graph, measures) == pytest.approx(by_hand)


def test_a_relation_is_found_by_its_id_too(graph: KnowledgeGraph) -> None:
    with_ids = [{**GOLD[0], "reference_relations": [{"id": "r1", "source": "Ann", "target": "Bea"}]}]
    reply = {"relations": [{"id": "r2", "source": "Cy", "target": "Bea"}, {"id": "r1"}]}
    result = evaluate(graph, load_questions(with_ids), retriever=lambda _: reply, measures="relations:mrr")
    assert result.means == {"relations:mrr": 0.5}


def test_passages_are_found_by_id_or_by_text(graph: KnowledgeGraph) -> None:
    # a: ids at 2 and 3 (duplicates dropped); b has texts alone, which are the same but for case and spaces.
    assert means(graph, "passages:mrr,passages:recall@2") == pytest.approx([(1 / 2 + 1) / 2, (1 / 2 + 1) / 2])
    assert means(graph, "passages:recall@3", match="id") == pytest.approx([1.0])  # b has no ids: undefined
    assert means(graph, "passages:recall@3", match="text") == pytest.approx([1.0])  # a has no texts


def test_measures_of_relations_see_what_was_returned(graph: KnowledgeGraph) -> None:
    measures = "relations:completeness,relations:set_precision@9"
    # a: of four different relations returned two are references.
    assert means(graph, measures) == pytest.approx([1, (2 / 4 + 1) / 2])
    without = {query: {"entities": reply["entities"]} for query, reply in REPLIES.items()}
    result = evaluate(graph, load_questions(GOLD), retriever=without.get, measures=measures)
    assert all(mean != mean for mean in result.means.values()), "undefined, not made up from the graph"
    assert "returned no relations for any question" in " ".join(result.evaluation.notes)


def test_a_retriever_of_passages_has_no_entities_to_judge(graph: KnowledgeGraph) -> None:
    """It has no entity measure, so no question scores 0 for a list of entities that it never has."""
    passages = {query: {"passages": reply["passages"]} for query, reply in REPLIES.items()}
    result = evaluate(graph, load_questions(GOLD), retriever=passages.get)
    assert list(result.means) == [f"passages:{name}" for name in ("precision@5", "recall@5", "mrr", "ndcg@5")]
    empty = sum(not reply["passages"] for reply in REPLIES.values())
    assert (result.summary.overall.nothing_retrieved, empty) == (1, 1)
    asked = evaluate(graph, load_questions(GOLD), retriever=passages.get, measures="recall@5")
    assert asked.means["recall@5"] != asked.means["recall@5"]
    assert "returned no entities for any question: recall@5 undefined" in " ".join(asked.evaluation.notes)


def test_passages_alone_decide_in_sweep_and_fix_too(graph: KnowledgeGraph) -> None:
    """Ann's neighbours name c2 only at the second hop."""
    alone = [{"query": GOLD[0]["query"], "reference_chunks": [chunk]} for chunk in ("c2", "c8")]
    result = evaluate(graph, alone, hops=2)
    found = sweep(graph, alone, hops=[0, 2]).to_pandas().query("measure == 'passages:recall@5'")
    assert found["mean"].tolist() == [0, result.means["passages:recall@5"]] == [0, 1]
    questions = GoldQuestions.with_references(
        graph, load_questions(alone), Config(), Measure.parse("passages:recall@5")
    )
    assert questions.today.values.tolist() == [1, 1]


def test_a_built_in_retrievers_context_is_cut_at_k(graph: KnowledgeGraph) -> None:
    measures = "relations:recall@5,relations:set_precision@5,context_completeness"
    questions = load_questions(GOLD[:1])
    whole = evaluate(graph, questions, measures=measures, hops=3, top_k=5)
    # Seed Ann and all others: four relations, of which two are references.
    assert list(whole.means.values()) == pytest.approx([1, 2 / 4, 1])
    little = evaluate(graph, questions, measures=measures, hops=3, top_k=5, context_tokens=1)
    assert list(little.means.values()) == [0, 0, 0]


def test_chunks_stand_for_entities_and_entities_for_chunks_where_asked(graph: KnowledgeGraph) -> None:
    entities = {GOLD[0]["query"]: ["Calais", "Bea"], GOLD[1]["query"]: [], GOLD[2]["query"]: []}
    questions = load_questions([GOLD[0]])
    asked = {"measures": "passages:mrr", "source_chunks": "passages"}
    result = evaluate(graph, questions, retriever=entities.get, **asked)
    assert result.means == {"passages:mrr": 1 / 2}  # c8 of Calais, then Bea's c1
    asked = {"measures": "recall@2,mrr", "source_chunks": "entities"}
    result = evaluate(graph, questions, retriever=lambda question: {"passages": ["c8", "c2"]}, **asked)
    # c8: Calais; c2: Bea, then Dover in the order of the graph.
    assert result.means == pytest.approx({"recall@2": 0, "mrr": 1 / 3})


def test_a_kind_is_part_of_a_measures_spelling() -> None:
    measure = Measure.parse("Relations:nDCG@5")
    assert (str(measure), measure.of, measure.name) == ("relations:ndcg@5", "relations", "ndcg")
    assert Measure.parse("entities:recall@5") == Measure.parse("recall@5")
    for wrong in ("relations:context_relevance", "relations:passages:mrr", "chunks:mrr", "relations:"):
        with pytest.raises(UsageError):
            Measure.parse(wrong)


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


TEAM = [
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
TEAM_REPLIES: dict[str, dict[str, Any]] = {
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
BY_QUERY = {asked["query"]: TEAM_REPLIES[asked["id"]] for asked in TEAM}
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
    write_gold(own_folder / "team-eval.jsonl", *TEAM)
    (own_folder / "mine.py").write_text(f"retrieve = {BY_QUERY!r}.get\n", encoding="utf-8")
    return own_folder


def evaluated(files: Path, measures: Any, **settings: Any) -> Any:
    graph, gold = load_graph(files / "team.csv"), load_questions(TEAM)
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
    assert "2 of 3 reference texts are part of one: --set evaluation.match=contains counts those" in notes
    contained, notes = means("contains")
    # c2 holds two of three references and is one relevant passage; 지아는 팀장이다 is not found.
    assert contained == pytest.approx([2 / 3, 1 / 2, 1 / 5])
    assert "evaluation.match=contains" not in notes


def test_passages_that_the_graph_does_not_have_are_named(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(
        json.dumps({"entities": {"a": {"name": "Ada", "source_chunks": ["c1"]}}, "relationships": []}),
        "utf-8",
    )
    graph = load_graph(tmp_path / "k.json")
    asked = [{"query": "Who is Ada?", "reference_chunks": chunks} for chunks in (["c1"], ["c1", "c9"])]
    result = evaluate(graph, load_questions(asked), measures="passages:recall@5")
    assert list(result.means.values()) == [pytest.approx(3 / 4)]
    assert "1 reference passage is not in the graph and counts as missed" in " ".join(result.evaluation.notes)


def test_that_passages_alone_count_is_said_with_their_questions(own_folder: Path, run_cli) -> None:
    """One question of two says which passage it needs: its figures stand for that one alone."""
    write_kg(own_folder / "k.json", ["Ada"])
    asked = [{"query": "Who is Ada?", "reference_texts": ["Ada writes."]}, {"query": "Who?", "answer": "Ada"}]
    write_gold(own_folder / "asked.jsonl", *asked)
    done = run_cli("eval --dataset asked.jsonl -g k.json --skip-generation", code=0)
    assert "no question has reference entities; the passages of 1 question count" in done.stdout


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
