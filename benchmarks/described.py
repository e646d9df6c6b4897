"""Ranking on graphs as LLMs write them, and on ours: every retriever, hops 1 to 4, against bm25.

    uv run python benchmarks/described.py                     # our graph of novels, our five sets, MuSiQue
    uv run python benchmarks/described.py --bare              # also without descriptions, types, both
    uv run python benchmarks/described.py --keep now.json     # each question's values, to compare with later
    uv run python benchmarks/described.py --before then.json  # `bfs` at 2 hops against such a file, too

Recall@10/nDCG@10/Hits@1 of each retriever at so many hops, and nDCG@10 of `bfs` at 2 hops less that of
`bm25`, question by question, with the interval of `compare`. Real data is read
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
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.resolve import resolve
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.measures import judge, parse_measures, score
from tiny_graph_rag.measures.paired import interval
from tiny_graph_rag.retrieval import make_retriever

HERE = Path(__file__).resolve().parent
OURS = HERE.parent / "data"
MEASURES = parse_measures("recall@10,ndcg@10,hit@1")
DECIDING = "ndcg@10"
COMPARED = 2  # hops at which rivals are compared: the default
SETTINGS = (
    *(("bfs", hops) for hops in (1, 2, 3, 4)),
    *((name, COMPARED) for name in ("hybrid", "pagerank", "bm25")),
)
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
    """Mean of `one` less `other` with its 95 % interval, as `compare` gives it."""
    gains = column(one) - column(other)
    gains = gains[~np.isnan(gains)]
    between = interval(gains)
    return f"{gains.mean():+.3f} [{between.low:+.3f}, {between.high:+.3f}]"


def joined(values: Values) -> str:
    return "/".join(
        f"{np.nanmean(column(values[str(measure)])):.3f}".removeprefix("0") for measure in MEASURES
    )


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def print_set(label: str, graph: Path, gold: Path, before: dict[str, Values]) -> dict[str, Values]:
    """Print one set's row; its values by `set|retriever|hops`."""
    found = {
        f"{label}|{retriever}|{hops}": measured(graph, gold, retriever, hops) for retriever, hops in SETTINGS
    }
    mine = f"{label}|bfs|{COMPARED}"
    rivals = [found[f"{label}|bm25|{COMPARED}"], *([before[mine]] if mine in before else [])]
    less = [difference(found[mine][DECIDING], rival[DECIDING]) for rival in rivals]
    row(label, *map(joined, found.values()), *less)
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
    names = [name if name == "bm25" else f"{name} {hops}" for name, hops in SETTINGS]
    row("set", *names, "less bm25", *(["less before"] if before else []))
    print("|" + "---|" * (len(names) + 2 + bool(before)))
    found: dict[str, Values] = {}
    with tempfile.TemporaryDirectory() as folder:
        for label, graph, gold in sets(given.data):
            if given.sets not in label:
                continue
            found |= print_set(label, graph, gold, before)
            for without in BARE if given.bare else ():
                copy = bare(graph, without, Path(folder))
                found |= print_set(f"{label} without {' and '.join(without)}", copy, gold, before)
    if given.keep:
        given.keep.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
