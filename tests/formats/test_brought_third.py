"""Shapes that a further round of people's files had: results of queries, names under other predicates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_brought_graphs import KNOWS
from tests.formats.test_json_lists import read, told
from tiny_graph_rag.errors import DatasetError, GraphError, RunError
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.gold.drafts import read_questions
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.runs import WrittenRun, read_run

ANN = {"identity": 1, "labels": ["Girl"], "properties": {"name": "Ann"}, "elementId": "4:x:1"}
BEN = {"identity": 2, "labels": ["Boy"], "properties": {"name": "Ben"}, "elementId": "4:x:2"}
ARC = {"identity": 5, "start": 1, "end": 2, "type": "knows", "properties": {}, "elementId": "5:x:5"}
STEP = {"start": ANN, "relationship": ARC, "end": BEN}
PATH = {"start": ANN, "end": BEN, "segments": [STEP], "length": 1.0}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.json", [{"n": ANN, "r": ARC, "m": BEN}, {"n": BEN, "r": ARC, "m": ANN}]),
        ("paths.json", [{"p": PATH}, {"p": PATH}]),
        ("half.json", [{"from": "n1", "from_name": "Ann", "to_name": "Ben", "type": "knows"}]),
        ("graph.yaml", "nodes:\n- {id: 1, name: Ann}\n- {id: 2, name: Ben}\n"
                       "edges:\n- {source: 1, target: 2, type: knows}\n"),
        ("sparse.csv", "source,target,type,relationship\nAnn,Ben,knows,of old\nBen,Ann,knows,\n"),
        ("kinds.json", [{"source": "Ann", "target": "Ben", "label": "As she said", "kind": "knows"}]),
        ("told.json", {"Ann": {"type": "girl", "description": "A girl", "knows": ["Ben"], "place": "Dover"},
                       "Ben": {"type": "boy", "description": "A boy", "knows": []}}),
        ("value.json", {"nodes": [{"id": 0, "name": "Ann"}, {"id": 1, "name": "Ben"}],
                        "links": [{"source": 0, "target": 1, "value": "knows"}]}),
        ("lists.json", {"girls": [{"id": "a", "name": "Ann"}], "boys": [{"boy_id": "b", "name": "Ben"}],
                        "edges": [{"source": "a", "target": "b", "type": "knows"}]}),
        ("named.ttl", '@prefix e: <http://e/> . e:a a e:Girl ; e:girlName "Ann" ; e:knows e:b . '
                      'e:b a e:Cook ; e:personName "Ben"@en, "벤"@ko ; e:jobTitle "cook" .'),
    ],
)  # fmt: skip
def test_a_shape_is_read_as_it_is_meant(own_folder: Path, name: str, content: Any) -> None:
    assert told(read(own_folder, content, name))[:1] == KNOWS


def test_people_next_to_their_relations_are_the_entities(own_folder: Path) -> None:
    people = {"a": {"name": "Ann", "type": "girl"}, "b": {"name": "Ben", "type": "boy"}}
    (own_folder / "people.json").write_text(json.dumps(people), encoding="utf-8")
    edges = [{"source": "a", "target": "b", "type": "knows"}]
    paths = [own_folder / "people.json", own_folder / "people_relations.json"]
    paths[1].write_text(json.dumps(edges), encoding="utf-8")
    assert told(read_graph(Path(",".join(map(str, paths))))) == KNOWS
    (own_folder / "people.csv").write_text("id,name\na,Ann\nb,Ben\n", encoding="utf-8")
    assert told(read(own_folder, "subject_id,related_id,relation\na,b,knows\n", "relations.csv")) == KNOWS


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("rows.csv", 'n\n"(:Girl {name: ""Ann""})"\n', "Save it as JSON in Neo4j Browser"),
        ("g.dot", 'digraph G {\na -> b [label="knows"]\n}', r"networkx.nx_pydot.read_dot\('g.dot'\)"),
        (
            "far.jsonld",
            {"@context": "https://e/c.jsonld", "@graph": []},
            "Copy the content of the @context",
        ),
    ],
)
def test_what_is_not_read_has_a_way_out(own_folder: Path, name: str, content: Any, way: str) -> None:
    with pytest.raises(GraphError, match=way):
        read(own_folder, content, name)


def test_names_that_number_each_kind_are_ids(own_folder: Path) -> None:
    graph = read(own_folder, "source,type,target\nGIRL_X_001,knows,BOY_X_A2\n", "g.csv")
    assert "2 entities (most of them) have names that look like ids" in graph.notes.lines()[0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("places.json", {"categories": [{"name": "boy"}, {"name": "girl"}],
                         "nodes": [{"id": "Ann", "category": 1}, {"id": "Ben", "category": 0}],
                         "links": [{"source": "Ann", "target": "Ben"}]}),
        ("half.json", {"nodes": [{"id": "Ann", "label": "girl", "properties": {"name": "Ann"}},
                                 {"id": "Ben", "label": "boy", "properties": {"name": "Ben", "type": "x"}},
                                 {"id": "Cy", "label": "boy", "properties": {"name": "Cy"}}],
                       "edges": [{"source": "Ann", "target": "Ben"}]}),
        ("any.ttl", "@prefix e: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
                    "e:Ann a owl:NamedIndividual, e:girl ; e:knows e:Ben . e:Ben a e:boy ."),
    ],
)  # fmt: skip
def test_types_are_those_that_say_something(own_folder: Path, name: str, content: Any) -> None:
    graph = read(own_folder, content, name)
    types = dict(zip(graph.entities.names, graph.entities.types, strict=True))
    assert {**types, "Cy": "boy"} == {"Ann": "girl", "Ben": "boy", "Cy": "boy"}


def test_a_type_that_few_rows_repeat_is_no_detail(own_folder: Path) -> None:
    rows = "source,target,relationship_type,type\nAnn,Ben,knows,knows\nBen,Ann,,likes\n"
    graph = read(own_folder, rows, "g.csv")
    assert told(graph) == [("Ann", "knows", "Ben"), ("Ben", "likes", "Ann")]
    assert not any(graph.relations.details)


def test_ids_of_documents_are_no_ids_of_entities(own_folder: Path) -> None:
    table = "id,entity,entity_type\nd1,Ann,girl\nd1,Ben,boy\nd2,Ann,girl\n"
    (own_folder / "entities.csv").write_text(table, encoding="utf-8")
    graph = read(own_folder, "source,target,relation\nAnn,Ben,knows\n", "relations.csv")
    assert (told(graph), [*graph.entities.types]) == (KNOWS, ["girl", "boy"])


def test_the_part_before_a_common_fragment_is_the_name(own_folder: Path) -> None:
    text = "<http://e/Ann#me> <http://e/knows> <http://e/Ben#me> ."
    assert told(read(own_folder, text, "g.nt")) == KNOWS


def test_short_entities_of_a_document_type_are_resolved(own_folder: Path) -> None:
    text = """<?xml version="1.0"?><!DOCTYPE rdf:RDF [ <!ENTITY e "http://e/"> ]>
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">
    <rdf:Description rdf:about="&e;Ann"><e:knows rdf:resource="&e;Ben"/></rdf:Description></rdf:RDF>"""
    assert told(read(own_folder, text, "g.owl")) == KNOWS
    with pytest.raises(GraphError, match="document type declaration"):
        read(own_folder, text.replace('"http://e/"> ]', '"http://e/"> <!ENTITY f "&e;&e;"> ]'), "g.owl")


def test_lines_of_words_are_no_long_search_for_a_graph(own_folder: Path) -> None:
    (own_folder / "g.db").write_text(f"w{' ' * 20}w,\n" * 40, encoding="utf-8")
    with pytest.raises(GraphError, match="SQLite"):
        read_graph(own_folder / "g.db")


def test_names_and_pairs_with_weights_are_tables(own_folder: Path) -> None:
    (own_folder / "nodes.json").write_text('["Ann", "Ben"]', encoding="utf-8")
    graph = read(own_folder, [["Ann", "Ben", 3]], "edges.json")
    assert told(graph) == [("Ann", "RELATED_TO", "Ben")]
    assert graph.relations.weights.tolist() == [3.0]


def test_a_title_with_a_figure_is_no_type(own_folder: Path) -> None:
    edges = [{"source": "Ann", "target": "Ben", "title": "Similarity: 0.5"}]
    assert told(read(own_folder, edges, "g.json")) == [("Ann", "RELATED_TO", "Ben")]


def test_neighbours_that_nothing_describes_are_entities(own_folder: Path) -> None:
    document = {
        "Ann": {"description": "A girl", "knows": ["Ben", "Cy", "Ann"]},
        "Ben": {"description": "A boy", "knows": ["Ann"]},
    }
    assert [*read(own_folder, document, "g.json").entities.names] == ["Ann", "Ben", "Cy"]


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        ({"question_ar": "من؟", "reference_answer_ar": "آن"}, "ground_truth", ("آن",)),
        ({"soru": "Kim?", "cevap": "Ann", "kaynak_dosya": "a.pdf"}, "reference_chunks", ("a.pdf",)),
        ({"question": "Who?", "expected_concepts": ["Ann"]}, "reference_entities", ("Ann",)),
        ({"question": "Qui ?", "reponse_attendue": "Ann"}, "ground_truth", ("Ann",)),
        ({"question": "Who?", "required_elements": ["Ann", "Ben"]}, "ground_truth", ("Ann", "Ben")),
    ],
)
def test_questions_in_any_language(own_folder: Path, row: dict[str, Any], field: str, value: Any) -> None:
    (own_folder / "g.json").write_text(json.dumps([row]), encoding="utf-8")
    (example,) = read_questions(own_folder / "g.json").examples
    assert getattr(example, field) == value
    assert example.query in row.values()


def test_a_query_in_an_expected_answer_is_no_question(own_folder: Path) -> None:
    calls = {"tool": {"query": "prices"}}
    case = {"id": "a", "message": {"content": "How much?"}, "ground_truth": {"calls": calls}}
    (own_folder / "g.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    with pytest.raises(DatasetError, match="'query' is missing in all 1 records"):
        read_questions(own_folder / "g.json")


def run_of(own_folder: Path, rows: list[dict[str, Any]]) -> WrittenRun:
    (own_folder / "r.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return read_run(own_folder / "r.jsonl")


def test_sources_and_the_first_five_ids_are_what_was_retrieved(own_folder: Path) -> None:
    sources = [{"title": "a.pdf", "text": "Once", "score": 0.5}]
    run = run_of(own_folder, [{"question": "Who?", "sources": sources}])
    assert run.passages is not None
    assert [passage.text for passage in run.passages["Who?"]] == ["Once"]
    run = run_of(own_folder, [{"question": "Who?", "sources": ["a/b.md"]}])
    assert run.passages is not None
    with pytest.raises(RunError, match="without what was retrieved"):
        run_of(own_folder, [{"question": "Who?", "sources": ["read_file"]}])
    run = run_of(own_folder, [{"qid": "q1", "top5_chunk_ids": ["c1", "c2"]}])
    assert run.passages is not None
    assert len(run.passages["q1"]) == 2


def test_a_file_of_several_runs_is_told_once(own_folder: Path) -> None:
    rows = [
        {"qid": id, "system": system, "entities": []} for system in ("bm25", "dense") for id in ("a", "b")
    ]
    with pytest.raises(
        RunError, match=r"^r\.jsonl:3: 2 records for a question that .* 'system', .* several runs"
    ) as caught:
        run_of(own_folder, rows)
    assert len(str(caught.value).splitlines()) == 1


def test_judgments_have_their_question_and_a_grade_of_any_name(own_folder: Path) -> None:
    text = 'query_id,query_text,doc_id,relevant\nq1,"who, then?",d1,1\nq1,"who, then?",d2,0\n'
    (own_folder / "g.csv").write_text(text, encoding="utf-8")
    (example,) = read_gold(own_folder / "g.csv").examples
    assert (example.query, example.reference_entities) == ("who, then?", ("d1",))
    assert example.irrelevant_entities == ("d2",)
