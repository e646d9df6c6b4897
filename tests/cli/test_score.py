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

from tests.conftest import read_json, write_gold, write_kg, write_set
from tests.report.test_results_files import SCHEMA

Json = dict[str, Any]
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
LEVELS = ("irrelevant", "relevant", "highly_relevant")


def lines(*rows: Json) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def cells(table: dict[str, dict[str, float]]) -> list[tuple[str, str, float]]:
    return [(question, name, value) for question, row in table.items() for name, value in row.items()]


def as_table(table: dict[str, dict[str, float]], glue: str) -> str:
    return "".join(
        glue.join(map(str, row)) + "\n" for row in (("query_id", "doc_id", "score"), *cells(table))
    )


def as_parquet(path: Path, table: dict[str, dict[str, float]]) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = dict(zip(("query_id", "doc_id", "score"), zip(*cells(table), strict=True), strict=True))
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def by_level(ending: str) -> dict[str, Json]:
    """Question → the names of each grade, under the keys `…{ending}`."""
    return {
        question: {
            f"{level}{ending}": [name for name, grade in row.items() if LEVELS[grade] == level]
            for level in LEVELS
        }
        for question, row in GRADES.items()
    }


def ours(row: Json) -> Json:
    return {name.replace("relevant_e", "reference_e") if name[0] == "r" else name: row[name] for name in row}


RUNS = {
    "trec": "".join(f"{q} Q0 {d} 1 {s} me\n" for q, d, s in cells(RUN)),
    "jsonl": lines(
        *({"id": q, "entities": [{"name": d, "score": s} for d, s in row.items()]} for q, row in RUN.items())
    ),
    "contest": lines(*({"eval_id": q, "topk": [*row]} for q, row in RUN.items())),
    "json": json.dumps({q: [*map(list, row.items())] for q, row in RUN.items()}, indent=1),
    "csv": as_table(RUN, ","),
    "tsv": as_table(RUN, "\t"),
}
GOLDS = {
    "trec": "".join(f"{q} 0 {d} {g}\n" for q, d, g in cells(GRADES)),
    "jsonl": lines(*({"id": q, "query": q, **ours(row)} for q, row in by_level("_entities").items())),
    "rag": json.dumps(
        [
            {"query_id": q, "query": q, "query_type": "fact", "metadata": {"difficulty": "hard"}, **row}
            for q, row in by_level("_chunk_ids").items()
        ]
    ),
    "csv": as_table(GRADES, ","),
    "tsv": as_table(GRADES, "\t"),
}


def scored(run_cli, *arguments: object) -> Json:
    run_cli("score", *arguments, "-o", "./out.json", code=0)
    return read_json("out.json")


def means(document: Json) -> dict[str, float]:
    return {name: measure["mean"] for name, measure in document["summary"]["measures"].items()}


@pytest.mark.parametrize(
    ("run", "gold"),
    [
        ("trec", "trec"),
        ("jsonl", "jsonl"),
        ("contest", "rag"),
        ("json", "csv"),
        ("csv", "tsv"),
        ("tsv", "parquet"),
        ("parquet", "trec"),
    ],
)
def test_every_form_gives_the_same_numbers(own_folder: Path, run_cli, run: str, gold: str) -> None:
    for name, form, texts, table in (("run", run, RUNS, RUN), ("gold", gold, GOLDS, GRADES)):
        if form == "parquet":
            as_parquet(own_folder / name, table)
        else:
            (own_folder / name).write_text(texts[form])
    document = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", MEASURES)
    assert means(document) == pytest.approx(EXPECTED, abs=1e-12)
    jsonschema.validate(document, SCHEMA)
    first = document["results"][0]
    assert (first["tp"], first["fp"], first["fn"]) == (["d2"], ["d9", "d5"], ["d1"])
    if gold == "rag":
        assert list(document["summary"]["by_tag"]) == ["query_type:fact", "difficulty:hard"]


