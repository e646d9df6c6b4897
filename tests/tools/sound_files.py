"""Sound files of every kind that a command reads, each with the command: what the fuzz driver breaks."""

# ruff: noqa: E501 - tables of sound files

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.tools.chat_server import Action, ChatServer, Request, answer

ROOT = Path(__file__).resolve().parent.parent.parent
BROKEN = "input"  # stem of the broken file
# Parts of commands, all of whose words are without spaces.
GRAPH, EVAL_SET = "-g ./s-KG.json", "--dataset ./s-eval.jsonl"
ON_SET, UNCACHED = f"{EVAL_SET} {GRAPH}", "--set running.graph_cache=false"
FEW = "--set evaluation.latency_sample=0 --quiet"
RETRIEVAL = "--skip-generation --set evaluation.latency_sample=0 --quiet"


@dataclass(frozen=True)
class Target:
    """A sound file and the command that reads it, as `{file}`. name: of the file, by which formats are told.

    replies: no file but the body of every reply of the API. beside: what is put back first, as a command
    writes to it. text: an argument of the command, as `{text}`.
    """

    name: str
    file: str
    sound: bytes
    command: tuple[str, ...]
    replies: bool = False
    text: bool = False
    beside: dict[str, bytes] = field(default_factory=dict)


class Runner:
    """Commands in this process, each in the folder `home`."""

    def __init__(self, home: Path) -> None:
        from typer import testing
        from typer.main import get_command

        from tiny_graph_rag.cli.command import app, load
        from tiny_graph_rag.llm.client import Patience

        load()
        built = get_command(app)  # once: most of a small command's time
        testing._get_command = lambda _: built
        self.home, self.app, self.cli = home, app, testing.CliRunner()
        os.chdir(home)
        os.environ["XDG_CACHE_HOME"] = str(home / ".cache")
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
            os.environ.pop(name, None)
        Patience.__init__.__defaults__ = (2, 2, 4, 0.001, 0.002, 0.1, 1.0)  # nobody waits for a broken reply
        self.reply: bytes | None = None  # in place of the sound one
        self.server = ChatServer(self._reply).__enter__()  # ends with the process

    def _reply(self, request: Request) -> Action:
        if self.reply is not None:
            return Action(self.reply)
        if "input" in request.body:
            return Action(sound_vectors(len(request.body["input"])))
        return answer(SOUND_ANSWER, request)

    def __call__(self, *arguments: str) -> Any:
        return self.cli.invoke(self.app, list(arguments))


SOUND_ANSWER = 'Ben lives in Mill [1]. {"names": ["Ben"], "score": 4, "verdict": "yes", "reason": "so"}'


