"""Graphs as people and other programs leave them: two tables, documents in a list, older stores."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_json_lists import read as read_plainly
from tests.formats.test_json_lists import told
from tests.formats.test_keys import FACTS, names_and_types, write
from tiny_graph_rag import load_graph
from tiny_graph_rag.errors import GraphError, InputError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph

NODES = [
    {"id": 1, "name": "Ann", "type": "GIRL"},
    {"id": 2, "name": "Ben", "type": "BOY"},
    {"id": 3, "name": "hen", "type": ""},
]
IDS = {"Ann": 1, "Ben": 2, "hen": 3}
EDGES = [{"source": IDS[a], "relation": b, "target": IDS[c]} for a, b, c in FACTS]


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "jsonl", "json", "csv.gz"])
@pytest.mark.parametrize(
    "names",
    ["nodes edges", "entities relationships", "vertices links", "kg_nodes town-rels", "개체 관계"],
)
def test_two_tables_side_by_side(own_folder: Path, form: str, names: str) -> None:
    one, other = names.split()
    for place in (own_folder, write(own_folder, form, NODES, one), write(own_folder, form, EDGES, other)):
        graph = read_graph(place)
        assert told(graph) == FACTS
        assert names_and_types(graph) == [("Ann", "GIRL"), ("Ben", "BOY"), ("hen", "OTHER")]


def test_two_tables_that_are_named_and_a_name_with_both_words(own_folder: Path) -> None:
    nodes = write(own_folder, "csv", NODES, "town_nodes - edges")
    with pytest.raises(GraphError, match=r"first line is: id, name, type.* -g town_nodes"):
        read_graph(nodes)
    write(own_folder, "csv", EDGES, "town_edges - edges")
    assert told(read_graph(nodes)) == FACTS
    first, second = write(own_folder, "csv", NODES, "people"), write(own_folder, "csv", EDGES, "what")
    assert told(load_graph(f"{first},{second}")) == told(load_graph(f"{second},{first}")) == FACTS


def test_a_folder_of_other_tables_is_not_taken_for_a_graph(own_folder: Path) -> None:
    write(own_folder, "csv", [{"id": 1, "text": "Once"}], "documents")
    write(own_folder, "csv", [{"query": "who?", "answer": "Ann"}], "questions")
    with pytest.raises(GraphError, match=r"it contains documents\.csv, questions\.csv"):
        read_graph(own_folder)


def test_triples_without_a_header_beside_tables_of_entities_and_of_other_relations(own_folder: Path) -> None:
    for name, text in (
        ("nodes_girls.csv", "id,name\n1,Ann\n"),
        ("nodes_boys.csv", "id,name\n2,Ben\n"),
        ("edges_likes.csv", "girl_id,boy_id\n1,2\n"),
        ("triples.tsv", "1\tKNOWS\t2\n2\tKNOWS\t1\n"),
    ):
        (own_folder / name).write_text(text, encoding="utf-8")
    graph = load_graph(own_folder / "triples.tsv")
    assert told(graph) == [("Ann", "KNOWS", "Ben"), ("Ben", "KNOWS", "Ann")]


ADMIN = {
    "persons.csv": 'personId:ID(Person),name,born:int,:LABEL\n1,"Moss, Carrie",1967,Person|Actor;Star\n'
    "2,Keanu,1964,Person\n",
    "films.csv": "filmId:ID(Film),title\n1,The Matrix\n",
    "roles.csv": ":START_ID(Person),from,to,role,:END_ID(Film),:TYPE\n"
    "1,2 March 1998,August 1998,Trinity,1,ACTED_IN\n2,March 1998,7 August 1998,Neo,1,ACTED_IN\n",
}


def test_neo4j_admins_tables_with_id_spaces(own_folder: Path) -> None:
    for name, text in ADMIN.items():
        (own_folder / name).write_text(text, encoding="utf-8")
    for place in (own_folder, own_folder / "films.csv"):
        graph = read_graph(place)
        assert told(graph) == [(name, "ACTED_IN", "The Matrix") for name in ("Moss, Carrie", "Keanu")]
        types = dict(names_and_types(graph))
        assert types == {"Moss, Carrie": "Person", "Keanu": "Person", "The Matrix": "films"}
    assert [json.loads(record)["role"] for record in graph.relations.details] == ["Trinity", "Neo"]
    details = dict(zip(graph.entities.names, graph.entities.details, strict=True))
    assert json.loads(details["Keanu"]) == {"born": "1964"}


def test_headers_in_files_of_their_own_are_refused(own_folder: Path) -> None:
    for name, text in ADMIN.items():
        header, _, rows = text.partition("\n")
        (own_folder / name.replace(".csv", "-header.csv")).write_text(f"{header}\n", encoding="utf-8")
        (own_folder / name).write_text(rows, encoding="utf-8")
    for path in (own_folder, own_folder / "films.csv"):
        with pytest.raises(GraphError, match="holds a header alone; put it above the rows"):
            read_graph(path)


def read(folder: Path, document: Any) -> KnowledgeGraph:
    """The graph of a document, which is the same when it is packed."""
    plain = read_plainly(folder, document)
    packed = folder / "graph.json.gz"
    packed.write_bytes(gzip.compress((folder / "graph.json").read_bytes()))
    assert told(read_graph(packed)) == told(plain)
    return plain


ENTITY = [{"id": name, "type": "Person"} for name in ("Ann", "Ben", "hen")]
LINKS = [{"source": a, "target": c, "type": b} for a, b, c in FACTS]
PERSON = {"type": "Person"}
DOCUMENT = {
    "nodes": [{**record, "properties": {}} for record in ENTITY],
    "relationships": [
        {"source": {"id": a, **PERSON}, "target": {"id": c, **PERSON}, "type": b, "properties": {}}
        for a, b, c in FACTS
    ],
    "source": {"page_content": "Ann keeps a hen.", "metadata": {"source": "a.txt"}},
}


@pytest.mark.parametrize(
    "document",
    [
        [DOCUMENT],
        [{**DOCUMENT, "relationships": DOCUMENT["relationships"][:2]},
         {**DOCUMENT, "relationships": DOCUMENT["relationships"][2:]}],
        {"graph_documents": [DOCUMENT]},
        {"nodes": ENTITY, "edges": [{"from": a, "to": c, "label": b} for a, b, c in FACTS]},
        {"elements": {"nodes": [{"data": record} for record in ENTITY],
                      "edges": [{"data": record} for record in LINKS]}},
        {"elements": [*({"group": "nodes", "data": record} for record in ENTITY),
                      *({"data": record} for record in LINKS)]},
        {"nodes": [{"data": record} for record in ENTITY], "edges": [{"data": record} for record in LINKS]},
        [{"data": record} for record in (*ENTITY, *LINKS)],
        {"nodes": [{"key": record["id"], "attributes": {"type": "Person"}} for record in ENTITY],
         "edges": [{"key": "e", "source": a, "target": c, "attributes": {"type": b}} for a, b, c in FACTS]},
        {"graph": {"nodes": {record["id"]: PERSON for record in ENTITY}, "edges": LINKS}},
        {"entities": {record["id"]: PERSON for record in ENTITY}, "relations": LINKS},
        {"entities": {"Person": [record["id"] for record in ENTITY]},
         "relations": [list(fact) for fact in FACTS]},
        {"nodes": [record["id"] for record in ENTITY], "edges": [[a, c, b] for a, b, c in FACTS]},
        {"result": {"entities": [{"entity_name": record["id"], "entity_type": "Person"} for record in ENTITY],
                    "relationships": [{"src_id": a, "tgt_id": c, "rel": b} for a, b, c in FACTS]}},
        {"edges": LINKS},
        [list(fact) for fact in FACTS],
        {"entities": ["Ann", "Ben", "hen"], "edges": ["keeps"], "relations": [list(fact) for fact in FACTS]},
        [{"subject": {"value": a}, "property": {"value": b}, "object": {"value": c}} for a, b, c in FACTS],
        LINKS,
        [*ENTITY, *LINKS],
        {"graph_dict": {"Ann": [["keeps", "hen"]], "Ben": [["keeps", "Ann"]], "hen": [["pecks", "Ben"]]}},
    ],
)  # fmt: skip
def test_documents_of_many_makes(own_folder: Path, document: Any) -> None:
    graph = read(own_folder, document)
    assert sorted(told(graph)) == sorted(FACTS)
    assert len(graph) == 3
    is_typed = "Person" in json.dumps(document)
    assert set(graph.entities.types) == ({"Person"} if is_typed else {"OTHER"})
    assert not [line for line in graph.notes.lines() if "more than once" in line]


def test_the_memory_of_an_mcp_server(own_folder: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ann", "entityType": "girl", "observations": ["keeps hens", "is nine"]},
        {"type": "entity", "name": "Ben", "entityType": "boy", "observations": []},
        {"type": "relation", "from": "Ann", "to": "Ben", "relationType": "knows"},
    ]
    for name in ("memory.json", "memory.jsonl"):
        graph = read_plainly(own_folder, "\n".join(map(json.dumps, lines)), name)
        assert told(graph) == [("Ann", "knows", "Ben")]
        assert names_and_types(graph) == [("Ann", "girl"), ("Ben", "boy")]
        assert graph.entities.descriptions[0] == "keeps hens\nis nine"


def test_ragas_documents_are_no_entities(own_folder: Path) -> None:
    nodes = [
        {"id": f"0b9dd1b7-0000-4000-8000-00000000000{number}", "type": "document",
         "properties": {"page_content": "Once.", "document_metadata": {"source": "a.txt"}}}
        for number in range(2)
    ]  # fmt: skip
    relation = {"id": "r", "type": "summary_similarity", "source": nodes[0]["id"], "target": nodes[1]["id"],
                "bidirectional": True, "properties": {}}  # fmt: skip
    with pytest.raises(GraphError, match=r"no entities.* It holds 2 document nodes \(no entities\)"):
        read(own_folder, {"nodes": nodes, "relationships": [relation]})


def test_graphs_of_an_older_llama_index(own_folder: Path) -> None:
    (own_folder / "docstore.json").write_text("{}", encoding="utf-8")
    graph = read_plainly(own_folder, {"graph_dict": {"Ann": [["keeps", "hen"]]}}, "graph_store.json")
    assert (graph.origin.writer, told(graph)) == ("JSON lists", [("Ann", "keeps", "hen")])
    assert told(read_graph(own_folder)) == told(graph)


PAJEK = """\
% a town
*Vertices 3
1 "Ann Lee" 0.1 0.2 ic Red
2 "Ben"
3 hen
*Arcs :1 "KEEPS"
1 3 2.5
*Arcs
2 1 1 l "LIKES"
*Edges
2 3
"""


def test_pajek(own_folder: Path) -> None:
    graph = read_plainly(own_folder, PAJEK, "town.net")
    facts = [("Ann Lee", "KEEPS", "hen"), ("Ben", "LIKES", "Ann Lee"), ("Ben", "RELATED_TO", "hen")]
    assert told(graph) == facts
    assert graph.relations.weights.tolist() == [2.5, 1.0, 1.0]
    assert "1 undirected relations among directed ones" in "".join(graph.notes.lines())
    with pytest.raises(GraphError, match=r"town\.net: \*Arcslist and \*Edgeslist are not read"):
        read_plainly(own_folder, "*vertices 2\r\n1 a\r\n2 b\r\n*edgeslist\r\n1 2\r\n", "town.net")


# Two files or one, as people have them → what is meant.
PEOPLE = [{"no": 3955, "name": "Ann"}, {"no": 4972, "name": "Ben"}]
FRIEND = {"id": 1, "firstName": "Ann", "lastName": "Moss", "friends": []}
MEANT: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
    (  # relations as lists in rows of their own, names in parts
        {
            "nodes": [FRIEND, {"id": 2, "firstName": "Ben", "lastName": "Moss"}],
            "relations": [
                {"id": 1, "friends": [{"id": 2}], "foes": []},
                {"id": 2, "friends": [], "foes": [1]},
            ],
        },
        [("Ann Moss", "friends", "Ben Moss"), ("Ben Moss", "foes", "Ann Moss")],
    ),
    (  # the one list of an object, names by type
        {
            "entities": {"GIRL": ["Ann"], "BOY": ["Ben"]},
            "relations": {"source": "a model", "found": [["Ann", "LOVES", "Ben"]]},
        },
        [("Ann", "LOVES", "Ben")],
    ),
    (  # relations by type
        {"nodes": {"a": {"name": "Ann"}, "b": {"name": "Ben"}}, "edges": {"LOVES": [["a", "b"]]}},
        [("Ann", "LOVES", "Ben")],
    ),
    (  # entities in several dictionaries by id
        {
            "": {
                "girls": {"g1": {"name": "Ann"}},
                "boys": {"b1": {"name": "Ben"}},
                "relationships": [{"source": "g1", "type": "LOVES", "target": "b1"}],
            }
        },
        [("Ann", "LOVES", "Ben")],
    ),
    (  # documents by their names
        {
            "": {
                "one.txt": {"nodes": ["Ann", "Ben"], "edges": [["Ann", "LOVES", "Ben"]]},
                "two.txt": {"nodes": ["Ben", "Ann"], "edges": [["Ben", "LOVES", "Ann"]]},
            }
        },
        [("Ann", "LOVES", "Ben"), ("Ben", "LOVES", "Ann")],
    ),
    (  # an end that says itself what it is
        {
            "": {
                "nodes": [{"id": "Ann", "type": "GIRL"}],
                "edges": [{"source": {"id": "Ann"}, "type": "LOVES", "target": {"id": "Ben", "type": "BOY"}}],
            }
        },
        [("Ann", "LOVES", "Ben")],
    ),
]


@pytest.mark.parametrize(("files", "meant"), MEANT)
def test_what_people_bring_is_read_as_they_mean_it(
    own_folder: Path, files: dict[str, Any], meant: list[tuple[str, str, str]]
) -> None:
    paths = [own_folder / f"{name or 'graph'}.json" for name in files]
    for path, document in zip(paths, files.values(), strict=True):
        path.write_text(json.dumps(document), encoding="utf-8")
    graph = load_graph(",".join(map(str, paths)))
    assert told(graph) == meant
    assert sorted(graph.entities.names) == sorted({end for first, _, last in meant for end in (first, last)})


def test_tables_that_are_named_together_are_entities_where_relations_end_in_them(own_folder: Path) -> None:
    rows = [
        ("characters", {"id": "c1", "name": "Ann"}),
        ("places", {"id": "p1", "name": "Dover"}),
        ("notes", {"id": "n1", "name": "later"}),
        ("edges", {"source": "c1", "edge_type": "IN", "target": "p1"}),
    ]
    graph = load_graph(",".join(str(write(own_folder, "json", [row], name)) for name, row in rows))
    assert (told(graph), list(graph.entities.names)) == ([("Ann", "IN", "Dover")], ["Ann", "Dover"])
    assert [part.examples for part in graph.origin.dropped] == [("notes.json",)]


def test_types_of_ends_in_other_words_and_chunks_among_entities_without_a_type(own_folder: Path) -> None:
    triple = {"subject": "Ann", "relation": "IN", "object": "Dover", "subj_type": "GIRL", "obj_type": "TOWN"}
    graph = read_graph(write(own_folder, "json", [triple]))
    assert names_and_types(graph) == [("Ann", "GIRL"), ("Dover", "TOWN")]
    nodes = [{"id": name, "name": name, "label": "entity"} for name in ("Ann", "Ben", "hen")]
    chunk = {"id_": "c1", "label": "text_chunk", "text": "Once"}
    relations = [{"source_id": "Ann", "label": "IN", "target_id": "Ben"}]
    graph = read_plainly(own_folder, {"nodes": [chunk, *nodes], "relations": relations})
    assert list(graph.entities.names) == ["Ann", "Ben", "hen"]


def test_a_script_and_another_encoding_are_refused_with_the_way(own_folder: Path) -> None:
    path = own_folder / "graph.json"
    path.write_text('var data = [{"source": "Ann", "target": "Ben"}];', encoding="utf-8")
    with pytest.raises(GraphError, match=r"JavaScript is not run\. Save the value behind the first ="):
        read_graph(path)
    path = own_folder / "triples.csv"
    path.write_bytes("head,relation,tail\n监督学习,属于,机器学习\n".encode("gb18030") * 9)
    with pytest.raises(InputError, match=r"GB18030: `iconv -f GB18030 -t UTF-8`"):
        read_graph(path)


def test_labels_of_many_entities_are_names_and_what_r_writes_of_nothing_is_no_type(own_folder: Path) -> None:
    nodes = [{"id": number, "label": f"page {number}"} for number in range(15_500)]
    graph = read_plainly(own_folder, {"nodes": nodes, "links": [{"source": 0, "target": 1}]})
    assert list(graph.entities.names)[:2] == ["page 0", "page 1"]
    people = [
        {"name": name, "label": label} for name, label in (("Ann", "NA"), ("Ben", "NA"), ("hen", "Hen"))
    ]
    first = write(own_folder, "csv", people, "town-nodes")
    write(own_folder, "csv", [{"from": "Ann", "to": "Ben"}], "town-edges")
    assert names_and_types(load_graph(first)) == [("Ann", "OTHER"), ("Ben", "OTHER"), ("hen", "OTHER")]


def test_neo4js_edges_with_plain_tables_of_nodes_and_a_table_deep_in_an_object(own_folder: Path) -> None:
    write(own_folder, "csv", [{"player_id": "p1", "name": "Ann"}], "players")
    write(own_folder, "csv", [{"club_id": "c1", "name": "Dover"}], "clubs")
    write(own_folder, "csv", [{":START_ID(P)": "p1", ":END_ID(C)": "c1", ":TYPE": "PLAYS_FOR"}], "plays")
    assert told(read_graph(own_folder)) == [("Ann", "PLAYS_FOR", "Dover")]
    deep = {"dataroot": {"generated": "today", "Table": [{"Parent": "Ann", "Child": "Ben"}]}}
    assert told(read_plainly(own_folder, deep)) == [("Ann", "RELATED_TO", "Ben")]


def test_what_yed_shows_is_the_name(own_folder: Path) -> None:
    drawn = "<data key='d'><y:ShapeNode><y:Fill/><y:NodeLabel>\n {}</y:NodeLabel></y:ShapeNode></data>"
    line = "<data key='e'><y:Edge><y:EdgeLabel>KNOWS</y:EdgeLabel></y:Edge></data>"
    nodes = "".join(f"<node id='n{n}'>{drawn.format(name)}</node>" for n, name in enumerate(("Ann", "Ben")))
    head = "<graphml xmlns:y='y'><key id='d' for='node' yfiles.type='nodegraphics'/><graph>"
    path = own_folder / "drawn.graphml"
    path.write_text(f"{head}{nodes}<edge source='n0' target='n1'>{line}</edge></graph></graphml>", "utf-8")
    assert told(read_graph(path)) == [("Ann", "KNOWS", "Ben")]


def test_entities_that_name_others_in_their_own_columns(own_folder: Path) -> None:
    people = [
        {"id": "p1", "firstName": "Ann", "lastName": "Moss", "children": "p2|p3", "age": 40},
        {"id": "p2", "firstName": "Ben", "lastName": "Moss", "children": "", "age": 9},
        {"id": "p3", "firstName": "Cy", "lastName": "Moss", "children": "", "age": 7},
    ]
    both = [("Ann Moss", "children", "Ben Moss"), ("Ann Moss", "children", "Cy Moss")]
    assert told(read_graph(write(own_folder, "csv", people, "family"))) == both
    named = [{"id": "ann", "name": "Ann"}, {"id": "ben", "name": "Ben", "motherId": "ann"}]
    assert told(read_plainly(own_folder, {"persons": named})) == [("Ben", "motherId", "Ann")]
    aged = [{"id": 1, "name": "Ann", "age": 2}, {"id": 2, "name": "Ben", "age": 1}]
    with pytest.raises(GraphError, match=r"wanted .* its lists are 'persons'"):
        read_plainly(own_folder, {"persons": aged})


def test_lists_whose_name_says_relations_are_read_next_to_those_that_name_types(own_folder: Path) -> None:
    points = {"k1": {"label": "Sums"}, "k2": {"label": "Products"}}
    steps = [{"from": "k1", "to": "k2"}]
    days = [{"from": "Day 1", "to": "Day 2", "type": "next"}]
    document = {"points": points, "days": {"Day 1": {"room": 3}, "Day 2": {"room": 4}}}
    graph = read_plainly(own_folder, document | {"needs_edges": steps, "order_edges": days})
    assert told(graph) == [("Sums", "needs_edges", "Products"), ("Day 1", "next", "Day 2")]


def test_what_stands_at_both_ends_names_them_only_where_it_tells_them_apart(own_folder: Path) -> None:
    rows = [{"Id1": n, "Id2": n + 1, "Kind": "KIN", "Alive1": n > 2, "Alive2": n > 1} for n in range(9)]
    graph = read_graph(write(own_folder, "csv", rows, "kin"))
    assert list(graph.entities.names)[:3] == ["0", "1", "2"]


def test_another_name_of_an_id_is_its_alias_and_told(own_folder: Path) -> None:
    people = [{"id": "n3", "name": "Dover"}, {"id": "n3", "name": "Calais"}, {"id": "n1", "name": "Anna"}]
    relations = [{"source": "n1", "target": "n3", "type": "LIVES_IN"}]
    graph = read_plainly(own_folder, {"nodes": people, "edges": relations})
    assert list(graph.entities.aliases) == [["Calais"], []]
    assert any("such as n3: Dover, Calais" in line for line in graph.notes.lines())


@pytest.mark.parametrize("columns", ["question references tags", "질문 정답 태그", "질문 정답"])
def test_a_table_of_questions_is_no_graph(own_folder: Path, columns: str) -> None:
    rows = [dict(zip(columns.split(), ("Where does Anna live?", "Dover", "1-hop"), strict=False))]
    with pytest.raises(GraphError, match="looks like a gold set; give that with --dataset"):
        read_graph(write(own_folder, "csv", rows, "asked"))
