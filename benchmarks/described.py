"""Ranking on graphs as LLMs write them, and on ours: every retriever, hops 1 to 4, paired 95 % intervals.

    uv run python benchmarks/described.py                     # our graph of novels, our four sets, MuSiQue
    uv run python benchmarks/described.py --bare              # also without descriptions, types, both
    uv run python benchmarks/described.py --keep now.json     # each question's values, to compare with later
    uv run python benchmarks/described.py --before then.json  # `bfs` and `bm25` against such a file, too

Recall@10, nDCG@10 and Hits@1, then `bfs` at 2 hops less each rival, question by question. Real data is read
from ../shared/data (--data FOLDER). `verne-voyages` is written for this project: 504 described entities, 545
untyped relations with descriptions, 75 questions of six kinds whose references are all evidence.
`gothic-novels`, likewise, was made before prices were set and looked at afterwards: 118 entities with longer
descriptions, 180 relations with keywords, 42 questions. `norse-myths` and `korean-novels` were written
before any retriever ran on them. Norse: 164 entities, 275 untyped relations with keywords, 52 questions.
Korean, six novels: 121 entities, 209 relations, half of them of 21 types and half untyped, 48 questions in
Korean. In both, `highly_relevant_entities` hold the answer, the other references the evidence.
Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiny_graph_rag.config import Config
from tiny_graph_rag.formats.gold.jsonl import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.retrieval import make_retriever

HERE = Path(__file__).resolve().parent
OURS = HERE.parent / "data"
MEASURES = parse_measures("recall@10,ndcg@10,hit@1")
HOPS = (1, 2, 3, 4)
RETRIEVERS = {"bfs": HOPS, "pagerank": HOPS, "hybrid": HOPS, "bm25": (2,)}  # bm25 walks no hops
SHOWN = 2  # hops at which rivals are compared: the default
RESAMPLES = 10_000
BARE = (("descriptions",), ("types",), ("descriptions", "types"))

Values = dict[str, list[float | None]]  # a measure → the value of each question


def sets(data: Path) -> Iterator[tuple[str, Path, Path]]:
    for name in ("verne-voyages", "gothic-novels", "norse-myths", "korean-novels"):
        yield name.partition("-")[0], HERE / f"{name}-KG.json", HERE / f"{name}-eval.jsonl"
    for graph in sorted((OURS / "kg").glob("*-KG.json")):
        name = graph.name.removesuffix("-KG.json")
        for kind in ("eval", "hardset"):
            path = OURS / "eval" / f"{name}-{kind}.jsonl"
            if path.exists():
                yield f"{name} {kind}", graph, path
    musique = data / "musique-openie"
    if musique.exists():
        yield "musique", musique / "musique-openie-KG.json", musique / "musique-openie-eval.jsonl"


def bare(graph: Path, without: tuple[str, ...], folder: Path) -> Path:
    """A copy of the graph without descriptions or without relation types."""
    document = json.loads(graph.read_text(encoding="utf-8"))
    parts = [*document["entities"].values(), *document["relationships"]]
    for part in parts if "descriptions" in without else ():
        part["description"] = ""
    for relation in document["relationships"] if "types" in without else ():
        relation["relationship_type"] = "RELATED"
    path = folder / f"{graph.stem}-{'-'.join(without)}-KG.json"
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return path


def measured(graph_file: Path, gold: Path, retriever: str, hops: int) -> Values:
    graph, examples = read_graph(graph_file), read_eval_set(gold)
    config = Config().override(retriever=retriever, hops=hops)
    names = NameIndex.of(graph)
    judgments = resolve(examples, names, len(graph))
    linked = make_linker(graph, names, config).link(examples.examples)
    run = make_retriever(graph, config, examples, judgments).retrieve(linked)
    found = score(judge(run, judgments), MEASURES)
    return {
        str(measure): [None if np.isnan(value) else float(value) for value in found[measure]]
        for measure in MEASURES
    }


def column(values: list[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values])


def difference(one: list[float | None], other: list[float | None]) -> str:
    """Mean of `one` less `other` with its 95 % bootstrap interval; in bold where that excludes 0."""
    gains = column(one) - column(other)
    gains = gains[~np.isnan(gains)]
    draws = np.random.default_rng(0).integers(0, len(gains), (RESAMPLES, len(gains)))
    low, high = np.percentile(gains[draws].mean(axis=1), [2.5, 97.5])
    text = f"{gains.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
    return f"**{text}**" if low > 0 or high < 0 else text


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def header(*cells: object) -> None:
    row(*cells)
    print("|" + "---|" * len(cells))


def shown(label: str, graph: Path, gold: Path, before: dict[str, Values]) -> dict[str, Values]:
    """Print one set's tables; its values by `set|retriever|hops`."""
    found: dict[str, Values] = {}
    print(f"\n{label}\n")
    header("retriever", "hops", *map(str, MEASURES))
    for retriever, every in RETRIEVERS.items():
        for hops in every:
            values = found[f"{label}|{retriever}|{hops}"] = measured(graph, gold, retriever, hops)
            means = [f"{np.nanmean(column(values[str(measure)])):.3f}" for measure in MEASURES]
            row(retriever, hops if retriever != "bm25" else "–", *means)
    mine = found[f"{label}|bfs|{SHOWN}"]
    rivals = {name: found[f"{label}|{name}|{SHOWN}"] for name in RETRIEVERS if name != "bfs"}
    rivals |= {f"bfs, {hops} hops": found[f"{label}|bfs|{hops}"] for hops in (3, 4)}
    for name in ("bfs", "bm25"):
        if f"{label}|{name}|{SHOWN}" in before:
            rivals[f"{name} before"] = before[f"{label}|{name}|{SHOWN}"]
    print()
    header(f"bfs, {SHOWN} hops, less", *map(str, MEASURES))
    for name, other in rivals.items():
        row(name, *(difference(mine[str(measure)], other[str(measure)]) for measure in MEASURES))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--sets", default="", help="only sets whose label holds this")
    parser.add_argument("--bare", action="store_true", help="also without descriptions, types, both")
    parser.add_argument("--keep", type=Path, help="file for each question's values")
    parser.add_argument("--before", type=Path, help="such a file, to compare with")
    given = parser.parse_args()
    before = json.loads(given.before.read_text(encoding="utf-8")) if given.before else {}
    found: dict[str, Values] = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, graph, gold in sets(given.data):
            if given.sets not in label:
                continue
            found |= shown(label, graph, gold, before)
            for without in BARE if given.bare else ():
                copy = bare(graph, without, Path(folder))
                found |= shown(f"{label} without {' and '.join(without)}", copy, gold, before)
    if given.keep:
        given.keep.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
