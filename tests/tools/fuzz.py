"""Broken files into every command that reads one: no internal error, no hang, no memory without bound.

    uv run python -m tests.tools.fuzz --cases 100000 --workers 2        # prints its seed; --only names some

Each case takes a sound file, breaks it in one to four ways and gives it to a command, which runs in this
process as it would on the command line. Wrong is exit code 70, any other code than 0 to 3, a death of the
process, more than 10 s, and memory above 20 times the (unpacked) file plus 200 MB. A case is named by seed,
target and number, and `--replay TARGET:NUMBER` runs it alone, leaving the file where it says.
"""

# ruff: noqa: E501 - tables of tokens and sound files

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS, TIMES, MORE_BYTES = 10, 20, 200 << 20
BROKEN = "input"  # stem of the broken file

TOKENS: tuple[bytes, ...] = tuple(
    each if isinstance(each, bytes) else each.encode("utf-8", "surrogatepass")
    for each in (
        "\0", "\r", "\r\n", "\n\n", "\t", " ", "\u00a0", "\u0085", "\u2028", "\ufeff", "\x1b[2J", "\x9b", "\u202e",
        "²", "--1", "+-2", "-0", "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1e-400", str(2**31), str(2**63),
        str(2**70), "9" * 400, "9" * 5000, "0x10", "1_000", "true", "null", "[]", "{}", '""', "''", '"', "'", "\\",
        "\\ud800", "\\udc00", "\\u0000", "\\x", "[" * 300, "[" * 3000, "{" * 300, '{"a":' * 3000, "]", "}", ",", ":",
        "&a [*a,*a]", "*a", "&a ", "<<: *a", "!!python/object/apply:os.system [x]", "!!binary x", "2026-01-01",
        "12:30:45", "? ", "- " * 500, "|\n", "%", "%00", "%2", "=1+1", "@x", "x" * 10_000, "점" * 3000, "😀", "e\u0301",
        "-" * 300, ",,,,", '"a\nb"', b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80", b"\x80", b"\x1f\x8b\x08", b"PAR1",
    )
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**70, 10**400, "", " ", "x",
    "\0", "\r\n", "\ud800", "=1+1", "x" * 5000, [], {}, [[]], [None], [1], ["x", "x"], [[1, 2], [3]], {"": ""},
    {"a": {"b": []}}, [{}], "2026-01-01", "\u202e", "[red]x[/red]", "</script><b>", "../../x",
)  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A sound file and the command that reads it, as `{file}`. name: of the file, by which formats are told."""

    name: str
    file: str
    sound: bytes
    command: tuple[str, ...]


def mutated(sound: bytes, chance: random.Random) -> bytes:
    data = bytearray(sound)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        data = bytearray(chance.choice(WAYS)(bytes(data), chance))
    return bytes(data)


def _token(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(TOKENS) + data[at + chance.choice((0, 0, 1, 3)) :]


def _flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _lost(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 10, 100)) :]


def _twice(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    return b"\n".join([*lines[:at], *[lines[at]] * chance.choice((2, 2, 50)), *lines[at + 1 :]])


def _swapped(data: bytes, chance: random.Random) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _ends(data: bytes, chance: random.Random) -> bytes:
    return data.replace(b"\n", chance.choice((b"\r", b"\r\n", b"\n\r", b"\x0b", b"\xc2\x85", b"")))


def _packed(data: bytes, chance: random.Random) -> bytes:
    packed = gzip.compress(data, mtime=0)
    return chance.choice((packed, packed, packed + b"x", packed[:-4], _flip(packed, chance), packed * 2))


def _encoded(data: bytes, chance: random.Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(("utf-16", "utf-8-sig", "cp949", "utf-32", "latin-1")), "replace")


def _shape(data: bytes, chance: random.Random) -> bytes:
    """A value of another kind, a field that is missing or stands twice; of JSON, whole or by lines."""
    text = data.decode("utf-8", "replace")
    try:
        return _written(_reshaped(json.loads(text), chance), chance)
    except (ValueError, RecursionError):
        pass
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    try:
        lines[at] = _written(_reshaped(json.loads(lines[at]), chance), chance).decode(
            "utf-8", "surrogatepass"
        )
    except (ValueError, RecursionError):
        fields = lines[at].split(chance.choice((" ", ",", "\t", ": ")))
        fields[chance.randrange(len(fields))] = str(chance.choice(VALUES))
        lines[at] = chance.choice((" ", ",", "\t", ": ")).join(fields)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _written(value: Any, chance: random.Random) -> bytes:
    return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def _reshaped(value: Any, chance: random.Random) -> Any:
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key, child in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(child, dict | list):
                walk(child)

    if not isinstance(value, dict | list) or not value:
        return chance.choice(VALUES)
    walk(value)
    node, key = chance.choice(places)
    what = chance.randrange(5)
    if what == 0 and isinstance(node, dict):
        del node[key]
    elif what == 1 and isinstance(node, dict):
        node[chance.choice((key + "x", "", "\0", "id", "name", "score"))] = node.pop(key)
    elif what == 2 and isinstance(node, list):
        node[key : key + 1] = [node[key]] * chance.choice((0, 2, 200))
    else:
        node[key] = chance.choice(VALUES)
    return value


WAYS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _token, _token, _token, _flip, _flip, _cut, _lost, _twice, _swapped, _ends, _packed, _encoded,
    _shape, _shape, _shape, _shape, _shape,
)  # fmt: skip


class Runner:
    """Commands in this process, each in the folder `home`."""

    def __init__(self, home: Path) -> None:
        from typer.testing import CliRunner

        from tiny_graph_rag.cli import app, load

        load()
        self.home, self.app, self.cli = home, app, CliRunner()
        os.chdir(home)
        os.environ["XDG_CACHE_HOME"] = str(home / ".cache")
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            os.environ.pop(name, None)

    def __call__(self, *arguments: str) -> Any:
        return self.cli.invoke(self.app, list(arguments))


def targets(run: Runner) -> list[Target]:
    """Every kind of file that a command reads, sound, made by the program itself where it writes such."""
    home = run.home
    people = ["Anna Berg", "Ben", "점순", "나", "Mill", "Old Mill", "C"]
    entities = {
        f"e{n}": {
            "entity_id": f"e{n}", "name": name, "entity_type": "PERSON" if n < 4 else "PLACE",
            "description": f"{name} is here.", "attributes": {"k": "v"}, "source_chunks": ["c1"],
            "aliases": [f"{name}s"],
        }
        for n, name in enumerate(people)
    }  # fmt: skip
    relations = [
        {
            "relationship_id": f"r{n}", "source_entity_id": f"e{n}", "target_entity_id": f"e{(n * 3 + 1) % 7}",
            "relationship_type": ("LIVES_IN", "KNOWS", "사랑한다")[n % 3], "description": "of old",
            "weight": 1.0 + n, "source_chunks": ["c1"],
        }
        for n in range(7)
    ]  # fmt: skip
    gold = [
        {
            "id": f"q{n}", "query": f"Where does {name} live?", "reference_entities": [people[(n + 1) % 7]],
            "ground_truth": ["Mill"], "tags": ["easy", "one"], "highly_relevant_entities": ["Mill"],
            "irrelevant_entities": ["C"], "expected_types": ["PLACE"], "seed_entities": [name], "context": ["Hi."],
            "reference_relationships": [{"source": name, "target": "Mill", "type": "LIVES_IN"}], "group": "g1",
        }
        for n, name in enumerate(people)
    ]  # fmt: skip
    run_rows = [
        {
            "id": f"q{n}", "entities": [
                {"id": f"e{m}", "name": people[m], "score": 1 / (m + 1), "text": "x", "type": "PLACE"} for m in range(4)
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2}, "latency_ms": 12.5,
        }
        for n in range(7)
    ]  # fmt: skip
    files: dict[str, bytes] = {
        "s-KG.json": json.dumps({"entities": entities, "relationships": relations}, ensure_ascii=False).encode(),
        "s-eval.jsonl": _lines(gold),
        "s-vocabulary.yaml": "LIVES_IN: [live, lives, 산다]\nKNOWS: [know]\n".encode(),
        "run.jsonl": _lines(run_rows),
        "run.trec": b"".join(b"q%d Q0 e%d %d %.3f tag\n" % (n, m, m, 1 / (m + 1)) for n in range(7) for m in range(4)),
        "run.csv": b"query_id,doc_id,name,score\n"
        + b"".join(b'q%d,e%d,"A, b",%.3f\n' % (n, m, 1 / (m + 1)) for n in range(7) for m in range(4)),
        "run.tsv": b"query_id\tdoc_id\tscore\nq1\te2\t.5\nq1\te3\t.25\n",
        "run.json": json.dumps({f"q{n}": [[f"e{m}", 1 / (m + 1)] for m in range(4)] for n in range(7)}).encode(),
        "contest.jsonl": _lines([{"eval_id": f"q{n}", "topk": ["e1", "e2"]} for n in range(7)]),
        "gold.qrels": b"".join(b"q%d 0 e%d %d\n" % (n, m, m % 3) for n in range(7) for m in range(4)),
        "gold.csv": b"query_id,doc_id,score,split\n" + b"".join(b"q%d,e%d,1,test\n" % (n, n) for n in range(7)),
        "gold-rag.json": json.dumps(
            [
                {"query_id": f"q{n}", "query": "x", "relevant_chunk_ids": ["e1"], "highly_relevant_chunk_ids": ["e2"],
                 "irrelevant_chunk_ids": ["e3"], "metadata": {"difficulty": "easy"}, "expected_doc_types": ["a"]}
                for n in range(7)
            ]
        ).encode(),
        "gold-contest.json": json.dumps({f"q{n}": ["e1", "e2"] for n in range(7)}).encode(),
    }  # fmt: skip
    with contextlib.suppress(ImportError):
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table(
            {"query_id": ["q1", "q1", "q2"], "doc_id": ["e1", "e2", "e1"], "score": [1.0, 0.5, 1.0]}
        )
        pyarrow.parquet.write_table(table, home / "run.parquet")
        files["run.parquet"] = (home / "run.parquet").read_bytes()
    for name, content in files.items():
        (home / name).write_bytes(content)
    graph, eval_set = ("-g", "./s-KG.json"), ("--dataset", "./s-eval.jsonl")
    quiet = ("--skip-generation", "--latency-sample", "0", "--quiet")
    for name, command in {
        "results.json": (
            "eval",
            *eval_set,
            *graph,
            *quiet,
            "--save-reasons",
            "--save-run",
            "./own-run.jsonl",
        ),
        "sweep.json": ("sweep", *eval_set, *graph, "--quiet", "--hops", "1,2"),
        "scored.json": ("score", "--gold", "gold.qrels", "--run", "run.trec", "--quiet"),
    }.items():
        done = run(*command, "-o", f"./{name}")
        assert done.exit_code == 0, done.output
        files[name] = (home / name).read_bytes()
    done = run("compare", "./results.json", "./results.json", "-o", "./comparison.json", "--quiet")
    if (home / "comparison.json").is_file():
        files["comparison.json"] = (home / "comparison.json").read_bytes()
    done = run("init", "--config", "./made.yaml")
    config = (home / "made.yaml") if (home / "made.yaml").is_file() else ROOT / "config.yaml"
    files["config.yaml"] = config.read_bytes()
    out = ("-o", "./out.json")
    found: list[Target] = []

    def add(name: str, file: str, *command: str, sound: str = "") -> None:
        if (sound or file) in files:
            found.append(Target(name, f"{BROKEN}-{file}", files[sound or file], command))

    add("graph eval", "s-KG.json", "eval", *eval_set, "-g", "{file}", *quiet, *out, "--no-graph-cache")
    add("graph validate", "s-KG.json", "validate", *eval_set, "-g", "{file}")
    add("graph stats", "s-KG.json", "stats", "-g", "{file}", "--no-graph-cache")
    for name, source, whole in graph_files(home):
        folder = home / f"{BROKEN}-{name.replace(' ', '-').replace('/', '-')}"
        shutil.copytree(whole or source.parent, folder)
        file = f"{folder.name}/{source.name if not whole else source.relative_to(whole)}"
        given = "{file}" if not whole else f"./{folder.name}"
        command = ("stats", "-g", given, "--no-graph-cache")
        found.append(Target(f"graph {name}", file, source.read_bytes(), command))
    add("gold eval", "s-eval.jsonl", "eval", "--dataset", "{file}", *graph, *quiet, *out)
    add("gold validate", "s-eval.jsonl", "validate", "--dataset", "{file}", *graph)
    add("vocabulary", "s-vocabulary.yaml", "eval", *eval_set, *graph, *quiet, *out, "--vocabulary", "{file}")
    add("config", "config.yaml", "eval", *eval_set, *graph, *quiet, *out, "--config", "{file}")
    for file in ("run.jsonl", "run.trec", "run.csv", "run.tsv", "run.json", "contest.jsonl", "run.parquet"):
        add(f"{file} score", file, "score", "--run", "{file}", "--gold", "gold.qrels", "--quiet", *out)
        add(
            f"{file} graph",
            file,
            "score",
            "--run",
            "{file}",
            "--gold",
            "s-eval.jsonl",
            *graph,
            "--quiet",
            *out,
        )
    for file in ("s-eval.jsonl", "gold.qrels", "gold.csv", "gold-rag.json", "gold-contest.json"):
        add(f"{file} score", file, "score", "--run", "run.trec", "--gold", "{file}", "--quiet", *out)
        add(f"{file} graph", file, "score", "--run", "run.jsonl", "--gold", "{file}", *graph, "--quiet", *out)
    reports = ("--report", "csv,html,md")
    for file in ("results.json", "sweep.json", "scored.json", "comparison.json"):
        add(f"{file} report", file, "report", "{file}", *reports)
    add("compare", "results.json", "compare", "./results.json", "{file}", "-o", "./compared.json", "--quiet")
    return found


GRAPHS = ROOT / "tests" / "fixtures" / "graphs"
WHOLE = ("ms-graphrag-1", "ms-graphrag-2", "ms-graphrag-3", "ms-graphrag-3-csv", "neo4j-graphrag")
WRITTEN = {
    "triples.tsv": "source\trelation\ttarget\tweight\nA\tknows\tB\t1\nB\tlikes\t점순\t2\n",
    "triples.csv": 'Ann,lives in,"Dover, Kent"\nBen,knows,Ann\n',
    "resources.nt": '<http://e/A> <http://www.w3.org/2000/01/rdf-schema#label> "Ä"@en .\n<http://e/A> <http://e/knows> <http://e/B> .\n_:b <http://e/n> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
    "resources.ttl": '@prefix : <http://e/> .\n:A :knows :B, [ :n 1 ] ; a :Person .\n:B <http://www.w3.org/2000/01/rdf-schema#label> "Bee" .\n',
    "gephi.gexf": '<?xml version="1.0"?><gexf xmlns="http://gexf.net/1.3" version="1.3">\n<graph defaultedgetype="directed">\n<attributes class="node"><attribute id="0" title="type" type="string"><default>P</default></attribute></attributes>\n<nodes><node id="a" label="A"><attvalues><attvalue for="0" value="P"/></attvalues></node>\n<node id="b" label="B"/></nodes>\n<edges><edge id="0" source="a" target="b" label="knows" weight="2"/></edges></graph></gexf>\n',
    "openie_results_x.json": '{"docs": [{"idx": "c1", "passage": "Ann\\nAnn lives in Dover.", "extracted_entities": ["Ann"], "extracted_triples": [["Ann", "lives in", "Dover"], ["x"]]}], "avg_ent_chars": NaN}',
    "multigraph.json": '{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": 1, "name": "A"}, {"id": "b"}],\n "edges": [{"source": 1, "target": "b", "key": 0, "relation": "knows", "weight": 2}]}',
}  # fmt: skip


def graph_files(home: Path) -> Iterator[tuple[str, Path, Path | None]]:
    """(name, sound file, the folder that is given in its place or None) of every graph format."""
    for name, text in WRITTEN.items():
        path = home / "written" / name / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        yield name, path, None
    for path in sorted(GRAPHS.rglob("*")):
        folder = GRAPHS / path.relative_to(GRAPHS).parts[0]
        beside = ("text_units", "kv_", "create_final_nodes")
        if path.suffix in (".graphml", ".json", ".parquet", ".csv") and not path.name.startswith(beside):
            name = str(path.relative_to(GRAPHS))
            yield name, path, folder if folder.name in WHOLE else None


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows).encode()


class TooLongError(Exception):
    pass


def _too_long(*_: object) -> None:
    raise TooLongError


def case(target: Target, number: int, seed: int) -> bytes:
    return mutated(target.sound, random.Random(f"{seed} {target.name} {number}"))


def wrong(run: Runner, target: Target, data: bytes) -> str | None:
    """What a command did that it must not; None where it did well."""
    path = run.home / target.file
    path.write_bytes(data)
    command = [each.replace("{file}", f"./{target.file}") for each in target.command]
    before = _peak_reset()
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 3 * SECONDS)
    try:
        done = run(*command)
    except TooLongError:
        return f"more than {3 * SECONDS} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds, peak = time.monotonic() - started, _peak() - before
    if isinstance(done.exception, TooLongError) or seconds > SECONDS:
        return f"{seconds:.0f} s"
    if done.exit_code not in (0, 1, 2, 3) or "internal error" in done.output:
        told = next(
            (line for line in done.output.splitlines() if "internal error" in line), repr(done.exception)
        )
        return f"exit code {done.exit_code}: {told[:200]}"
    if "Traceback" in done.output:
        return "a traceback"
    unpacked = len(data)
    with contextlib.suppress(Exception):
        unpacked = max(unpacked, len(gzip.decompress(data)))
    if peak > TIMES * unpacked + MORE_BYTES:
        return f"{peak >> 20:,} MB for {unpacked:,} bytes"
    return None


def _peak_reset() -> int:
    """Forget the peak; what is in memory now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def work(home: Path, seed: int, cases: range, only: str) -> Iterator[str]:
    """Runs the cases, and says each that goes wrong; `at` lines tell the parent where a dead worker was."""
    signal.signal(signal.SIGALRM, _too_long)
    run = Runner(home)
    chosen = [each for each in targets(run) if only in each.name]
    for number in cases:
        target = chosen[number % len(chosen)]
        (home / "at").write_text(f"{target.name}:{number}")
        problem = wrong(run, target, case(target, number, seed))
        if problem is not None:
            yield f"{target.name}:{number}\t{problem}"


