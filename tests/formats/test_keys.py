"""One vocabulary of keys: the same relations under whatever names, in every form that holds them; triples and
Parquet come as columns, which changes nothing of the graph."""

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

from tests.conftest import kg
from tests.formats.test_json_lists import read, told
from tiny_graph_rag import ask, load_graph
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.errors import GraphError, UsageError
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.graphs.base import Columns
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


@pytest.mark.parametrize("form", ["json", "csv"])  # every form has a test of its own below
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
    return read(folder, {"nodes": nodes, "links": links, **more})


def names_and_types(graph: KnowledgeGraph) -> list[tuple[str, str]]:
    return list(zip(graph.entities.names, graph.entities.types, strict=True))


KIND_KEYS = ("node_type", "nodeType", "entity_type", "category", "kind", "유형")
PERSONS = [(name, "Person") for name in ("Anna", "Ben", "Cy")]


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        ([{"id": name, "label": label} for name, label in [*PERSONS, ("Dover", "Town")]], PERSONS),
        ([{"id": "Anna", "label": "Person"}], PERSONS[:1]),
        ([{"id": f"n{n}", "label": name} for n, (name, _) in enumerate(PERSONS)], [("Anna", "OTHER")]),
        ([{"id": n, "label": "Anna", "type": "Person"} for n in (1, 2)], PERSONS[:1] * 2),
        ([{"id": name, "name": name, "label": "Person"} for name, _ in PERSONS], PERSONS),
        *(([{"id": name, key: type} for name, type in PERSONS], PERSONS) for key in KIND_KEYS),
        ([{"id": name, "labels": [type, "__Entity__"]} for name, type in PERSONS], PERSONS),
    ],
)
def test_few_labels_are_types_and_many_are_names(
    own_folder: Path, nodes: list[Any], wanted: list[tuple[str, str]]
) -> None:
    assert names_and_types(linked(own_folder, nodes, []))[: len(wanted)] == wanted


@pytest.mark.parametrize("spelled", [str, str.upper])
def test_ends_are_names_where_ids_are_numbers(own_folder: Path, spelled: Callable[[str], str]) -> None:
    nodes = [{"id": number, "name": name} for number, name in enumerate(("Ann", "Ben", "hen"), start=1)]
    links = [{"source": spelled(a), "type": type, "target": c} for a, type, c in FACTS]
    assert told(linked(own_folder, nodes, links)) == FACTS


def test_links_by_place_as_d3_has_them(own_folder: Path) -> None:
    nodes = [{"name": "Ann", "group": 1}, {"name": "Ben", "group": 1}, {"name": "hen", "group": 2}]
    links = [{"source": 0, "target": 2, "value": 8}, {"source": 1, "target": 0, "value": 3}]
    graph = linked(own_folder, nodes, links)
    assert told(graph) == [("Ann", "RELATED_TO", "hen"), ("Ben", "RELATED_TO", "Ann")]
    assert graph.relations.weights.tolist() == [8.0, 3.0]


def test_ends_of_most_relations_that_are_not_listed_are_entities_unless_none_is(own_folder: Path) -> None:
    nodes, sound = [{"id": "Ann"}, {"id": "Ben"}], [{"source": "Ann", "target": "Ben"}] * 2
    links = [{"source": f"x{number}", "target": "Ann"} for number in range(3)]
    graph = linked(own_folder, nodes, links + sound)
    assert (len(graph), len(graph.relations)) == (5, 5)
    assert "3 names at ends of relations that no table of entities lists" in "".join(graph.notes.lines())
    assert len(linked(own_folder, nodes, links[:1] + sound).relations) == 2
    with pytest.raises(GraphError, match=r"1 of 1 relations have an end that is neither the id nor the name"):
        linked(own_folder, nodes, [{"source": "x", "target": "y"}])
    with pytest.raises(GraphError, match="1 of 1 relations"):
        read(own_folder, kg(["Ann"], [("Ann", "R", "e2")]), "a-KG.json")


@pytest.mark.parametrize("names", [("1", "2", "3"), ("Q42", "Q5", "Q1"), ("/m/01", "/m/02", "/m/0x_y")])
def test_names_that_look_like_ids_are_said(own_folder: Path, names: tuple[str, str, str]) -> None:
    for source, is_said in ((names[0], True), ("Ann", False)):
        rows = [{"source": source, "relation": "r", "target": name} for name in names[1:]]
        notes = "\n".join(read_graph(write(own_folder, "csv", rows)).notes.lines())
        assert ("have names that look like ids: is there a table of names?" in notes) == is_said


