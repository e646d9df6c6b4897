"""Graphs in the shapes that people bring: what is read, what is told, what is refused with a way out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.formats.test_json_lists import read, told
from tests.tools.workbook import workbook
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import located, read_graph
from tiny_graph_rag.formats.graphs.base import Columns

KNOWS = [("Ann", "knows", "Ben")]
PEOPLE = {"n1": {"name": "Ann", "type": "girl"}, "n2": {"name": "Ben", "type": "boy"}}
EDGE = {"source": "n1", "target": "n2", "relation": "knows"}
UUIDS = ["0b9dd1b7-0000-4000-8000-000000000001", "0b9dd1b7-0000-4000-8000-000000000002"]

NAMED = dict(zip(UUIDS, ("Ann", "Ben"), strict=True))
ANN = {"identity": 1, "labels": ["Girl"], "properties": {"name": "Ann"}, "elementId": "4:x:1"}
BEN = {"identity": 2, "labels": ["Boy"], "properties": {"name": "Ben"}, "elementId": "4:x:2"}
ARC = {"identity": 5, "start": 1, "end": 2, "type": "knows", "properties": {}, "elementId": "5:x:5"}
STEP = {"start": ANN, "relationship": ARC, "end": BEN}
PATH = {"start": ANN, "end": BEN, "segments": [STEP], "length": 1.0}
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
NO_IRI = (
    f'{RDF}<rdf:Description rdf:about="http%3A//e/Ann"><e:knows rdf:resource="http://e/Ben"/>'
    "</rdf:Description>"
)
SHORT = f"""<?xml version="1.0"?><!DOCTYPE rdf:RDF [ <!ENTITY e "http://e/"> ]>{RDF}
<rdf:Description rdf:about="&e;Ann"><e:knows rdf:resource="&e;Ben"/></rdf:Description></rdf:RDF>"""
NESTED = SHORT.replace('"http://e/"> ]', '"http://e/"> <!ENTITY f "&e;&e;"> ]')
GEXF = """<gexf version="1.1"><graph defaultedgetype="directed"><attributes class="node">
<attribute id="0" title="type" type="string"/></attributes><nodes><node id="a" label="Ann"><attvalues>
<attvalue id="0" value="person"/></attvalues></node><node id="b" label="Ben"/></nodes><edges>
<edge id="1" source="a" target="b" label="knows"/></edges></graph></gexf>"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dictionary.json", {"nodes": PEOPLE, "edges": [EDGE]}),
        ("dictionaries.json", {"nodes": PEOPLE, "edges": {"e1": EDGE}}),
        ("inner.json", {"graph": {"nodes": PEOPLE, "edges": [EDGE]}}),
        ("types.json", {"Ann": {"knows": ["Ben"]}, "Ben": {}}),
        ("data.json", {"Ann": {"Ben": {"relation": "knows"}}, "Ben": {}}),
        ("pairs.json", {"Ann": [["knows", "Ben"]], "Ben": []}),
        ("objects.json", {"Ann": [{"relation": "knows", "target": "Ben"}], "Ben": []}),
        ("a.canvas", {"nodes": [{"id": "1a", "type": "text", "text": "Ann"}, {"id": "g", "label": "Girls"},
                                {"id": "2b", "type": "text", "text": "Ben"}],
                      "edges": [{"id": "e", "fromNode": "1a", "toNode": "2b", "label": "knows"}]}),
        ("rows.json", {"nodes": [["id", "name"], ["n1", "Ann"], ["n2", "Ben"]],
                       "edges": [["source", "relation", "target"], ["n1", "knows", "n2"]]}),
        ("tree.json", {"name": "Ann", "knows": [{"name": "Ben", "knows": []}]}),
        ("kinds.json", {"girls": [{"id": "a", "name": "Ann", "knows": "b"}],
                        "boys": [{"id": "b", "name": "Ben"}], "size": {"n": 2}}),
        ("parents.json", {"a": {"name": "Ann", "knows": ["b"]}, "b": {"name": "Ben", "knows": []}}),
        ("trees.json", [{"name": "Ann", "knows": {"name": "Ben", "knows": [{"name": "Cy"}]}}]),
        ("adjacency.json", {"adjacency": {"Ann": {"knows": ["Ben"]}}}),
        ("alone.json", {"relationships": [{"source": "Ann", "target": "Ben", "type": "knows"}]}),
        ("kg.json", {"relationships": [
            {"source_entity_id": "Ann", "target_entity_id": "Ben", "relationship_type": "knows"}]}),
        ("codes.json", {"nodes": [{"code": "x", "name": "Ann"}, {"code": "y", "name": "Ben"}],
                        "edges": [{"from": "x", "to": "y", "type": "knows"}]}),
        ("named.json", {"entities": {"E1": "Ann", "E2": "Ben"}, "relations": {"R4": "knows"},
                        "triples": [["E1", "R4", "E2"]]}),
        ("numbered.json", {"entity2id": {"Ann": 0, "Ben": 1}, "relation2id": {"knows": 0},
                           "triples": [[0, 0, 1]]}),
        ("uuids.json", {"nodes": [{"id": id, "label": name} for id, name in NAMED.items()],
                        "edges": [{"source": UUIDS[0], "target": UUIDS[1], "label": "knows"}]}),
        ("page.html", '<html>nodes = new vis.DataSet([{"id": 1, "label": "Ann"},{"id": "2", "label": "Ben"}])'
                      'edges = new vis.DataSet([{"from": 1, "to": 2, "label": "knows", "arrows": "to"}]);'),
        ("stars.ttl", "@prefix : <http://e/> . << :Ann :knows :Ben >> :since 1999 ."),
        ("described.json", [{"subject": "Ann Lee", "subject_label": "a girl", "relationship": "knows",
                             "object": "Ben", "object_label": "a boy"}]),
        ("local.json", [{"entities": [{"id": "e1", "name": "Ann"}, {"id": "e2", "name": "Ben"}],
                         "relations": [{"head": "e1", "type": "knows", "tail": "e2"}]},
                        {"entities": [{"id": "e1", "name": "Cy"}, {"id": "e2", "name": "hen"}],
                         "relations": []}]),
        ("inside.json", {"concepts": [{"id": "Ann", "knows": ["Ben"]}, {"id": "Ben", "knows": []}]}),
        ("other.json", {"people": [{"id": "n1", "name": "Ann"}, {"id": "n2", "name": "Ben"}],
                        "facts": [{"head": "n1", "rel": "knows", "tail": "n2"}], "units": [{"id": "km"}]}),
        ("obo.json", {"graphs": [{"nodes": [{"id": "n1", "lbl": "Ann"}, {"id": "n2", "lbl": "Ben"}],
                                  "edges": [{"sub": "n1", "pred": "knows", "obj": "n2"}]}]}),
        ("braces.json", {"nodes": PEOPLE, "{1}": [{**EDGE}, {**EDGE, "source": ""}]}),
        ("mixed.json", [{"head": "Ann", "relation": "knows", "tail": "Ben"}, ["Cy", "keeps", "hen"]]),
        ("relation first.tsv", "knows\tAnn\tBen\nkeeps\tBen\tAnn\n"),
        ("dated.txt", "Ann\tknows\tBen\t2014-03-06\n"),
        ("dated.tsv", "Ann\tknows\tBen\toccursSince\t2005\n"),
        ("joined.csv", "source,type,target,source_id\nAnn,knows,Ben,c1<SEP>c2\n"),
        ("files.json", {"nodes": [{"id": name, "file_name": "a.py"} for name in ("Ann", "Ben")],
                        "links": [{"source": "Ann", "target": "Ben", "label": "knows"}]}),
        ("typed.json", {"skills": [{"name": "Ann"}], "edges": {"knows": [["Ann", "Ben"]]}}),
        ("openie.json", {"docs": [{"passage": "Once.", "extracted_triples": [KNOWS[0], ["Ann", "is"]]}]}),
        ("query.json", [{"n": {"name": "Ann"}, "r": {"type": "knows"}, "m": {"name": "Ben"}}]),
        ("kinds.json", {"Node_girl": [{"id": "a", "name": "Ann"}], "Node_boy": [{"id": "b", "name": "Ben"}],
                           "Link_a": [{"sourceid": "a", "targetid": "b", "relation": "knows"}],
                           "Link_b": [{"sourceid": "b", "targetid": "a", "relation": "knows"}]}),
        ("tuples.json", [{"number": 1, "tuple": {"subject": "Ann", "predicate": "knows", "object": "Ben"}}]),
        ("pre.json", {"triplets": [{"sub": "Ann", "pre": "knows", "obj": "Ben"}]}),
        ("split.json", {"columns": ["source", "relation", "target"], "index": [0], "data": KNOWS}),
        ("spaces.txt", "Ann knows  Ben\nBen knows Ann\n"),
        ("mark.nt", "\ufeff<http://e/Ann> <http://e/knows> <http://e/Ben> ."),
        ("lone.tsv", "a\tb\tpage_a\tpage_b\ttype\nAnn\tBen\tAn\tBe\tknows\n"),
        ("role.csv", "source,target,role\nAnn,Ben,knows\n"),
        ("stems.csv", "source,head,tail,type_raw\ndoc,Ann,Ben,knows\n"),
        ("verbs.tsv", "src:START_ID\tdst:END_ID\ttype:TYPE\tverb\nAnn\tBen\tREL\tknows\n"),
        ("langue.csv", "source_id,cible_id,relation,niveau\nAnn,Ben,knows,1\n"),
        ("valid.csv", "subject,predicate,object,valid_from,valid_to\nAnn,knows,Ben,2001,2002\n"),
        ("rows.json", [{"n": ANN, "r": ARC, "m": BEN}, {"n": BEN, "r": ARC, "m": ANN}]),
        ("paths.json", [{"p": PATH}, {"p": PATH}]),
        ("named ends.json", [{"from": "n1", "from_name": "Ann", "to_name": "Ben", "type": "knows"}]),
        ("graph.yaml", "nodes:\n- {id: 1, name: Ann}\n- {id: 2, name: Ben}\n"
                       "edges:\n- {source: 1, target: 2, type: knows}\n"),
        ("sparse.csv", "source,target,type,relationship\nAnn,Ben,knows,of old\nBen,Ann,knows,\n"),
        ("kinds.json", [{"source": "Ann", "target": "Ben", "label": "As she said", "kind": "knows"}]),
        ("told.json", {"Ann": {"type": "girl", "description": "A girl", "knows": ["Ben"], "place": "Dover"},
                       "Ben": {"type": "boy", "description": "A boy", "knows": []}}),
        ("value.json", {"nodes": [{"id": 0, "name": "Ann"}, {"id": 1, "name": "Ben"}],
                        "links": [{"source": 0, "target": 1, "value": "knows"}]}),
        ("kinds of.json", {"girls": [{"id": "a", "name": "Ann"}], "boys": [{"boy_id": "b", "name": "Ben"}],
                        "edges": [{"source": "a", "target": "b", "type": "knows"}]}),
        ("named.ttl", '@prefix e: <http://e/> . e:a a e:Girl ; e:girlName "Ann" ; e:knows e:b . '
                      'e:b a e:Cook ; e:personName "Ben"@en, "벤"@ko ; e:jobTitle "cook" .'),
        ("ids.ttl", '@prefix e: <http://e/> . e:g_1 e:label "g_1" ; e:title "Ann" ; e:knows e:Ben .'),
        ("any ending.rdf", "@prefix e: <http://e/> .\ne:Ann e:knows e:Ben .\n"),
        ("fragments.nt", "<http://e/Ann#me> <http://e/knows> <http://e/Ben#me> ."),
        ("no iri.rdf", f"{NO_IRI}</rdf:RDF>"),
        ("short.owl", SHORT),
        ("older.gexf", GEXF),
        ("comments.sssom.tsv", "# curie_map:\n#   x: http://x/\nsubject_id\tpredicate_id\tobject_id\n"
                               "Ann\tknows\tBen\n"),
    ],
)  # fmt: skip
def test_a_shape_is_read_as_it_is_meant(own_folder: Path, name: str, content: Any) -> None:
    facts = told(read(own_folder, content, name))
    assert [(source.removesuffix(" Lee"), type, target) for source, type, target in facts][:1] == KNOWS


