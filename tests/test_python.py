"""The library: what docs/python.md shows runs and prints that, and its numbers are the command line's: means,
intervals, questions, recommendations."""

from __future__ import annotations

import contextlib
import io
import json
import pydoc
import re
import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import networkx
import pytest

import tiny_graph_rag
from tests.conftest import ROOT, read_json, write_gold, write_kg
from tiny_graph_rag import KnowledgeGraph, ask, compare, evaluate, load_graph, load_questions, score
from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import DatasetError, GraphError, TinyGraphRagError, UsageError

PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)
TRIPLES = [("Anna", "LIVES_IN", "Dover"), ("Anna", "SISTER_OF", "Ben"), ("Ben", "LIVES_IN", "Calais")]
TIMES = ("latency_seconds", "latency", "questions_per_second", "config", "made")


@pytest.mark.slow
def test_the_examples_of_the_page_print_what_stands_below_them(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "data" / "kg", own_folder / "data" / "kg")
    shutil.copytree(ROOT / "data" / "eval", own_folder / "data" / "eval")
    names: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) > 5
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == shown, code


def test_a_graph_is_loaded_with_the_vocabulary_beside_it(own_folder: Path) -> None:
    path = write_kg(own_folder / "films-KG.json", ["Ed Wood", "Ann"], [("Ed Wood", "written_by", "Ann")])
    (own_folder / "films-vocabulary.yaml").write_text("written_by: [screenplay]\n")
    assert load_graph(str(path)).vocabulary == {"written_by": ("screenplay",)}
    assert load_graph(path, vocabulary="none").vocabulary == {}


def test_records_triples_and_networkx_give_the_graph_that_a_file_gives(own_folder: Path) -> None:
    path = write_kg(own_folder / "x-KG.json", ["Anna", "Dover", "Ben", "Calais"], TRIPLES)
    records = read_json(path)
    graphs = [
        load_graph(path),
        KnowledgeGraph.from_triples(TRIPLES),
        KnowledgeGraph.from_records(records["entities"], records["relationships"]),
        KnowledgeGraph.from_networkx(load_graph(path).to_networkx()),
    ]
    edges = [
        sorted((a, d["relationship_type"], b) for a, b, d in graph.to_networkx().edges(data=True))
        for graph in graphs
    ]
    assert edges == [sorted(TRIPLES)] * 4
    assert len({tuple(ask(graph, "Where does Anna live?").names) for graph in graphs}) == 1


def test_any_networkx_graph_becomes_one() -> None:
    graph = networkx.Graph()
    graph.add_node(1, label="Anna", type="PERSON", age=9)
    graph.add_edge(1, 2, relation="KNOWS", weight=2)
    found = KnowledgeGraph.from_networkx(graph)
    assert list(found.entities.names) == ["Anna", "2"]
    assert found.entities.types[0] == "PERSON"
    assert json.loads(found.entities.details[0]) == {"age": 9}
    assert (found.relations.types[0], float(found.relations.weights[0])) == ("KNOWS", 2.0)


@pytest.mark.parametrize(
    ("broken", "error", "said"),
    [
        (lambda: KnowledgeGraph.from_triples([]), GraphError, "no entities"),
        (lambda: KnowledgeGraph.from_triples(["abc"]), GraphError, r"triples\[0\]: wanted"),
        (lambda: KnowledgeGraph.from_records([{}]), GraphError, r"entities\[0\]: 'name' is missing"),
        (
            lambda: KnowledgeGraph.from_records([{"name": "A"}, {"name": "A"}]),
            GraphError,
            "'A' is used already",
        ),
        (
            lambda: KnowledgeGraph.from_records([{"name": "A"}], [{"source_entity_id": "A"}]),
            GraphError,
            "'target_entity_id' is missing",
        ),
        (lambda: load_questions([]), DatasetError, "empty"),
        (lambda: load_questions([{"query": "Who?"}]), DatasetError, "question 1: 'reference_entities'"),
        (lambda: evaluate({"q": {}}, {"q": {}}), UsageError, r"score\(\)"),
        (lambda: ask(KnowledgeGraph.from_triples(TRIPLES), " "), UsageError, "must be words"),
        (
            lambda: ask(KnowledgeGraph.from_triples(TRIPLES), "Who?", hopps=2),
            UsageError,
            "'hopps'.*did you mean 'hops'",
        ),
    ],
)
def test_what_can_not_be_used_is_said_in_words(
    broken: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        broken()


def test_no_repr_floods_a_notebook(own_folder: Path) -> None:
    write_kg(own_folder / "x-KG.json", [f"entity {n}" for n in range(2000)])
    gold = write_gold(
        own_folder / "x-eval.jsonl",
        *({"query": f"Who is entity {n}?", "reference_entities": [f"entity {n}"]} for n in range(500)),
    )
    result = evaluate(own_folder / "x-KG.json", gold, hops=1)
    found = result.evaluation
    records = [result, found, ask(found.graph, "Who is entity 7?"), Config()]
    records += [getattr(found, name) for name in found.__struct_fields__]
    records += [getattr(found.graph, field.name) for field in fields(found.graph)]
    long = {
        type(record).__name__: len(repr(record)) for record in records if hasattr(record, "__match_args__")
    }
    assert len(long) > 10
    assert repr(found.examples) == "EvalSet('x-eval', 500 questions)"
    assert {name: length for name, length in long.items() if length > 2000} == {}


def test_a_notebook_shows_tables_of_what_is_compared(own_folder: Path) -> None:
    Path("qrels of two.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    runs = {
        "first": {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}},
        "second": {"q1": {"d9": 2.0, "d1": 1.0}, "q2": {}},
    }
    scored = {name: score(run, "qrels of two.txt", "mrr") for name, run in runs.items()}
    assert scored["second"].to_pandas()["mrr"].to_dict() == {"q1": 0.5, "q2": 0.0}
    found = compare(scored)
    table = found.to_pandas().set_index("system")
    assert table.loc["second", ["mean", "difference", "won", "lost"]].tolist() == [0.25, -0.75, 0, 2]


