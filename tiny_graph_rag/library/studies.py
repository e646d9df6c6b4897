"""Several results from Python: `compare` tests them, `sweep` tries settings; docs/python.md shows both.

What they give has data frames, a table and pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.config import Config
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.library import (
    GraphLike,
    QuestionsLike,
    Result,
    configured,
    figures_of,
    graph_of,
    in_memory,
    load_questions,
    saved,
)
from tiny_graph_rag.measures import Measure, measures_of
from tiny_graph_rag.scoring.frames import pandas_for

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from tiny_graph_rag.report.document import Document
    from tiny_graph_rag.study.compare import Comparison
    from tiny_graph_rag.study.sweep import Sweep

ResultLike = Any  # Result, Scored, or the path of a results file
HIGHEST_HOPS = 4  # as `sweep` tries them without `--hops`


@dataclass(frozen=True, slots=True, repr=False)
class ResultComparison:
    """Several results of the same questions, the first of which is the baseline. comparison: everything
    behind it."""

    comparison: Comparison

    @property
    def names(self) -> list[str]:
        return [system.name for system in self.comparison.systems]

    @property
    def verdict(self) -> str:
        """A sentence for each result after the first: whether it is better, by how much, how sure that is."""
        return " ".join(f"{sentence}." for sentence in self.comparison.verdicts())

    def to_pandas(self) -> pandas.DataFrame:
        """A row a measure and system: its mean with low, high and n; for all but the first the difference to
        it with the ends of its 95 % interval, p as it is and corrected (Holm), questions won, tied, lost."""
        rows = [
            (
                *(measure, row.system, row.mean, row.mean_low, row.mean_high, row.n),
                *(row.difference, row.low, row.high, row.p_randomisation, row.p_holm),
                *(row.wins, row.ties, row.losses),
            )
            for measure, rows in self.comparison.overall.items()
            for row in rows
        ]
        columns = ["measure", "system", "mean", "low", "high", "n", "difference", "difference_low"]
        columns += ["difference_high", "p", "p_holm", "won", "tied", "lost"]
        return pandas_for("ResultComparison.to_pandas()").DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"ResultComparison({', '.join(self.names)}: {self.verdict})"


def compare(
    *results: ResultLike | Mapping[str, ResultLike],
    measures: str | Sequence[Measure | str] | None = None,
) -> ResultComparison:
    """Test results against the first of them: `compare({"bfs": one, "bm25": other}).verdict`.

    results: of `evaluate` or `score`, or paths of results files; or one mapping of names to such. measures:
    all that they have in common, unless named. Raises UsageError with every reason for what can't be compared
    (other questions, another k) and RunError for a file that is no results file.
    """
    from tiny_graph_rag.study.compare import compare as compared
    from tiny_graph_rag.study.compare import incomparable
    from tiny_graph_rag.study.results_file import system_of

    if len(results) == 1 and isinstance(results[0], Mapping):
        documents = [_document(result, str(name), "") for name, result in results[0].items()]
    else:
        documents = [_document(result, None, f"result {n}") for n, result in enumerate(results, start=1)]
    systems = [system_of(document.content, document.path) for document in documents]
    reasons = incomparable(systems)
    if reasons:
        raise UsageError("these results can't be compared: {reasons}", reasons="; ".join(reasons))
    wanted = () if measures is None else list(map(str, measures_of(measures)))
    return ResultComparison(compared(systems, measures=wanted, by_tag=False))


@dataclass(frozen=True, slots=True, repr=False)
class SweepResult:
    """Settings tried on one gold set. sweep: everything behind it."""

    sweep: Sweep

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The settings to take: `{"retriever": "bfs", "hops": 3}`; None where there are too few questions."""
        setting = self.sweep.chosen()
        if setting is None:
            return None
        hops = {} if setting.hops is None else {"hops": setting.hops}
        return {**setting.settings, **hops}

    @property
    def reason(self) -> str:
        """Why they are recommended, or why nothing is."""
        return str(self.sweep.recommended[""].reason)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a setting and measure, over all questions: mean, low, high, n, reliable, and the share of
        references that any ranking within the hops could return."""
        rows = [
            (
                *(setting.system, setting.hops, setting.top_k, measure),
                *(mean.mean, mean.low, mean.high, mean.n, setting.oracle_recall),
            )
            for setting in self.sweep.settings
            for measure, mean in setting.measures.items()
        ]
        columns = ["system", "hops", "top_k", "measure", "mean", "low", "high", "n", "oracle_recall"]
        return pandas_for("SweepResult.to_pandas()").DataFrame(rows, columns=columns)

    def figures(self) -> dict[str, Figure]:
        """Each measure by hops, overall and by tag. Raises MissingExtraError without matplotlib."""
        return figures_of(self._document())

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file that `sweep` writes, for `report`; whole or not at all."""
        return saved(path, self._parts())

    def _parts(self) -> Iterator[bytes]:
        from tiny_graph_rag.report.json import lines_of
        from tiny_graph_rag.report.json.studies import sweep_document

        return lines_of(sweep_document(self.sweep), "settings")

    def _document(self) -> Document:
        return in_memory(self._parts(), f"{self.sweep.examples.name or 'questions'}-sweep")

    def __repr__(self) -> str:
        return f"SweepResult({len(self.sweep.settings)} settings, {self.recommended}: {self.reason})"