ENDS = {"type": "knows", "start_node_id": "n1", "end_node_id": "n2"}
NODES = [{"id": id, **its} for id, its in PEOPLE.items()]
RELATED = [("Ann", "RELATED_TO", "Ben")]
VIS = (
    '<html>nodes = new vis.DataSet([{"id": 1, "label": "Ann"}, {"id": 2, "label": "Ben"}]);'
    'edges = new vis.DataSet([{"from": 1, "to": 2, "title": "%s"}]);'
)


@pytest.mark.parametrize(
    ("name", "content", "facts"),
    [
        # Ends that few relations have are details.
        (
            "g.json",
            {
                "nodes": NODES,
                "relationships": [ENDS, {**ENDS, "properties": {"from": "here", "to": "there"}}, ENDS],
            },
            KNOWS * 3,
        ),
        # What a page shows of a relation is no type, nor is a title with a figure.
        ("g.html", VIS % "knows<br>long", RELATED),
        ("g.html", VIS % "knows\\nsince 1999", RELATED),
        ("g.json", [{"source": "Ann", "target": "Ben", "title": "Similarity: 0.5"}], RELATED),
        # A weight behind the title is no part of it; a type that stands below a name, neither.
        ("g.html", VIS % "knows (weight: 2)", KNOWS),
        ("g.html", (VIS % "knows").replace("Ann", "Ann\\n(Girl)"), KNOWS),
        # What a column says of something else is no type of the relation.
        ("m.csv", "source,target,m2Type\nAnn,Ben,UNIFORM\n", RELATED),
        # An id that nobody knows is none.
        (
            "g.csv",
            "Source ID,Source Name,Target ID,Target Name,Type\n1,Ann,?,Ben,knows\n1,Ann,?,Cy,likes\n",
            [*KNOWS, ("Ann", "likes", "Cy")],
        ),
        # Two columns without a header, of which one's names stand in the other; names as keys of a record.
        ("g.tsv", "Ann\tBen\nBen\tCy\n", [*RELATED, ("Ben", "RELATED_TO", "Cy")]),
        (
            "g.json",
            {"all": {"Ann": {"knows": {"Ben": 2}}, "Ben": {"knows": {"Ann": 1}}}},
            [*KNOWS, ("Ben", "knows", "Ann")],
        ),
    ],
)
def test_all_relations_are_read_as_they_are_meant(
    own_folder: Path, name: str, content: Any, facts: list[tuple[str, str, str]]
) -> None:
    graph = read(own_folder, content, name)
    assert told(graph) == facts
    assert not any(graph.relations.details) or name != "g.csv"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("places.json", {"categories": [{"name": "boy"}, {"name": "girl"}],
                         "nodes": [{"id": "Ann", "category": 1}, {"id": "Ben", "category": 0}],
                         "links": [{"source": "Ann", "target": "Ben"}]}),
        ("lines.json", [*({"type": "node", "id": name, "label": kind, "name": name}
                          for name, kind in (("Ann", "girl"), ("Ben", "boy"), ("Cy", "boy"))),
                        {"type": "edge", "source": "Ann", "target": "Ben"}]),
        ("half.json", {"nodes": [{"id": "Ann", "label": "girl", "properties": {"name": "Ann"}},
                                 {"id": "Ben", "label": "boy", "properties": {"name": "Ben", "type": "x"}},
                                 {"id": "Cy", "label": "boy", "properties": {"name": "Cy"}}],
                       "edges": [{"source": "Ann", "target": "Ben"}]}),
        ("any.ttl", "@prefix e: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> . "
                    "e:Ann a owl:NamedIndividual, e:girl ; e:knows e:Ben . e:Ben a e:boy ."),
        ("ends.json", [{"start_node": {"name": "Ann", "kind": "girl"}, "relation": "knows",
                        "end_node": {"kind": "boy", "properties": {"name": "Ben"}}}]),
    ],
)  # fmt: skip
def test_types_are_those_that_say_something(own_folder: Path, name: str, content: Any) -> None:
    graph = read(own_folder, content, name)
    types = dict(zip(graph.entities.names, graph.entities.types, strict=True))
    assert {**types, "Cy": "boy"} == {"Ann": "girl", "Ben": "boy", "Cy": "boy"}
    assert [(source, target) for source, _, target in told(graph)] == [("Ann", "Ben")]