def test_help_begins_with_an_example_and_names_everything() -> None:
    text = pydoc.plain(pydoc.render_doc(tiny_graph_rag))
    overview = "\n".join(text.splitlines()[:60])
    assert "evaluate(graph, load_questions(" in overview
    named = {*tiny_graph_rag.PUBLIC} - {"__version__"}  # which has a section of its own
    assert [name for name in named if name not in text] == []
    assert tiny_graph_rag.__version__ in text.split("VERSION")[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda graph: load_graph(3), "wanted the path of a knowledge graph, got int"),
        (lambda graph: load_questions(5), "wanted the path of a gold set, or a list of records"),
        (lambda graph: evaluate(3, graph), "wanted the path of a gold set"),
        (lambda graph: ask(graph, "Who?", hops="2"), "hops must be a whole number, got the string '2'"),
        (lambda graph: ask(graph, "Who?", min_score=[1]), "min_score must be a number, got a list"),
        (lambda graph: KnowledgeGraph.from_networkx("x"), "wanted a networkx graph, got str"),
        (lambda graph: score(3, {}, "mrr"), "DataFrame with query_id, doc_id and score; got int"),
        (lambda graph: score("run.trec", {}, "mrr"), "run.trec: no such run"),
    ],
)  # fmt: skip
def test_what_is_of_another_kind_is_named(call: Callable[[KnowledgeGraph], object], message: str) -> None:
    with pytest.raises(TinyGraphRagError, match=message):
        call(KnowledgeGraph.from_triples(TRIPLES))


def test_measures_may_be_words_one_by_one() -> None:
    graph = KnowledgeGraph.from_triples(TRIPLES)
    questions = [{"query": "Where does Anna live?", "reference_entities": ["Dover"]}]
    assert list(evaluate(graph, questions, measures=["mrr", "recall@3"]).means) == ["mrr", "recall@3"]


GRAPH = ROOT / "data" / "kg" / "conan-doyle-speckled-band-KG.json"
GOLD = ROOT / "data" / "eval" / "conan-doyle-speckled-band-eval.jsonl"


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def about(count: int, make: Callable[[int], dict[str, Any]]) -> str:
    return lines(*({"id": f"q{n}", **make(n)} for n in range(count)))


