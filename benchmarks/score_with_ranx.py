"""What one writes over ranx, for benchmarks/scoring.py. RUN QRELS OUTPUT; prints the seconds of evaluating
once more, when everything is loaded and compiled.
"""

import json
import sys
import time

import ranx

MEASURES = ["precision@5", "recall@5", "recall@10", "mrr", "map", "ndcg@5", "ndcg@10", "hit_rate@5"]


def main(run_file: str, qrels_file: str, output: str) -> None:
    qrels = ranx.Qrels.from_file(qrels_file, kind="trec")
    run = ranx.Run.from_file(run_file, kind="trec")
    means = ranx.evaluate(qrels, run, MEASURES, make_comparable=True)
    questions = {name: dict(values) for name, values in run.scores.items()}
    with open(output, "w") as stream:  # noqa: PTH123 - as such scripts are written
        json.dump({"means": means, "questions": questions}, stream, default=float)
    began = time.perf_counter()
    ranx.evaluate(qrels, run, MEASURES, make_comparable=True)
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main(*sys.argv[1:])