@pytest.mark.parametrize(
    ("content", "names", "relations"),
    [
        ({"Ann": ["Ben", "Cy"], "Ben": ["Cy"]}, ["Ann", "Ben", "Cy"], 3),
        ({"1": [2, 3], "2": [3]}, ["1", "2", "3"], 3),
        (
            {
                "Ann": {"description": "A girl", "knows": ["Ben", "Cy", "Ann"]},
                "Ben": {"description": "A boy", "knows": ["Ann"]},
            },
            ["Ann", "Ben", "Cy"],
            4,
        ),
    ],
)
def test_neighbours_without_a_key_of_their_own_are_entities(
    own_folder: Path, content: Any, names: list[str], relations: int
) -> None:
    graph = read(own_folder, content)
    assert (list(graph.entities.names), len(graph.relations)) == (names, relations)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "head,relation,tail\nAnn,R1,Ben\nBen,R2,hen\n",
            "2 names of relation types (all of them) look like ids",
        ),
        (
            "source,type,target\nGIRL_X_001,knows,BOY_X_A2\n",
            "2 entities (most of them) have names that look like ids",
        ),
        (
            "subject_id,subject_name,predicate,object_id,object_name\n1,Ann,knows,2,Ben\n1,Anna,knows,3,Cy\n",
            "relation ends with several names",
        ),
        (
            "girl,tie,boy\nAnn,knows,Ben\nAnn,knows,Cy\nAnn,likes,Ben\nBen,knows,Ann\n",
            "1 line at the top that may be column names",
        ),
    ],
)
def test_what_looks_wrong_in_a_table_is_told(own_folder: Path, text: str, note: str) -> None:
    assert note in read(own_folder, text, "g.csv").notes.lines()[0]


