"""`score`: every form of run and gold set gives the same numbers; bad ones are said in words."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import pytrec_eval

from tests.conftest import write_gold, write_kg
from tests.report.test_schema import SCHEMA

MEASURES = "ndcg@5,recall@{1,5},mrr,map,bpref"
# q1: d2 (grade 2), d1 (grade 1), d9 judged 0; q2: d3; q3 is not in the run.
GRADES = {"q1": {"d1": 1, "d2": 2, "d9": 0}, "q2": {"d3": 1}, "q3": {"d1": 1}}
RUN = {"q1": {"d9": 0.9, "d2": 0.8, "d5": 0.7}, "q2": {"d3": 1.5}}
# q1: d2 at rank 2: DCG 2/log2(3) over 2 + 1/log2(3); recall@1 0, recall@5 1/2; RR 1/2; AP (1/2)/2;
# bpref: one of two found, one judged irrelevant above: (1 - 1/1) / 2. q2 is perfect, q3 scores 0.
EXPECTED = {
    "ndcg@5": (2 / math.log2(3) / (2 + 1 / math.log2(3)) + 1) / 3,
    "recall@1": 1 / 3,
    "recall@5": 1.5 / 3,
    "mrr": 1.5 / 3,
    "map": 1.25 / 3,
    "bpref": 1 / 3,
}


def rows(table: dict, glue: str, *head: str) -> str:
    lines = [glue.join(head)] if head else []
    lines += [glue.join((q, d, str(v))) for q, row in table.items() for d, v in row.items()]
    return "\n".join(lines) + "\n"


def parquet(path: Path, table: dict) -> None:
    import pyarrow
    import pyarrow.parquet

    flat = [(q, d, v) for q, row in table.items() for d, v in row.items()]
    columns = dict(zip(("query_id", "doc_id", "score"), map(list, zip(*flat, strict=True)), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write_run(path: Path, form: str) -> Path:
    if form == "trec":
        path.write_text("".join(f"{q} Q0 {d} 1 {s} me\n" for q, row in RUN.items() for d, s in row.items()))
    elif form == "jsonl":
        entities = {q: [{"name": d, "score": s} for d, s in row.items()] for q, row in RUN.items()}
        path.write_text("".join(json.dumps({"id": q, "entities": e}) + "\n" for q, e in entities.items()))
    elif form == "contest":
        path.write_text("".join(json.dumps({"eval_id": q, "topk": [*r]}) + "\n" for q, r in RUN.items()))
    elif form == "json":
        path.write_text(json.dumps({q: [*map(list, row.items())] for q, row in RUN.items()}, indent=1))
    elif form == "parquet":
        parquet(path, RUN)
    else:
        path.write_text(rows(RUN, {"csv": ",", "tsv": "\t"}[form], "query_id", "doc_id", "score"))
    return path


def write_grades(path: Path, form: str) -> Path:
    names = ("irrelevant", "relevant", "highly_relevant")
    if form == "trec":
        path.write_text("".join(f"{q} 0 {d} {g}\n" for q, row in GRADES.items() for d, g in row.items()))
    elif form == "jsonl":
        by = {q: [[d for d, g in row.items() if g == n] for n in (0, 1, 2)] for q, row in GRADES.items()}
        write_gold(
            path,
            *(
                {"id": q, "query": q, "irrelevant_entities": a, "reference_entities": b}
                | {"highly_relevant_entities": c}
                for q, (a, b, c) in by.items()
            ),
        )
    elif form == "rag":
        made = [
            {"query_id": q, "query": q, "query_type": "fact", "metadata": {"difficulty": "hard"}}
            | {f"{names[n]}_chunk_ids": [d for d, g in row.items() if g == n] for n in (0, 1, 2)}
            for q, row in GRADES.items()
        ]
        path.write_text(json.dumps(made, indent=1))
    elif form == "parquet":
        parquet(path, GRADES)
    else:
        path.write_text(rows(GRADES, {"csv": ",", "tsv": "\t"}[form], "query_id", "doc_id", "score"))
    return path


def scored(run_cli, *arguments: object) -> dict:
    run_cli("score", *arguments, "-o", "./out.json", code=0)
    return json.loads(Path("out.json").read_text(encoding="utf-8"))


def means(document: dict) -> dict[str, float]:
    return {name: measure["mean"] for name, measure in document["summary"]["measures"].items()}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["trec", "jsonl", "contest", "json", "csv", "tsv", "parquet"])
def test_every_form_of_run_gives_the_same_numbers(own_folder: Path, run_cli, form: str) -> None:
    run = write_run(own_folder / "run.txt", form)
    document = scored(
        run_cli, "--run", run, "--gold", write_grades(own_folder / "gold", "trec"), "--measures", MEASURES
    )
    assert means(document) == pytest.approx(EXPECTED, abs=1e-12)
    jsonschema.validate(document, SCHEMA)
    assert document["results"][0]["tp"] == ["d2"]
    assert document["results"][0]["fp"] == ["d9", "d5"]
    assert document["results"][0]["fn"] == ["d1"]


@pytest.mark.parametrize("form", ["trec", "jsonl", "rag", "csv", "tsv", "parquet"])
def test_every_form_of_gold_gives_the_same_numbers(own_folder: Path, run_cli, form: str) -> None:
    gold = write_grades(own_folder / "gold.txt", form)
    document = scored(
        run_cli, "--run", write_run(own_folder / "run", "trec"), "--gold", gold, "--measures", MEASURES
    )
    assert means(document) == pytest.approx(EXPECTED, abs=1e-12)
    if form == "rag":
        done = run_cli("score", "--run", "run", "--gold", gold, "-o", "./again.json")
        assert "ids of chunks were compared" in done.stdout
        assert list(document["summary"]["by_tag"]) == ["query_type:fact", "difficulty:hard"]


def test_the_contest_gold_with_its_own_rule(own_folder: Path, run_cli) -> None:
    (own_folder / "gold.json").write_text(json.dumps({"1": ["a", "b"], "2": [], "3": [], "4": ["c"]}))
    answers = [
        {"eval_id": 1, "topk": ["a", "x", "b"]},
        {"eval_id": 2, "topk": []},
        {"eval_id": 3, "topk": ["a"]},
    ]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    document = scored(
        run_cli, "--run", "run.jsonl", "--gold", "gold.json", "--measures", "contest_map@3,no_answer_accuracy"
    )
    # (1 + 2/3) / 2, 1 and 0; question 4 has no prediction and is left out of the contest's mean.
    assert means(document) == pytest.approx({"contest_map@3": (5 / 6 + 1 + 0) / 3, "no_answer_accuracy": 0.5})
    assert (document["summary"]["failed"], document["summary"]["rightly_empty"]) == (1, 1)


@pytest.mark.parametrize(
    ("references", "retrieved"),
    [
        ({"reference_chunks": ["c1", "c2"]}, ["c9", "c1"]),
        ({"relevant_passage_ids": ["c1", "c2"]}, [{"id": "c9", "text": "x"}, {"id": "c1", "text": "y"}]),
        ({"reference_contexts": ["Ann lives.", "Bob sails."]}, ["Nobody sails.", "Ann lives."]),
    ],
)
def test_a_gold_set_of_passages_alone_is_scored(
    own_folder: Path, run_cli, references: dict[str, Any], retrieved: list[Any]
) -> None:
    """The second of two passages is one of the two references: recall 1/2, reciprocal rank 1/2."""
    (own_folder / "gold.json").write_text(json.dumps([{"id": "q", "question": "Who?", **references}]))
    (own_folder / "run.jsonl").write_text(json.dumps({"id": "q", "passages": retrieved}) + "\n")
    document = scored(
        run_cli, "--run", "run.jsonl", "--gold", "gold.json", "--measures", "passages:recall@2,passages:mrr"
    )
    assert means(document) == {"passages:recall@2": 0.5, "passages:mrr": 0.5}
    unnamed = means(scored(run_cli, "--run", "run.jsonl", "--gold", "gold.json"))
    assert (unnamed["passages:recall@5"], unnamed["passages:mrr"]) == (0.5, 0.5)


def test_with_a_graph_names_and_aliases_become_entities(own_folder: Path, run_cli) -> None:
    write_kg(own_folder / "g-KG.json", [("Anna", ["Ann"]), "Ben"])
    write_gold(own_folder / "gold.jsonl", {"id": "q", "query": "?", "reference_entities": ["Anna"]})
    entities = [{"name": "Nobody"}, {"name": "ann"}, {"id": "Anna", "name": "whatever"}]
    (own_folder / "run.jsonl").write_text(
        json.dumps({"id": "q", "entities": entities, "latency_ms": 20}) + "\n"
    )
    document = scored(run_cli, "--run", "run.jsonl", "--gold", "gold.jsonl", "-g", "./g-KG.json")
    assert document["results"][0]["metrics"]["mrr"] == 0.5
    assert [entity["name"] for entity in document["results"][0]["ranked"]] == ["Nobody", "Anna"]
    assert document["summary"]["latency"]["p50"] == 0.02
    assert document["entities"]["Anna"]["name"] == "Anna"


@pytest.mark.parametrize(
    ("match", "recall"), [("text", 0.5), ("rouge1", 1.0), ("rouge2", 1.0), ("rougeL", 1.0)]
)
def test_matching_by_text_fills_each_reference_once(
    own_folder: Path, run_cli, match: str, recall: float
) -> None:
    question = {"id": "q", "query": "?", "reference_entities": ["a"]}
    question["reference_texts"] = ["점순이네 수탉이 싸웠다", "The cat sat on the mat"]
    write_gold(own_folder / "gold.jsonl", question)
    texts = ["점순이네 수탉은 싸웠다", "the cat sat on the mat.", "the cat sat on the mat"]
    entities = [{"name": f"c{n}", "text": text} for n, text in enumerate(texts)]
    (own_folder / "run.jsonl").write_text(json.dumps({"id": "q", "entities": entities}) + "\n")
    document = scored(
        run_cli,
        "--run",
        "run.jsonl",
        "--gold",
        "gold.jsonl",
        "--match",
        match,
        "--measures",
        "recall@3,ndcg@3",
    )
    # The Korean texts share 8 of 9 syllables (7 of 8 pairs); the third repeats the second.
    assert means(document)["recall@3"] == recall
    assert means(document)["ndcg@3"] <= 1
    assert [entity["name"] for entity in document["results"][0]["ranked"]] == ["c0", "c1", "c2"]


def test_texts_without_names_are_listed_by_their_text(own_folder: Path, run_cli) -> None:
    question = {"id": "q", "query": "?", "reference_entities": ["a"], "reference_texts": ["a red barn"]}
    write_gold(own_folder / "gold.jsonl", question)
    entities = [{"text": "a blue door"}, {"id": 0, "text": "A red barn."}]
    (own_folder / "run.jsonl").write_text(json.dumps({"id": "q", "entities": entities}) + "\n")
    document = scored(run_cli, "--run", "run.jsonl", "--gold", "gold.jsonl", "--match", "text")
    (found,) = document["results"]
    assert [(entity["id"], entity["name"]) for entity in found["ranked"]] == [
        ("a blue door",) * 2,
        ("0", "0"),
    ]
    assert (found["tp"], found["fp"]) == (["0"], ["a blue door"])


def test_tokens_of_a_question_that_says_no_total_are_in_the_total(own_folder: Path, run_cli) -> None:
    write_gold(own_folder / "gold.jsonl", {"id": "p", "query": "?", "reference_entities": ["a"]})
    rows = [
        {
            "id": "p",
            "entities": ["a"],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16},
        },
        {"id": "q", "entities": ["a"], "usage": {"prompt_tokens": 100, "completion_tokens": 50}},
    ]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = scored(run_cli, "--run", "run.jsonl", "--gold", "gold.jsonl")["summary"]
    assert summary["total_token_usage"] == 16 + 150


def test_ties_are_broken_as_asked(own_folder: Path, run_cli) -> None:
    # 1 and 1 + 1e-9 are one number in float32.
    (own_folder / "run").write_text("q Q0 a 1 1.000000001 t\nq Q0 b 2 1.0 t\n")
    (own_folder / "gold").write_text("q 0 a 1\n")
    ours = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", "mrr")
    theirs = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", "mrr", "--ties", "trec")
    assert (means(ours)["mrr"], means(theirs)["mrr"]) == (1.0, 0.5)
    peer = pytrec_eval.RelevanceEvaluator({"q": {"a": 1}}, {"recip_rank"})
    assert peer.evaluate({"q": {"a": 1.000000001, "b": 1.0}})["q"]["recip_rank"] == 0.5


def test_where_trec_eval_differs() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator({"zero": {"a": 0}, "absent": {"a": 1}}, {"recip_rank"})
    found = evaluator.evaluate({"zero": {"a": 1.0}})
    assert found == {"zero": {"recip_rank": 0.0}}, "all judged 0 scores 0 there; undefined here"
    assert "absent" not in found, "a question absent from the run is left out there; 0 here"


def test_where_trec_eval_differs_here(own_folder: Path, run_cli) -> None:
    (own_folder / "run").write_text("zero Q0 a 1 1 t\n")
    (own_folder / "gold").write_text("zero 0 a 0\nabsent 0 a 1\n")
    document = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", "mrr")
    assert [result["metrics"]["mrr"] for result in document["results"]] == [None, 0.0]
    assert document["summary"]["measures"]["mrr"]["n"] == 1


@pytest.mark.parametrize("form", ["trec", "jsonl", "csv", "parquet"])
def test_a_saved_run_scores_as_eval_did(own_folder: Path, run_cli, form: str) -> None:
    write_kg(
        own_folder / "data/kg/s-KG.json",
        ["Anna Lee", "Ben", "C%20D", "Dora"],
        [("Anna Lee", "KNOWS", text) for text in ("Ben", "C%20D", "Dora")],
    )
    write_gold(
        own_folder / "data/eval/s-eval.jsonl",
        {"id": "q 1", "query": "Whom does Anna Lee know?", "reference_entities": ["C%20D", "Dora"]},
    )
    done = run_cli("eval", "--dataset", "s-eval.jsonl", "--save-run", f"./run.{form}", "-o", "./e.json")
    assert done.exit_code == 0, done.output
    gold = "s-eval.jsonl"
    document = scored(run_cli, "--run", f"run.{form}", "--gold", gold)
    assert means(document) == means(json.loads(Path("e.json").read_text()))


def test_a_saved_run_is_ordered_alike_by_trec_eval(own_folder: Path, run_cli) -> None:
    names = [f"n{row:02d}" for row in range(30)]
    write_kg(own_folder / "data/kg/s-KG.json", ["hub", *names], [("hub", "HAS", name) for name in names])
    write_gold(
        own_folder / "data/eval/s-eval.jsonl", {"id": "q", "query": "hub?", "reference_entities": ["n03"]}
    )
    run_cli(
        "eval", "--dataset", "s-eval.jsonl", "--save-run", "./run.trec", "-o", "./e.json", "--top-k", "10"
    )
    with Path("run.trec").open() as stream:
        run = pytrec_eval.parse_run(stream)
    peer = pytrec_eval.RelevanceEvaluator({"q": {"n03": 1}}, {"recip_rank"}).evaluate(run)
    assert peer["q"]["recip_rank"] == json.loads(Path("e.json").read_text())["summary"]["mean_mrr"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q1 Q0 d1 1 nan t\n", "run:1: the score must be a number, got 'nan'"),
        ("q1 Q0 d1 1 high t\n", "run:1: the score must be a number, got 'high'"),
        ("query_id,entity,rank\nq1,Ben,x\n", "run:2: the rank must be a number, got 'x'"),
        (
            "q1 Q0 d1 1 2 t\nq1 Q0 d2",
            "run:2: wanted 6 fields (question Q0 document rank score tag), got 3; the file",
        ),
        (
            '{"id": "q1", "entities": [{"name": "a"}, 3]}\n',
            "run:1: an entity must be a name, a [name, score] pair or an object with",
        ),
        (
            '{"id": "q1", "entities": [{"name": "a", "score": "x"}]}\n',
            "'score' of an entity must be a number",
        ),
        ('{"id": "q1", "entities": [{"name": "a", "score": NaN}]}\n', "has a NaN score"),
        (
            '{"id": "q1", "entities": [{"name": "a", "score": 1}, {"name": "b"}]}\n',
            "1 of 2 entities have a score",
        ),
        ('{"id": "q1", "entities": []}\n{"id": "q2", "ent', "run:2:14: not JSON"),
        ('{"id": "q1", "entities": []}\n{"id": "q1", "entities": []}\n', "is in the file twice"),
        ("query_id,doc_id,score\nq1,d1\n", "run:2: wanted 3 fields"),
        ("what is this", "unknown run format"),
        ('{"query": "q", "reference_entities": []}\n', "run:1: this looks like a gold set, not like a run"),
        ("PAR1 and no more", "run: can't be read as Parquet"),
        ("", "run: the run is empty"),
    ],
)
def test_a_bad_run_is_said_in_words(own_folder: Path, run_cli, text: str, expected: str) -> None:
    (own_folder / "run").write_text(text)
    write_grades(own_folder / "gold", "trec")
    done = run_cli("score", "--run", "run", "--gold", "gold", "-o", "./out.json")
    assert (done.exit_code, expected in done.stderr) == (2, True), done.output
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q1 0 d1 1\nq1 0 d1 2\n", "gold:2: document 'd1' has grade 2 here and 1 further up"),
        ("query_id,doc_id,score\nq1,d1,1\nq1,d1,0\n", "gold:3: document 'd1' has grade 0 here and 1"),
        ('{"id": "q1", "entities": ["d1"]}\n', "gold:1: this looks like a run or a graph"),
        ('[{"query": "who?"}]', "gold: 1 question without 'reference_entities'"),
        ("", "gold: the gold set is empty"),
        ("PAR1 and no more", "gold: can't be read as Parquet"),
    ],
)
def test_a_bad_gold_set_is_said_in_words(own_folder: Path, run_cli, text: str, expected: str) -> None:
    (own_folder / "run").write_text("q1 Q0 d1 1 2 t\n")
    (own_folder / "gold").write_text(text)
    done = run_cli("score", "--run", "run", "--gold", "gold", "-o", "./out.json")
    assert (done.exit_code, expected in done.stderr) == (2, True), done.output


def test_a_document_judged_twice_alike_counts_once(own_folder: Path, run_cli) -> None:
    (own_folder / "run").write_text("q1 Q0 d1 1 2 t\n")
    (own_folder / "gold").write_text("q1 0 d1 1\nq1 0 d1 1\n")
    found = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", "recall@1")
    assert means(found) == {"recall@1": 1.0}


def test_a_mean_of_one_question_is_marked_too(own_folder: Path, run_cli) -> None:
    (own_folder / "run").write_text("q1 Q0 d2 1 2 t\nq1 Q0 d1 1 1 t\n")
    (own_folder / "gold").write_text("q1 0 d1 1\n")
    done = run_cli("score", "--run", "run", "--gold", "gold", "--measures", "mrr", "-o", "./out.json")
    # The rest may be anything: z² / (1 + z²) = .79 of the way to 0 and to 1.
    assert "0.500 (.10–.90)?" in done.stdout


def test_what_is_odd_in_a_run_is_counted(own_folder: Path, run_cli) -> None:
    text = "q1 Q0 d2 1 3 t\nq1 Q0 d2 2 2 t\nq8 Q0 d1 1 1 t\n"
    (own_folder / "run").write_bytes(gzip.compress(text.encode()))
    write_grades(own_folder / "gold", "trec")
    done = run_cli("score", "--run", "run", "--gold", "gold", "-o", "./out.json", code=0)
    assert "1 question of the run is not in the gold set and is ignored (such as q8)" in done.stderr
    assert (
        "2 questions of the gold set are not in the run and get the worst value of every measure"
        in done.stderr
    )
    assert "1 duplicate in rankings is dropped after the first" in done.stderr
    assert len(json.loads(Path("out.json").read_text())["results"][0]["ranked"]) == 1


def test_scores_decide_the_order_and_the_list_where_there_are_none(own_folder: Path, run_cli) -> None:
    write_grades(own_folder / "gold", "trec")
    (own_folder / "run").write_text("q1 Q0 d5 1 1 t\nq1 Q0 d1 2 9 t\n")
    assert scored(run_cli, "--run", "run", "--gold", "gold")["results"][0]["metrics"]["mrr"] == 1
    (own_folder / "run").write_text('{"id": "q1", "entities": ["d5", "d1"]}\n')
    assert scored(run_cli, "--run", "run", "--gold", "gold")["results"][0]["metrics"]["mrr"] == 0.5


def test_on_its_graph_a_run_gets_verdicts_and_what_lost_its_recall(own_folder: Path, run_cli) -> None:
    """Five references: a hit, one at rank 3 (k 2), two that the run does not list, one that nobody bears.

    By question: 1/2 hit, 1/2 below k; then of three two are not in the run and one not in the graph.
    """
    write_kg(own_folder / "data/kg/story-KG.json", ["Anna", "Ben", "Cleo", "Dora", "Emil"], [])
    write_gold(
        own_folder / "data/eval/story-eval.jsonl",
        {"id": "q1", "query": "?", "reference_entities": ["Anna", "Cleo"], "tags": ["easy"]},
        {"id": "q2", "query": "?", "reference_entities": ["Ben", "Dora", "Nobody"]},
    )
    rows = [{"id": "q1", "entities": ["Anna", "Emil", "Cleo"]}, {"id": "q2", "entities": ["Emil"]}]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ("--run", "./run.jsonl", "--gold", "story-eval.jsonl", "--top-k", "2", "-o", "./out.json")
    done = run_cli("score", *files, "-g", "story-KG.json", "--report", "md", "--details", code=0)
    assert "Where recall is lost" in done.stdout  # of --details
    found = json.loads((own_folder / "out.json").read_text("utf-8"))
    assert found["summary"]["verdicts"] == {
        "hit": 1,
        "not_in_graph": 1,
        "not_in_run": 2,
        "ranked_below_k": 1,
    }
    lost = {step["step"]: step["loss"] for step in found["summary"]["waterfall"]}
    assert lost == {
        "in graph": pytest.approx(1 / 6),
        "in run": pytest.approx(2 / 6),
        "room in k": 0,
        "recall@k": 0.25,
    }
    assert found["summary"]["waterfall_by_tag"]["easy"][-1]["recall"] == 0.5
    assert [reference["verdict"] for reference in found["results"][1]["references"]] == [
        "not_in_run",
        "not_in_run",
        "not_in_graph",
    ]
    assert found["results"][0]["references"][1]["rank"] == 3
    jsonschema.validate(found, SCHEMA)
    assert "not returned" in done.stdout
    assert "--depth" not in done.stdout
    assert "not returned by the retriever" in (own_folder / "out.md").read_text("utf-8")
    # Without the graph nobody knows what an alias is, and that is said; what was missed is called so.
    done = run_cli("score", *files, "--report", "md")
    assert "an alias counts as its entity" in done.stdout + done.stderr
    assert ": missed |" in (own_folder / "out.md").read_text("utf-8")


def test_a_foreign_run_under_eval_is_not_told_to_raise_the_depth(own_folder: Path, run_cli) -> None:
    write_kg(own_folder / "data/kg/story-KG.json", ["Anna", "Ben"], [("Anna", "KNOWS", "Ben")])
    write_gold(
        own_folder / "data/eval/story-eval.jsonl",
        {"id": "q1", "query": "Anna?", "reference_entities": ["Ben"]},
    )
    (own_folder / "run.jsonl").write_text('{"id": "q1", "entities": ["Anna"]}\n')
    run = ("eval", "--dataset", "story-eval.jsonl", "--retriever", "run:./run.jsonl", "--skip-generation")
    done = run_cli(*run, "-o", "./out.json", code=0)
    found = json.loads((own_folder / "out.json").read_text("utf-8"))
    assert found["results"][0]["references"][0]["verdict"] == "not_in_run"
    assert "raise --depth" not in done.stdout
    assert "not returned by the retriever" in done.stdout


def test_a_question_that_the_run_lacks_lowers_every_mean_but_the_contests(own_folder: Path, run_cli) -> None:
    """q2 is not in the run. Pooled: 1 hit of 1 returned and of one wrong one at q2, so 1/2. Of the questions
    without gold, q3 was left empty and q4 is not in the run: 1 of 2."""
    (own_folder / "run").write_text('{"id": "q1", "entities": ["d1"]}\n{"id": "q3", "entities": []}\n')
    (own_folder / "gold.jsonl").write_text(
        "".join(
            json.dumps({"id": id, "query": id, "reference_entities": names}) + "\n"
            for id, names in (("q1", ["d1"]), ("q2", ["d1"]), ("q3", []), ("q4", []))
        )
    )
    files = ("score", "--run", "run", "--gold", "gold.jsonl", "-o", "./out.json")
    done = run_cli(*files, "--measures", "recall@1,contest_map@1,micro_precision@1,no_answer_accuracy")
    document = json.loads(Path("out.json").read_text("utf-8"))
    assert means(document) == {
        "recall@1": 0.5,
        "contest_map@1": 1.0,
        "micro_precision@1": 0.5,
        "no_answer_accuracy": 0.5,
    }
    counts = ("failed", "failed_without_gold", "rightly_empty", "nothing_retrieved")
    assert [document["summary"][name] for name in counts] == [2, 1, 1, 1]
    assert "1 correctly returned nothing, 0 returned entities" in done.stdout
    assert "2 questions failed or are not in the run" in done.stdout
    run_cli(*files, "--fail-under", "no_answer_accuracy>=0.6", code=1)


def test_a_returned_reference_that_the_graph_lacks_is_a_hit(own_folder: Path, run_cli) -> None:
    """Both write Ben, the graph has only Anna: with the graph as without it q1 is a hit at rank 1."""
    write_kg(own_folder / "g-KG.json", ["Anna"])
    write_gold(
        own_folder / "gold.jsonl",
        {"id": "q1", "query": "?", "reference_entities": ["Ben"]},
        {"id": "q2", "query": "?", "reference_entities": ["Cleo"]},
    )
    rows = [{"id": "q1", "entities": ["ben", "Anna"]}, {"id": "q2", "entities": ["Dora", "Cleo X"]}]
    (own_folder / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = scored(run_cli, "--run", "run.jsonl", "--gold", "gold.jsonl", "-g", "./g-KG.json")
    assert [row["metrics"]["mrr"] for row in document["results"]] == [1.0, 0.0]
    (first,), (second,) = (row["references"] for row in document["results"])
    assert (first["verdict"], first["rank"], first["entity_ids"]) == ("hit", 1, [])
    assert second["verdict"] == "not_in_graph"


def test_an_ambiguous_name_of_a_run_is_counted_and_means_the_first_of_its_entities(
    own_folder: Path, run_cli
) -> None:
    """Two entities are called Kim; the gold set means the second one by its alias.

    `eval` reads the names of a run and of a function in the same way.
    """
    write_kg(own_folder / "g-KG.json", [("Kim A", ["Kim"]), ("Kim B", ["Kim", "the elder"]), "Lee"])
    write_gold(own_folder / "gold.jsonl", {"id": "q", "query": "?", "reference_entities": ["the elder"]})
    (own_folder / "run.jsonl").write_text(json.dumps({"id": "q", "entities": ["Lee", "Kim"]}) + "\n")
    files = ("score", "--run", "run.jsonl", "--gold", "gold.jsonl", "-g", "./g-KG.json", "-o", "./out.json")
    done = run_cli(*files)
    assert "ambiguous on this graph: 1 of the names in the run (such as Kim)" in done.stderr
    assert means(json.loads(Path("out.json").read_text("utf-8")))["mrr"] == 0
    (own_folder / "rag.py").write_text("def retrieve(q):\n    return ['Lee', 'Kim', 'Kim']\n")
    for retriever in ("run:./run.jsonl", "rag.py:retrieve"):
        asked = ("eval", "--dataset", "./gold.jsonl", "-g", "./g-KG.json", "--retriever", retriever)
        done = run_cli(*asked, "--skip-generation", "-o", "./out.json")
        assert "1 of the names in the run (such as Kim)" in done.stdout + done.stderr
        assert means(json.loads(Path("out.json").read_text("utf-8")))["mrr"] == 0, retriever


def test_a_gold_set_of_passages_alone_is_scored_by_the_contexts_of_a_run(own_folder: Path, run_cli) -> None:
    write_gold(own_folder / "gold.jsonl", {"id": "q", "query": "?", "reference_texts": ["a red barn"]})
    run = {"id": "q", "contexts": ["a blue door", "a red barn"]}
    (own_folder / "run.jsonl").write_text(json.dumps(run) + "\n")
    assert means(scored(run_cli, "--run", "run.jsonl", "--gold", "gold.jsonl"))["passages:recall@5"] == 1
