"""Some hundred broken files into the commands that read them: no internal error, no traceback, no hang.

Which cases are made follows from the file's name and the case's number alone.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, write_gold, write_kg
from tests.tools.mutations import mutated
from tests.tools.workbook import workbook

pytestmark = pytest.mark.slow

CASES, SECONDS = 8, 10  # of CPU; what hangs takes minutes
PEOPLE = ["Anna Berg", "Ben", "점순", "나", "Mill", "Old Mill", "C"]
EDGES = [
    ["source", "relation", "target", "weight"],
    ["Ann", "knows", "Ben", "2"],
    ["Ben", "likes", "점순", "1"],
]
SET, GRAPH = "--dataset ./s-eval.jsonl", "-g ./s-KG.json"
OUT = "--skip-generation --set evaluation.latency_sample=0 --quiet -o ./out.json"
STATS = "stats -g {file}"
OF_GRAPH = (
    *(f"eval {SET} -g {{file}} {OUT}", f"validate {SET} -g {{file}}", "convert -g {file} -o ./out.graphml"),
    *(f"fix {SET} -g {{file}} -o ./fixes.yaml --quiet", "generate -g {file} -o ./made.jsonl --n 3 --quiet"),
)
OF_GOLD = (
    *(f"eval --dataset {{file}} {GRAPH} {OUT}", f"validate --dataset {{file}} {GRAPH}"),
    *("dataset merge {file} ./s-eval.jsonl -o ./merged.jsonl", "dataset convert {file} -o ./converted.csv"),
)
OF_QRELS = ("score --run run.trec --gold {file} --quiet -o ./scored.json",)
OF_RUN = (
    "score --run {file} --gold gold.qrels --quiet -o ./scored.json",
    f"score --run {{file}} --gold s-eval.jsonl {GRAPH} --quiet -o ./scored.json",
)
OF_RESULTS = (
    *("report {file} --report csv,html,md", "compare ./a-results.json {file} -o ./compared.json --quiet"),
    "history .",
)
EVAL = f"eval {SET} {GRAPH} {OUT}"
# A sound file → the commands that read it.
COMMANDS: dict[str, tuple[str, ...]] = {
    "broken-KG.json": OF_GRAPH,
    **dict.fromkeys(("g.tsv", "g.csv", "g.nt", "g.ttl", "g.rdf", "g.gexf", "g.gml", "g.net"), (STATS,)),
    **dict.fromkeys(("g.xlsx", "g.sqlite", "lists.json", "triples.json", "openie_results_x.json"), (STATS,)),
    "broken-eval.jsonl": (*OF_GOLD, f"curate --dataset {{file}} {GRAPH} --export -o ./curated.jsonl"),
    "questions.txt": (f"recommend --dataset {{file}} {GRAPH} -o ./drafted.jsonl",),
    "gold.csv": (*OF_GOLD[2:], *OF_QRELS),
    **dict.fromkeys(("rag.json", "broken.qrels"), OF_QRELS),
    **dict.fromkeys(("run.jsonl", "broken.trec", "run.csv", "run.json"), OF_RUN),
    **dict.fromkeys(("broken-results.json", "sweep.json", "scored-results.json"), OF_RESULTS),
    "config.yaml": (f"{EVAL} --config {{file}}",),
    "words.yaml": (f"{EVAL} --set retrieval.vocabulary={{file}}",),
    "patch.yaml": (f"{EVAL} --patch {{file}}", f"convert {GRAPH} -o ./out-KG.json --patch {{file}}"),
}
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
PATCH = """graph: {name: s}
questions: {name: s}
aliases: [{entity_id: Ben, alias: Benny, status: confirmed, evidence: [so], questions: [q1], gain: 0.1, n: 7}]
merges: [{keep_id: Mill, drop_ids: [Old Mill], status: confirmed}]
vocabulary: [{type: KNOWS, words: [know, 알다], status: confirmed}]
settings: [{values: {hops: 1}, status: confirmed}]
"""
TEXTS = {
    "g.tsv": "".join("\t".join(row) + "\n" for row in EDGES),
    "g.csv": 'head,relation,tail\n"Ann","lives\nin","Dover, Kent"\nBen,knows,Ann\n',
    "g.nt": '<http://e/A> <http://e/knows> <http://e/B> .\n_:b <http://e/n> "Ä"@en .\n',
    "g.ttl": "@prefix : <http://e/> .\n:A :knows :B, [ :n 1 ] ; a :Person .\n",
    "g.rdf": f'{RDF}<rdf:Description rdf:about="http://e/A"><e:n>1</e:n></rdf:Description></rdf:RDF>',
    "g.gexf": '<gexf version="1.3"><graph defaultedgetype="directed"><nodes><node id="a" label="A"/>'
    '<node id="b"/></nodes><edges><edge id="0" source="a" target="b" weight="2"/></edges></graph></gexf>',
    "g.gml": 'graph [ directed 1 node [ id 1 label "Ann" ] node [ id 2 ] edge [ source 1 target 2 ] ]\n',
    "g.net": '*Vertices 2\n1 "Ann" 0.1 0.2\n2 "Ben"\n*Arcs\n1 2 2.0 l "knows"\n',
    "lists.json": '{"entities": [{"id": "1", "name": "점순", "aliases": ["순이"]}, "B"],'
    ' "relations": [{"source": "1", "target": "B", "type": "knows"}, ["점순", "x", "B"]]}',
    "triples.json": '[["A", "knows", "B"], {"subject": "B", "predicate": "likes", "object": {"id": "점순"}}]',
    "openie_results_x.json": '{"docs": [{"idx": "c1", "passage": "Ann lives in Dover.",'
    ' "extracted_entities": ["Ann"], "extracted_triples": [["Ann", "lives in", "Dover"], ["x"]]}]}',
    "questions.txt": "Where does Ben live?\n점순은 누구를 사랑해?\n\nWho knows Anna Berg?\n",
    "gold.csv": "query_id,doc_id,score\nq1,Ben,1\nq2,C,1\n",
    "gold.qrels": "".join(f"q{n} 0 {'ABCD'[m]} {m % 3}\n" for n in range(7) for m in range(4)),
    "rag.json": '[{"query_id": "q1", "query": "x", "relevant_chunk_ids": ["C"], "tags": ["easy"]}]',
    "run.trec": "".join(f"q{n} Q0 Ben {m} {1 / (m + 1):.3f} tag\n" for n in range(7) for m in range(4)),
    "run.csv": 'query_id,doc_id,name,score\nq1,Ben,"A, b",0.5\nq2,C,,0.25\n',
    "run.json": json.dumps({f"q{n}": [["Ben", 0.5], ["C", 0.25]] for n in range(7)}),
    "words.yaml": "LIVES_IN: [live, lives, 산다]\nKNOWS: [know]\n",
    "patch.yaml": PATCH,
    "config.yaml": (ROOT / "config.yaml").read_text(encoding="utf-8"),
}
GRAPHS = ROOT / "tests/fixtures/graphs"
TABLES = [
    path
    for path in GRAPHS.rglob("*")
    if path.parent.name.startswith("ms-graphrag") and "text_" not in path.name
]
FILES = sorted(path for path in GRAPHS.rglob("graph*.*") if path.suffix in (".json", ".graphml"))

MADE: dict[str, bytes] = {}  # what the first test made


@pytest.fixture
def sound(own_folder: Path, run_cli) -> dict[str, bytes]:
    """Name → content of every sound file, all of which lie in the folder."""
    if not MADE:
        write_sound(own_folder)
        run_cli(f"eval {SET} {GRAPH} {OUT.replace('out.json', 'a-results.json')}", code=0)
        run_cli(f"sweep {SET} {GRAPH} --quiet --hops 1,2 -o ./sweep.json", code=0)
        run_cli("score --gold gold.qrels --run run.trec --quiet -o ./scored-results.json", code=0)
        MADE.update({path.name: path.read_bytes() for path in own_folder.iterdir() if path.is_file()})
        for ending in ("-KG.json", "-eval.jsonl", "-results.json", ".qrels", ".trec"):
            MADE[f"broken{ending}"] = next(MADE[name] for name in sorted(MADE) if name.endswith(ending))
    for name, content in MADE.items():
        (own_folder / name).write_bytes(content)
    return MADE


def write_sound(folder: Path) -> None:
    triples = [(name, "KNOWS", PEOPLE[(row * 3 + 1) % 7]) for row, name in enumerate(PEOPLE)]
    write_kg(folder / "s-KG.json", [(name, [f"{name}s"]) for name in PEOPLE], triples)
    gold: list[dict[str, Any]] = [
        {
            "id": f"q{n}", "query": f"Where does {name} live?", "reference_entities": [PEOPLE[(n + 1) % 7]],
            "ground_truth": ["Mill"], "tags": ["easy", "one"], "seed_entities": [name], "context": ["Hi."],
            "reference_relationships": [{"source": name, "target": "Mill", "type": "KNOWS"}], "group": "g1",
        }
        for n, name in enumerate(PEOPLE)
    ]  # fmt: skip
    write_gold(folder / "s-eval.jsonl", *gold)
    rows = [{"name": name, "score": 1 / (row + 1), "text": "x"} for row, name in enumerate(PEOPLE)]
    write_gold(
        folder / "run.jsonl", *({"id": f"q{n}", "entities": rows, "latency_ms": 12.5} for n in range(7))
    )
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "g.xlsx").write_bytes(workbook({"Edges": EDGES}))
    with closing(sqlite3.connect(folder / "g.sqlite")) as database:
        database.execute("CREATE TABLE relations (source TEXT, relation TEXT, target TEXT, weight TEXT)")
        database.executemany("INSERT INTO relations VALUES (?, ?, ?, ?)", EDGES[1:])
        database.commit()


def end_in_words(run_cli, path: Path, whole: bytes, command: str) -> None:
    for number in range(CASES):
        path.write_bytes(mutated(whole, random.Random(f"{path.name} {command} {number}")))
        started = time.process_time()
        done = run_cli(command.replace("{file}", f"./{path.name}"))
        case = f"{command}, {path.name}, case {number}: {done.output[-1000:]}"
        assert done.exit_code in (0, 1, 2, 3), case
        assert "Traceback" not in done.output, case
        assert time.process_time() - started < SECONDS, case


@pytest.mark.parametrize("name", COMMANDS)
def test_a_broken_file_ends_in_words(name: str, sound: dict[str, bytes], own_folder: Path, run_cli) -> None:
    for command in COMMANDS[name]:
        end_in_words(run_cli, own_folder / name, sound[name], f"{command} --set running.graph_cache=false")


@pytest.mark.parametrize("source", [*FILES, *TABLES], ids=lambda path: str(path.relative_to(GRAPHS)))
def test_a_broken_graph_of_another_program_ends_in_words(source: Path, own_folder: Path, run_cli) -> None:
    """A file of its folder is broken, which is given whole where it takes several."""
    shutil.copytree(source.parent, own_folder / "graph")
    given = "./graph" if source in TABLES else f"./graph/{source.name}"
    command = f"stats -g {given} --set running.graph_cache=false"
    end_in_words(run_cli, own_folder / "graph" / source.name, source.read_bytes(), command)