@pytest.mark.parametrize(
    ("name", "content", "way"),
    [
        ("g.cypher", "CREATE (a:Person {name: 'Ann'})", r"cypher-shell -f g\.cypher"),
        ("g.txt", "// a town\nMERGE (a {name: 'Ann'})-[:KNOWS]->(b)", r"cypher-shell -f g\.txt"),
        (
            "rdf.json",
            {"http://e/Ann": {"http://e/knows": [{"type": "uri", "value": "http://e/Ben"}]}},
            "riot --syntax=rdfjson",
        ),
        ("g.html", "<html><script>var network = new vis.DataSet(x)</script>", "networkx.write_graphml"),
        ("m.csv", ",Ann,Ben\nAnn,0,1\nBen,0,0\n", "a header that names them; the first line is: , Ann, Ben"),
        ("g.json", {"colors": ["red", "blue"]}, "wanted .*its lists are 'colors'"),
        ("g.json", {"chapters": {"1": "Fair"}, "N": [["Ann", 8]]}, "its lists are 'chapters', 'N'"),
        (
            "g.json",
            {
                "towns": [{"id": "a", "landId": "b"}],
                "lands": [{"id": "b"}],
                "roads": [{"id": "r", "sourceId": "a", "targetId": "a"}],
            },
            "its lists are 'towns', 'lands', 'roads'",
        ),
        (
            "r.json",
            '{"schema_version": 1, "package_version": "1", "kind": "eval"}',
            "the results of a command",
        ),
        ("g.ged", "0 HEAD\n0 @1@ INDI\n1 NAME Ann /Moss/\n0 TRLR\n", "a line for HUSB and WIFE"),
        ("g.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git lfs pull"),
        ("kgx.tar", "edges.tsv" + 248 * "\0" + "ustar", "unpack it"),
        ("rows.csv", 'n\n"(:Girl {name: ""Ann""})"\n', "Save it as JSON in Neo4j Browser"),
        ("g.dot", 'digraph G {\na -> b [label="knows"]\n}', r"networkx.nx_pydot.read_dot\('g.dot'\)"),
        (
            "far.jsonld",
            {"@context": "https://e/c.jsonld", "@graph": []},
            "Copy the content of the @context",
        ),
        ("years.csv", "person,role,from,to\nAnn,clerk,2001,2002\n", "--columns source=COLUMN"),
        ("years.csv", "person,role,valid_from,valid_to\nAnn,clerk,2001,2002\n", "--columns source=COLUMN"),
        ("g.rdf", NO_IRI, "cut off"),
        ("g.rdf", f"{NO_IRI}<</rdf:RDF>", "save it there as Turtle"),
        ("g.owl", NESTED, "document type declaration"),
        (
            "o.owl",
            '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"></Ontology>\n',
            r"robot convert -i o\.owl -o o\.ttl",
        ),
        ("papers.csv", "paper_id,entity,relation\np1,bee,in\np1,entity,in\n", "the first line is: paper_id"),
        ("g.mmd", "flowchart TD\n  a --> b\n", "If each holds source, relation and target, this"),
        ("g.db", f"w{' ' * 20}w,\n" * 40, "SQLite"),  # lines of words are no long search for a graph
    ],
)
def test_a_refusal_says_the_way_out(own_folder: Path, name: str, content: Any, way: str) -> None:
    with pytest.raises(GraphError, match=way):
        read(own_folder, content, name)