GROUPED = about(
    60, lambda n: {"query": f"Question {n}?", "reference_entities": [f"e{n % 7}"], "group": f"g{n // 3}"}
)
RANKED = about(55, lambda n: {"retrieved": [f"e{n % 5}", "e1", "e1", f"e{n % 7}"]})
SHIPS = "ships lay at anchor."
TEXTS = about(40, lambda n: {"query": f"Question {n}?", "reference_texts": [f"The {n} {SHIPS}"]})
SAID = about(40, lambda n: {"retrieved": ["Nothing.", f"All of the {n % 30} {SHIPS}"]})
CHUNKS = about(40, lambda n: {"query": f"Question {n}?", "relevant_docs": [f"d{n}"]})
FETCHED = about(40, lambda n: {"retrieved_docs": ["d0", f"d{n % 30}"]})
PASSAGES = about(40, lambda n: {"passages": ["Nothing.", f"All of the {n % 30} {SHIPS}"]})
QRELS = "".join(f"q{n} 0 d{n % 4} {1 + n % 2}\nq{n} 0 d9 0\n" for n in range(40))
TREC = "".join(f"q{n} Q0 d{m} {m + 1} {1.5 - m // 2} r\n" for n in range(38) for m in range(5))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("gold", "run", "options", "keywords"),
    [
        (("gold.jsonl", GROUPED), ("run.jsonl", RANKED), (), {}),
        (("gold.jsonl", GROUPED), ("run.jsonl", RANKED), ("--measures", "contest_map@3,mrr"), {}),
        (("gold.jsonl", TEXTS), ("run.jsonl", SAID), ("--match", "rougeL"), {"match": "rougeL"}),
        (("gold.jsonl", CHUNKS), ("run.jsonl", FETCHED), (), {}),
        (("gold.jsonl", TEXTS), ("run.jsonl", PASSAGES), (), {}),
        (
            ("gold.jsonl", TEXTS),
            ("run.jsonl", PASSAGES),
            ("--measures", "passages:recall@5", "--match", "contains"),
            {"match": "contains"},
        ),
        (("qrels.txt", QRELS), ("run.trec", TREC), (), {}),
        (("qrels.txt", QRELS), ("run.trec", TREC), ("--ties", "trec"), {"ties": "trec"}),
    ],
)
def test_score(run_cli, tmp_path: Path, gold, run, options, keywords) -> None:
    paths = [tmp_path / name for name, _ in (run, gold)]
    for path, (_, text) in zip(paths, (run, gold), strict=True):
        path.write_text(text, encoding="utf-8")
    out = tmp_path / "out.json"
    run_cli("score --run", paths[0], "--gold", paths[1], *options, "-o", out, code=0)
    written = read_json(out)
    measures = options[1] if options[:1] == ("--measures",) else None
    found = tiny_graph_rag.score(paths[0], paths[1], measures, **keywords)
    for name, mean in written["summary"]["measures"].items():
        assert found.means.loc[name].to_dict() == {part: mean[part] for part in found.means.columns}
        values = {row["id"]: row["metrics"][name] for row in written["results"]}
        column = found.questions[name]
        assert column.astype(object).where(column.notna(), None).to_dict() == values


def without_times(path: Path) -> dict[str, Any]:
    """A results file but for when, how fast and by which settings of the program."""

    def timeless(found: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in found.items() if key not in TIMES}

    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), object_hook=timeless)
    return document


def rows_of(path: Path) -> dict[str, Any]:
    return read_json(path)["summary"]["measures"]


def test_score_on_a_graph(run_cli, tmp_path: Path) -> None:
    run, out = tmp_path / "run.jsonl", tmp_path / "out.json"
    given = ("--skip-generation", "--save-run", run, "-o", tmp_path / "e.json")
    run_cli("eval --dataset", GOLD, "-g", GRAPH, *given, code=0)
    run_cli("score --run", run, "--gold", GOLD, "-g", GRAPH, "-o", out, code=0)
    found = tiny_graph_rag.score(run, GOLD, graph=tiny_graph_rag.load_graph(GRAPH))
    written = rows_of(out).items()
    means = {name: {part: mean[part] for part in found.means.columns} for name, mean in written}
    assert found.means.to_dict("index") == means


def test_eval_sweep_and_compare(run_cli, tmp_path: Path) -> None:
    graph, questions = tiny_graph_rag.load_graph(GRAPH), tiny_graph_rag.load_questions(GOLD)
    given = ("--dataset", GOLD, "-g", GRAPH)
    results = {}
    for hops in (1, 3):
        out = tmp_path / f"{hops}.json"
        run_cli("eval --skip-generation --hops", hops, *given, "-o", out, code=0)
        results[hops] = tiny_graph_rag.evaluate(graph, questions, hops=hops)
        told, found = without_times(out), without_times(Path(results[hops].save(tmp_path / "saved.json")))
        assert told["summary"].pop("decision")["questions"] == 38  # asked by the command alone
        advice = [document["summary"].pop("recommendations") for document in (told, found)]
        assert advice[1] == [one for one in advice[0] if one["rule"] != "tried"]
        assert told == found
    out = tmp_path / "compared.json"
    run_cli("compare", tmp_path / "1.json", tmp_path / "3.json", "-o", out, code=0)
    compared = tiny_graph_rag.compare(results[1], results[3]).to_pandas()
    columns = {"difference_low": "low", "difference_high": "high", "p": "p_randomisation"}
    for name, rows in read_json(out)["measures"].items():
        mine = compared[compared["measure"] == name].iloc[1]
        for ours, theirs in columns.items():
            assert mine[ours] == rows[1][theirs]
    run_cli("sweep --hops 1-3", *given, "-o", tmp_path / "sweep.json", code=0)
    swept = read_json(tmp_path / "sweep.json")
    found = tiny_graph_rag.sweep(graph, questions, hops=(1, 2, 3))
    wanted = swept["settings"][swept["recommended"]["overall"]["setting"]]
    assert found.recommended is not None
    assert found.recommended["hops"] == wanted["hops"]
