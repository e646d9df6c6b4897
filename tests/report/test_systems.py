"""Results side by side: a paper's table that compiles."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.report.make_results import results
from tiny_graph_rag.report.document import Document, read_document, system_names
from tiny_graph_rag.report.headline import headline
from tiny_graph_rag.report.reports import write_reports
from tiny_graph_rag.report.tables import worst_questions


def document(path: Path, content: dict) -> Document:
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_document(path)


def test_names_are_labels_or_files_without_their_endings(tmp_path) -> None:
    made = results(3, 3)
    labelled = document(tmp_path / "x-results.json", made | {"made": {"label": "BM25, tuned"}})
    plain = document(tmp_path / "dpr-results.json", made)
    (tmp_path / "more").mkdir()
    same = document(tmp_path / "more" / "dpr-results.json", made)
    assert system_names([labelled, plain, same]) == ["BM25, tuned", "dpr", "dpr (2)"]


def moved(content: dict, measure: str, by: float) -> dict:
    """The same results with `measure` changed in every question, and in its mean."""
    copy = json.loads(json.dumps(content))
    for question in copy["results"]:
        if question["metrics"][measure] is not None:
            question["metrics"][measure] = min(1.0, max(0.0, question["metrics"][measure] + by))
    values = [row["metrics"][measure] for row in copy["results"] if row["metrics"][measure] is not None]
    copy["summary"]["measures"][measure]["mean"] = sum(values) / len(values)
    return copy


@pytest.fixture
def systems(tmp_path) -> list[Document]:
    base = results(60, 120, seed=1)
    base["dataset"]["name"] = "50 % of A_B & C"
    hostile = moved(base, "ndcg@5", -0.3) | {"made": {"label": "x_1 \\input{a} & <b>|$"}}
    return [document(tmp_path / "first-results.json", base), document(tmp_path / "other.json", hostile)]


def test_the_papers_table_has_the_best_in_bold_and_marks_what_differs(tmp_path, systems) -> None:
    ((path,), _) = write_reports(systems, ["paper"], tmp_path / "out")
    text = path.read_text(encoding="utf-8")
    first, second = [line for line in text.splitlines() if line.startswith(("    first ", "    x"))]
    assert re.search(r"\\textbf\{0\.\d{3}\} \\\\$", first), "ndcg@5 is the last column"
    assert re.search(r"& 0\.\d{3}\$\^\\dagger\$ \\\\$", second)
    assert second.count("dagger") == 1, "the other measures are the same"
    assert "questions with a reference" in text
    assert r"x\_1 \textbackslash{}input\{a\} \& \textless{}b\textgreater{}\textbar{}\$" in second


def test_the_papers_table_is_written_to_the_file_named(tmp_path, systems) -> None:
    assert write_reports(systems, ["paper"], tmp_path / "table.tex")[0] == [tmp_path / "table.tex"]
    assert (tmp_path / "table.tex").read_text(encoding="utf-8").startswith("% In the preamble")


def answered(*questions: tuple[int, int]) -> dict:
    """A result of questions with (found, missed) references, a tag `t` on the last five."""
    rows = [
        {
            "id": f"q{row}",
            "query": "?",
            "tags": ["t"] if row >= len(questions) - 5 else [],
            "linked": [],
            "ranked": [],
            "references": [{"name": f"n{at}", "entity_ids": []} for at in range(found + missed)],
            "metrics": {"mrr": float(missed == 0)},
            "tp": [f"n{at}" for at in range(found)],
            "fn": [f"n{at}" for at in range(missed)],
        }
        for row, (found, missed) in enumerate(questions)
    ]

    def means(part: list[dict]) -> dict:
        known = [row["metrics"]["mrr"] for row in part if row["references"]]
        mean = sum(known) / len(known) if known else None
        return {"mrr": {"mean": mean, "low": 0.0, "high": 1.0, "n": len(known), "reliable": False}}

    tagged = [row for row in rows if row["tags"]]
    by_tag = {"t": {"questions": len(tagged), "measures": means(tagged)}}
    summary = {"k": 5, "questions": len(rows), "measures": means(rows), "by_tag": by_tag}
    return {"summary": summary, "results": rows}


def test_the_first_sentence_counts_whole_answers_and_parts() -> None:
    single = answered(*[(1, 0)] * 18, (0, 1))
    assert headline(single)[0] == "18 of 19 questions: the answer is among the first 5."
    assert headline(single)[1] == "Weakest: t (mrr 0.800 over 5 questions; 0.947 over all)."
    several = answered((2, 0), (1, 1), (0, 2), (0, 0))
    expected = "1 of 3 questions: the whole answer is among the first 5; 1 more in part."
    assert headline(several)[0] == expected
    assert headline(answered((1, 0)))[0] == "1 of 1 question: the answer is among the first 5."


def test_nothing_is_said_of_answers_that_nobody_judged() -> None:
    passages = answered((0, 1), (0, 1))
    passages["summary"]["measures"] = {"passages:recall@5": {"mean": 0.5, "n": 2}}
    passages["summary"]["by_tag"] = {}
    assert headline(passages) == []


def test_the_worst_are_those_below_1_and_undefined_is_no_loss() -> None:
    content = answered((1, 0), (0, 1), (0, 0), (0, 1))
    content["results"][0]["metrics"]["mrr"] = 0.1
    content["results"][2]["metrics"]["mrr"] = None
    assert worst_questions(content) == ("mrr", [1, 3, 0])
