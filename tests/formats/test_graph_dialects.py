"""GEXF, N-Triples and Turtle, and what no reader opens: pickles, document types."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import networkx
import pytest

from tests.formats.test_json_lists import read, told
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.model import KnowledgeGraph


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
    with pytest.raises(GraphError, match=r"nodes\[1\]: wanted 'id' or 'name'"):
        read(own_folder, f"{{{nodes}}}".replace('"id": "b"', '"id": ""'))


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
