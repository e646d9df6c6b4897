"""What the first questions to a graph cost: fresh processes, the graph from its cache, one thread.

    uv run python benchmarks/first_questions.py ../shared/data/musique-openie/musique-openie-KG.json \\
        ../shared/data/musique-openie/musique-openie-eval.jsonl [--hops 2] [--runs 5]

Questions a second of processor time, linking and ranking, when each word is met for the first time and once
more; the time in which the retriever is made; and the bytes of the index of texts beside those of the
descriptions that it is of. Medians over processes; the first one fills the cache and is left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from processes import cost

from tiny_graph_rag.config import Config
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.formats.gold import read_eval_set
from tiny_graph_rag.formats.graphs import read_graph
from tiny_graph_rag.graph.names import NameIndex
from tiny_graph_rag.linking import make_linker
from tiny_graph_rag.retrieval import make_retriever


def once(graph_path: Path, dataset: Path, hops: int) -> dict[str, float]:
    """The figures of this process."""
    graph, examples = read_graph(graph_path, cache_folder()), read_eval_set(dataset).examples
    config = Config().override(hops=hops)
    linker = make_linker(graph, NameIndex.of(graph), config)
    times = [time.process_time()]
    retriever = make_retriever(graph, config)
    times.append(time.process_time())
    for _ in range(2):
        retriever.retrieve(linker.link(examples))
        times.append(time.process_time())
    made, first, again = (after - before for before, after in pairwise(times))
    texts = graph.derivations.arrays.get("texts", {})
    return {
        "seconds to make it": made,
        "questions a second, first": len(examples) / first,
        "questions a second, again": len(examples) / again,
        "kB of text index": sum(text.nbytes for text in texts.values()) / 1e3,
        "kB of descriptions": (
            graph.entities.descriptions.data.nbytes + graph.relations.descriptions.data.nbytes
        )
        / 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--once", action="store_true", help="this process alone, as JSON")
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(given.graph, given.dataset, given.hops)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        command = (
            __file__,
            given.graph.resolve(),
            given.dataset.resolve(),
            "--once",
            "--hops",
            str(given.hops),
        )
        environment = {"XDG_CACHE_HOME": scratch}
        found = [
            json.loads(cost(*command, environment=environment).printed.splitlines()[-1])
            for _ in range(given.runs + 1)
        ][1:]
    for name in found[0]:
        values = [item[name] for item in found]
        print(f"{name:28} {median(values):10.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
