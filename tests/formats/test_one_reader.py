"""Graphs, gold sets and runs are recognised, read and named by the same few functions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_graph_rag.errors import DatasetError, GraphError, InputError, RunError
from tiny_graph_rag.formats.detection import Head
from tiny_graph_rag.formats.gold import read_gold
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.formats.graphs.base import GRAPH_FORMATS
from tiny_graph_rag.formats.runs import read_run
from tiny_graph_rag.formats.tables import read_table
from tiny_graph_rag.inputs import GRAPH_ENDINGS

LONG = "x" * 200_000  # longer than the head that is looked at, and than csv's own limit on a field


def test_the_head_of_a_long_first_line_is_the_whole_line_and_of_no_file_empty(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    rows = [{"query": LONG, "reference_entities": ["Bob"]}, {"query": "Who?", "reference_entities": ["Cy"]}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert Head(path).first == rows[0]
    assert [example.query for example in read_gold(path)] == [LONG, "Who?"]
    assert Head(tmp_path / "none").text == ""


def test_a_cell_may_be_long_in_graphs_gold_sets_and_runs_alike(tmp_path: Path) -> None:
    graph, gold, run = tmp_path / "g.csv", tmp_path / "q.csv", tmp_path / "r.csv"
    graph.write_text(f"source,relation,target,description\nAnn,KNOWS,Bob,{LONG}\n")
    gold.write_text(f"query,references\n{LONG},Bob\n")
    run.write_text(f"query_id,doc_id,score,text\nQ1,d1,0.5,{LONG}\n")
    assert list(read_graph(graph).relations.descriptions) == [LONG]
    assert read_gold(gold)[0].query == LONG
    assert read_run(run).rankings["Q1"][0].text == LONG


@pytest.mark.parametrize(
    ("read", "failure", "line"),
    [
        (read_gold, DatasetError, '{"id": "Q1", "query": "Who?", "reference_entities": ["Bob"]}'),
        (read_run, RunError, '{"id": "Q1", "entities": ["Bob"]}'),
        (read_graph, GraphError, '{"subject": "Ann", "predicate": "KNOWS", "object": "Bob"}'),
    ],
)
def test_a_broken_line_is_named_and_only_the_last_may_be_cut_off(
    read, failure: type[InputError], line: str, tmp_path: Path
) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text(f"{line}\n{line[:-4]}\n{line}\n")
    with pytest.raises(failure, match=r"lines\.jsonl:2:\d+: not JSON") as inside:
        read(path)
    assert "cut off" not in str(inside.value)
    path.write_text(f"{line}\n{line[: line.rindex(':') + 1]}")
    with pytest.raises(failure, match=r"lines\.jsonl:2:\d+: not JSON.*; the file seems cut off"):
        read(path)


def test_a_run_is_known_by_the_same_ids_as_a_gold_set(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"sample_id": 7, "entities": ["Bob"]}\n{"user_query": "Who?", "entities": ["Cy"]}\n')
    assert list(read_run(path).rankings) == ["7", "Who?"]


def test_a_file_that_may_be_a_graph_is_known_by_its_suffix() -> None:
    suffixes = {suffix for name in GRAPH_FORMATS.table for suffix in GRAPH_FORMATS[name].suffixes}
    others = {".jsonl", ".ndjson", ".yaml", ".yml"}  # mostly gold sets and settings
    assert suffixes - others == set(GRAPH_ENDINGS)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('Who?,"Ann\nWho else?,Ben\n', 2),
        ('Who?,Ann\n"Who\nelse?",Ben\nWho,"C\n', 5),
        ('Who?,"Ann', 2),
        ('"Who\nwas it?",Ann\n', None),
        ('Who?,"Ann ""the"" Boss"\n', None),
    ],
)
def test_a_quotation_mark_that_none_closes_takes_in_no_rows(
    tmp_path: Path, rows: str, line: int | None
) -> None:
    """A file that was cut off would lose its last questions without a word."""
    path = tmp_path / "gold.csv"
    path.write_text(f"question,references\n{rows}", encoding="utf-8")
    if line is None:
        assert len(list(read_table(path)[1])) == 1
    else:
        with pytest.raises(InputError, match=f"gold.csv:{line}: a quotation mark opens a cell"):
            list(read_table(path)[1])