@pytest.mark.parametrize(("id", "text"), [("_id", "text"), ("url", "body"), ("title", "body")])
def test_passages_without_relations_may_have_ids_for_names(own_folder: Path, id: str, text: str) -> None:
    rows = [{id: f"d{number}", "author": "Ann", text: f"It lies {number} miles away."} for number in range(3)]
    graph = read_graph(write(own_folder, "json", rows))
    assert (list(graph.entities.names), graph.notes.lines()) == (["d0", "d1", "d2"], [])


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("type", ["Undirected", "Directed"])
def test_gephis_directedness_is_no_type(own_folder: Path, form: str, type: str) -> None:
    record = {"Source": "Ann", "Target": "Ben", "Type": type, "Id": 0, "Label": "knows", "Weight": 2}
    graph = read_graph(write(own_folder, form, [record, {**record, "Source": "Cy"}]))
    assert told(graph) == [("Ann", "knows", "Ben"), ("Cy", "knows", "Ben")]
    assert graph.origin.is_undirected == (type == "Undirected")


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


BY_HAND = "source=who,relation=does,target=whom"


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet", "tsv"])
def test_columns_named_by_hand_in_every_form(own_folder: Path, form: str) -> None:
    path = write(own_folder, form, [{"who": a, "does": b, "whom": c, "when": "1936"} for a, b, c in FACTS])
    assert told(read_graph(path, columns=Columns.of(BY_HAND))) == FACTS
    if form != "csv":
        return
    with pytest.raises(GraphError, match=r"first line is: who, does, whom, when.*--columns source=COLUMN"):
        read_graph(path)
    missing = "no column 'whose' for target; the file has: 'who', 'does', 'whom', 'when'"
    with pytest.raises(GraphError, match=missing):
        read_graph(path, columns=Columns.of("source=who,target=whose"))
    named = own_folder / "facts-columns.yaml"
    named.write_text("source: who\nrelation: does\ntarget: whom\n", encoding="utf-8")
    assert told(read_graph(path)) == FACTS
    assert read_graph(path).sha256 != read_graph(path, columns=Columns.of(f"{BY_HAND},weight=when")).sha256


def test_a_header_is_one_though_it_lacks_an_end(own_folder: Path, run_cli: Callable[..., Result]) -> None:
    path = own_folder / "t.csv"
    path.write_text("who,does,whom\nAnna,keeps,Rex\n", encoding="utf-8")
    with pytest.raises(GraphError, match="--columns source=COLUMN"):
        read_graph(path, columns=Columns.of("source=who,relation=does"))
    with pytest.raises(UsageError, match="sauce"):
        Columns.of("sauce=who")
    assert "keeps" in run_cli("stats", "-g", path, "--columns", BY_HAND, code=0).output


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "file_name,description,type\na.pdf,A bill,pdf\nb.pdf,A letter,pdf\n",
            r"the first line is: file_name, description, type\. If .* entities alone, add",
        ),
        (
            "begin,stop,speaker\n1.5,2.5,S1\n2.5,7.0,S2\n",
            "--columns source=begin,target=speaker",
        ),
    ],
)
def test_three_columns_of_something_else_are_no_facts(own_folder: Path, table: str, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        read(own_folder, table, "t.csv")


def test_a_fact_whose_words_a_header_may_have_is_one(own_folder: Path) -> None:
    graph = read(own_folder, "Start of war,precedes,End of war\nWar,is,bad\n", "t.csv")
    assert told(graph)[0] == ("Start of war", "precedes", "End of war")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_formula_is_guarded_and_read_as_it_was(
    own_folder: Path, run_cli: Callable[..., Result], name: str
) -> None:
    names = ["=1+1", "@sum", "-x", "'quoted", "'=kept", "plain"]
    document = kg(names, [(name, "+is", "plain") for name in names[:-1]])
    for relation in document["relationships"]:
        relation["description"] = "=cmd|x"
    read(own_folder, document, "a-KG.json")
    run_cli("convert", "-g", "a-KG.json", "-o", f"./{name}", code=0)
    with (own_folder / name).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t" if name == "a.tsv" else ","))
    assert not [cell for row in rows for cell in row if cell and cell[0] in "=+-@"]
    graph = read_graph(own_folder / name)
    assert sorted(graph.entities.names) == sorted(names)
    assert set(graph.relations.types) == {"+is"}
    assert set(graph.relations.descriptions) == {"=cmd|x"}


def test_a_header_in_korean_is_no_triple(own_folder: Path) -> None:
    graph = read(own_folder, "\ufeff주어,관계,목적어,주어 유형\n김첨지,직업,인력거꾼,인물\n", "a.csv")
    assert told(graph) == [("김첨지", "직업", "인력거꾼")]
    assert list(graph.entities.types) == ["인물", "OTHER"]


@pytest.mark.parametrize(
    "text",
    [
        "Ann\tknows\tBen\nBen\tknows\t점순\n",
        '"source"\t"relation"\t"target"\n"Ann"\tknows\t"Ben"\nBen\tknows\t점순\n',
        "\ufeffAnn \tknows\tBen\r\n\r\n Ben\tknows\t\u3000점순\r\n",
        'source,relation,target,year\n"Ann",knows,Ben,1\n"Ben","knows","점순",2\n',
        "head;relation;tail;weight\nAnn;knows;Ben;\nBen;knows;점순;2\n",
    ],
)
def test_rows_keep_their_line_whatever_stands_around_the_cells(own_folder: Path, text: str) -> None:
    (own_folder / "t.csv").write_text(text, encoding="utf-8", newline="")
    graph = read_graph(own_folder / "t.csv")
    assert list(graph.entities.names) == ["Ann", "Ben", "점순"]
    first = 2 if "relation" in text else 1
    assert list(graph.relations.ids) == [f"line {first}", f"line {first + 1}"]


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        (" Ann", "Ann"),
        ("\u3000점순 ", "점순"),
        ('"Ann"', "Ann"),
        ('"say ""no"""', 'say "no"'),
        ('5" disk', '5" disk'),
        ('"Weird Al', '"Weird Al'),
        ("a\u2028b", "a\u2028b"),
        ("a\x0bb", "a\x0bb"),
        ("x;y", "x;y"),
        ('"x,y"', "x,y"),
        ("'q'", "'q'"),
        ("'=1+1", "=1+1"),
    ],
)
def test_quotes_and_odd_signs_of_a_cell(own_folder: Path, cell: str, name: str) -> None:
    text = f"source\trelation\ttarget\n{cell}\tknows\tBen\n"
    (own_folder / "t.tsv").write_text(text, encoding="utf-8", newline="")
    assert list(read_graph(own_folder / "t.tsv").entities.names) == [name, "Ben"]


