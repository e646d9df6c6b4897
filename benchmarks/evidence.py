"""Evidence of HotpotQA and GraphRAG-Bench judged as passages and as entities, on one run of one retriever.

    uv run python benchmarks/evidence.py hotpotqa.json       # a list of questions in HotpotQA's own layout
    uv run python benchmarks/evidence.py hotpotqa.json --limit 200
    uv run python benchmarks/evidence.py medical_questions.json --lightrag medical/

The file is read where it lies: https://hotpotqa.github.io (CC BY-SA 4.0). Every paragraph of the contexts is
an entity, called by its title; a relation leads to each title that its text names. The passages are sentences
with the id `title#place`. `supporting_facts` are the gold: their titles as reference entities, their
sentences as reference passages. The retriever is BM25 over all sentences; its entities are the titles in the
order in which their first sentence was returned.

GraphRAG-Bench (https://github.com/GraphRAG-Bench, MIT) has questions with `evidence`, statements in words of
their own, and its authors' LightRAG index of the corpus: that is the graph; the sentences of its chunks are
the passages. A statement is a reference passage (`--match rougeL`, F1 from 0.5 up); the graph's entities that
the statements name are the reference entities, those that a sentence names are what it returns.

Printed: both kinds side by side; the same from `score` on the run that was saved, which must be equal.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tiny_graph_rag import load_graph

ROOT = Path(__file__).resolve().parents[1]
CORPUS = "HOTPOTQA_SENTENCES"  # environment: the file that `retrieve` searches
RETURNED = 30
MEASURES = ("recall@2", "recall@5", "recall@10", "all_hit@5", "ndcg@10", "mrr")
BOTH = ",".join([*MEASURES, *(f"passages:{measure}" for measure in MEASURES)])


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


class Bm25:
    """Okapi's BM25 with k1 = 1.2, b = 0.75."""

    def __init__(self, sentences: dict[str, str]) -> None:
        self.ids = list(sentences)
        texts = list(map(words, sentences.values()))
        mean = sum(map(len, texts)) / len(texts)
        self.postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, text in enumerate(texts):
            for word, count in Counter(text).items():
                part = count * 2.2 / (count + 1.2 * (0.25 + 0.75 * len(text) / mean))
                self.postings[word].append((row, part))

    def find(self, question: str, most: int) -> list[tuple[str, float]]:
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words(question)):
            held = self.postings.get(word, [])
            weight = math.log(1 + (len(self.ids) - len(held) + 0.5) / (len(held) + 0.5))
            for row, part in held:
                scores[row] += weight * part
        best = sorted(scores, key=lambda row: (-scores[row], row))[:most]
        return [(self.ids[row], scores[row]) for row in best]


@cache
def index() -> tuple[Bm25, dict[str, Any]]:
    """The index, and of each sentence its `text` and the `entities` that it stands for."""
    sentences: dict[str, Any] = json.loads(Path(os.environ[CORPUS]).read_text(encoding="utf-8"))
    searched = {
        id: " ".join([*row["entities"], row["text"]]) if row["titled"] else row["text"]
        for id, row in sentences.items()
    }
    return Bm25(searched), sentences


def retrieve(question: str) -> dict[str, Any]:
    """What `--retriever benchmarks/evidence.py:retrieve` asks: sentences, and their entities."""
    bm25, sentences = index()
    found = bm25.find(question, RETURNED)
    entities = dict.fromkeys(name for id, _ in found for name in sentences[id]["entities"])
    passages = [{"id": id, "text": sentences[id]["text"], "score": score} for id, score in found]
    return {"entities": list(entities), "passages": passages}


