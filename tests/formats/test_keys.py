"""One vocabulary of keys: the same relations under whatever names, in every form that holds them."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import Result

from tests.formats.test_json_lists import told
from tiny_graph_rag import ask, load_graph
from tiny_graph_rag.errors import GraphError, UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.graphs.roles import Columns
from tiny_graph_rag.graph.model import KnowledgeGraph

FACTS = [("Ann", "keeps", "hen"), ("Ben", "keeps", "Ann"), ("hen", "pecks", "Ben")]
FORMS = ("json", "jsonl", "csv", "tsv", "parquet", "node-link", "json.gz", "csv.gz")


def write(folder: Path, form: str, records: Sequence[dict[str, Any]], stem: str = "facts") -> Path:
    """Records in a form, as its own library writes them."""
    path = folder / f"{stem}.{'json' if form == 'node-link' else form}"
    if form.endswith(".gz"):
        plain = write(folder, form.removesuffix(".gz"), records, stem)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    elif form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(records)), path)
    elif form in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(records[0]), delimiter="," if form == "csv" else "\t")
            writer.writeheader()
            writer.writerows(records)
    elif form == "jsonl":
        path.write_text(
            "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records), encoding="utf-8"
        )
    elif form == "node-link":
        path.write_text(json.dumps({"nodes": [], "links": list(records)}), encoding="utf-8")
    else:
        path.write_text(json.dumps(list(records), ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "keys",
    [
        ("subject", "predicate", "object"),
        ("Subject", "Relation", "Object"),
        ("head", "relation_type", "tail"),
        ("from", "relationship", "to"),
        ("src", "rel", "dst"),
        ("source_id", "interaction", "target_id"),
        ("start_node_id", "type", "end_node_id"),
        ("source_entity", "edge_type", "target_entity"),
        ("sourceEntityName", "relationType", "targetEntityName"),
        ("entity_a", "label", "entity_b"),
        ("entity1", "relation", "entity2"),
        ("entity_1", "relation", "entity_2"),
        ("node1", "label ", "node2"),
        ("head_entity", "relation", "tail_entity"),
        ("from_node", "name", "to_node"),
        ("주어", "서술어", "목적어"),
        ("主语", "谓语", "宾语"),
        ("头实体", "关系", "尾实体"),
        ("compoundA", "predicate", "compoundB"),
    ],
)
def test_the_same_relations_under_other_names(
    own_folder: Path, form: str, keys: tuple[str, str, str]
) -> None:
    graph = read_graph(write(own_folder, form, [dict(zip(keys, fact, strict=True)) for fact in FACTS]))
    assert told(graph) == FACTS
    assert len(graph) == 3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("keys", "document"),
    [
        (("subject", "predicate", "object"), "source"),
        (("head", "relation", "tail"), "source"),
        (("from", "relation", "to"), "source"),
        (("src_id", "relation", "tgt_id"), "source_id"),
        (("source", "relation", "target"), "source_id"),
    ],
)
def test_a_document_under_source_is_no_end(
    own_folder: Path, form: str, keys: tuple[str, str, str], document: str
) -> None:
    records = [{**dict(zip(keys, fact, strict=True)), document: "story.txt"} for fact in FACTS]
    graph = read_graph(write(own_folder, form, records))
    assert told(graph) == FACTS
    assert list(graph.relations.source_chunks) == [["story.txt"]] * 3


@pytest.mark.parametrize("form", ["json", "csv", "parquet", "jsonl"])
def test_names_and_types_of_both_ends(own_folder: Path, form: str) -> None:
    records = [
        {"source_id": "1", "source_name": "Ann", "source_type": "GIRL", "relation": "keeps", "weight": 2.5,
         "target_id": "2", "target_name": "Hen", "target_type": "ANIMAL"},
    ]  # fmt: skip
    graph = read_graph(write(own_folder, form, records))
    assert told(graph) == [("Ann", "keeps", "Hen")]
    assert (list(graph.entities.ids), list(graph.entities.types)) == (["1", "2"], ["GIRL", "ANIMAL"])
    assert graph.relations.weights.tolist() == [2.5]


def linked(folder: Path, nodes: list[Any], links: list[Any], **more: Any) -> KnowledgeGraph:
    path = folder / "graph.json"
    path.write_text(
        json.dumps({"nodes": nodes, "links": links, **more}, ensure_ascii=False), encoding="utf-8"
    )
    return read_graph(path)


def names_and_types(graph: KnowledgeGraph) -> list[tuple[str, str]]:
    return list(zip(graph.entities.names, graph.entities.types, strict=True))


def test_few_labels_are_types_and_many_are_names(own_folder: Path) -> None:
    people = [{"id": name, "label": "Person"} for name in ("Anna", "Ben", "Cy")]
    towns = [{"id": "Dover", "label": "Town"}]
    link = {"source": "Anna", "target": "Dover", "label": "lives in"}
    found = linked(own_folder, people + towns, [link])
    assert names_and_types(found) == [
        ("Anna", "Person"),
        ("Ben", "Person"),
        ("Cy", "Person"),
        ("Dover", "Town"),
    ]
    assert told(found) == [("Anna", "lives in", "Dover")]
    assert names_and_types(linked(own_folder, [{"id": "Anna", "label": "Person"}], [])) == [
        ("Anna", "Person")
    ]
    named = [{"id": f"n{number}", "label": name} for number, name in enumerate(("Anna", "Ben", "Cy"))]
    assert [name for name, _ in names_and_types(linked(own_folder, named, []))] == ["Anna", "Ben", "Cy"]
    typed = [{"id": 1, "label": "Anna", "type": "Person"}, {"id": 2, "label": "Anna", "type": "Person"}]
    assert names_and_types(linked(own_folder, typed, [])) == [("Anna", "Person"), ("Anna", "Person")]
    both = [{"id": 1, "name": "Anna", "label": "Person"}, {"id": 2, "name": "Ben", "label": "Person"}]
    assert names_and_types(linked(own_folder, both, [])) == [("Anna", "Person"), ("Ben", "Person")]


@pytest.mark.parametrize(
    "key", ["node_type", "nodeType", "entity_type", "labels", "category", "kind", "유형"]
)
def test_types_of_entities(own_folder: Path, key: str) -> None:
    value: Any = ["Person", "__Entity__"] if key == "labels" else "Person"
    found = linked(own_folder, [{"id": "Anna", key: value}, {"id": "Ben", key: value}], [])
    assert names_and_types(found) == [("Anna", "Person"), ("Ben", "Person")]


def test_ends_are_names_where_ids_are_numbers(own_folder: Path) -> None:
    nodes = [{"id": number, "name": name} for number, name in enumerate(("Ann", "Ben", "hen"), start=1)]
    links = [{"source": source, "type": type, "target": target} for source, type, target in FACTS]
    assert told(linked(own_folder, nodes, links)) == FACTS
    links = [{"source": source.upper(), "type": type, "target": target} for source, type, target in FACTS]
    assert told(linked(own_folder, nodes, links)) == FACTS


def test_links_by_place_as_d3_has_them(own_folder: Path) -> None:
    nodes = [{"name": "Ann", "group": 1}, {"name": "Ben", "group": 1}, {"name": "hen", "group": 2}]
    links = [{"source": 0, "target": 2, "value": 8}, {"source": 1, "target": 0, "value": 3}]
    graph = linked(own_folder, nodes, links)
    assert told(graph) == [("Ann", "RELATED_TO", "hen"), ("Ben", "RELATED_TO", "Ann")]
    assert graph.relations.weights.tolist() == [8.0, 3.0]


def test_a_graph_that_loses_most_of_its_relations_is_refused(own_folder: Path) -> None:
    links = [{"source": f"x{number}", "target": "Ann"} for number in range(3)]
    sound = [{"source": "Ann", "target": "Ben"}] * 2
    with pytest.raises(
        GraphError, match=r"3 of 5 relations have an end that is neither the id nor the name .*'x0'"
    ):
        linked(own_folder, [{"id": "Ann"}, {"id": "Ben"}], links + sound)
    graph = linked(own_folder, [{"id": "Ann"}, {"id": "Ben"}], links[:2] + sound)
    assert len(graph.relations) == 2
    kg = {
        "entities": {"e1": {"name": "Ann"}},
        "relationships": [{"source_entity_id": "e1", "target_entity_id": "e2"}],
    }
    (own_folder / "a-KG.json").write_text(json.dumps(kg), encoding="utf-8")
    with pytest.raises(GraphError, match="1 of 1 relations"):
        read_graph(own_folder / "a-KG.json")


@pytest.mark.parametrize("names", [("1", "2", "3"), ("Q42", "Q5", "Q1"), ("/m/01", "/m/02", "/m/0x_y")])
def test_names_that_look_like_ids_are_said(own_folder: Path, names: tuple[str, str, str]) -> None:
    path = write(
        own_folder, "csv", [{"source": names[0], "relation": "r", "target": name} for name in names[1:]]
    )
    assert "have names that look like ids: is there a table of names?" in "\n".join(
        read_graph(path).notes.lines()
    )
    path = write(
        own_folder, "csv", [{"source": "Ann", "relation": "r", "target": name} for name in names[1:]]
    )
    assert "look like ids" not in "\n".join(read_graph(path).notes.lines())


@pytest.mark.parametrize("form", ["csv", "json"])
def test_gephis_directedness_is_no_type(own_folder: Path, form: str) -> None:
    records = [
        {"Source": "Ann", "Target": "Ben", "Type": "Undirected", "Id": 0, "Label": "knows", "Weight": 2}
    ]
    graph = read_graph(write(own_folder, form, [*records, {**records[0], "Source": "Cy"}]))
    assert told(graph) == [("Ann", "knows", "Ben"), ("Cy", "knows", "Ben")]
    assert graph.origin.is_undirected
    graph = read_graph(write(own_folder, form, [{**records[0], "Type": "Directed"}]))
    assert not graph.origin.is_undirected


GRAPHML = """<graphml><graph edgedefault="{default}"><node id="Ann"/><node id="Ben"/><node id="Cy"/>
<edge source="Ann" target="Ben"/><edge source="Ben" target="Cy"{own}/></graph></graphml>"""


@pytest.mark.parametrize(
    ("default", "own", "reached"),
    [("undirected", "", ["Ann", "Cy"]), ("directed", "", ["Cy"]), ("undirected", ' directed="true"', ["Cy"])],
)
def test_undirected_edges_are_walked_both_ways(
    own_folder: Path, default: str, own: str, reached: list[str]
) -> None:
    (own_folder / "g.graphml").write_text(GRAPHML.format(default=default, own=own), encoding="utf-8")
    graph = load_graph(own_folder / "g.graphml")
    found = ask(graph, "Who knows Ben?", hops=1, direction="out", exclude_seeds=True, retriever="bfs-plain")
    assert sorted(found.names) == reached


def test_an_unknown_header_is_refused_with_its_columns_and_named_by_hand(
    own_folder: Path, run_cli: Callable[..., Result]
) -> None:
    records = [{"who": a, "does": b, "whom": c, "when": "1936"} for a, b, c in FACTS]
    path = write(own_folder, "csv", records)
    with pytest.raises(GraphError, match=r"first line is: who, does, whom, when.*--columns source=COLUMN"):
        read_graph(path)
    named = "source=who,relation=does,target=whom"
    assert told(read_graph(path, columns=Columns.of(named))) == FACTS
    done = run_cli("stats", "-g", str(path), "--columns", named)
    assert (done.exit_code, "keeps" in done.output) == (0, True), done.output
    (own_folder / "facts-columns.yaml").write_text(
        "source: who\nrelation: does\ntarget: whom\n", encoding="utf-8"
    )
    assert told(read_graph(path)) == FACTS
    assert read_graph(path).sha256 != read_graph(path, columns=Columns.of(f"{named},weight=when")).sha256
    with pytest.raises(
        GraphError, match="no column 'whose' for target; the file has: 'who', 'does', 'whom', 'when'"
    ):
        read_graph(path, columns=Columns.of("source=who,target=whose"))
    path.write_text("who,does,whom\nAnna,keeps,Rex\n", encoding="utf-8")
    with pytest.raises(GraphError, match="--columns source=COLUMN"):  # a header though it lacks an end
        read_graph(path, columns=Columns.of("source=who,relation=does"))
    with pytest.raises(UsageError, match="sauce"):
        Columns.of("sauce=who")


@pytest.mark.parametrize("form", ["json", "jsonl", "parquet", "tsv"])
def test_columns_named_by_hand_in_every_form(own_folder: Path, form: str) -> None:
    records = [{"who": a, "does": b, "whom": c, "when": "1936"} for a, b, c in FACTS]
    path = write(own_folder, form, records)
    assert told(read_graph(path, columns=Columns.of("source=who,relation=does,target=whom"))) == FACTS


def test_three_columns_of_something_else_are_no_facts(own_folder: Path) -> None:
    (own_folder / "t.csv").write_text(
        "file_name,description,type\na.pdf,A bill,pdf\nb.pdf,A letter,pdf\n", "utf-8"
    )
    with pytest.raises(
        GraphError, match=r"the first line is: file_name, description, type\. If .* entities alone, add"
    ):
        read_graph(own_folder / "t.csv")
    (own_folder / "t.csv").write_text("begin,stop,speaker\n1.5,2.5,S1\n2.5,7.0,S2\n", "utf-8")
    with pytest.raises(GraphError, match="--columns source=begin,relation=stop,target=speaker"):
        read_graph(own_folder / "t.csv")


def test_a_fact_whose_words_a_header_may_have_is_one(own_folder: Path) -> None:
    (own_folder / "t.csv").write_text("Start of war,precedes,End of war\nWar,is,bad\n", "utf-8")
    assert told(read_graph(own_folder / "t.csv"))[0] == ("Start of war", "precedes", "End of war")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonl", "json", "node-link", "json.gz"])
def test_a_long_first_record_changes_nothing(own_folder: Path, form: str) -> None:
    long = "가" * 70_000
    records = [
        {"note": long if number == 0 else "", "head": a, "relation": b, "tail": c}
        for number, (a, b, c) in enumerate(FACTS)
    ]
    graph = read_graph(write(own_folder, form, records))
    assert told(graph) == FACTS
    nodes = [{"id": "Ann", "note": long}, {"id": "Ben"}, {"id": "hen"}]
    links = [{"source": a, "type": b, "target": c} for a, b, c in FACTS]
    assert told(linked(own_folder, nodes, links, graph={"about": long})) == FACTS
    cognee = {
        "id": "1",
        "name": "Ann",
        "type": "Entity",
        "description": long,
        "topological_rank": 0,
        "ontology_valid": True,
    }
    (own_folder / "c.json").write_text(json.dumps({"nodes": [cognee], "edges": []}), encoding="utf-8")
    assert read_graph(own_folder / "c.json").origin.writer == "Cognee"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_formula_is_guarded_and_read_as_it_was(
    own_folder: Path, run_cli: Callable[..., Result], name: str
) -> None:
    names = ["=1+1", "@sum", "-x", "'quoted", "'=kept", "plain"]
    kg = {
        "entities": {name: {"name": name} for name in names},
        "relationships": [
            {
                "source_entity_id": name,
                "target_entity_id": "plain",
                "relationship_type": "+is",
                "description": "=cmd|x",
            }
            for name in names[:-1]
        ],
    }
    (own_folder / "a-KG.json").write_text(json.dumps(kg), encoding="utf-8")
    assert run_cli("convert", "-g", "a-KG.json", "-o", f"./{name}").exit_code == 0
    with (own_folder / name).open(encoding="utf-8", newline="") as stream:
        cells = [
            cell for row in csv.reader(stream, delimiter="\t" if name == "a.tsv" else ",") for cell in row
        ]
    assert not [cell for cell in cells if cell[:1] in "=+-@" and cell]
    graph = read_graph(own_folder / name)
    assert sorted(graph.entities.names) == sorted(names)
    assert set(graph.relations.types) == {"+is"}
    assert set(graph.relations.descriptions) == {"=cmd|x"}
