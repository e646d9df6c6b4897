"""What results are called, and what is said of them first."""

from __future__ import annotations

import json

from tests.report.make_results import results
from tiny_graph_rag.report.headline import headline
from tiny_graph_rag.report.tables import worst_questions
from tiny_graph_rag.study.compare import align
from tiny_graph_rag.study.results_file import read_system


def test_names_are_labels_or_files_without_their_endings(tmp_path) -> None:
    made = results(3, 3)
    (tmp_path / "more").mkdir()
    named = {"x-results.json": "BM25, tuned", "dpr-results.json": None, "more/dpr-results.json": None}
    for name, label in named.items():
        (tmp_path / name).write_text(json.dumps(made | {"made": {"label": label}}), encoding="utf-8")
    systems = align([read_system(tmp_path / name) for name in named])
    assert [system.name for system in systems] == ["BM25, tuned", "dpr", "dpr (2)"]


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