def test_a_list_of_edges_with_weights_and_no_header(own_folder: Path) -> None:
    graph = read(own_folder, "Ann,Ben,2.5\nBen,Ann,1\nBen,Cy,3\n", "g.csv")
    assert told(graph) == [(a, "RELATED_TO", b) for a, b in (("Ann", "Ben"), ("Ben", "Ann"), ("Ben", "Cy"))]
    assert graph.relations.weights.tolist() == [2.5, 1.0, 3.0]


def test_lists_of_other_names_are_named(own_folder: Path) -> None:
    fact = {"head": "Ann", "rel": "knows", "tail": "Ben"}
    with pytest.raises(GraphError, match=r"its lists are 'mine', 'yours'.*--columns nodes=KEY,edges=KEY"):
        read(own_folder, {"mine": [fact], "yours": [fact, fact]})
    assert told(read_graph(own_folder / "graph.json", columns=Columns.of("edges=mine"))) == KNOWS
    (own_folder / "graph.json").write_text(json.dumps({"entities": {"n": {}}, "mine": [fact]}))
    assert told(read_graph(own_folder / "graph.json", columns=Columns.of("edges=mine,nodes=none"))) == KNOWS


@pytest.mark.parametrize(
    "tables",
    [
        ("people", "id,alias\nAnn,A\nBen,\n", "girl,boy,relation,since\nAnn,Ben,knows,1999\n"),
        ("people", "cui,umls_concept\nC001,Ann\nC002,Ben\n", "start_id,end_id,type\nC001,C002,knows\n"),
        ("people", "personId,name,age\n17,Ann,9\n18,Ben,9\n", "source,target,type\n17,18,knows\n"),
        ("nodes", "id,nom,catégorie\na,Ann,x\nb,Ben,y\n", "de,vers,relation\na,b,knows\n"),
        (
            "people,boys",
            "girl_id,name\n1,Ann\n",
            "boy_id,name\n1,Ben\n",
            "a_name,b_name,type\nAnn,Ben,knows\n",
        ),
        ("nodes", "a:ID,b:ID,name\n1,2,Ann\n3,4,Ben\n", ":START_ID,:END_ID,:TYPE\n1,3,knows\n"),
        ("people,boys", "girl_id,name\n1,Ann\n", "boy_id,name\n1,Ben\n", "girl_id,boy_id,type\n1,1,knows\n"),
    ],
)
def test_columns_are_told_by_what_they_hold(own_folder: Path, tables: tuple[str, ...]) -> None:
    names, *texts = tables
    paths = [own_folder / f"{name}.csv" for name in (*names.split(","), "edges")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    assert told(read_graph(Path(",".join(map(str, paths))))) == KNOWS


def test_ends_that_are_not_listed_are_entities_where_few_are(own_folder: Path) -> None:
    (own_folder / "nodes.csv").write_text("id,title,text\nf1,Fair,Once\nf2,Ball,Then\n", encoding="utf-8")
    graph = read(own_folder, "src,dst,type\nAnn,f1,at\nBen,f2,at\nCy,Di,knows\n", "edges.csv")
    assert told(graph) == [("Ann", "at", "Fair"), ("Ben", "at", "Ball"), ("Cy", "knows", "Di")]
    assert "4 names at ends of relations that no table of entities lists" in graph.notes.lines()[0]


def test_a_memory_of_entities_alone(own_folder: Path) -> None:
    saw = [{"text": "Reads.", "timestamp": "2025"}, {"text": "Rides."}]
    graph = read(own_folder, [{"name": name, "entityType": "girl", "observations": saw} for name in "AB"])
    assert (list(graph.entities.names), len(graph.relations)) == (["A", "B"], 0)
    assert graph.entities.descriptions[0] == "Reads.\nRides."


def test_the_columns_of_a_table_without_a_header_have_numbers(own_folder: Path) -> None:
    with pytest.raises(GraphError, match="columns are called 'field 1', 'field 2'"):
        read(own_folder, "HGNC,Ann,knows,FPLX,Ben\nHGNC,Ben,knows,FPLX,hen\n", "g.csv")
    columns = Columns.of("source=field 2,relation=field 3,target=field 5")
    assert told(read_graph(own_folder / "g.csv", columns=columns))[:1] == KNOWS


def test_names_in_several_languages_are_a_name_and_its_aliases(own_folder: Path) -> None:
    first = {"id": "E1", "label_ko": "안", "label_en": "Ann", "label_zh": "安"}
    nodes = [first, {"id": "E2", "label_ko": "벤"}]
    graph = read(own_folder, {"nodes": nodes, "edges": [{"source": "E1", "target": "E2"}]})
    assert list(graph.entities.names) == ["Ann", "E2"]
    assert list(graph.entities.aliases) == [["안", "安"], ["벤"]]


PEOPLE_BY_NUMBER = list(enumerate(("Ann", "Ben", "Cy")))


@pytest.mark.parametrize(
    "nodes",
    [
        [{"id": f"E{number}", "caption": text} for number, text in PEOPLE_BY_NUMBER],
        [{"id": f"e{number}", "text": text, "label": "GIRL"} for number, text in PEOPLE_BY_NUMBER],
        [
            *({"id": f"e{number}", "label": text, "type": "a"} for number, text in PEOPLE_BY_NUMBER[:2]),
            {"id": "e2", "title": "T", "name": "N", "type": "b"},
        ],
    ],
)
def test_where_ids_say_nothing_a_column_of_short_texts_names(own_folder: Path, nodes: list[Any]) -> None:
    edges = [{"source": nodes[0]["id"], "target": nodes[1]["id"]}]
    graph = read(own_folder, {"nodes": nodes, "edges": edges})
    assert list(graph.entities.names)[:2] == ["Ann", "Ben"]


def test_a_table_beside_it_that_names_other_things_is_left_out(own_folder: Path) -> None:
    (own_folder / "entities.csv").write_text("category,entity,count\nPER,Xi,3\nPER,Yo,2\n", encoding="utf-8")
    graph = read(own_folder, "subject,predicate,object\nAnn,knows,Ben\n", "triples.csv")
    assert told(graph) == KNOWS
    assert [part.examples for part in graph.origin.dropped] == [("entities.csv",)]


def test_sentences_are_no_entities_and_a_second_list_of_relations_is_read_once(own_folder: Path) -> None:
    nodes = [{"id": f"p:{n}", "label": "GIRL", "canonical": name} for n, name in PEOPLE_BY_NUMBER]
    document = {
        "nodes": [*nodes, {"id": "s:1", "label": "SENTENCE", "text": "Once."}],
        "triples": {"t": {"subject": "p:0", "predicate": "knows", "object": "p:1"}},
        "edges": [{"source": "p:1", "target": "p:2"}, {"source": "s:1", "target": "p:2"}],
        "links": [{"source": "p:1", "target": "p:2"}],
    }
    graph = read(own_folder, document)
    both = [*KNOWS, ("Ben", "RELATED_TO", "Cy")]
    assert (told(graph), list(graph.entities.names)) == (both, ["Ann", "Ben", "Cy"])


def test_a_table_of_relation_types_is_not_that_of_relations(own_folder: Path) -> None:
    for name, text in (("entities", "name\nAnn\nBen\n"), ("relations", "id,name\nR1,knows\n")):
        (own_folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (own_folder / "triples.csv").write_text("head,relation,tail\nAnn,R1,Ben\n", encoding="utf-8")
    assert told(read_graph(own_folder)) == KNOWS


def test_ids_that_several_documents_have_are_of_one_entity(own_folder: Path) -> None:
    documents = {
        f"d{number}": {
            "nodes": [{"id": "a", "name": "Ann"}, {"id": number, "name": "Coat"}],
            "links": [{"source": "a", "target": number, "kind": "made"}],
        }
        for number in (1, 2)
    }
    graph = read(own_folder, documents)
    assert (list(graph.entities.names), len(graph.relations)) == (["Ann", "Coat", "Coat"], 2)


def test_what_is_dropped_and_what_is_not_clear_is_told(own_folder: Path) -> None:
    document = {
        "nodes": [{"id": number, "name": name} for number, name in enumerate(("Ann", "Ann", "Ben"))],
        "edges": [{"source": "Ann", "target": "Ben", "type": "knows"}],
        "communities": [{"members": [1, 2]}],
        "hyperedges": [{"id": "h", "nodes": [1, 2, 3]}],
    }
    graph = read(own_folder, document)
    (drop,) = graph.origin.dropped
    assert drop.what == "tables that hold neither entities nor relations"
    assert drop.examples == ("communities", "hyperedges")
    notes = "".join(graph.notes.lines()).replace("relations", "relation")
    assert "relation whose end is a name of several entities" in notes


def test_only_a_column_that_decides_is_said_to_be_read(own_folder: Path) -> None:
    nodes = [{"id": 1, "name": "Ann", "type": "girl", "category": "x"}, {"id": 2, "name": "B", "type": "boy"}]
    graph = read(own_folder, {"nodes": nodes, "edges": [{"source": 1, "target": 2}]})
    roles = {column: role for table, column, role in graph.origin.columns if table == "entities"}
    assert (roles["type"], roles["category"]) == ("type", "kept as a detail")


ONTOLOGY = """\
@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:age rdfs:range xsd:integer ; rdfs:domain :Person .
:Ann :knows :Ben ; :lives [ :in :Dover ] .
"""


def test_data_types_and_blank_nodes_are_no_entities(own_folder: Path) -> None:
    graph = read(own_folder, ONTOLOGY, "g.ttl")
    assert sorted(graph.entities.names) == ["Ann", "Ben", "Dover", "Person", "age"]
    assert [(drop.what.split(" (")[0], drop.count) for drop in graph.origin.dropped] == [
        ("data types", 1),
        ("blank nodes without a name", 1),
    ]


def test_of_entities_whose_iris_end_in_one_number_what_differs_is_the_name(own_folder: Path) -> None:
    graph = read(own_folder, "<http://e/a/Ann_Lee/1> <http://e/knows> <http://e/a/Ben/1> .", "g.nt")
    assert told(graph) == [("Ann Lee/1", "knows", "Ben/1")]


def test_of_what_is_said_about_a_fact_the_fact_is_read(own_folder: Path) -> None:
    star = "@prefix : <http://e/> . :Ann :knows :Ben {| :since 1999 ; :weight 2.5 |} ."
    graph = read(own_folder, star, "g.ttl")
    assert (told(graph), graph.relations.weights.tolist()) == (KNOWS, [1.0])
    assert [(part.what[:11], part.count) for part in graph.origin.dropped] == [("blank nodes", 1)]


def test_parquet_with_decimals_and_far_times(own_folder: Path) -> None:
    from decimal import Decimal

    columns = {
        "source": pyarrow.array([Decimal("1.50")]),
        "target": pyarrow.array(["Ben"]),
        "relation": pyarrow.array(["knows"]),
        "at": pyarrow.array([1 << 40], pyarrow.timestamp("s")),
        "face": pyarrow.array([b"\x00"]),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), own_folder / "g.parquet")
    graph = read_graph(own_folder / "g.parquet")
    assert told(graph) == [("1.50", "knows", "Ben")]
    assert ("relations", "face", "not used: binary") in graph.origin.columns


def test_nodes_without_a_name_are_called_alike_in_every_run(own_folder: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    text = f'@prefix e: <http://e/> . e:Ann e:has [ {label} "hen" ] .'
    assert list(read(own_folder, text, "g.ttl").entities.ids) == ["http://e/Ann", "_:b1"]


def test_a_workbook_with_a_sheet_of_entities_and_one_of_relations(own_folder: Path) -> None:
    nodes = [["id", "name", "type"], ["n1", "Ann", "girl"], ["n2", "Ben", "boy"]]
    header = ["source", "relation", "target"]
    (own_folder / "g.xlsx").write_bytes(workbook({"Nodes": nodes, "Edges": [header, ["n1", "knows", "n2"]]}))
    graph = read_graph(own_folder / "g.xlsx")
    assert (graph.origin.writer, told(graph)) == ("worksheets", KNOWS)
    assert list(graph.entities.types) == ["girl", "boy"]
    (own_folder / "a.xlsx").write_bytes(workbook({"Sheet1": [header, list(KNOWS[0])]}))
    assert told(read_graph(own_folder / "a.xlsx")) == KNOWS


def test_people_next_to_their_relations_are_the_entities(own_folder: Path) -> None:
    people = {"a": {"name": "Ann", "type": "girl"}, "b": {"name": "Ben", "type": "boy"}}
    (own_folder / "people.json").write_text(json.dumps(people), encoding="utf-8")
    edges = [{"source": "a", "target": "b", "type": "knows"}]
    paths = [own_folder / "people.json", own_folder / "people_relations.json"]
    paths[1].write_text(json.dumps(edges), encoding="utf-8")
    assert told(read_graph(Path(",".join(map(str, paths))))) == KNOWS
    (own_folder / "people.csv").write_text("id,name\na,Ann\nb,Ben\n", encoding="utf-8")
    assert told(read(own_folder, "subject_id,related_id,relation\na,b,knows\n", "relations.csv")) == KNOWS


def test_ids_of_documents_are_no_ids_of_entities(own_folder: Path) -> None:
    table = "id,entity,entity_type\nd1,Ann,girl\nd1,Ben,boy\nd2,Ann,girl\n"
    (own_folder / "entities.csv").write_text(table, encoding="utf-8")
    graph = read(own_folder, "source,target,relation\nAnn,Ben,knows\n", "relations.csv")
    assert (told(graph), [*graph.entities.types]) == (KNOWS, ["girl", "boy"])


def test_names_and_pairs_with_weights_are_tables(own_folder: Path) -> None:
    (own_folder / "nodes.json").write_text('["Ann", "Ben"]', encoding="utf-8")
    graph = read(own_folder, [["Ann", "Ben", 3]], "edges.json")
    assert told(graph) == [("Ann", "RELATED_TO", "Ben")]
    assert graph.relations.weights.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Ann: Ben, Cy\nBen:\n", [("Ann", "RELATED_TO", "Ben"), ("Ann", "RELATED_TO", "Cy")]),
        (
            "# who knows whom\nAnn Ben Cy # two\nBen\n",
            [("Ann", "RELATED_TO", "Ben"), ("Ann", "RELATED_TO", "Cy")],
        ),
        ("Ann Lee,Ben\nBen,Cy,Di\n", [("Ann Lee", "RELATED_TO", "Ben"), ("Ben", "RELATED_TO", "Cy")]),
        ("(Ann)-[knows]->(Ben)\n", KNOWS),
        ("graph TD\n  Ann -->|knows| Ben\n", KNOWS),
        ("Ann#knows#Ben\n", KNOWS),
        (",Ann,Ben,Cy\nAnn,0,1,0\nBen,0,0,1\n", [*RELATED, ("Ben", "RELATED_TO", "Cy")]),
        ("1 2 7\n1 3 8\n", [("1", "RELATED_TO", "2"), ("1", "RELATED_TO", "3")]),
    ],
)
def test_lines_that_are_no_table_come_with_a_command_that_makes_one(
    own_folder: Path, text: str, facts: list[tuple[str, str, str]]
) -> None:
    with pytest.raises(GraphError, match="this makes a table of them") as refused:
        read(own_folder, text, "g.txt")
    command = str(refused.value).partition("of them: ")[2].replace("python3", f'"{sys.executable}"')
    subprocess.run(command, shell=True, check=True, cwd=own_folder)
    assert told(read_graph(own_folder / "g.tsv"))[:2] == facts