def fuzz(cases: int, seed: int, workers: int = 1, only: str = "") -> list[str]:
    """What went wrong in so many cases; a worker that dies is told with its case, and goes on behind it."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        waiting = [range(start, cases, workers) for start in range(workers)]
        running: list[tuple[subprocess.Popen[str], Path, range]] = []
        while waiting or running:
            while waiting:
                part = waiting.pop()
                home = Path(tempfile.mkdtemp(dir=name))
                command = [sys.executable, "-m", "tests.tools.fuzz", "--work", str(home), "--seed", str(seed)]
                command += ["--part", f"{part.start},{part.stop},{part.step}", "--only", only]
                out = (home / "found").open("w")
                running.append((subprocess.Popen(command, cwd=ROOT, stdout=out, text=True), home, part))
                out.close()
            worker, home, part = running.pop(0)
            worker.wait()
            found += (home / "found").read_text().splitlines()
            if worker.returncode:
                if not (home / "at").is_file():
                    raise RuntimeError("a worker could not begin; its own words stand above")
                at = (home / "at").read_text()
                found.append(f"{at}\tthe process died ({worker.returncode})")
                dead = int(at.rpartition(":")[2])
                if range(dead + part.step, part.stop, part.step):
                    waiting.append(range(dead + part.step, part.stop, part.step))
    return found


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seed", type=int, default=20261121)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--only", default="", help="a part of the targets' names")
    options.add_argument("--replay", default="", help="TARGET:NUMBER")
    options.add_argument("--work", help=argparse.SUPPRESS)
    options.add_argument("--part", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.work:
        for line in work(Path(given.work), given.seed, range(*map(int, given.part.split(","))), given.only):
            print(line, flush=True)
        return
    if given.replay:
        name, _, number = given.replay.rpartition(":")
        signal.signal(signal.SIGALRM, _too_long)
        run = Runner(Path(tempfile.mkdtemp()))
        target = next(each for each in targets(run) if each.name == name)
        print(wrong(run, target, case(target, int(number), given.seed)))
        command = " ".join(target.command).replace("{file}", f"./{target.file}")
        print(f"cd {run.home}; python -m tiny_graph_rag {command} --debug")
        return
    started = time.monotonic()
    found = fuzz(given.cases, given.seed, given.workers, given.only)
    for line in found:
        print(line)
    kinds = Counter(line.partition("\t")[2].partition(":")[0] for line in found)
    print(
        f"{given.cases:,} cases, seed {given.seed}, {time.monotonic() - started:,.0f} s: {len(found):,} wrong"
        + "".join(f", {count:,} {kind}" for kind, count in kinds.most_common())
    )
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