TEXTS = ["점순이네 수탉이 싸웠다", "The cat sat on the mat"]
CHUNKS = ["점순이네 수탉은 싸웠다", "the cat sat on the mat.", "the cat sat on the mat"]
TWO_OF_FOUR = [
    {"id": id, "query": id, "reference_entities": names}
    for id, names in (("q1", ["d1"]), ("q2", ["d1"]), ("q3", []), ("q4", []))
]
ABSENT = [{"id": "q1", "entities": ["d1"]}, {"id": "q3", "entities": []}]
# Gold set, run, options and the means by hand; a gold set and a run are text, or records for lines of JSON.
BY_HAND: dict[str, tuple[Any, Any, str, dict[str, float]]] = {
    # (1 + 2/3) / 2, 1 and 0; question 4 has no prediction and is left out of the contest's mean.
    "the contest's own rule": (
        json.dumps({"1": ["a", "b"], "2": [], "3": [], "4": ["c"]}),
        [
            {"eval_id": 1, "topk": ["a", "x", "b"]},
            {"eval_id": 2, "topk": []},
            {"eval_id": 3, "topk": ["a"]},
        ],
        "contest_map@3,no_answer_accuracy",
        {"contest_map@3": (5 / 6 + 1 + 0) / 3, "no_answer_accuracy": 0.5},
    ),
    # q2 is not in the run. Pooled: 1 hit of 1 returned and of one wrong one at q2, so 1/2. Of the questions
    # without gold, q3 was left empty and q4 is not in the run: 1 of 2.
    "a question that the run lacks lowers every mean but the contest's": (
        TWO_OF_FOUR,
        ABSENT,
        "recall@1,contest_map@1,micro_precision@1,no_answer_accuracy",
        {"recall@1": 0.5, "contest_map@1": 1.0, "micro_precision@1": 0.5, "no_answer_accuracy": 0.5},
    ),
    # The second of two passages is one of the two references: recall 1/2, reciprocal rank 1/2.
    **{
        f"passages by {name}": (
            json.dumps([{"id": "q", "question": "Who?", name: references}]),
            [{"id": "q", "passages": retrieved}],
            "passages:recall@2,passages:mrr",
            {"passages:recall@2": 0.5, "passages:mrr": 0.5},
        )
        for name, references, retrieved in (
            ("reference_chunks", ["c1", "c2"], ["c9", "c1"]),
            ("relevant_passage_ids", ["c1", "c2"], [{"id": "c9", "text": "x"}, {"id": "c1", "text": "y"}]),
            ("reference_contexts", ["Ann lives.", "Bob sails."], ["Nobody sails.", "Ann lives."]),
        )
    },
    "contexts of a run": (
        [{"id": "q", "query": "?", "reference_texts": ["a red barn"]}],
        [{"id": "q", "contexts": ["a blue door", "a red barn"]}],
        "passages:recall@5",
        {"passages:recall@5": 1.0},
    ),
    # The Korean texts share 8 of 9 syllables (7 of 8 pairs); the third repeats the second.
    **{
        f"texts by {match}": (
            [{"id": "q", "query": "?", "reference_entities": ["a"], "reference_texts": TEXTS}],
            [{"id": "q", "entities": [{"name": f"c{n}", "text": text} for n, text in enumerate(CHUNKS)]}],
            f"recall@3 --match {match}",
            {"recall@3": recall},
        )
        for match, recall in (("text", 0.5), ("rouge1", 1.0), ("rouge2", 1.0), ("rougeL", 1.0))
    },
    # 1 and 1 + 1e-9 are one number in float32.
    "ties as ours": ("q 0 a 1\n", "q Q0 a 1 1.000000001 t\nq Q0 b 2 1.0 t\n", "mrr", {"mrr": 1.0}),
    "ties as trec_eval's": (
        "q 0 a 1\n",
        "q Q0 a 1 1.000000001 t\nq Q0 b 2 1.0 t\n",
        "mrr --ties trec",
        {"mrr": 0.5},
    ),
    "a document judged twice": ("q1 0 d1 1\nq1 0 d1 1\n", "q1 Q0 d1 1 2 t\n", "recall@1", {"recall@1": 1.0}),
    "scores decide": ("q1 0 d1 1\n", "q1 Q0 d5 1 1 t\nq1 Q0 d1 2 9 t\n", "mrr", {"mrr": 1.0}),
    "no scores": ("q1 0 d1 1\n", [{"id": "q1", "entities": ["d5", "d1"]}], "mrr", {"mrr": 0.5}),
    "a carriage return in a field": (
        'query_id,doc_id\nq1,"a\rb"\n',
        [{"id": "q1", "entities": [{"id": "a\rb", "score": 1}]}],
        "recall@5",
        {"recall@5": 1.0},
    ),
    "what a spreadsheet would run": (
        "query_id,doc_id,score\nq,'-5,1\n",
        "query_id,doc_id,score\nq,'-5,0.5\n",
        "mrr",
        {"mrr": 1.0},
    ),
    # All judged 0 is undefined here, and 0 in trec_eval; absent from the run is 0 here, left out there.
    "where trec_eval differs": ("zero 0 a 0\nabsent 0 a 1\n", "zero Q0 a 1 1 t\n", "mrr", {"mrr": 0.0}),
}


