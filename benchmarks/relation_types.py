"""What a question costs on graphs of 5,000 and of 50,000 relation types in free words.

    uv run python benchmarks/relation_types.py [--set retrieval.types=5000 50000] [--questions 1000]

Both graphs have the same number of entities and relations. A type's name is three words whose ranks follow
Zipf's law (exponent 1.4), so that words repeat as they do in texts and ten times the types have some five
times the words. A question says one entity's name and the words of one of its relations. Prints processor
seconds a question of linking and ranking, one thread, of five runs each, in turn, and the ratio of medians:
with its words new, nothing kept from a run before, and with its words met before.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from generate import SYLLABLES

from tiny_graph_rag.config import Config
from tiny_graph_rag.gold.examples import Example
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.language.words import keys, lemma, likeness, stem
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever

ENTITIES, RELATIONS = 30_000, 150_000
EXPONENT, WORDS = 1.4, 3
RUNS = 5


def word(rank: int) -> str:
    """The rank in syllables, two at least."""
    parts = list[str]()
    while rank or len(parts) < 2:
        parts.append(SYLLABLES[rank % len(SYLLABLES)])
        rank //= len(SYLLABLES)
    return "".join(parts)


def made(types: int, questions: int) -> tuple[KnowledgeGraph, list[Example]]:
    random = np.random.default_rng(1)
    names = dict[str, None]()
    while len(names) < types:
        ranks = np.minimum(random.zipf(EXPONENT, WORDS), 1 << 30)
        names[" ".join(word(int(rank)) for rank in ranks)] = None
    kinds = list(names)
    people = [f"{word(row + 300).title()} {row}" for row in range(ENTITIES)]
    sources = random.integers(0, ENTITIES, RELATIONS)
    targets = random.integers(0, ENTITIES, RELATIONS)
    type_of = np.concatenate([np.arange(types), random.integers(0, types, RELATIONS - types)])
    rows = zip(sources.tolist(), type_of.tolist(), targets.tolist(), strict=True)
    triples = [(people[source], kinds[kind], people[target]) for source, kind, target in rows]
    chosen = random.integers(0, RELATIONS, questions).tolist()
    asked = [
        Example(f"q{number}", f"Who {triples[row][1]} {triples[row][0]}?", (triples[row][2],))
        for number, row in enumerate(chosen)
    ]
    return KnowledgeGraph.from_triples(triples), asked


class Side:
    """One graph with its questions; each run asks anew, with nothing kept from the run before."""

    def __init__(self, types: int, questions: int) -> None:
        self.graph, self.examples = made(types, questions + 1)
        self.names = NameIndex.of(self.graph)
        self.new: list[float] = []
        self.met: list[float] = []
        self.run()  # what is made at first use

    def run(self) -> None:
        self.graph.derivations.shared.clear()
        for item in (keys, lemma, likeness, stem):
            item.cache_clear()
        config = Config().override(hops=2, threads=1)
        linker, retriever = make_linker(self.graph, self.names, config), make_retriever(self.graph, config)
        first, *asked = linker.link(self.examples)
        retriever.retrieve([first])
        for seconds in (self.new, self.met):
            started = time.process_time()
            linker.link(self.examples[1:])
            retriever.retrieve(asked)
            seconds.append((time.process_time() - started) / len(asked))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--types", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--questions", type=int, default=1000)
    given = parser.parse_args()
    sides = {types: Side(types, given.questions) for types in given.types}
    for _ in range(RUNS):
        for side in sides.values():
            side.run()
    for words in ("new", "met"):
        seconds = {types: getattr(side, words)[1:] for types, side in sides.items()}
        for types, part in seconds.items():
            print(
                f"{types:7,} types, words {words}: {1e3 * statistics.median(part):.3f} ms a question "
                f"({1e3 * min(part):.3f} to {1e3 * max(part):.3f})"
            )
        first, last = (statistics.median(seconds[types]) for types in (given.types[0], given.types[-1]))
        print(f"{given.types[-1]:,} types cost {last / first:.2f} times as much as {given.types[0]:,}")


if __name__ == "__main__":
    main()
