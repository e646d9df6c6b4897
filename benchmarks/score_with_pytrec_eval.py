"""The rival of benchmarks/scoring.py: what one writes over pytrec_eval. RUN QRELS OUTPUT."""

import json
import sys

import pytrec_eval

MEASURES = {"P.5", "recall.5,10", "recip_rank", "map", "ndcg_cut.5,10", "success.5"}


def main(run_file: str, qrels_file: str, output: str) -> None:
    with open(qrels_file) as stream:  # noqa: PTH123 - as such scripts are written
        qrels = pytrec_eval.parse_qrel(stream)
    with open(run_file) as stream:  # noqa: PTH123
        run = pytrec_eval.parse_run(stream)
    found = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    names = sorted(next(iter(found.values())))
    means = {name: sum(found[q][name] for q in found) / len(qrels) for name in names}
    with open(output, "w") as stream:  # noqa: PTH123
        json.dump({"means": means, "questions": found}, stream)
    print(means)


if __name__ == "__main__":
    main(*sys.argv[1:])
