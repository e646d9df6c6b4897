"""Linking: how often it is right on MetaQA, and how fast against a million names.

    uv run python benchmarks/linking.py ../shared/data/metaqa
    uv run --with pyahocorasick python benchmarks/linking.py --names 1000000
    uv run python benchmarks/linking.py --graph /tmp/big-KG.json

The first prints, for each question set as given and in lower case, the share of questions whose topic is
among the seeds, and whose only seed it is. The second makes names (seed 1), saves the index, maps it into
memory and links 10,000 questions, beside an Aho-Corasick automaton over the same names where pyahocorasick
is installed. The third links the questions beside a graph (benchmarks/generate.py) against the graph as the
cache gives it; run it twice, the first fills the cache.
"""

from __future__ import annotations

import argparse
import pickle
import random
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiny_graph_rag.columns.strings import Categories, StringLists, Strings
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.graph.tables import Entities, Relations
from tiny_graph_rag.language.function_words import table
from tiny_graph_rag.linking.names import NameLinker

SYLLABLES = sorted(table("ka lo mi ran tes vor bel shi um dra quin zo pha el gar ten wu xi yo nor"))
QUESTIONS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("metaqa", type=Path, nargs="?", help="folder of the MetaQA graph and gold sets")
    parser.add_argument("--names", type=int, help="how many names to make for the speed test")
    parser.add_argument("--graph", type=Path, help="a large graph, with NAME-eval.jsonl beside it")
    options = parser.parse_args()
    if options.metaqa:
        quality(options.metaqa)
    if options.names:
        speed(options.names)
    if options.graph:
        from_cache(options.graph)


def quality(folder: Path) -> None:
    graph = read_graph(folder / "metaqa-KG.json")
    linker = NameLinker(graph, NameIndex.of(graph))
    print("| MetaQA dev | as given | all in lower case |\n|---|---|---|")
    for hops in (1, 2, 3):
        examples = list(read_eval_set(folder / f"metaqa-{hops}hop-eval.jsonl"))
        lower = [replace(example, query=example.query.lower()) for example in examples]
        print(
            f"| {hops}-hop | {topics(graph, linker, examples)} | {topics(graph, linker, lower)} |", flush=True
        )


def topics(graph: KnowledgeGraph, linker: NameLinker, examples: list[Example]) -> str:
    """Share of the questions whose topic is among the seeds / is the only seed."""
    among = only = 0
    for example, question in zip(examples, linker.link(examples), strict=True):
        names = {graph.entities.names[seed.entity] for seed in question.seeds}
        topic = (example.seed_entities or ("",))[0]
        among += topic in names
        only += names == {topic}
    return " / ".join(f"{count / len(examples):.4f}".removeprefix("0") for count in (among, only))


def speed(count: int) -> None:
    names = made_names(count)
    examples = made_questions(names)
    entities = Strings.of(str(row) for row in range(count))
    graph = KnowledgeGraph.of(
        Entities(
            entities,
            Strings.of(names),
            Categories.of(["OTHER"] * count),
            *(Strings.of([""] * count), StringLists.of([()] * count)),
            *(StringLists.of([()] * count), Strings.of([""] * count)),
        ),
        no_relations(),
    )
    started = time.perf_counter()
    index = NameIndex.of(graph)
    print(f"{count:,} names indexed in {time.perf_counter() - started:.2f} s; peak {peak_mb():,} MB so far")
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        index = mapped(index, Path(folder))
        print(f"saved and mapped in {time.perf_counter() - started:.2f} s")
        linker = NameLinker(graph, index)
        linker.link(examples[:100])
        started, busy = time.perf_counter(), time.process_time()
        linked = linker.link(examples)
        elapsed, busy = time.perf_counter() - started, time.process_time() - busy
        complete = sum(
            wanted in [graph.entities.names[seed.entity] for seed in question.seeds]
            for question, example in zip(linked, examples, strict=True)
            for wanted in example.seed_entities or ()
        )
        print(
            f"this program: {QUESTIONS:,} questions in {elapsed:.2f} s ({busy:.2f} s of "
            f"processor time), {complete:,} of {2 * QUESTIONS:,} names found; peak {peak_mb():,} MB"
        )
    automaton(names, examples)


def from_cache(path: Path) -> None:
    base = path.name.removesuffix(".gz").removesuffix(".json").removesuffix("-KG")
    examples = list(read_eval_set(path.with_name(f"{base}-eval.jsonl")))
    started = time.perf_counter()
    graph = read_graph(path, cache_folder())
    linker = NameLinker(graph, NameIndex.of(graph))
    opened = time.perf_counter() - started
    started, busy = time.perf_counter(), time.process_time()
    linked = linker.link(examples)
    elapsed, busy = time.perf_counter() - started, time.process_time() - busy
    complete = sum(
        {graph.entities.names[seed.entity] for seed in question.seeds} >= set(example.seed_entities or ())
        for question, example in zip(linked, examples, strict=True)
    )
    print(
        f"{len(graph):,} names, opened in {opened:.2f} s; {len(examples):,} questions in {elapsed:.2f} s "
        f"({busy:.2f} s of processor time), all names found in {complete:,}; peak {peak_mb():,} MB"
    )


def automaton(names: list[str], examples: list[Example]) -> None:
    """The peer: every occurrence of every name, no word boundaries, no evidence, longest match wins."""
    try:
        import ahocorasick
    except ImportError:
        print("pyahocorasick is not installed; run with: uv run --with pyahocorasick …")
        return
    started = time.perf_counter()
    peer = ahocorasick.Automaton()
    for row, name in enumerate(names):
        peer.add_word(name.casefold(), row)
    peer.make_automaton()
    built = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "automaton")
        peer.save(path, pickle.dumps)
        started = time.perf_counter()
        peer = ahocorasick.load(path, pickle.loads)
        loaded = time.perf_counter() - started
    started = time.perf_counter()
    hits = sum(1 for example in examples for _ in peer.iter_long(example.query.casefold()))
    print(
        f"pyahocorasick: built in {built:.2f} s, loaded in {loaded:.2f} s, {QUESTIONS:,} questions in "
        f"{time.perf_counter() - started:.2f} s, {hits:,} hits; peak {peak_mb():,} MB"
    )


def made_names(count: int) -> list[str]:
    """Different names of one to four words, from 200,000 words of two to five syllables."""
    chance = random.Random(1)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 5))).capitalize() for _ in range(200_000)]
    names: dict[str, None] = {}
    while len(names) < count:
        names[" ".join(chance.choices(words, k=chance.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(names)


def made_questions(names: list[str]) -> list[Example]:
    chance = random.Random(2)
    pairs = [(chance.choice(names), chance.choice(names)) for _ in range(QUESTIONS)]
    return [
        Example(
            str(row), f"who is the friend of {one} and what did {two} write", (), seed_entities=(one, two)
        )
        for row, (one, two) in enumerate(pairs)
    ]


def no_relations() -> Relations:
    nothing = np.zeros(0, dtype=np.int32)
    text, types = Strings.of([]), Categories.of([])
    return Relations(text, nothing, nothing, types, text, np.zeros(0), StringLists.of([]), text)


def mapped(index: NameIndex, folder: Path) -> NameIndex:
    """The same index with its arrays in files, read as they are touched."""
    arrays = {}
    for name, column in index.columns.items():
        np.save(folder / f"{name}.npy", column)
        arrays[name] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return NameIndex(index.names, arrays)


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
