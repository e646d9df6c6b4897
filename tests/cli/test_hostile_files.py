"""Files that mean harm, and files that must not be harmed."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import read_json, write_gold, write_kg
from tiny_graph_rag.config.sources import NO_CACHE, cache_folder

GOLD_CSV = "query_id,doc_id,score\nq1,e1,1\nq2,e2,1\n"
RUN = "q1 Q0 e1 1 .5 t\nq2 Q0 e1 1 .5 t\n"
GIVEN = "--dataset ./a-eval.jsonl -g ./a-KG.json"
EVAL = f"eval {GIVEN} --skip-generation"


@pytest.fixture
def folder(own_folder: Path) -> Path:
    """A graph with its gold set, and a run with its own."""
    write_kg(own_folder / "a-KG.json", ["A"])
    write_gold(own_folder / "a-eval.jsonl", {"query": "A?", "reference_entities": ["A"]})
    (own_folder / "gold.csv").write_text(GOLD_CSV)
    (own_folder / "run.trec").write_text(RUN)
    return own_folder


@pytest.mark.parametrize(("gold", "report"), [("x-questions.csv", "csv"), ("x-slices.csv", "csv,html")])
def test_no_report_overwrites_what_the_command_reads(folder: Path, run_cli, gold: str, report: str) -> None:
    (folder / "gold.csv").rename(folder / gold)
    done = run_cli("score --run ./run.trec -o ./x.json --report", report, "--gold", f"./{gold}", code=2)
    assert "reads that file" in done.output
    assert (folder / gold).read_text() == GOLD_CSV
    assert (folder / "x.json").exists()  # what was computed is kept


def test_a_report_spares_the_prompt_that_lies_beside_the_results(folder: Path, run_cli) -> None:
    (folder / "x.md").write_text("{context} {question}")
    (folder / "config.yaml").write_text("generation: {prompt: x.md}\n")
    run_cli(f"{EVAL} -o ./x.json --report md", code=2)
    assert (folder / "x.md").read_text() == "{context} {question}"


LAUGHS = "openai:\n prices:\n  a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"  {b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
YAML = {
    "deep": ("[" * 30_000, "nested more than 50 levels deep"),
    "laughs": (LAUGHS, "more than 20 aliases"),
    "twice": ("openai: {model: a}\nopenai: {model: b}\n", "'openai' is given twice"),
    "twice inside": ("openai: {model: a, model: b}\n", "'model' is given twice"),
    "month 13": ("evaluation: {seed: 2026-13-45}\n", "must be a whole number"),
    "infinite": ("openai: {timeout: .inf}\n", "must be"),
    "a date": ("openai: {timeout: 2026-01-01}\n", "must be a number"),
    "binary": ("openai: {model: !!binary x}\n", "not YAML"),
    "a list of keys": ("? [a, b]\n: 1\n", "not YAML"),
    "a NUL": ("openai: {model: 'a\0b'}\n", "not YAML"),
    "an object": ("openai: !!python/object/apply:os.system [exit]\n", "not YAML"),
    "another key": ("retrieval:\n  hopps: 3\n", "unknown key 'retrieval.hopps'; did you mean 'hops'?"),
    "another section": ("retreival: {hops: 3}\n", "unknown section 'retreival'; did you mean 'retrieval'?"),
    "text": ("retrieval: {hops: many}\n", "retrieval.hops must be a whole number, got the string 'many'"),
    "out of bounds": ("retrieval: {hops: -2}\n", "retrieval.hops must be from 0 to 1000, got -2"),
    "cut off": ("retrieval: [1, 2\n", "config.yaml:2:1: not YAML"),
    "a list": ("- a\n", "wanted sections such as 'storage:', got a list"),
    "an escaped NUL": ('storage: {kg_dir: "a\\0b"}', "contains the character NUL"),
    "vast": ("openai: {max_tokens: " + "9" * 400 + "}\n", "must be"),
}


@pytest.mark.parametrize("kind", YAML)
def test_settings_of_any_kind_end_in_words(kind: str, own_folder: Path, run_cli) -> None:
    text, said = YAML[kind]
    (own_folder / "config.yaml").write_text(text)
    done = run_cli("stats -g none.json", code=2)
    assert said in done.output
    assert len(done.output) < 2000


@pytest.mark.slow
def test_a_packed_file_unpacks_to_no_more_than_the_setting_allows(folder: Path, run_cli) -> None:
    (folder / "config.yaml").write_text("running: {largest_unpacked: 0.01}\n")
    bomb = gzip.compress(b'{"query": "' + b" " * (20 << 20) + b'"}')
    for name in ("a-eval.jsonl.gz", "a-KG.json.gz", "run.jsonl.gz"):
        (folder / name).write_bytes(bomb)
    for command in (
        "validate --dataset ./a-eval.jsonl.gz -g ./a-KG.json.gz",
        "stats -g ./a-KG.json.gz",
        "score --gold ./gold.csv --run ./run.jsonl.gz",
    ):
        done = run_cli(command, code=2)
        assert "unpacks to more than 0.01 GiB" in done.output
        assert "running.largest_unpacked" in done.output


SCORE = "score --run ./run.trec -o - --gold"
REPORT = "report ./r.json --report md"
OF_RESULTS = "wanted a results file of eval, score, sweep, compare"
OF_RECORDS = "wanted a 'type' of node or relationship"
NODE = '{"type": "node", "id": "0", "labels": ["P"]}\n'
# A file, the command that reads it, and what it says.
BROKEN = [
    ("g.qrels", "q1 0 e1 ²\n", f"{SCORE} ./g.qrels", ""),
    ("g.qrels", f"q1 0 e1 {2**70}\n", f"{SCORE} ./g.qrels", ""),
    ("g.qrels", "q1 0 e\0 1\n", f"{SCORE} ./g.qrels", ""),
    ("g.csv", "query_id,doc_id\nq1,\0\n", f"{SCORE} ./g.csv", ""),
    ("g.jsonl", '{"query": "a", "reference_entities": [], "id": "\\ud800"}\n', f"{SCORE} ./g.jsonl", ""),
    ("g.jsonl", '{"query": "a", "reference_entities": ' + "[" * 3000 + "\n", f"{SCORE} ./g.jsonl", ""),
    *(
        ("r.json", json.dumps({"kind": kind, "schema_version": 1}), REPORT, OF_RESULTS)
        for kind in (["eval"], {}, None, 7, "evil")
    ),
    *(
        ("g.json", NODE + json.dumps({"type": kind, "id": "1"}), "stats -g ./g.json", OF_RECORDS)
        for kind in (["node"], {"a": 1}, None, 5)
    ),
]


@pytest.mark.parametrize(("name", "content", "command", "said"), BROKEN)
def test_a_broken_file_ends_in_words(
    folder: Path, run_cli, name: str, content: str, command: str, said: str
) -> None:
    (folder / name).write_text(content)
    done = run_cli(command, code=2)
    assert done.output.startswith("error: ")
    assert said in done.stderr


LONG = "x" * 300


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command",
    [
        f"eval --dataset {LONG} --skip-generation",
        f"{EVAL} -o ./{LONG}.json",
        f"{EVAL} --set retrieval.vocabulary={LONG}",
        f"{EVAL} --save-run ./{LONG} -o ./o.json",
        f"score --run {LONG} --gold {LONG}",
        f"report {LONG}",
        "stats -g a-KG.json/x",
    ],
)
def test_a_name_that_no_disk_can_hold_is_said_in_a_line(command: str, run_cli) -> None:
    done = run_cli(command, code=2)
    assert done.stderr.startswith("error: ")
    assert len(done.stderr) < 900


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("value", ["[", '"', "\x1f", "\udc81.5", "&a [*a]", "!!python/object:x {}"])
def test_a_setting_to_vary_that_is_no_yaml_ends_in_words(value: str, run_cli) -> None:
    done = run_cli(f"sweep {GIVEN} --set", f"min_weight={value}", code=2)
    assert done.stderr.startswith("error: ")


def test_a_key_given_on_the_command_line_is_in_no_results_file(folder: Path, run_cli, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:hunter22@127.0.0.1:9/v1")
    label = "run with sk-secret-of-mine at http://user:hunter22@127.0.0.1:9/v1"
    run_cli(f"{EVAL} -o ./o.json --report html,md --label", label, code=0)
    for path in folder.glob("o*"):
        text = path.read_text("utf-8")
        assert "sk-secret" not in text, path
        assert "hunter22" not in text, path
    assert "run with *** at" in read_json("o.json")["made"]["command"]


def peak_mib(*command: str) -> int:
    """Of a command in a process of its own."""
    code = (
        "import resource, subprocess, sys\n"
        "command = [sys.executable, '-m', 'tiny_graph_rag', *sys.argv[1:]]\n"
        "done = subprocess.run(command, capture_output=True)\n"
        "assert done.returncode == 0, done.stderr\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)"
    )
    told = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    return int(told.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("long_one", ["ranking", "references"])
def test_one_long_list_beside_short_ones_takes_no_table_of_all_times_the_longest(
    long_one: str, own_folder: Path
) -> None:
    """2,000 questions times 50,000 ranks are 10⁸ cells, of 30 bytes in all: 3 GB; the files have 0.7 MB."""
    many = [f"e{number}" for number in range(50_000)]
    gold = {f"q{number}": ["e1"] for number in range(2000)}
    run = dict(gold)
    (run if long_one == "ranking" else gold)["q0"] = many
    (own_folder / "g.json").write_text(json.dumps(gold))
    (own_folder / "run.json").write_text(json.dumps(run))
    size = sum(path.stat().st_size for path in own_folder.glob("*.json")) >> 20
    assert peak_mib("score", "--gold", "./g.json", "--run", "./run.json", "-o", "./o.json") < 20 * size + 200


def test_a_cache_folder_of_others_is_left_alone_and_an_open_one_closed(own_folder: Path) -> None:
    mine = own_folder / "c" / "tiny-graph-rag"
    mine.mkdir(parents=True)
    mine.chmod(0o777)
    assert cache_folder({"XDG_CACHE_HOME": str(own_folder / "c")}) == mine
    assert mine.stat().st_mode & 0o777 == 0o700
    if os.geteuid() == 0:
        os.chown(mine, 12345, 12345)
        assert cache_folder({"XDG_CACHE_HOME": str(own_folder / "c")}) == NO_CACHE


def test_sigterm_leaves_no_temporary_file(own_folder: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "import tiny_graph_rag.cli as cli\n"
        "from tiny_graph_rag.__main__ import main\n"
        "from pathlib import Path\n"
        "from tiny_graph_rag.outputs import write_atomically\n"
        "def parts():\n"
        "    yield b'half'\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    yield b'never'\n"
        "cli.run = lambda: write_atomically(Path('x.json'), parts())\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=own_folder, capture_output=True, text=True)
    assert done.returncode == 143, done.stderr
    assert list(own_folder.iterdir()) == [], done.stderr


NAMES = ["=1+1", "-1", "+x", "@x", "'=x", "''-", "a\rb", "a\nb", 'a"b', "a,b", "a\tb", "'quoted'", "점순"]


def test_a_saved_run_reads_back_whatever_the_names_hold(own_folder: Path, run_cli) -> None:
    """Every entity is asked for by its name and found first; the run as CSV scores 1.0 as eval does."""
    write_kg(own_folder / "a-KG.json", NAMES)
    rows = [
        {"id": f"q{n}", "query": name, "reference_entities": [name], "seed_entities": [name]}
        for n, name in enumerate(NAMES)
    ]
    write_gold(own_folder / "a-eval.jsonl", *rows)
    run_cli(f"{EVAL} --linker gold --quiet -o ./a.json --save-run ./run.csv", code=0)
    with (own_folder / "run.csv").open(newline="") as stream:
        cells = [cell for row in list(csv.reader(stream))[1:] for cell in (row[0], row[1], row[4])]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    run_cli("score --gold ./a-eval.jsonl --run ./run.csv -o ./b.json --quiet", code=0)
    for name in ("a.json", "b.json"):
        assert read_json(name)["summary"]["measures"]["recall@5"]["mean"] == 1.0


ENDLESS = (
    "WITH RECURSIVE n(source, target) AS (SELECT 1, 2 UNION ALL SELECT source + 1, 2 FROM n) SELECT * FROM n"
)
VAST = "SELECT printf('%.*c', 90000000, 'x') AS source, 1 AS target"


@pytest.mark.parametrize("view", [ENDLESS, VAST, "SELECT * FROM missing"])
def test_a_database_whose_views_give_more_than_it_holds_ends_in_words(
    view: str, own_folder: Path, run_cli
) -> None:
    with contextlib.closing(sqlite3.connect(own_folder / "g.sqlite")) as database:
        database.execute(f"CREATE VIEW relations AS {view}")
    assert "g.sqlite" in run_cli("stats -g ./g.sqlite", code=2).output


def test_views_of_duckdb_are_not_read(own_folder: Path, run_cli) -> None:
    """A view may read any file, and may have no end."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(own_folder / "g.duckdb")) as database:
        database.execute("CREATE TABLE relations AS SELECT 'Ann' AS source, 'Ben' AS target")
        database.execute("CREATE VIEW edges AS SELECT i AS source, 1 AS target FROM range(1000000000) t(i)")
    done = run_cli("stats -g ./g.duckdb", code=0)
    assert "Ann 1, Ben 1" in done.output  # the table's relation and no other


def test_history_passes_over_a_results_file_that_was_changed(folder: Path, run_cli) -> None:
    run_cli(f"{EVAL} --set evaluation.latency_sample=0 -o ./past/a.json", code=0)
    whole = (folder / "past/a.json").read_text("utf-8")
    changes = (('"mean": ', '"meanx": '), ('"at": "2', '"at": "x'), ('"n": ', '"n": "x", "m": '), ("Z", ""))
    for number, (old, new) in enumerate(changes):
        assert old in whole
        (folder / f"past/b{number}.json").write_text(whole.replace(old, new), "utf-8")
    done = run_cli("history ./past", code=0)
    # b1 has no time that can be read and takes the file's own; b3 has one without a zone.
    assert [text for text in ("b0", "b1", "b2", "b3") if f" {text} " in done.stdout] == ["b1", "b3"]
