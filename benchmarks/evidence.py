"""Evidence of HotpotQA judged as passages and as entities, on one run of one retriever.

    uv run python benchmarks/evidence.py hotpotqa.json       # a list of questions in HotpotQA's own layout
    uv run python benchmarks/evidence.py hotpotqa.json --limit 200

The file is read where it lies: https://hotpotqa.github.io (CC BY-SA 4.0). Every paragraph of the contexts is
an entity, called by its title; a relation leads to each title that its text names. The passages are sentences
with the id `title#place`. `supporting_facts` are the gold: their titles as reference entities, their
sentences as reference passages. The retriever is BM25 over all sentences; its entities are the titles in the
order in which their first sentence was returned.

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
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORPUS = "HOTPOTQA_SENTENCES"  # environment: the file that `retrieve` searches
RETURNED = 30
MEASURES = ("recall@2", "recall@5", "recall@10", "all_hit@5", "ndcg@10", "mrr")
BOTH = ",".join([*MEASURES, *(f"passages:{measure}" for measure in MEASURES)])


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


class Bm25:
    """Okapi's BM25 with k1 = 1.2, b = 0.75, over sentences with their title."""

    def __init__(self, sentences: dict[str, str]) -> None:
        self.ids = list(sentences)
        texts = [words(f"{id.rpartition('#')[0]} {text}") for id, text in sentences.items()]
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
def index() -> tuple[Bm25, dict[str, str]]:
    sentences: dict[str, str] = json.loads(Path(os.environ[CORPUS]).read_text(encoding="utf-8"))
    return Bm25(sentences), sentences


def retrieve(question: str) -> dict[str, Any]:
    """What `--retriever benchmarks/evidence.py:retrieve` asks: sentences, and the titles that they are of."""
    bm25, sentences = index()
    found = bm25.find(question, RETURNED)
    titles = dict.fromkeys(id.rpartition("#")[0] for id, _ in found)
    passages = [{"id": id, "text": sentences[id], "score": score} for id, score in found]
    return {"entities": list(titles), "passages": passages}


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
    given = options.parse_args()
    questions = json.loads(given.file.read_text(encoding="utf-8"))[: given.limit]
    held = paragraphs(questions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sentences = {f"{title}#{at}": text for title, row in held.items() for at, text in enumerate(row)}
        (folder / "sentences.json").write_text(json.dumps(sentences), encoding="utf-8")
        graph = graph_of(held)
        (folder / "hotpot-KG.json").write_text(json.dumps(graph), encoding="utf-8")
        lines = "".join(json.dumps(row) + "\n" for row in gold_of(questions, held))
        (folder / "hotpot-eval.jsonl").write_text(lines, encoding="utf-8")
        files = ("-g", str(folder / "hotpot-KG.json"), "--measures", BOTH)
        evaluated = run(
            folder, "eval", "--dataset", str(folder / "hotpot-eval.jsonl"), *files, "--skip-generation",
            "--retriever", f"{Path(__file__).resolve()}:retrieve", "--save-run", str(folder / "run.jsonl"),
        )  # fmt: skip
        gold = str(folder / "hotpot-eval.jsonl")
        scored = run(folder, "score", "--run", str(folder / "run.jsonl"), "--gold", gold, *files)
    print(f"{len(questions):,} questions, {len(held):,} paragraphs, {len(sentences):,} sentences, "
          f"{len(graph['relationships']):,} relations\n")  # fmt: skip
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
