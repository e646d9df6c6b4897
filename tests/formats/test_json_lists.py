"""Graphs as lists in JSON, as scripts and models write them, and what is close to them and something else;
GEXF, N-Triples and Turtle, and what no reader opens: pickles, document types."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import networkx
import pytest

from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph

GIRL = {"id": "1", "name": "점순", "type": "PERSON"}
HEN = {"id": "2", "name": "닭", "type": "ANIMAL"}


def told(graph: KnowledgeGraph) -> list[tuple[str, str, str]]:
    names, found = graph.entities.names, graph.relations
    return [
        (names[source], type, names[target])
        for source, type, target in zip(found.sources, found.types, found.targets, strict=True)
    ]


def read(folder: Path, document: Any, name: str = "graph.json") -> KnowledgeGraph:
    """The graph of a file that holds a document, or a text as it stands."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    (folder / name).write_text(text, encoding="utf-8")
    return read_graph(folder / name)


@pytest.mark.parametrize("entities", ["entities", "nodes"])
@pytest.mark.parametrize("relations", ["relationships", "relations", "edges"])
@pytest.mark.parametrize("ends", ["id", "name"])
def test_lists_of_entities_and_relations(own_folder: Path, entities: str, relations: str, ends: str) -> None:
    if entities == "nodes" and ends == "name":
        pytest.skip("in node-link JSON ends are ids")
    edge = {"source": GIRL[ends], "target": HEN[ends], "type": "기른다"}
    more = {"description": "d", "weight": 2, "x": 1}
    graph = read(own_folder, {entities: [GIRL, HEN], relations: [edge | more]})
    assert told(graph) == [("점순", "기른다", "닭")]
    assert list(graph.entities.types) == ["PERSON", "ANIMAL"]
    assert list(graph.relations.descriptions) == ["d"]
    assert (graph.relations.weights.tolist(), list(graph.relations.details)) == ([2.0], ['{"x": 1}'])


def test_an_end_that_the_list_of_entities_lacks_is_counted(own_folder: Path) -> None:
    relations = [["Ann", "knows", "Zoe"], ["Zoe", "knows", "Ann"], ["Ann", "knows", "Ben"]]
    graph = read(own_folder, {"entities": ["Ann", "Zoe"], "relations": relations})
    assert (len(graph), len(graph.relations)) == (2, 2)
    assert graph.notes.lines()[0].startswith("1 relation left out because an endpoint does not exist")


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        (
            [["Ann", "knows"], ["Ann"]],
            "the file has: \"['Ann', 'knows']\", \"['Ann']\". Set them",
        ),
        ({"entities": [5], "relations": []}, "(left out) (such as entities[0]: 5)"),
        (
            {"entities": [{"age": 5}], "relations": []},
            "1 entity without an id and a name (left out)",
        ),
        ({"entities": ["Ann"], "things": []}, "its lists are 'entities', 'things'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(own_folder: Path, document: Any, wanted: str) -> None:
    with pytest.raises(GraphError) as refused:
        read(own_folder, document)
    assert wanted in str(refused.value)


@pytest.mark.parametrize("form", [networkx.cytoscape_data, networkx.node_link_data])
def test_networkx_in_its_other_forms(own_folder: Path, form: Any) -> None:
    own = networkx.DiGraph()
    own.add_node("점순", entity_type="PERSON")
    own.add_edge("점순", "닭", relation="기른다", weight=2.0)
    graph = read(own_folder, form(own))
    assert (told(graph), graph.relations.weights.tolist()) == ([("점순", "기른다", "닭")], [2.0])


NODES = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "점순"}},
    {"type": "node", "id": "1", "labels": ["Animal"], "properties": {"name": "닭"}},
]
RELATIONSHIP = {"id": "0", "type": "relationship", "label": "KEEPS", "start": {"id": "0"}, "end": {"id": "1"}}


@pytest.mark.parametrize("document", [[*NODES, RELATIONSHIP], {"nodes": NODES, "rels": [RELATIONSHIP]}])
@pytest.mark.parametrize("indent", [None, 2])
def test_apoc_as_one_document(own_folder: Path, document: Any, indent: int | None) -> None:
    graph = read(own_folder, json.dumps(document, indent=indent))
    assert (graph.origin.writer, told(graph)) == ("Neo4j (APOC)", [("점순", "KEEPS", "닭")])


