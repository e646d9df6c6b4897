"""What a judge's replies are worth, worked by hand, and judges in a whole run; ACC, which also embeds: the
figure, its cost, its failures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.conftest import write_set
from tests.tools.chat_server import Action, ChatServer, Request, answer, error
from tiny_graph_rag.answers.records import Answer
from tiny_graph_rag.answers.rubrics import JUDGES, QUALITIES, accuracy


def told_story(folder: Path, names: list[str], *questions: tuple[str, ...]) -> None:
    """questions: (id, query), with the reference and the ground truth where there is one."""
    rows = (
        {"id": id, "query": query, "reference_entities": list(answer)}
        | ({"ground_truth": answer[0]} if answer else {})
        for id, query, *answer in questions
    )
    relations = [(name, "KNOWS", "Ben") for name in names if "Ben" in names and name != "Ben"]
    write_set(folder, "story", names, relations, *rows)


def schema_of(request: Request) -> str:
    """Which judge is asked; "" where an answer is."""
    return request.body.get("response_format", {}).get("json_schema", {}).get("name", "")


def many(name: str, key: str, flags: tuple[object, ...]) -> list[dict]:
    """Statements or claims, each with a flag."""
    return [{name: "s", key: flag, "reason": ""} for flag in flags]


GRADES = dict(zip(QUALITIES, (1, 2, 3, 4, 5), strict=True))
WORTH = [
    ("correctness", {"reason": "", "grade": 1}, {"correctness": 0.5}),
    ("quality", {"reason": "", **GRADES}, {name: float(grade) for name, grade in GRADES.items()}),
    (
        "retrieval",
        {"grades": [{"entity": at, "grade": grade, "reason": ""} for at, grade in ((1, 2), (2, 0), (3, 1))]},
        {"judged_precision": 2 / 3},
    ),
    (
        "faithfulness",
        {"claims": many("claim", "supported", (True, False, True, True))},
        {"faithfulness": 0.75},
    ),
    ("faithfulness", {"claims": []}, {"faithfulness": math.nan}),
    # TP 2, FP 1, FN 1 (of 4 true statements 3 are present): F1 = 2·2/(2·2 + 1 + 1) = 2/3, coverage 3/4.
    (
        "factuality",
        {
            "answer": many("statement", "supported", (True, True, False)),
            "truth": many("statement", "present", (True, True, True, False)),
        },
        {"factuality": 2 / 3, "coverage": 0.75},
    ),
    ("factuality", {"answer": [], "truth": []}, {"factuality": 1.0, "coverage": math.nan}),
    *(
        ("preference", {"reason": "", "winner": winner}, {"preference": worth})
        for winner, worth in (("B", 1.0), ("tie", 0.5), ("A", 0.0))
    ),
]


@pytest.mark.parametrize(("judge", "reply", "worth"), WORTH)
def test_what_a_reply_is_worth(judge: str, reply: dict, worth: dict[str, float]) -> None:
    rubric = JUDGES[judge]
    assert rubric.value(rubric.read(json.dumps(reply))) == pytest.approx(worth, nan_ok=True)


@pytest.mark.parametrize(
    ("judge", "text"),
    [
        ("correctness", "right!"),
        ("correctness", "[1]"),
        ("correctness", '{"grade": 3}'),
        ("correctness", '{"reason": "none"}'),
        ("quality", '{"coherence": 5}'),
        ("faithfulness", '{"claims": [{"supported": "yes"}]}'),
        ("retrieval", '{"grades": [{"entity": 1, "grade": true}]}'),
        ("preference", '{"reason": "", "winner": "C"}'),
        ("preference", '{"reason": "", "winner": ["B"]}'),
    ],
)
def test_a_reply_of_another_form_is_refused_in_words(judge: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"wanted|form"):
        JUDGES[judge].read(text)


def test_a_reply_in_a_code_fence_is_read() -> None:
    assert JUDGES["correctness"].read('```json\n{"reason": "", "grade": 2}\n```')["grade"] == 2


REPLIES = {
    "correctness": {"reason": "same", "grade": 2},
    "faithfulness": {"claims": [{"claim": "c", "supported": True, "reason": "fact 1"}]},
    "quality": {"reason": "fine", **dict.fromkeys(QUALITIES, 4)},
    "factuality": {
        "answer": [{"statement": "s", "supported": True, "reason": ""}],
        "truth": [{"statement": "s", "present": True, "reason": ""}],
    },
}


def test_judges_add_scores_reasons_agreement_and_a_cost_of_their_own(own_folder: Path, evaluate) -> None:
    """Three questions: one answered, one that fails, one without an answer that is abstained from.

    The retrieval judge grades the first entity of every list 1, the others 0; so does the gold set, but of c.
    """
    people = ("a", "Who is Anna?", "Anna"), ("b", "Who is Clara?", "Clara")
    told_story(own_folder, ["Anna", "Ben", "Clara"], *people, ("c", "What does Ben dream of?"))
    (own_folder / "config.yaml").write_text(
        "openai:\n  judge_model: judge\n"
        "  prices: {judge: {input: 1, output: 1}, test-model: {input: 1, output: 1}}\n"
    )

    def script(request: Request) -> Action:
        name = schema_of(request)
        if name == "retrieval":
            entities = request.prompt.count("(OTHER)")
            grades = [{"entity": n, "grade": int(n == 1), "reason": ""} for n in range(1, entities + 1)]
            return answer(json.dumps({"grades": grades}))
        if name:
            return answer(json.dumps(REPLIES[name]))
        return answer(
            "" if "Clara?" in request.prompt else "[no answer]" if "dream" in request.prompt else "Anna [1]"
        )

    with ChatServer(script) as server:
        judges = "correctness,faithfulness,quality,retrieval,factuality"
        _, found = evaluate(server, "--judge", judges)
    first, second, third = (result["answer"] for result in found["results"])
    assert first["verdicts"]["correctness"] == REPLIES["correctness"]
    scores = first["scores"]
    assert (scores["correctness"], scores["coverage"], scores["fluency"]) == (1.0, 1.0, 4.0)
    assert (second["scores"]["correctness"], second["scores"]["faithfulness"]) == (0.0, 0.0)
    assert (third["scores"]["correctness"], third["scores"]["abstention"]) == (None, 1.0)
    # Of nine entities the judge holds three relevant, the gold set two of them (the third question has none):
    # observed 8/9, by chance 3/9 · 2/9 + 6/9 · 7/9 = 48/81, κ = 24/33. As many as judged_precision speaks of.
    assert found["summary"]["answers"]["judge_agreement"] == {"kappa": pytest.approx(24 / 33), "n": 9}
    usage = found["summary"]["answers"]["usage"]
    # answered: a 5 judges, b only retrieval, c all but the two that need a truth
    assert usage["judging"]["calls"] == 5 + 1 + 3
    assert usage["answering"]["calls"] == 3
    assert {request.body["model"] for request in server.requests} == {"test-model", "judge"}
    assert found["summary"]["estimated_cost_usd"] == pytest.approx(
        usage["judging"]["cost_usd"] + usage["answering"]["cost_usd"]
    )


def test_a_grade_for_each_entity_that_was_sent_and_for_no_other() -> None:
    for places in ([1, 2], [1, 2, 3, 4], [1, 2, 3, 3], [1, 2, 2]):
        text = json.dumps({"grades": [{"entity": place, "grade": 1, "reason": ""} for place in places]})
        with pytest.raises(ValueError, match=f"each of 3 entities, got grades for .{places[0]}, "):
            JUDGES["retrieval"].read(text, entities=3)


@pytest.mark.slow
def test_a_failed_verdict_counts_as_the_worst_and_is_said(own_folder: Path, evaluate) -> None:
    """Ten answers: the judge grades six 2 and would grade four 0, but writes no JSON for those four.

    Left out, correctness were 1.0; it is 6/10. Quality is 4 for six, 1 for four: 2.8. The judge of what was
    retrieved invents a place for the same four: 6/10.
    """
    people = [f"Person{n}" for n in range(10)]
    told_story(own_folder, people, *((name, f"Who is {name}?", name) for name in people))

    def script(request: Request) -> Action:
        name = schema_of(request)
        spoiled = any(f"Person{n}" in request.prompt for n in range(4))
        if name == "retrieval":
            return answer(json.dumps({"grades": [{"entity": 1 + spoiled, "grade": 2, "reason": ""}]}))
        return answer("I would say 0." if name and spoiled else json.dumps(REPLIES[name]) if name else "Yes.")

    with ChatServer(script) as server:
        done, found = evaluate(server, "--judge", "correctness,quality,retrieval", "--report", "md")
    scores = found["summary"]["answers"]["scores"]
    for name, mean in {"correctness": 0.6, "fluency": 2.8, "judged_precision": 0.6}.items():
        told = scores[name]
        assert (told["mean"], told["failed"], told["n"]) == (pytest.approx(mean), 4, 10), name
    assert found["summary"]["answers"]["judge_agreement"]["n"] == 6
    assert "failed verdicts count as the worst value: " in done.output
    assert "correctness 4" in done.output
    assert "| correctness | 0.600 (" in (own_folder / "data/results/story-eval-results.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("winner", "expected"),
    [
        (lambda prompt: "A", (0.5, {"flipped": 1, "n": 1}, 0)),  # always the first: only the order decides
        (lambda prompt: "A" if "A: Anna B." in prompt else "B", (1.0, {"flipped": 0, "n": 1}, 0)),
        (lambda prompt: "tie", (0.5, {"flipped": 0, "n": 1}, 0)),
        (lambda prompt: "A" if "A: Anna B." in prompt else "none", (0.5, {"flipped": 0, "n": 0}, 1)),
    ],
    ids=["by place", "steady", "tie", "one order fails"],
)
def test_a_preference_is_asked_in_both_orders(own_folder: Path, evaluate, winner, expected) -> None:
    told_story(own_folder, ["Anna", "Ben"], ("a", "Who is Anna?", "Anna"))

    def script(request: Request) -> Action:
        if "response_format" not in request.body:
            return answer("Anna B.")
        return answer(json.dumps({"reason": "", "winner": winner(request.prompt)}))

    with ChatServer(script) as server:
        _, found = evaluate(server, "--judge", "preference", "--details")
    told = found["summary"]["answers"]
    score = told["scores"]["preference"]
    assert (score["mean"], told["judge_flips"], score["failed"]) == expected
    assert told["usage"]["judging"]["calls"] == 2


VECTORS = {"Anna": [2.0, 0.0], "Anna B.": [3.0, 4.0], "Benjamin": [0.0, 1.0], "Ben": [-1.0, 0.0]}
USAGE = {"prompt_tokens": 8, "total_tokens": 8}
VERDICT = {  # TP 2, FP 1, FN 1: F1 = 2·2 / (2·2 + 1 + 1) = 2/3
    "answer": [{"statement": "s", "supported": flag, "reason": ""} for flag in (True, True, False)],
    "truth": [{"statement": "s", "present": flag, "reason": ""} for flag in (True, True, False)],
}


def embedded(request: Request) -> Action:
    rows = [{"index": place, "embedding": VECTORS[text]} for place, text in enumerate(request.body["input"])]
    return Action(json.dumps({"data": rows, "usage": USAGE}).encode())


def script(request: Request) -> Action:
    if request.path.endswith("/embeddings"):
        return embedded(request)
    if "response_format" in request.body:
        return answer(json.dumps(VERDICT))
    return answer("" if "Clara?" in request.prompt else "Anna [1]" if "Anna?" in request.prompt else "Ben")


@pytest.fixture
def ask(own_folder: Path, evaluate):
    names = ["Anna", "Ben", "Clara"]
    relations = [("Anna", "KNOWS", "Ben"), ("Ben", "KNOWS", "Clara")]
    truths = ["Benjamin", "Anna B."], ["Anna"], "Clara"
    asked = [
        {"id": id, "query": f"{name}?", "reference_entities": [name], "ground_truth": truth}
        for id, name, truth in zip("abc", names, truths, strict=True)
    ]
    dream = {"id": "d", "query": "Who dreams?", "reference_entities": []}
    write_set(own_folder, "story", names, relations, *asked, dream)
    prices = "{test-model: {input: 1, output: 1}, small: {input: 1000, output: 0}}"
    (own_folder / "config.yaml").write_text(f"openai: {{prices: {prices}}}\n")

    def run(server: ChatServer, *flags: str, exit_code: int = 0):
        own = {"--judge": "factuality", "--set": "generation.accuracy_model=small"}
        words = [part for pair in own.items() if pair[0] not in flags for part in pair]
        return evaluate(server, *words, *flags, exit_code=exit_code)

    return run


def test_accuracy_is_three_quarters_facts_and_one_quarter_meaning() -> None:
    for factuality, similarity, expected in ((1.0, 1.0, 1.0), (0.5, -1.0, 0.125), (math.nan, 1.0, math.nan)):
        answer = Answer("Anna", None, scores={"factuality": factuality, "accuracy": similarity})
        assert accuracy(answer).scores["accuracy"] == pytest.approx(expected, nan_ok=True)


@pytest.mark.slow
def test_accuracy_by_question_with_its_tokens_and_cost_in_judging(ask) -> None:
    """a: "Anna" (2, 0) and "Anna B." (3, 4), the nearer truth: cosine 3/5; .75 · 2/3 + .25 · .6 = .65.
    b: "Ben" (-1, 0) and "Anna": cosine -1; .5 - .25 = .25. c failed: 0. d has no truth. Mean (.65 + .25) / 3.
    """
    with ChatServer(script) as server:
        _, found = ask(server)
        _, second = ask(server)
        paths = [request.path.rpartition("/")[2] for request in server.requests]
    values = [result["answer"]["scores"]["accuracy"] for result in found["results"]]
    assert values == [pytest.approx(0.65), pytest.approx(0.25), 0.0, None]
    assert found["results"][0]["answer"]["verdicts"]["accuracy"] == {"similarity": pytest.approx(0.6)}
    mean = found["summary"]["answers"]["scores"]["accuracy"]
    assert (mean["mean"], mean["n"]) == (pytest.approx(0.3), 3)
    assert paths.count("embeddings") == 2
    sent = {tuple(request.body["input"]) for request in server.requests if "input" in request.body}
    assert sent == {("Anna", "Benjamin", "Anna B."), ("Ben", "Anna")}
    judging = found["summary"]["answers"]["usage"]["judging"]
    verdicts = found["results"][1]["answer"]["usage"]["judging"]
    assert judging["calls"] == 4
    assert verdicts["cost_usd"] == pytest.approx(8 * 1000 / 1e6 + (verdicts["total_tokens"] - 8) / 1e6)
    assert paths.count("completions") == 7  # 4 answers and 2 verdicts, and c, which failed, once more
    assert second["summary"]["estimated_cost_usd"] == found["summary"]["estimated_cost_usd"]
    assert second["results"][0]["answer"] == found["results"][0]["answer"]


@pytest.mark.slow
def test_an_embedding_that_could_not_be_had_counts_as_unlike_and_is_retried(ask) -> None:
    def failing(request: Request) -> Action:
        return error(400, "too long") if request.path.endswith("/embeddings") else script(request)

    with ChatServer(failing) as server:
        _, found = ask(server)
        # .75 · 2/3 + .25 · -1
        assert found["results"][0]["answer"]["scores"]["accuracy"] == pytest.approx(0.25)
        assert found["summary"]["answers"]["scores"]["accuracy"]["failed"] > 0
        assert found["results"][0]["answer"]["scores"]["factuality"] == pytest.approx(2 / 3)
        assert "too long" in found["results"][0]["answer"]["verdicts"]["accuracy"]["error"]
        server.script = script
        _, found = ask(server, "--resume")
    assert found["results"][0]["answer"]["scores"]["accuracy"] == pytest.approx(0.65)


def test_an_unknown_model_of_embeddings_ends_with_3_and_names_the_setting(ask) -> None:
    def unknown(request: Request) -> Action:
        return error(404, "no such model") if request.path.endswith("/embeddings") else script(request)

    with ChatServer(unknown) as server:
        done, _ = ask(server, exit_code=3)
    assert "Check generation.accuracy_model and openai.base_url" in done.stderr


def test_embeddings_are_in_the_dry_run_and_need_a_price_under_a_cap(ask) -> None:
    with ChatServer(script) as server:
        done, _ = ask(server, "--dry-run")
        assert "judging by embeddings: calls to send: 3" in done.stdout
        done, _ = ask(server, "--max-cost", "1", "--set", "generation.accuracy_model=unheard-of", exit_code=2)
        assert "--max-cost needs a price, and the price of 'unheard-of' is unknown" in done.stderr
        assert server.requests == []


def test_nothing_is_embedded_without_the_judge_of_facts(ask) -> None:
    with ChatServer(script) as server:
        _, found = ask(server, "--judge", "correctness")
    assert not [request for request in server.requests if request.path.endswith("/embeddings")]
    assert "accuracy" not in found["summary"]["answers"]["scores"]