def sweep(
    graph: GraphLike,
    questions: QuestionsLike,
    *,
    hops: int | Iterable[int] = range(HIGHEST_HOPS + 1),
    top_k: int | Iterable[int] | None = None,
    retriever: str | Iterable[str] | None = None,
    measures: str | Sequence[Measure | str] | None = None,
    decide_by: Measure | str | None = None,
    tolerance: float = 0.005,
    config: Config | None = None,
    progress: Callable[[int], None] = lambda done: None,
    **settings: Any,
) -> SweepResult:
    """Try settings on one gold set: `sweep(graph, questions, hops=range(5)).recommended`.

    hops, top_k, retriever: values to try, one or several. settings: any others of config.yaml by name; a list
    or a tuple is tried value by value, each combination at every hop limit. decide_by: what recommends, nDCG
    at `top_k` without it; tolerance: how far below the best mean still counts as equal. The rest is as for
    `evaluate`. Raises UsageError for what does not go together, ConfigError for a value out of its bounds.
    """
    from tiny_graph_rag.scoring.source_chunks import kind_expected
    from tiny_graph_rag.study.sweep import Plan
    from tiny_graph_rag.study.sweep import sweep as swept

    limits = _several(hops)
    if not limits:
        raise UsageError("hops= contains no hop limit; write hops=2 or hops=[1, 2]")
    varied = {"retriever": retriever, **settings}
    lists = {name: list(value) for name, value in varied.items() if isinstance(value, list | tuple)}
    fixed = {name: value for name, value in varied.items() if name not in lists and value is not None}
    chosen = configured(config, {**fixed, "latency_sample": 0})
    configured(chosen, {"hops": max(limits)})
    for name, values in lists.items():
        for value in values:
            configured(chosen, {name: value})
    if retriever is not None:
        lists = {"retriever": [chosen.retrieval.retriever], **lists}
    cutoffs = _several(top_k) if top_k is not None else (chosen.evaluation.top_k,)
    examples = questions if isinstance(questions, EvalSet) else load_questions(questions)
    plan = Plan.of(
        chosen,
        limits,
        cutoffs,
        lists,
        measures=() if measures is None else measures_of(measures),
        decide_by=decide_by,
        tolerance=tolerance,
        of=kind_expected(examples),
    )
    return SweepResult(swept(graph_of(graph), examples, chosen, plan, progress))


def _several(values: int | Iterable[int]) -> tuple[int, ...]:
    return (values,) if isinstance(values, int) else tuple(sorted(set(values)))


def _document(result: ResultLike, name: str | None, otherwise: str) -> Document:
    from tiny_graph_rag.inputs import find_input
    from tiny_graph_rag.report.document import Document, read_document
    from tiny_graph_rag.scoring.frames import Scored, scored_content

    if isinstance(result, Result):
        made = result.document(name or otherwise)
    elif isinstance(result, Scored):
        made = Document(Path(f"{name or otherwise}.json"), scored_content(result))
    elif isinstance(result, str | PathLike):
        made = read_document(find_input(Path(result), Path(), "results file"))
    else:
        raise UsageError(
            "wanted a result or the path of a results file, got {kind}", kind=type(result).__name__
        )
    if name is None:
        return made
    content = made.content
    return replace(made, content=content | {"made": (content.get("made") or {}) | {"label": name}})