RDF_XML = """\
<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:e="http://example.org/">
  <rdf:Description rdf:about="http://example.org/1"><rdfs:label xml:lang="ko">점순</rdfs:label>
    <e:keeps rdf:resource="http://example.org/2"/></rdf:Description>
  <rdf:Description rdf:about="http://example.org/2"><rdfs:label>닭</rdfs:label></rdf:Description>
</rdf:RDF>
"""
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
JSON_LD = {
    "@context": {"label": LABEL, "keeps": {"@id": "http://example.org/keeps", "@type": "@id"}},
    "@graph": [
        {"@id": "http://example.org/1", "label": "점순", "keeps": "http://example.org/2"},
        {"@id": "http://example.org/2", "label": "닭"},
    ],
}
TRIG = f"""\
@prefix e: <http://example.org/> .
e:g {{ e:1 <{LABEL}> "점순"@ko ; e:keeps e:2 . e:2 <{LABEL}> "닭" . }}
"""
QUADS = f"""\
<http://e/1> <{LABEL}> "점순"@ko <http://e/g> .
<http://e/2> <{LABEL}> "닭" <http://e/g> .
<http://e/1> <http://e/keeps> <http://e/2> <http://e/g> .
<http://e/1> <http://e/born> "1920"^^<http://www.w3.org/2001/XMLSchema#gYear> <http://e/g> .
"""


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("x.rdf", RDF_XML),
        ("x.owl", RDF_XML),
        ("x.jsonld", JSON_LD),
        ("x.json", json.dumps(JSON_LD)),
        ("x.trig", TRIG),
        ("x.nq", QUADS),
    ],
)
def test_rdf_in_its_other_forms(own_folder: Path, name: str, document: Any) -> None:
    pytest.importorskip("pyoxigraph")
    graph = read(own_folder, document, name)
    assert (graph.origin.writer, told(graph)) == ("RDF", [("점순", "keeps", "닭")])


def test_rdf_in_xml_with_a_document_type_is_refused(own_folder: Path) -> None:
    pytest.importorskip("pyoxigraph")
    bomb = '<!DOCTYPE rdf:RDF [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    with pytest.raises(GraphError, match="document type declaration"):
        read(own_folder, RDF_XML.replace("?>\n", f"?>\n{bomb}\n", 1), "x.owl")


def test_a_key_without_a_name_is_no_list_of_entities(own_folder: Path) -> None:
    document = {"": [{"data": {"id": "a"}}], "edges": [{"data": {"source": "a", "target": "b"}}]}
    assert len(read(own_folder, {"elements": document}).entities) == 2


def triples(graph: KnowledgeGraph) -> list[tuple[str, str, str, float]]:
    weights = graph.relations.weights.tolist()
    return [(*fact, weight) for fact, weight in zip(told(graph), weights, strict=True)]


@pytest.mark.parametrize(("form", "write"), [("gexf", networkx.write_gexf), ("gml", networkx.write_gml)])
def test_gexf_and_gml_as_networkx_writes_them(own_folder: Path, form: str, write: Any) -> None:
    own = networkx.MultiDiGraph()
    own.add_node("점순", type="PERSON", description="a girl")
    own.add_node("Rooster <&>", type="ANIMAL")
    own.add_node("Alone")
    own.add_edge("점순", "Rooster <&>", label="owns", weight=2.5)
    own.add_edge("점순", "Rooster <&>", label="feeds")
    write(own, own_folder / f"yard.{form}")
    graph = read_graph(own_folder / f"yard.{form}")
    assert (graph.origin.writer, graph.origin.is_undirected) == (form.upper(), False)
    assert list(graph.entities.names) == ["점순", "Rooster <&>", "Alone"]
    assert list(graph.entities.types) == ["PERSON", "ANIMAL", "OTHER"]
    assert list(graph.entities.descriptions) == ["a girl", "", ""]
    assert triples(graph) == [
        ("점순", "owns", "Rooster <&>", 2.5),
        ("점순", "feeds", "Rooster <&>", 1.0),
    ]


def test_gml_that_is_cut_off_is_told_how_to_become_graphml(own_folder: Path) -> None:
    with pytest.raises(GraphError, match=r"x\.gml: networkx can't read it as GML: .*Save it as GraphML"):
        read(own_folder, 'graph\n[\n node\n [\n id 1\n label "A"\n ]\n', "x.gml")


@pytest.mark.parametrize("root", ["graphml", "gexf"])
def test_xml_without_its_declaration_is_no_rdf(own_folder: Path, root: str) -> None:
    own = networkx.DiGraph([("Ann", "Ben")])
    (networkx.write_graphml if root == "graphml" else networkx.write_gexf)(own, own_folder / "whole")
    text = (own_folder / "whole").read_text(encoding="utf-8")
    (own_folder / "g").write_text(text[text.index(f"<{root}") :], encoding="utf-8")
    graph = read_graph(own_folder / "g")
    assert (graph.origin.writer.casefold(), list(graph.entities.names)) == (root, ["Ann", "Ben"])