def put(path: str, content: Any) -> None:
    Path(path).write_bytes((content if isinstance(content, str) else lines(*content)).encode())


@pytest.mark.parametrize("case", BY_HAND)
def test_means_are_those_of_the_hand(run_cli, case: str) -> None:
    gold, run, options, expected = BY_HAND[case]
    put("gold", gold)
    put("run", run)
    document = scored(run_cli, "--run", "run", "--gold", "gold", "--measures", *options.split())
    assert means(document) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "run",
    [
        lines({"id": "q", "passages": ["c9", "c1"]}),
        lines({"id": "q", "topk": ["c9", "c1"]}),
        lines({"id": "q", "entities": ["c9", "c1"]}),
        "q Q0 c9 1 .9 x\nq Q0 c1 2 .8 x\n",
        "query_id,doc_id,score\nq,c9,.9\nq,c1,.8\n",
    ],
    ids=["passages", "contest", "entities", "trec", "csv"],
)
def test_passages_alone_are_measured_without_being_asked_for(run_cli, run: str) -> None:
    """In a run of any form: where the gold set expects passages alone, its items can be nothing else."""
    put("gold", json.dumps([{"id": "q", "question": "Who?", "reference_chunks": ["c1", "c2"]}]))
    put("run", run)
    found = means(scored(run_cli, "--run", "run", "--gold", "gold"))
    assert (found["passages:recall@5"], found["passages:mrr"]) == (0.5, 0.5)


@pytest.mark.parametrize(("names", "options", "warns"), [
    (["n17", "n18"], "", True), (["Ann", "n18"], "", False), (["ANN"], "", False), ([], "", False),
    (["n17"], "--match rougeL", False),
])  # fmt: skip
def test_a_run_of_other_names_than_the_gold_set_says_so(
    run_cli, names: list[str], options: str, warns: bool
) -> None:
    """Ids against names score 0, which is no finding about the retriever."""
    question = {"question": "Who?", "reference_entities": ["Ann"], "reference_texts": ["Ann came"]}
    put("gold", json.dumps([{"id": "q", **question}]))
    put("run", [{"id": "q", "entities": [{"name": name, "text": "Ben went"} for name in names]}])
    done = run_cli("score --run run --gold gold -o out.json", *options.split())
    assert ("no retrieved item is a reference" in done.stderr) == warns


def test_with_a_graph_names_and_aliases_become_entities(own_folder: Path, run_cli) -> None:
    write_kg(own_folder / "g-KG.json", [("Anna", ["Ann"]), "Ben"])
    put("gold", [{"id": "q", "query": "?", "reference_entities": ["Anna"]}])
    entities = [{"name": "Nobody"}, {"name": "ann"}, {"id": "Anna", "name": "whatever"}]
    put("run", [{"id": "q", "entities": entities, "latency_ms": 20}])
    document = scored(run_cli, "--run", "run", "--gold", "gold", "-g", "./g-KG.json")
    assert document["results"][0]["metrics"]["mrr"] == 0.5
    assert [entity["name"] for entity in document["results"][0]["ranked"]] == ["Nobody", "Anna"]
    assert document["summary"]["latency"]["p50"] == 0.02
    assert document["entities"]["Anna"]["name"] == "Anna"


