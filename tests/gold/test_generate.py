"""Generated questions: their answers by brute force, their balance, their bytes, their words; `--rewrite`
against a real server: what survives, what stays, what it costs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, kg, read_json, real, write_kg
from tests.gold import brute_force
from tests.linking.test_names import graph_of
from tests.tools.chat_server import Action, ChatServer, Request, answer
from tiny_graph_rag.errors import GraphError, UsageError
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.generate import (
    Generated,
    Wanted,
    apportioned,
    generate,
    names_an_answer,
    parse_hops,
    parse_shapes,
)
from tiny_graph_rag.gold.shapes import SHAPES
from tiny_graph_rag.gold.variants import VARIANTS
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.folding import fold
from tiny_graph_rag.library import load_graph

SAMPLES = ("conan-doyle-speckled-band", "김유정-동백꽃")


def made(path: Path, wanted: Wanted) -> Generated:
    graph = read_graph(path)
    return generate(graph, NameIndex.of(graph), wanted)


def document_of(path: Path) -> dict[str, Any]:
    """Any graph as KG JSON."""
    if path.name.endswith("-KG.json"):
        return read_json(path)
    graph = read_graph(path)
    rows, relations = graph.entities, graph.relations
    ends = zip(relations.sources.tolist(), relations.targets.tolist(), relations.types, strict=True)
    return {
        "entities": {rows.ids[row]: {"name": rows.names[row]} for row in range(len(graph))},
        "relationships": [
            {"source_entity_id": rows.ids[one], "target_entity_id": rows.ids[two], "relationship_type": type}
            for one, two, type in ends
        ],
    }


def check_by_brute_force(path: Path, found: Generated) -> None:
    """Every reference list, hop count and number of ways is what networkx finds; relations are fairly
    used."""
    document = document_of(path)
    graph = brute_force.relation_graph(document)
    name_of = {entity: row["name"] for entity, row in document["entities"].items()}
    for question in found.questions:
        asks = brute_force.read_pattern(question.unknown["asks"], graph)
        answers = brute_force.answers(graph, asks)
        assert sorted(question.reference_entities) == sorted(name_of[one] for one in answers), question.id
        assert question.unknown["hops"] == brute_force.hops(graph, asks, answers), question.id
        assert (not answers) == (question.unknown["shape"] == "no-answer")
        for relation in question.reference_relations:
            held = [one for one, name in name_of.items() if name == relation.source]
            assert any(
                data["type"] == relation.type and name_of[target] == relation.target
                for one in held
                for _, target, data in graph.out_edges(one, data=True)
            ), question.id
    uses = uses_of_types(found)
    assert max(uses.values()) <= 2 * uses.total() / len(uses)


def uses_of_types(found: Generated) -> Counter[str]:
    """Relation type → questions that ask about it, variants left out."""
    asked = [question.unknown["asks"] for question in found.questions if not question.unknown["variant"]]
    return Counter(type for asks in asked for type in set(re.findall(r"\[:([^]]+)\]", asks)))


@pytest.fixture(scope="module", params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> tuple[str, Generated]:
    """200 questions about a sample graph."""
    return request.param, made(ROOT / f"data/kg/{request.param}-KG.json", Wanted(200))


@pytest.mark.slow
def test_answers_of_the_samples_are_those_of_a_brute_force(sample: tuple[str, Generated]) -> None:
    name, found = sample
    assert len(found.questions) == 200
    check_by_brute_force(ROOT / f"data/kg/{name}-KG.json", found)
    wanted = Counter(name for question in found.questions for name in question.reference_entities)
    assert max(wanted.values()) <= 0.15 * len(found.questions)
    if name == SAMPLES[1]:
        assert (
            len(uses_of_types(found)) == 39
        )  # of 43: nobody asks about IS_A, and three others read as asked nowhere
        assert found.unsaid == ("IS_A",)


@pytest.mark.slow
def test_no_question_names_its_answer_and_each_names_its_seeds(sample: tuple[str, Generated]) -> None:
    for question in sample[1].questions:
        text = " ".join([*question.context, question.query])
        assert not any(f" {answer} " in f" {text} " for answer in question.reference_entities)
        if question.unknown["variant"] != "alias-noise":
            assert all(fold(seed) in fold(text) for seed in question.seed_entities or ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "answer", "is_named"),
    [
        ("서울 성북동 별서가 있는 곳은?", "서울특별시", True),
        ("부여 정림사지가 있는 곳은?", "부여군", True),
        ("경복궁이 있는 곳은?", "서울특별시", False),
        ("Where is Crane Water?", "Crane Water House", False),
    ],
)
def test_a_town_is_named_without_what_it_is(question: str, answer: str, is_named: bool) -> None:
    assert names_an_answer(graph_of([answer]), question, [0]) == is_named


def test_every_shape_and_variant_is_there_and_shares_a_group_with_its_question(
    sample: tuple[str, Generated],
) -> None:
    name, found = sample
    plain = {question.id: question for question in found.questions if not question.unknown["variant"]}
    for question in found.questions:
        base = plain[question.group]
        assert question.reference_entities == base.reference_entities
        if question.unknown["variant"]:
            assert (question.query, question.context) != (base.query, base.context)
            assert question.unknown["variant"] in question.tags
    if name == SAMPLES[0]:
        assert set(found.found) == {*SHAPES, *VARIANTS}
        # Few pairs share exactly one thing and few chains read as asked; other shapes make up for them.
        lacking = {shape for shape, asked in found.asked.items() if found.found[shape] < asked}
        assert lacking <= {"chain", "intersection"}


@pytest.mark.realdata
@pytest.mark.parametrize(
    "parts",
    [
        ("metaqa", "metaqa-KG.json"),
        ("musique-openie", "musique-openie-KG.json"),
        ("real-graphs", "graphify", "httpx-graph.json"),
        ("real-graphs", "graphify", "karpathy-graph.json"),
        ("real-graphs", "hipporag-openie", "openie_results_ner_sample.json"),
        *(
            ("tiny-graph-rag", folder, f"{story}-KG.json")
            for folder in ("kg-original", "kg-resolved")
            for story in ("김유정-동백꽃", "이효석-모밀꽃-필-무렵")
        ),
    ],
    ids=lambda parts: "/".join(parts[-2:]),
)
def test_answers_on_real_graphs_are_those_of_a_brute_force(parts: tuple[str, ...]) -> None:
    path = real(*parts)
    check_by_brute_force(path, made(path, Wanted(200, seed=3)))


@pytest.mark.realdata
def test_a_real_graph_whose_relations_have_one_type_is_refused_with_the_reason() -> None:
    with pytest.raises(GraphError, match="the relation types have no meaning"):
        made(real("real-graphs", "ms-graphrag"), Wanted(20, seed=3))


def test_what_the_graph_lacks_is_counted_and_not_made_up(tmp_path: Path) -> None:
    owns = [("A1", "OWNS", "B1"), ("A1", "KNOWS", "C1")]
    path = write_kg(tmp_path / "small-KG.json", ["A1", "B1", "C1"], owns)
    found = made(path, Wanted(20, parse_shapes("single,chain")))
    assert found.asked == {"single": 10, "chain": 10}
    # B1 and C1 have one neighbour each, so only A1 can be asked about; a chain would begin at B1 or C1.
    queries = sorted(question.query for question in found.questions)
    assert queries == ["What does A1 own?", "Who does A1 know?"]
    assert found.found == {"single": 2}


def test_hops_keep_to_what_was_asked_and_another_seed_asks_others() -> None:
    path = ROOT / f"data/kg/{SAMPLES[0]}-KG.json"
    found = [
        made(path, Wanted(20, ("chain", "single"), hops=(2, 3), seed=seed)).questions for seed in (0, 0, 1)
    ]
    assert {question.unknown["hops"] for question in found[0]} == {2, 3}
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (parse_shapes, "chian", "did you mean 'chain'"),
        (parse_shapes, "chain=5", "unknown shape 'chain=5'"),
        (parse_shapes, ",", "unknown shape ''"),
        *((parse_hops, text, "--hops") for text in ("0-2", "3-2", "x", "1-9", "")),
    ],
)
def test_what_can_not_be_asked_for_is_refused(parse: Callable[[str], object], text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse(text)


def test_shares_are_apportioned_by_largest_remainder() -> None:
    # 7 of 40/40/20 is 2.8, 2.8 and 1.4: 2 + 2 + 1, the two left go to the largest rests.
    assert apportioned(7, {"a": 40, "b": 40, "c": 20}) == {"a": 3, "b": 3, "c": 1}


@pytest.mark.parametrize("entities", [["Anna"], ["Anna", "Ben"]])
def test_a_graph_without_relations_is_refused_in_words(tmp_path: Path, entities: list[str]) -> None:
    with pytest.raises(GraphError, match="no relation between two"):
        made(write_kg(tmp_path / "g-KG.json", entities), Wanted(5))


def test_a_graph_whose_relation_types_say_nothing_is_refused_with_the_reason(tmp_path: Path) -> None:
    """The questions would read "something that has to do with Anna in the matter of boat"."""
    shared = (("Ben", "a boat"), ("Cleo", "a boat"), ("Dora", "a garden"), ("Emil", "letters"))
    document = {
        "entities": {name: {"name": name} for name in ("Anna", "Ben", "Cleo", "Dora", "Emil")},
        "relationships": [
            {"source_entity_id": "Anna", "target_entity_id": other, "description": f"They share {what}."}
            for other, what in shared
        ],
    }
    path = tmp_path / "plain-KG.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(GraphError, match=r"plain: the relation types have no meaning \('RELATED_TO'\)"):
        made(path, Wanted(6, ("single",)))
    # With one relation that says what it is, only that one is asked about, and the other type is named.
    married = {"source_entity_id": "Ben", "target_entity_id": "Dora", "relationship_type": "MARRIED_TO"}
    document["relationships"].append(married)
    path.write_text(json.dumps(document), encoding="utf-8")
    found = made(path, Wanted(6, ("single",)))
    check_by_brute_force(path, found)
    assert found.questions
    assert all("married to" in question.query for question in found.questions)
    assert found.unsaid == ("RELATED_TO",)


def test_a_language_without_words_for_any_relation_is_refused_and_a_vocabulary_brings_them(
    tmp_path: Path,
) -> None:
    relations = [("Ann", "FROBNICATES", "Ben"), ("Ann", "FROBNICATES", "Cy"), ("Ben", "FROBNICATES", "Dee")]
    document = kg(["Ann", "Ben", "Cy", "Dee"], relations)
    for row in document["entities"].values():
        row["entity_type"] = "PERSON"
    path = tmp_path / "g-KG.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    wanted = Wanted(4, ("single",), language="ko")
    with pytest.raises(
        GraphError, match=r"no words for its relation types \('FROBNICATES'\) in the .* \(ko\)"
    ):
        made(path, wanted)
    (tmp_path / "g-vocabulary.yaml").write_text("FROBNICATES: [칭찬한]\n", encoding="utf-8")
    graph = load_graph(path)
    queries = {question.query for question in generate(graph, NameIndex.of(graph), wanted).questions}
    assert "Ben이 칭찬한 사람은 누구인가?" in queries


def test_no_name_in_a_question_satisfies_it(tmp_path: Path) -> None:
    """Whom both Ann and Bob know: Ann knows Bob, and gold leaves out what the question names."""
    people = ["Ann", "Bob", "Cleo", "Dora", "Emil", "Fay", "Gus"]
    knows = [("Ann", "Bob"), ("Ann", "Cleo"), ("Ann", "Dora"), ("Bob", "Dora"), ("Bob", "Gus")]
    knows += [("Emil", "Dora"), ("Emil", "Fay")]
    write_kg(tmp_path / "p-KG.json", people, [(one, "KNOWS", other) for one, other in knows])
    found = made(tmp_path / "p-KG.json", Wanted(20, ("intersection",)))
    seeds = [set(question.seed_entities or ()) for question in found.questions]
    assert seeds, "Ann or Emil, Bob or Emil are left"
    assert {"Ann", "Bob"} not in seeds


GRAPH = ROOT / "data/kg/conan-doyle-speckled-band-KG.json"


def said(request: Request) -> str:
    """A rewriting that keeps everything."""
    return f"Say, {request.body['messages'][-1]['content'].splitlines()[0]}"


def generated(run_cli, monkeypatch: pytest.MonkeyPatch, path: Path, script, *more: object):
    with ChatServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        found = run_cli("generate -g", GRAPH, "--n", 12, "--rewrite", "--model", "m", "-o", path, *more)
        return found, len(server.requests)


def test_a_rewriting_replaces_the_words_and_nothing_else(run_cli, monkeypatch, tmp_path: Path) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / "said.jsonl"
    assert run_cli("generate -g", GRAPH, "--n", 12, "-o", plain).exit_code == 0
    found, calls = generated(
        run_cli, monkeypatch, path, lambda request: answer(json.dumps({"question": said(request)}), request)
    )
    assert found.exit_code == 0, found.stderr
    assert calls == 12
    assert "questions rewritten: 12, left as they were: 0" in found.stdout
    for one, other in zip(read_eval_set(plain), read_eval_set(path), strict=True):
        assert other.query == f"Say, {one.query}"
        assert other.unknown["template"] == one.query
        assert other.reference_entities == one.reference_entities


def test_what_was_paid_for_is_not_asked_again(run_cli, monkeypatch, tmp_path: Path) -> None:
    with ChatServer(lambda pair: answer(json.dumps({"question": said(pair)}), pair)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        path = tmp_path / "said.jsonl"
        for _ in range(2):
            found = run_cli("generate -g", GRAPH, "--n", 6, "--rewrite", "-o", path, "--resume", code=0)
        assert len(server.requests) == 6
        assert "6 replies known from journal or cache" in found.stdout


def test_a_rewriting_that_loses_a_name_or_names_the_answer_leaves_the_template(
    run_cli, monkeypatch, tmp_path: Path
) -> None:
    plain, path = tmp_path / "plain.jsonl", tmp_path / "said.jsonl"
    run_cli("generate -g", GRAPH, "--n", 12, "-o", plain)
    answers = {question.query: question.reference_entities for question in read_eval_set(plain)}

    def script(request: Request) -> Action:
        question = request.body["messages"][-1]["content"].splitlines()[0]
        if request.number % 2:
            return answer(json.dumps({"question": "Who?"}), request)
        told = f"{question} Is it {', '.join(answers[question]) or 'nobody'}?"
        return answer(json.dumps({"question": told if answers[question] else "Who?"}), request)

    found, calls = generated(run_cli, monkeypatch, path, script, "--set", f"openai.concurrency={1}")
    assert found.exit_code == 0, found.stderr
    assert calls == 12
    assert "questions rewritten: 0, left as they were: 12" in found.stdout
    assert [question.query for question in read_eval_set(path)] == [
        question.query for question in read_eval_set(plain)
    ]


def test_without_an_api_or_with_a_dry_run_nothing_is_asked(run_cli, monkeypatch, tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    found = run_cli("generate -g", GRAPH, "--n", 5, "--rewrite", "-o", path, code=2)
    assert "--rewrite needs an API" in found.stderr
    found = run_cli("generate -g", GRAPH, "--n", 5, "--rewrite", "--dry-run", "-o", path, code=0)
    assert "rewriting" in found.stdout
    assert not path.exists()