TURTLE = """\
@prefix e: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
e:jim a e:Person ; rdfs:label "Jim Hawkins"@en, "짐 호킨스"@ko ; skos:altLabel "Jim" ;
    rdfs:comment "tells the story" ; e:age 13 ; e:servesOn e:Hispaniola, e:Ben_Gunn%27s_boat .
e:servesOn rdfs:label "serves on" .
"""
NAMESPACES = {
    "rdfs:label": "http://www.w3.org/2000/01/rdf-schema#label",
    "skos:altLabel": "http://www.w3.org/2004/02/skos/core#altLabel",
    "rdfs:comment": "http://www.w3.org/2000/01/rdf-schema#comment",
    "a": "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
}
LINES = [  # the same, by hand
    ("jim", "a", "<http://example.org/Person>"),
    ("jim", "rdfs:label", '"Jim Hawkins"@en'),
    ("jim", "rdfs:label", '"\\uC9D0 \\uD638\\uD0A8\\uC2A4"@ko'),
    ("jim", "skos:altLabel", '"Jim"'),
    ("jim", "rdfs:comment", '"tells the story"'),
    ("jim", "e:age", '"13"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ("jim", "e:servesOn", "<http://example.org/Hispaniola>"),
    ("jim", "e:servesOn", "<http://example.org/Ben_Gunn%27s_boat>"),
    ("servesOn", "rdfs:label", '"serves on"'),
]


def n_triples() -> str:
    def iri(name: str) -> str:
        return NAMESPACES.get(name, f"http://example.org/{name.removeprefix('e:')}")

    return "".join(f"<http://example.org/{s}> <{iri(p)}> {o} .\n" for s, p, o in LINES)


@pytest.mark.parametrize(("name", "text"), [("island.ttl", TURTLE), ("island.nt", n_triples())])
def test_rdf_has_labels_as_names_and_literals_are_no_nodes(own_folder: Path, name: str, text: str) -> None:
    graph = read(own_folder, text, name)
    found = graph.entities
    assert graph.origin.writer == "RDF"
    assert list(found.names) == ["Jim Hawkins", "Hispaniola", "Ben Gunn's boat"]
    assert found.aliases[0] == ["짐 호킨스", "Jim"]
    assert (found.types[0], found.descriptions[0]) == ("Person", "tells the story")
    assert found.details[0] == '{"age": "13"}'
    assert triples(graph) == [
        ("Jim Hawkins", "serves on", "Hispaniola", 1.0),
        ("Jim Hawkins", "serves on", "Ben Gunn's boat", 1.0),
    ]
    assert [drop.count for drop in graph.origin.dropped] == [1]  # the predicate that the file describes


@pytest.mark.parametrize(("name", "text"), [("cut.ttl", TURTLE), ("cut.nt", n_triples())])
def test_cut_rdf_is_refused_with_its_line(own_folder: Path, name: str, text: str) -> None:
    with pytest.raises(GraphError, match=rf"{name}:\d+:\d+: not "):
        read(own_folder, text[: len(text) - 30], name)


def test_node_link_json_whose_graph_is_no_object_or_whose_id_is_empty(own_folder: Path) -> None:
    nodes = '"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]'
    assert len(read(own_folder, f'{{"directed": true, "multigraph": true, "graph": "x", {nodes}}}')) == 2
    graph = read(own_folder, f"{{{nodes}}}".replace('"id": "b"', '"id": ""'))
    assert (len(graph), graph.notes.count("entities without an id and a name (left out)")) == (2, 1)
    assert len(read(own_folder, f"{{{nodes}}}".replace('"id": "b"', '"size": 1'))) == 2


class Bomb:
    """Writes a file when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return exec, ("open('unpickled', 'w').write('x')",)


@pytest.mark.parametrize("name", ["graph_igraph_data.pklz", "graph.pickle", "graph.json", "graph.graphml"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_pickles_are_never_opened(own_folder: Path, run_cli, name: str, protocol: int) -> None:
    (own_folder / name).write_bytes(pickle.dumps({"graph": Bomb()}, protocol))
    done = run_cli("stats", "-g", f"./{name}", "--set", "running.graph_cache=false")
    assert done.exit_code == 2
    assert name in done.stderr
    assert not (own_folder / "unpickled").exists()


GRAPHML = '<graphml><graph edgedefault="directed"><node id="{}"/></graph></graphml>'
BOMB = '<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)


@pytest.mark.parametrize(
    ("head", "value"),
    [
        (f"{BOMB}]>", "&j;"),
        ('<!DOCTYPE g [<!ENTITY f SYSTEM "file:///etc/hostname">]>', "&f;"),
        ("<!DOCTYPE g>", "a"),
    ],
)
@pytest.mark.parametrize("root", ["graphml", "gexf"])
def test_a_document_type_is_refused_before_anything_is_expanded(
    own_folder: Path, head: str, value: str, root: str
) -> None:
    with pytest.raises(GraphError, match="document type declaration"):
        read(own_folder, head + GRAPHML.format(value).replace("graphml", root), f"x.{root}")


@pytest.mark.parametrize("encoding", ["UTF-Z", "cp949", "idna"])
def test_an_encoding_that_xml_readers_lack_is_told(own_folder: Path, encoding: str) -> None:
    with pytest.raises(GraphError, match="save it as UTF-8"):
        read(own_folder, f'<?xml version="1.0" encoding="{encoding}"?>' + GRAPHML.format("a"), "x.graphml")