def sound_vectors(count: int) -> bytes:
    rows = [{"index": number, "embedding": [1.0, number / 8, 0.5]} for number in range(count)]
    return json.dumps({"data": rows, "usage": {"prompt_tokens": 5, "total_tokens": 5}}).encode()


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
            "irrelevant_entities": [] if people[(n + 1) % 7] == "C" else ["C"], "expected_types": ["PLACE"], "seed_entities": [name], "context": ["Hi."],
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
    files: dict[str, bytes] = tables(home) | {
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
    for name, command in {
        "results.json": f"eval {ON_SET} {RETRIEVAL} --set evaluation.save_reasons=true --save-run ./own-run.jsonl",
        "sweep.json": f"sweep {ON_SET} --quiet --hops 1,2",
        "scored.json": "score --gold gold.qrels --run run.trec --quiet",
    }.items():
        done = run(*command.split(), "-o", f"./{name}")
        assert done.exit_code == 0, done.output
        files[name] = timeless(home / name)
    done = run("compare", "./results.json", "./results.json", "-o", "./comparison.json", "--quiet")
    if (home / "comparison.json").is_file():
        files["comparison.json"] = timeless(home / "comparison.json")
    done = run("init", "--config", "./made.yaml")
    config = (home / "made.yaml") if (home / "made.yaml").is_file() else ROOT / "config.yaml"
    files["config.yaml"] = config.read_bytes()
    more_files(run, files)
    found: list[Target] = []

    def add(name: str, file: str, command: str) -> None:
        if file in files:
            found.append(Target(name, f"{BROKEN}-{file}", files[file], tuple(command.split())))

    evaluated = f"eval {ON_SET} {RETRIEVAL} -o ./out.json"
    add("graph eval", "s-KG.json", f"eval {EVAL_SET} -g {{file}} {RETRIEVAL} -o ./out.json {UNCACHED}")
    add("graph validate", "s-KG.json", f"validate {EVAL_SET} -g {{file}}")
    add("graph stats", "s-KG.json", f"stats -g {{file}} {UNCACHED}")
    for name, source, whole in graph_files(home):
        folder = home / f"{BROKEN}-{name.replace(' ', '-').replace('/', '-')}"
        shutil.copytree(whole or source.parent, folder)
        file = f"{folder.name}/{source.name if not whole else source.relative_to(whole)}"
        given = "{file}" if not whole else f"./{folder.name}"
        command = tuple(f"stats -g {given} {UNCACHED}".split())
        found.append(Target(f"graph {name}", file, source.read_bytes(), command))
    for file in ("g.xlsx", "g.sqlite", "g.duckdb", "g.parquet", "g.gml", "g.net"):
        add(f"graph {file}", file, f"stats -g {{file}} {UNCACHED}")
        add(f"graph {file} converted", file, "convert -g {file} -o ./written/out.tsv")
    for file in ("gold.xlsx", "gold.parquet", "promptfoo.yaml", "llama.json", "columns.json"):
        if file not in ("promptfoo.yaml", "llama.json"):  # without entities, which eval needs
            add(f"{file} eval", file, f"eval --dataset {{file}} {GRAPH} {RETRIEVAL} -o ./out.json")
        add(f"{file} validate", file, f"validate --dataset {{file}} {GRAPH}")
        add(f"{file} convert", file, "dataset convert {file} -o ./converted.jsonl")
    add("patch eval", "patch.yaml", f"{evaluated} --patch {{file}}")
    add("patch convert", "patch.yaml", f"convert {GRAPH} -o ./out-KG.json --patch {{file}}")
    add("graph fix", "s-KG.json", f"fix {EVAL_SET} -g {{file}} -o ./fixes.yaml --quiet")
    add("gold fix", "s-eval.jsonl", f"fix --dataset {{file}} {GRAPH} -o ./fixes.yaml --quiet")
    add("answers", "answers.jsonl", f"dataset from {{file}} {GRAPH} -o ./from-draft.jsonl")
    add("gold eval", "s-eval.jsonl", f"eval --dataset {{file}} {GRAPH} {RETRIEVAL} -o ./out.json")
    add("gold validate", "s-eval.jsonl", f"validate --dataset {{file}} {GRAPH}")
    add("vocabulary", "s-vocabulary.yaml", f"{evaluated} --set retrieval.vocabulary={{file}}")
    add("config", "config.yaml", f"{evaluated} --config {{file}}")
    runs = "run.jsonl run.trec run.csv run.tsv run.json contest.jsonl run.parquet run.xlsx"
    for file in runs.split():
        add(f"{file} score", file, "score --run {file} --gold gold.qrels --quiet -o ./out.json")
        add(f"{file} graph", file, f"score --run {{file}} --gold s-eval.jsonl {GRAPH} --quiet -o ./out.json")
    for file in ("s-eval.jsonl", "gold.qrels", "gold.csv", "gold-rag.json", "gold-contest.json"):
        add(f"{file} score", file, "score --run run.trec --gold {file} --quiet -o ./out.json")
        add(f"{file} graph", file, f"score --run run.jsonl --gold {{file}} {GRAPH} --quiet -o ./out.json")
    for file in ("results.json", "sweep.json", "scored.json", "comparison.json"):
        add(f"{file} report", file, "report {file} --report csv,html,md")
    add("compare", "results.json", "compare ./results.json {file} -o ./compared.json --quiet")
    return found + more_targets(run, files)


_TIMES = re.compile(rb'"([a-z_]*seconds|questions_per_second|p50|p95)": ?[0-9][-+.e0-9]*')


def timeless(path: Path) -> bytes:
    """A file that a run wrote, with the same times every time: a case is the same from its seed alone."""
    content = re.sub(rb'"at": ?"[^"]*"', b'"at": "2026-11-21T12:00:00Z"', path.read_bytes())
    return _TIMES.sub(rb'"\1": 0.5', content)


def more_files(run: Runner, files: dict[str, bytes]) -> None:
    """What a run keeps, and what is kept of a gold set: prompts, drafts, journals, answers, sidecars, versions."""
    home = run.home
    made = {
        "chat.yaml": f"openai: {{base_url: '{run.server.url}', model: test-model, prices: {{test-model: {{input: 1, output: 2}}, e: {{input: 1, output: 0}}}}}}\nembeddings: {{dense_model: e, usd_per_million_embedded: 0.02}}\n".encode(),
        "prompt.txt": b"Facts:\n{graph}\n\nQuestion: {question}\nAnswer in one sentence {{so}}.\n",
        "own.py": b"def retrieve(question):\n    return [{'id': 'e1', 'score': 1.0}, {'id': 'e2', 'score': 0.5}]\n",
        "s-questions.txt": "Where does Ben live?\n점순은 누구를 사랑해?\n\nWho knows Anna Berg?\n".encode(),
        "s-questions.csv": b'id,query,tags\nq1,"Where, does Ben live?",easy\nq2,Who?,"a,b"\n',
        "s-questions.json": json.dumps([{"id": "q1", "query": "Where does Ben live?"}, {"query": "Who?"}]).encode(),
    }  # fmt: skip
    for name, content in made.items():
        (home / name).write_bytes(content)
    files.update(made)
    commands = {
        "asked.journal.jsonl": f"eval {ON_SET} {FEW} --config ./chat.yaml -o ./asked.json",
        "own.retrieved.jsonl": f"eval {ON_SET} {FEW} --skip-generation --retriever ./own.py:retrieve -o ./own.json",
        "s-draft.jsonl": f"recommend --dataset ./s-questions.txt {GRAPH} -o ./s-draft.jsonl",
        "s-eval.meta.json": f"validate {ON_SET} --pin",
        "s-eval.versions.json": "dataset version ./s-eval.jsonl --note first",
    }
    for name, command in commands.items():
        done = run(*command.split())
        assert done.exit_code == 0, done.output
        if (home / name).is_file():
            files[name] = timeless(home / name)
    events = [
        {"by": "anna", "question": "line-1", "what": "judge", "entity": "e1", "grade": 2, "key": "a1"},
        {"by": "ben", "question": "line-1", "what": "judge", "entity": "e4", "grade": 0, "key": "b1"},
        {"by": "anna", "question": "line-1", "what": "note", "note": "so"},
        {"by": "anna", "question": "line-1", "what": "tags", "tags": ["easy"]},
        {"by": "anna", "question": "line-3", "what": "query", "query": "Who?"},
        {"by": "anna", "question": "line-3", "what": "undo", "of": 5},
        {"by": "anna", "question": "line-1", "what": "done", "done": True, "no_answer": False},
    ]
    events = [{"n": number, **event} for number, event in enumerate(events, start=1)]
    files["s-draft.journal.jsonl"] = _lines(events)
    (replies,) = home.glob(".cache/**/replies-*.sqlite3")
    files["replies"], files["path of replies"] = replies.read_bytes(), str(replies.relative_to(home)).encode()


def more_targets(run: Runner, files: dict[str, bytes]) -> list[Target]:
    found: list[Target] = []

    def add(
        name: str, file: str, sound: str, command: str, beside: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """sound, beside: names of `files`."""
        others = {path: files[name] for path, name in beside.items()}
        found.append(Target(name, file, files[sound], tuple(command.split()), beside=others))

    again = f"eval {ON_SET} {FEW} --config ./chat.yaml -o ./asked-again.json"
    asked = f"{again} --set running.answer_cache=false"
    judges = "--judge correctness,faithfulness,quality,retrieval,factuality --set generation.accuracy_model=e"
    out = f"eval {ON_SET} {FEW} --skip-generation -o ./out.json"
    add("prompt", "prompt.txt", "prompt.txt", f"{again} --dry-run --set generation.prompt={{file}}")
    add("journal", "asked-again.journal.jsonl", "asked.journal.jsonl", f"{again} --resume")
    own = f"eval {ON_SET} {FEW} --skip-generation --retriever ./own.py:retrieve -o ./own-again.json --resume"
    add("own journal", "own-again.retrieved.jsonl", "own.retrieved.jsonl", own)
    add("reply cache", files["path of replies"].decode(), "replies", again)
    for name, command, sound in (
        ("replies", f"{asked} --limit 2", b""),
        ("replies to judges", f"{asked} --limit 1 {judges}", b""),
        ("replies to linking", f"{asked} --skip-generation --linker llm --limit 2", b""),
        ("embeddings", f"{asked} --skip-generation --retriever dense", sound_vectors(7)),
    ):
        found.append(Target(name, "", sound, tuple(command.split()), replies=True))
    own = f"stats -g ./own.csv {UNCACHED}"
    exported = f"{GRAPH} --export -o ./curated.jsonl"
    journal, draft, gold = "s-draft.journal.jsonl", "s-draft.jsonl", {"input-eval.jsonl": "s-eval.jsonl"}
    version, files["changed"] = "dataset version ./input-eval.jsonl", files["s-eval.jsonl"] + b"\n"
    stamp, versions, past = "s-eval.meta.json", "s-eval.versions.json", {"past/earlier.json": "results.json"}
    drawn, reports = (
        "visualize -g {file} -o ./drawn.html",
        "report {file} ./results.json --report html,md,csv",
    )
    compared = "compare {file} ./results.json -o ./compared.json --quiet"
    columns, made = "own-columns.yaml", "generate -g {file} -o ./made.jsonl --n 3 --quiet"
    for name, file, sound, command, beside in (
        ("draft", "input-draft.jsonl", draft, f"curate --dataset {{file}} {exported}",
         {"input-draft.journal.jsonl": journal}),
        ("curation journal", "other-draft.journal.jsonl", journal,
         f"curate --dataset ./other-draft.jsonl {exported}", {"other-draft.jsonl": draft}),
        ("stamp", "input-eval.meta.json", stamp, f"validate --dataset ./input-eval.jsonl {GRAPH}", gold),
        ("versions", "input-eval.versions.json", versions, version, gold),
        ("versions written", "input-eval.versions.json", versions, f"{version} --note more",
         {"input-eval.jsonl": "changed"}),
        ("history", "past/results.json", "results.json", "history ./past", past),
        ("columns", columns, columns, own, {"own.csv": "own.csv"}),
        ("columns' table", "own.csv", "own.csv", own, {columns: columns}),
        ("environment", ".env", ".env", "settings", {}),
        ("compared run", "input-b.json", "results.json", compared, {}),
        ("results page", "input-c.json", "results.json", reports, {}),
        ("run as a retriever", "input-run.jsonl", "run.jsonl", f"{out} --retriever run:./input-run.jsonl", {}),
        ("graph converted", "input-conv-KG.json", "s-KG.json", "convert -g {file} -o ./out.graphml", {}),
        ("graph drawn", "input-drawn-KG.json", "s-KG.json", drawn, {}),
        ("graph generated from", "input-gen-KG.json", "s-KG.json", made, {}),
    ):  # fmt: skip
        add(name, file, sound, command, beside)
    for name, text, command in (
        ("question", "Where does Ben live, 점순?", f"query {{text}} {GRAPH} --explain"),
        ("question fuzzy", "Wher does Anna Brg live?", f"query {{text}} {GRAPH} --set retrieval.fuzzy=0.8"),
        ("measures", "ndcg@5,recall@{1,3},rbp@10,mrr", "score --gold ./gold.qrels --run ./run.trec -o ./out.json --measures {text}"),
        ("gates", "recall@5>=0.65,mrr>=0.5", f"{out} --fail-under {{text}}"),
        ("settings of a sweep", "retrieval.min_weight=0,0.5", f"sweep {ON_SET} --quiet --hops 1 --set {{text}} -o ./swept.json"),
        ("path", "./s-eval.jsonl", f"validate --dataset {{text}} {GRAPH}"),
    ):  # fmt: skip
        found.append(Target(name, "", text.encode(), tuple(command.split()), text=True))
    for file in ("s-questions.txt", "s-questions.csv", "s-questions.json"):
        command = f"recommend --dataset {{file}} {GRAPH} -o ./drafted.jsonl"
        add(f"{file} recommend", f"{BROKEN}-{file}", file, command)
    for file in ("s-eval.jsonl", "gold.qrels", "gold.csv", "gold-rag.json", "gold-contest.json"):
        prefer = "first" if "eval" in file else "last"
        for name, command in {
            "convert": "dataset convert {file} -o ./converted.jsonl",
            "merge": f"dataset merge {{file}} ./s-eval.jsonl -o ./merged.jsonl --prefer {prefer}",
            "split": "dataset split {file} -o ./parts.jsonl",
            "to rag": "dataset convert {file} -o ./converted.csv",
        }.items():
            add(f"{file} {name}", f"{BROKEN}-{name.replace(' ', '-')}-{file}", file, command)
    for number, item in enumerate(found):
        if item.replies and not item.sound:
            text = '{"mentions": ["Ben"]}' if "llm" in item.command else SOUND_ANSWER
            sound = answer(text, usage={"prompt_tokens": 9, "completion_tokens": 4}).body
            found[number] = replace(item, sound=sound)
    return found


GRAPHS = ROOT / "tests" / "fixtures" / "graphs"
WHOLE = ("ms-graphrag-1", "ms-graphrag-2", "ms-graphrag-3", "ms-graphrag-3-csv")
WRITTEN = {
    "triples.tsv": "source\trelation\ttarget\tweight\nA\tknows\tB\t1\nB\tlikes\t점순\t2\n",
    "triples.csv": 'Ann,lives in,"Dover, Kent"\nBen,knows,Ann\n',
    "resources.nt": '<http://e/A> <http://www.w3.org/2000/01/rdf-schema#label> "Ä"@en .\n<http://e/A> <http://e/knows> <http://e/B> .\n_:b <http://e/n> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n',
    "resources.ttl": '@prefix : <http://e/> .\n:A :knows :B, [ :n 1 ] ; a :Person .\n:B <http://www.w3.org/2000/01/rdf-schema#label> "Bee" .\n',
    "gephi.gexf": '<?xml version="1.0"?><gexf xmlns="http://gexf.net/1.3" version="1.3">\n<graph defaultedgetype="directed">\n<attributes class="node"><attribute id="0" title="type" type="string"><default>P</default></attribute></attributes>\n<nodes><node id="a" label="A"><attvalues><attvalue for="0" value="P"/></attvalues></node>\n<node id="b" label="B"/></nodes>\n<edges><edge id="0" source="a" target="b" label="knows" weight="2"/></edges></graph></gexf>\n',
    "openie_results_x.json": '{"docs": [{"idx": "c1", "passage": "Ann\\nAnn lives in Dover.", "extracted_entities": ["Ann"], "extracted_triples": [["Ann", "lives in", "Dover"], ["x"]]}], "avg_ent_chars": NaN}',
    "multigraph.json": '{"directed": true, "multigraph": true, "graph": {}, "nodes": [{"id": 1, "name": "A"}, {"id": "b"}],\n "edges": [{"source": 1, "target": "b", "key": 0, "relation": "knows", "weight": 2}]}',
    "quoted.tsv": '"source"\t"relation"\t"target"\t"description"\t"year"\n"A ""a"""\tknows\t" B "\t5" disk\t1\nB\tlikes\t점순\t\t2\n',
    "quoted.csv": '"head","relation","tail","weight","head_type"\n"Ann","lives\nin","Dover, Kent","1","P"\n"Ben","knows","Ann","",""\n',
    "lists.json": '{"entities": [{"id": "1", "name": "점순", "type": "P", "aliases": ["순이"]}, "B"], "relations": [{"source": "1", "target": "B", "type": "knows", "weight": 2}, ["점순", "x", "B"]]}',
    "triples.json": '[["A", "knows", "B"], {"subject": "B", "predicate": "likes", "object": {"id": "점순"}}]',
    "triples.jsonl": '{"head": "A", "relation": "knows", "tail": "B", "weight": 2}\n{"head": "B", "relation": "likes", "tail": "점순"}\n',
    "cytoscape.json": '{"data": [], "directed": true, "multigraph": false, "elements": {"nodes": [{"data": {"id": "a", "name": "A"}}, {"data": {"id": "b"}}], "edges": [{"data": {"source": "a", "target": "b", "relation": "knows"}}]}}',
    "all-nodes.json": '{"nodes": [{"type": "node", "id": "0", "labels": ["P"], "properties": {"name": "A"}}], "rels": [{"id": "0", "type": "relationship", "label": "KNOWS", "start": {"id": "0"}, "end": {"id": "0"}}]}',
    "resources.rdf": '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n<rdf:Description rdf:about="http://e/A"><e:knows rdf:resource="http://e/B"/><e:n>1</e:n></rdf:Description></rdf:RDF>\n',
    "resources.jsonld": '{"@context": {"knows": {"@id": "http://e/knows", "@type": "@id"}}, "@graph": [{"@id": "http://e/A", "knows": "http://e/B"}]}',
    "resources.trig": '@prefix : <http://e/> .\n:g { :A :knows :B . :B :n 1 . }\n',
    "resources.nq": '<http://e/A> <http://e/knows> <http://e/B> <http://e/g> .\n<http://e/A> <http://e/n> "1"@en <http://e/g> .\n',
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


def workbook(sheets: dict[str, list[list[str]]]) -> bytes:
    """A worksheet file; of each sheet the rows, the first of which names the columns."""
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package, main = (
        "http://schemas.openxmlformats.org/package/2006",
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    )
    texts = sorted({cell for rows in sheets.values() for row in rows for cell in row})
    names = list(enumerate(sheets, start=1))
    cells = {
        f"xl/worksheets/sheet{number}.xml": f'<worksheet xmlns="{main}"><sheetData>'
        + "".join(
            f'<row r="{line}">'
            + "".join(
                f'<c r="{chr(65 + at)}{line}" t="s"><v>{texts.index(cell)}</v></c>'
                for at, cell in enumerate(row)
            )
            + "</row>"
            for line, row in enumerate(sheets[name], start=1)
        )
        + "</sheetData></worksheet>"
        for number, name in names
    }
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>' for number, name in names) + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        + "".join(f'<Relationship Id="r{number}" Type="{office}/worksheet" Target="worksheets/sheet{number}.xml"/>' for number, _ in names)
        + f'<Relationship Id="r99" Type="{office}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">' + "".join(f"<si><t>{text}</t></si>" for text in texts) + "</sst>",
    } | cells  # fmt: skip
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return out.getvalue()


NODES = [
    ["id", "name", "type", "description"],
    ["n1", "Ann", "girl", "in Dover"],
    ["n2", "Ben", "boy", "old"],
]
EDGES = [["source", "target", "relation", "weight"], ["n1", "n2", "knows", "2"], ["n2", "n1", "likes", "1"]]
QUESTIONS = [
    ["id", "query", "reference_entities", "tags"],
    ["q1", "Where does Ben live?", "Mill;C", "easy"],
    ["q2", "Who?", "Ben", "a;b"],
]


def database(connect: Callable[[str], Any], path: Path) -> bytes:
    """A file of SQLite or DuckDB with a table of entities and one of relations."""
    connection = connect(str(path))
    connection.execute("CREATE TABLE entities (id TEXT, name TEXT, type TEXT, description TEXT)")
    connection.execute("CREATE TABLE relations (source TEXT, target TEXT, relation TEXT, weight DOUBLE)")
    for table, rows in (("entities", NODES), ("relations", EDGES)):
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows[1:])
    connection.commit()
    connection.close()
    return path.read_bytes()


def tables(home: Path) -> dict[str, bytes]:
    """Graphs, gold sets and runs in binary files and with columns that `NAME-columns.yaml` names."""
    import duckdb
    import pyarrow
    import pyarrow.parquet

    def parquet(rows: list[list[str]]) -> bytes:
        out = io.BytesIO()
        columns = dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))
        pyarrow.parquet.write_table(pyarrow.table(columns), out)
        return out.getvalue()

    return {
        "g.xlsx": workbook({"Nodes": NODES, "Edges": EDGES}),
        "g.sqlite": database(sqlite3.connect, home / "made.sqlite"),
        "g.duckdb": database(duckdb.connect, home / "made.duckdb"),
        "g.parquet": parquet(EDGES),
        "g.gml": b'graph [\n directed 1\n node [ id 1 label "Ann" type "girl" ]\n node [ id 2 label "Ben" ]\n edge [ source 1 target 2 label "knows" weight 2.5 ]\n]\n',
        "g.net": b'*Vertices 2\n1 "Ann" 0.1 0.2 0.5\n2 "Ben" 0.1 0.2 0.5\n*Arcs\n1 2 2.0 l "knows"\n',
        "gold.xlsx": workbook({"Questions": QUESTIONS}),
        "gold.parquet": parquet(QUESTIONS),
        "run.xlsx": workbook({"Run": [["query_id", "doc_id", "score"], ["q1", "e2", "0.5"], ["q1", "e3", "0.25"]]}),
        "promptfoo.yaml": b'tests:\n- vars: {question: "Where does Ben live?", id: q1}\n  assert:\n  - {type: contains, value: Mill}\n',
        "llama.json": b'{"queries": {"a": "Where?", "b": "Who?"}, "corpus": {"n1": "Mill", "n2": "Ben"}, "relevant_docs": {"a": ["n1"], "b": ["n2"]}}',
        "columns.json": b'{"question": {"0": "Where?", "1": "Who?"}, "reference_entities": {"0": ["Mill"], "1": ["Ben"]}}',
        "answers.jsonl": _lines([{"id": "q1", "query": "Where does Ben live?", "answer": "In Mill.", "evidence": ["Ben lives in Old Mill."]}]),
        "own.csv": b"who,whom,how\nAnn,Ben,knows\nBen,Mill,sees\n",
        "own-columns.yaml": b"source: who\ntarget: whom\nrelation: how\n",
        "patch.yaml": PATCH,
        ".env": b"OPENAI_MODEL=test-model\nOPENAI_API_KEY='sk-abcdef'\n# so\nexport KG_DIR=x\n",
    }  # fmt: skip


PATCH = """graph: {name: s}
questions: {name: s}
confirm: [aliases, merges]
aliases:
- {entity_id: e1, alias: Benny, status: confirmed, evidence: [so], questions: [q1], gain: 0.1, low: -0.1, high: 0.2, n: 7}
merges:
- {keep_id: e4, drop_ids: [e5], status: confirmed}
vocabulary:
- {type: KNOWS, words: [know, 알다], status: confirmed}
settings:
- {values: {hops: 1}, status: confirmed}
""".encode()


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