def test_a_text_alone_is_a_name_or_else_an_id(run_cli) -> None:
    """In a run, and of a retriever of the user's own."""
    names = {"n1": "Anna", "n2": "n1", "n3": "Ben"}
    graph = {"entities": {id: {"name": name} for id, name in names.items()}, "relationships": []}
    put("g-KG.json", json.dumps(graph))
    put("gold.jsonl", [{"id": "q", "query": "?", "reference_entities": ["Ben"]}])
    put("run", [{"id": "q", "entities": ["n1", "n3"]}])
    put("mine.py", 'def retrieve(question):\n    return ["n1", "n3"]\n')
    of_run = scored(run_cli, "--run", "run", "--gold", "gold.jsonl", "-g", "./g-KG.json")
    files = "--dataset ./gold.jsonl -g ./g-KG.json --retriever ./mine.py:retrieve -o ./own.json"
    run_cli("eval --skip-generation", *files.split(), code=0)
    for document in (of_run, read_json(Path("own.json"))):
        (result,) = document["results"]
        assert [entity["id"] for entity in result["ranked"]] == ["n2", "n3"]


def test_texts_without_names_are_listed_by_their_text(run_cli) -> None:
    put("gold", [{"id": "q", "query": "?", "reference_entities": ["a"], "reference_texts": ["a red barn"]}])
    put("run", [{"id": "q", "entities": [{"text": "a blue door"}, {"id": 0, "text": "A red barn."}]}])
    (found,) = scored(run_cli, "--run", "run", "--gold", "gold", "--match", "text")["results"]
    ranked = [(entity["id"], entity["name"]) for entity in found["ranked"]]
    assert ranked == [("a blue door", "a blue door"), ("0", "0")]
    assert (found["tp"], found["fp"]) == (["0"], ["a blue door"])


def test_tokens_of_a_question_that_says_no_total_are_in_the_total(run_cli) -> None:
    put("gold", [{"id": "p", "query": "?", "reference_entities": ["a"]}])
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 16}
    more = {"prompt_tokens": 100, "completion_tokens": 50}
    put("run", [{"id": id, "entities": ["a"], "usage": used} for id, used in (("p", usage), ("q", more))])
    summary = scored(run_cli, "--run", "run", "--gold", "gold")["summary"]
    assert summary["total_token_usage"] == 16 + 150


@pytest.mark.parametrize("form", ["trec", "jsonl", "csv"])
def test_a_saved_run_scores_as_eval_did(own_folder: Path, run_cli, form: str) -> None:
    people = ["Anna Lee", "Ben", "C%20D", "Dora"]
    question = {"id": "q 1", "query": "Whom does Anna Lee know?", "reference_entities": ["C%20D", "Dora"]}
    write_set(own_folder, "s", people, [("Anna Lee", "KNOWS", name) for name in people[1:]], question)
    run_cli("eval --dataset s-eval.jsonl -o ./e.json --save-run", f"./run.{form}", code=0)
    document = scored(run_cli, "--run", f"run.{form}", "--gold", "s-eval.jsonl")
    assert means(document) == means(read_json("e.json"))


def test_a_saved_run_is_ordered_alike_by_trec_eval(own_folder: Path, run_cli) -> None:
    names = [f"n{row:02d}" for row in range(30)]
    question = {"id": "q", "query": "hub?", "reference_entities": ["n03"]}
    write_set(own_folder, "s", ["hub", *names], [("hub", "HAS", name) for name in names], question)
    run_cli("eval --dataset s-eval.jsonl --save-run ./run.trec -o ./e.json --top-k 10")
    with Path("run.trec").open() as stream:
        run = pytrec_eval.parse_run(stream)
    peer = pytrec_eval.RelevanceEvaluator({"q": {"n03": 1}}, {"recip_rank"}).evaluate(run)
    assert peer["q"]["recip_rank"] == read_json("e.json")["summary"]["mean_mrr"]