def paragraphs(questions: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Title → sentences; of a title that comes twice the first."""
    found: dict[str, list[str]] = {}
    for question in questions:
        for title, sentences in question["context"]:
            found.setdefault(title, sentences)
    return found


def graph_of(held: dict[str, list[str]]) -> dict[str, Any]:
    """KG JSON: a title is an entity; it mentions each title that its text holds word for word."""
    by_first = defaultdict(list)
    for title in held:
        by_first[words(title)[0] if words(title) else ""].append(title)
    relations = []
    for title, sentences in held.items():
        text = " ".join(sentences)
        for first in dict.fromkeys(words(text)):
            relations += [
                {"source_entity_id": title, "target_entity_id": other, "relationship_type": "MENTIONS"}
                for other in by_first.get(first, [])
                if other != title and len(other) > 3 and other in text
            ]
    entities = {title: {"name": title, "description": "".join(held[title][:1])} for title in held}
    return {"entities": entities, "relationships": relations}


def gold_of(questions: list[dict[str, Any]], held: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    for question in questions:
        facts = [(title, at) for title, at in question["supporting_facts"] if at < len(held.get(title, []))]
        yield {
            "id": question["_id"],
            "query": question["question"],
            "reference_entities": list(dict.fromkeys(title for title, _ in facts)),
            "reference_chunks": [f"{title}#{at}" for title, at in facts],
            "tags": [question.get("type", "")],
        }


@dataclass(frozen=True)
class Task:
    """graph: KG JSON, or None where a file is one. sentences: by id, as `index` reads them."""

    graph: dict[str, Any] | None
    gold: list[dict[str, Any]]
    sentences: dict[str, Any]
    match: str = "auto"


def hotpot(questions: list[dict[str, Any]]) -> Task:
    held = paragraphs(questions)
    sentences = {
        f"{title}#{at}": {"text": text, "entities": [title], "titled": True}
        for title, row in held.items()
        for at, text in enumerate(row)
    }
    return Task(graph_of(held), list(gold_of(questions, held)), sentences)


def graphrag_bench(questions: list[dict[str, Any]], folder: Path) -> Task:
    names = {tuple(words(name)): name for name in load_graph(folder).entities.names if words(name)}

    def named(text: str) -> list[str]:
        """The longest names of entities in a text, in its order."""
        parts, at = words(text), 0
        found: dict[str, None] = {}
        while at < len(parts):
            ends = range(min(len(parts), at + 8), at, -1)
            end = next((end for end in ends if tuple(parts[at:end]) in names), None)
            if end is not None:
                found[names[tuple(parts[at:end])]] = None
            at = at + 1 if end is None else end
        return list(found)

    chunks = json.loads((folder / "kv_store_text_chunks.json").read_text(encoding="utf-8"))
    sentences = {
        f"{chunk}#{at}": {"text": text, "entities": named(text), "titled": False}
        for chunk, row in chunks.items()
        for at, text in enumerate(re.split(r"(?<=[.!?])\s+|\n+", row["content"]))
        if len(words(text)) > 3
    }
    gold = [
        {
            "id": question["id"],
            "query": question["question"],
            "reference_entities": named(question["evidence"]),
            "reference_texts": [part for part in question["evidence"].split("; ") if part.strip()],
            "tags": [question["question_type"]],
        }
        for question in questions
    ]
    return Task(None, gold, sentences, "rougeL")


def run(folder: Path, *command: str) -> dict[str, Any]:
    """One command of the program; its results file."""
    environment = {**os.environ, CORPUS: str(folder / "sentences.json")}
    subprocess.run(
        [sys.executable, str(ROOT / "main.py"), *command, "--quiet", "-o", str(folder / "out.json")],
        cwd=folder, check=True, env=environment,
    )  # fmt: skip
    document: dict[str, Any] = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return document


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("file", type=Path)
    options.add_argument("--limit", type=int)
    options.add_argument("--lightrag", type=Path, help="index of GraphRAG-Bench's corpus")
    given = options.parse_args()
    questions = json.loads(given.file.read_text(encoding="utf-8"))[: given.limit]
    task = graphrag_bench(questions, given.lightrag) if given.lightrag else hotpot(questions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sentences.json").write_text(json.dumps(task.sentences), encoding="utf-8")
        graph = given.lightrag and given.lightrag.resolve()
        if task.graph is not None:
            graph = folder / "hotpot-KG.json"
            graph.write_text(json.dumps(task.graph), encoding="utf-8")
        gold = folder / "evidence-eval.jsonl"
        gold.write_text("".join(json.dumps(row) + "\n" for row in task.gold), encoding="utf-8")
        files = ("-g", str(graph), "--measures", BOTH, "--set", f"evaluation.match={task.match}")
        evaluated = run(
            folder, "eval", "--dataset", str(gold), *files, "--skip-generation",
            "--retriever", f"{Path(__file__).resolve()}:retrieve", "--save-run", str(folder / "run.jsonl"),
        )  # fmt: skip
        scored = run(folder, "score", "--run", str(folder / "run.jsonl"), "--gold", str(gold), *files)
    print(f"{len(questions):,} questions, {len(task.sentences):,} sentences\n")
    means = evaluated["summary"]["measures"]
    print("| measure | as entities | as passages |\n|---|---|---|")
    for measure in (measure for measure in means if ":" not in measure):
        cells = (means[measure], means[f"passages:{measure}"])
        shown = [f"{mean['mean']:.3f} ({mean['low']:.3f}–{mean['high']:.3f})" for mean in cells]
        print(f"| {measure} | {' | '.join(shown)} |")
    again = scored["summary"]["measures"]
    differing = [measure for measure in means if means[measure]["mean"] != again[measure]["mean"]]
    rows = {row["id"]: row["metrics"] for row in scored["results"]}
    values = sum(len(row["metrics"]) for row in evaluated["results"])
    unequal = sum(
        rows[row["id"]][measure] != value
        for row in evaluated["results"]
        for measure, value in row["metrics"].items()
    )
    print(f"\n`score` on the saved run: {len(differing)} means and {unequal} of {values:,} values differ")


if __name__ == "__main__":
    main()