def test_two_workbooks_are_a_graph_as_two_tables_are(own_folder: Path) -> None:
    edges = [["from", "to", "type"], [1, 2, "knows"]]
    for name, rows in (("nodes", [["id", "name"], [1, "Ann"], [2, "Ben"]]), ("edges", edges)):
        (own_folder / f"{name}.xlsx").write_bytes(workbook({"Sheet1": rows}))
    assert told(read_graph(own_folder)) == KNOWS
    paths = Path(f"{own_folder / 'nodes.xlsx'},{own_folder / 'edges.xlsx'}")
    assert told(read_graph(paths)) == KNOWS


def test_tables_without_a_header_lie_next_to_each_other(own_folder: Path) -> None:
    (own_folder / "nodes.tsv").write_text("1\tAnn\n2\tBen\n3\tCy\n", encoding="utf-8")
    (own_folder / "edges.tsv").write_text("1\t2\tknows\n2\t3\tknows\n", encoding="utf-8")
    assert told(read_graph(own_folder)) == [*KNOWS, ("Ben", "knows", "Cy")]


def test_relations_next_to_those_that_are_named_are_told(own_folder: Path) -> None:
    (own_folder / "entities.csv").write_text("id,name\na,Ann\nb,Ben\n", encoding="utf-8")
    (own_folder / "relations.csv").write_text("source,target,type\na,b,likes\n", encoding="utf-8")
    graph = read(own_folder, "source,target,type\na,b,knows\n", "triples.csv")
    assert told(graph) == KNOWS
    assert (
        "1 table of relations next to it (not read; name the folder for all of them)"
        in graph.notes.lines()[0]
    )
    both = read_graph(located("entities.csv,relations.csv", Path, own_folder))
    assert not any("relations.csv" in line for line in both.notes.lines()), "it was read"