BAD = [
    ("run", "q1 Q0 d1 1 nan t\n", "run:1: the score must be a number such as 0.5, got 'nan'"),
    ("run", "q1 Q0 d1 1 high t\n", "run:1: the score must be a number such as 0.5, got 'high'"),
    ("run", "query_id,entity,rank\nq1,Ben,x\n", "run:2: the rank must be a number such as 0.5, got 'x'"),
    (
        "run",
        "q1 Q0 d1 1 2 t\nq1 Q0 d2",
        "run:2: wanted 6 fields (question Q0 document rank score tag), got 3",
    ),
    (
        "run",
        '{"id": "q1", "entities": [{"name": "a"}, 3.5]}\n',
        "run:1: an entity must be a name, a [name, score]",
    ),
    (
        "run",
        '{"id": "q1", "entities": [{"name": "a", "score": "x"}]}\n',
        "'score' of an entity must be a number",
    ),
    ("run", '{"id": "q1", "entities": [{"name": "a", "score": NaN}]}\n', "has a NaN score"),
    ("run", '{"id": "q1", "entities": [["a", 1], {"name": "b"}]}\n', "1 of 2 entities have a score"),
    ("run", '{"id": "q1", "entities": []}\n{"id": "q2", "ent', "run:2:14: not JSON"),
    ("run", '{"id": "q1", "entities": []}\n' * 2, "is in the file twice"),
    ("run", "query_id,doc_id,score\nq1,d1\n", "run:2: wanted 3 fields"),
    ("run", "what is this", "unknown run format"),
    (
        "run",
        '{"query": "q", "reference_entities": []}\n',
        "run:1: this looks like a gold set, not like a run",
    ),
    ("run", "PAR1 and no more", "run: can't be read as Parquet"),
    ("run", "", "run: the run is empty"),
    ("gold", "q1 0 d1 1\nq1 0 d1 2\n", "gold:2: document 'd1' has grade 2 here and 1 further up"),
    ("gold", "query_id,doc_id,score\nq1,d1,1\nq1,d1,0\n", "gold:3: document 'd1' has grade 0 here and 1"),
    ("gold", '{"id": "q1", "entities": ["d1"]}\n', "gold:1: this looks like a run (--run) or a graph (-g)"),
    ("gold", '[{"query": "who?"}]', "gold: 1 question without 'reference_entities'"),
    ("gold", "", "gold: the gold set is empty"),
    ("gold", "PAR1 and no more", "gold: can't be read as Parquet"),
]


@pytest.mark.parametrize(("name", "text", "expected"), BAD)
def test_a_bad_file_is_said_in_words(run_cli, name: str, text: str, expected: str) -> None:
    put("gold", GOLDS["trec"])
    put("run", RUNS["trec"])
    put(name, text)
    done = run_cli("score --run run --gold gold -o ./out.json", code=2)
    assert expected in done.stderr
    assert not Path("out.json").exists()


def test_what_is_odd_in_a_run_is_counted(own_folder: Path, run_cli) -> None:
    text = "q1 Q0 d2 1 3 t\nq1 Q0 d2 2 2 t\nq8 Q0 d1 1 1 t\n"
    (own_folder / "run").write_bytes(gzip.compress(text.encode()))
    put("gold", GOLDS["trec"])
    done = run_cli("score --run run --gold gold -o ./out.json", code=0)
    for said in (
        "1 question of the run is not in the gold set and is ignored (such as q8)",
        "2 questions of the gold set are not in the run and get the worst value of every measure",
        "1 duplicate in rankings counts at its first place only",
    ):
        assert said in done.stderr
    assert len(read_json("out.json")["results"][0]["ranked"]) == 1