def test_a_quote_that_tsv_never_closes_takes_no_line_with_it(own_folder: Path) -> None:
    text = '"Weird Al\tis\thuman\nAnn\tknows\tBen\n"Heroes\tis\tsong\n"Kim ""K"""\tis\thuman\n'
    names = list(read(own_folder, text, "t.tsv").entities.names)
    assert names == ['"Weird Al', "Ann", '"Heroes', 'Kim "K"', "human", "Ben", "song"]


def test_a_quote_that_csv_never_closes_is_told_with_the_lines_that_it_took(own_folder: Path) -> None:
    text = 'source,relation,target\nAnn,knows,Ben\n"Weird Al,is,human\nBen,knows,Ann\nBen,is,human\n'
    graph = read(own_folder, text, "t.csv")
    assert len(graph.relations) == 1
    assert graph.notes.lines()[0].startswith("3 lines with another number of fields (left out)")


def test_parquet_triples_keep_weights_descriptions_types_and_details(own_folder: Path) -> None:
    table = pyarrow.table(
        {
            "Subject": ["점순", " Ann ", None, "Ben"],
            "Predicate": ["knows", None, "x", "y"],
            "Object": ["Ann", "점순", "z", "1"],
            "weight": [1.5, None, 2, 3],
            "description": ["d e", None, "x", ""],
            "subject_type": ["GIRL", "", None, "MAN"],
            "year": [1936, 0, None, None],
            "vector": [[1.0], [2.0], [], None],
        }
    )
    pyarrow.parquet.write_table(table, own_folder / "t.parquet")
    graph = read_graph(own_folder / "t.parquet")
    assert list(graph.entities.names) == ["점순", "Ann", "Ben", "z", "1"]
    assert list(graph.entities.types) == ["GIRL", "OTHER", "MAN", "OTHER", "OTHER"]
    found = graph.relations
    assert list(found.ids) == ["row 1", "row 2", "row 4"]
    assert list(found.types) == ["knows", "RELATED_TO", "y"]
    assert list(found.descriptions) == ["d e", "", ""]
    assert found.weights.tolist() == [1.5, 1.0, 3.0]
    assert list(found.details) == ['{"year": 1936}', '{"year": 0}', ""]
    assert ("relations", "vector", "not used: list<element: double>") in graph.origin.columns


@pytest.mark.parametrize("numbers", [range(0), range(12), range(1, 2), range(8, 1203), range(100, 100)])
def test_numbered_labels(numbers: range) -> None:
    assert list(Strings.numbered("line ", numbers)) == [f"line {number}" for number in numbers]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.tsv", "source\trelation\ttarget\n", "the file has no entities"),
        ("t.csv", '"source","relation","target"\n\n', "the file has no entities"),
        ("t.nq", "PAR1<http://e/A> <http://e/knows> <http://e/B> .\n", "can't be read as Parquet"),
    ],
)
def test_what_holds_no_triples_is_told_so(own_folder: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        read(own_folder, text, name)
