"""Means of a results file as metrics of an MLflow run, the file itself as its artifact.

pip install mlflow-skinny
python mlflow_log.py data/results/my-questions-results.json
"""

import json
import re
import sys
from pathlib import Path

import mlflow


def log(path: str) -> str:
    """The id of the run that was logged."""
    results = json.loads(Path(path).read_text(encoding="utf-8"))
    with mlflow.start_run(run_name=results["dataset"]["name"]) as run:
        for name, mean in results["summary"]["measures"].items():
            if mean["mean"] is not None:  # MLflow allows no @ and no brackets
                mlflow.log_metric(re.sub(r"[^\w:/ -]", "_", name), mean["mean"])
        mlflow.log_params(
            {f"retrieval.{key}": value for key, value in results["config"]["retrieval"].items()}
        )
        mlflow.log_artifact(path)
        return str(run.info.run_id)


if __name__ == "__main__":
    print(log(sys.argv[1]))