def test_on_its_graph_a_run_gets_verdicts_and_what_lost_its_recall(own_folder: Path, run_cli) -> None:
    """Five references: a hit, one at rank 3 (k 2), two that the run does not list, one that nobody bears.

    By question: 1/2 hit, 1/2 below k; then of three two are not in the run and one not in the graph.
    """
    write_set(
        own_folder, "story", ["Anna", "Ben", "Cleo", "Dora", "Emil"], [],
        {"id": "q1", "query": "?", "reference_entities": ["Anna", "Cleo"], "tags": ["easy"]},
        {"id": "q2", "query": "?", "reference_entities": ["Ben", "Dora", "Nobody"]},
    )  # fmt: skip
    put("run", [{"id": "q1", "entities": ["Anna", "Emil", "Cleo"]}, {"id": "q2", "entities": ["Emil"]}])
    files = "score --run run --gold story-eval.jsonl --top-k 2 -o ./out.json --report md"
    done = run_cli(files, "-g", "story-KG.json", "--details", code=0)
    assert "Where recall is lost" in done.stdout  # of --details
    found = read_json("out.json")
    verdicts = {"hit": 1, "not_in_graph": 1, "not_in_run": 2, "ranked_below_k": 1}
    assert found["summary"]["verdicts"] == verdicts
    lost = {step["step"]: step["loss"] for step in found["summary"]["waterfall"]}
    assert lost == pytest.approx({"in graph": 1 / 6, "in run": 2 / 6, "room in --top-k": 0, "recall@k": 0.25})
    assert found["summary"]["waterfall_by_tag"]["easy"][-1]["recall"] == 0.5
    of_second = [reference["verdict"] for reference in found["results"][1]["references"]]
    assert of_second == ["not_in_run", "not_in_run", "not_in_graph"]
    assert found["results"][0]["references"][1]["rank"] == 3
    jsonschema.validate(found, SCHEMA)
    assert "not returned" in done.stdout
    assert "--depth" not in done.stdout
    assert "not returned by the retriever" in (own_folder / "out.md").read_text("utf-8")
    # Without the graph nobody knows what an alias is, and that is said; what was missed is called so.
    done = run_cli(files)
    assert "an alias counts as its entity" in done.stdout + done.stderr
    assert ": missed |" in (own_folder / "out.md").read_text("utf-8")
    # `eval` over the same run says the same of it.
    done = run_cli(
        "eval --dataset story-eval.jsonl --retriever run:./run --skip-generation -o ./e.json", code=0
    )
    assert read_json("e.json")["results"][1]["references"][0]["verdict"] == "not_in_run"
    assert "raise --depth" not in done.stdout
    assert "not returned by the retriever" in done.stdout


def test_what_a_run_lacks_is_counted_and_said(run_cli) -> None:
    put("gold", TWO_OF_FOUR)
    put("run", ABSENT)
    files = "score --run run --gold gold -o ./out.json"
    done = run_cli(files)
    summary = read_json("out.json")["summary"]
    counts = ("failed", "failed_without_gold", "rightly_empty", "nothing_retrieved")
    assert [summary[name] for name in counts] == [2, 1, 1, 1]
    assert "1 correctly returned nothing, 0 returned entities" in done.stdout
    assert "2 questions failed or are not in the run" in done.stdout
    run_cli(files, "--fail-under", "no_answer_accuracy>=0.6", code=1)


def test_a_returned_reference_that_the_graph_lacks_is_a_hit(own_folder: Path, run_cli) -> None:
    """Both write Ben, the graph has only Anna: with the graph as without it q1 is a hit at rank 1."""
    write_kg(own_folder / "g-KG.json", ["Anna"])
    put(
        "gold",
        [
            {"id": f"q{n}", "query": "?", "reference_entities": [name]}
            for n, name in ((1, "Ben"), (2, "Cleo"))
        ],
    )
    put("run", [{"id": "q1", "entities": ["ben", "Anna"]}, {"id": "q2", "entities": ["Dora", "Cleo X"]}])
    document = scored(run_cli, "--run", "run", "--gold", "gold", "-g", "./g-KG.json")
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
    put("run.jsonl", [{"id": "q", "entities": ["Lee", "Kim"]}])
    put("rag.py", "def retrieve(q):\n    return ['Lee', 'Kim', 'Kim']\n")
    asked = "eval --dataset ./gold.jsonl --skip-generation --retriever"
    for command in (
        "score --run run.jsonl --gold gold.jsonl",
        f"{asked} run:./run.jsonl",
        f"{asked} rag.py:retrieve",
    ):
        done = run_cli(command, "-g", "./g-KG.json", "-o", "./out.json", code=0)
        assert "1 of the names in the run (such as Kim)" in done.stdout + done.stderr
        assert means(read_json("out.json"))["mrr"] == 0, command
