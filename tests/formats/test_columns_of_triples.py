"""Triples and Parquet pairs come as columns; what that spares changes nothing of the graph."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from tests.formats.test_json_lists import read, told
from tiny_graph_rag.columns.strings import Strings
from tiny_graph_rag.errors import GraphError
from tiny_graph_rag.formats.graphs import read_graph


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
