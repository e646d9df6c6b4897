"""The program as a library: load a graph and questions, ask, evaluate, save. docs/python.md shows it.

What the command line does between its options and its tables, with the same numbers; nothing is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.config import Config, find_setting
from tiny_graph_rag.config.sources import cache_folder
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.formats.graphs import located, read_graph
from tiny_graph_rag.formats.graphs.base import Columns
from tiny_graph_rag.gold.examples import EvalSet
from tiny_graph_rag.graph.model import KnowledgeGraph
from tiny_graph_rag.graph.vocabulary import with_vocabulary
from tiny_graph_rag.measures import Measure
from tiny_graph_rag.measures.summary import Summary
from tiny_graph_rag.retrieval import is_own
from tiny_graph_rag.scoring.frames import pandas_for

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from tiny_graph_rag.report.document import Document
    from tiny_graph_rag.study.evaluate import Evaluation

SHOWN_WORST = 3  # questions of a floor that was missed

GraphLike = KnowledgeGraph | str | PathLike[str]
QuestionsLike = EvalSet | str | PathLike[str] | Iterable[Mapping[str, Any]]


def load_graph(
    path: str | PathLike[str],
    *,
    vocabulary: str | PathLike[str] = "auto",
    cache: bool = True,
    columns: str | None = None,
    query: str | None = None,
) -> KnowledgeGraph:
    """A knowledge graph as the command line loads it.

    path: of a file, or the address of a database (`neo4j://host/db`, of which query takes a part).

    vocabulary: "auto" reads NAME-vocabulary.yaml next to the graph where there is one, "none" none, else a
    file. cache: keep large graphs, ready made, under the user's cache folder. columns: what the graph's own
    columns mean, as `--columns` has it. Raises GraphError with everything
    that is wrong with the file, InputError where it can't be read.
    """
    _check_path(path, "knowledge graph")
    file = located(path, lambda name: _existing(name, "knowledge graph"), cache_folder(), query)
    graph = read_graph(
        file, cache_folder() if cache else None, columns=Columns.of(columns) if columns else None
    )
    return with_vocabulary(graph, file, str(vocabulary))


def load_questions(source: str | PathLike[str] | Iterable[Mapping[str, Any]], *, name: str = "") -> EvalSet:
    """A gold set, from a file or from records with its fields (`query`, `reference_entities` …).

    name: of the set, for records. Raises DatasetError with every broken line or record.
    """
    from tiny_graph_rag.formats.gold import read_eval_set
    from tiny_graph_rag.formats.gold.questions import eval_set_of

    if isinstance(source, str | PathLike):
        return read_eval_set(_existing(source, "gold set"))
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise UsageError(
            "wanted the path of a gold set, or a list of records with 'query' and "
            "'reference_entities'; got {kind}",
            kind=type(source).__name__,
        )
    return eval_set_of(source, name)


@dataclass(frozen=True, slots=True)
class RankedEntity:
    """rank: from 1. hop: relations from the nearest seed, None where no walk reached it. walk: the relations
    to it, `A —KNOWS→ B`."""

    rank: int
    id: str
    name: str
    score: float
    hop: int | None
    walk: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Ranking(Sequence[RankedEntity]):
    """What one question retrieves, best first. seeds: names of the entities that the question names."""

    question: str
    seeds: tuple[str, ...]
    entities: tuple[RankedEntity, ...]

    def __len__(self) -> int:
        return len(self.entities)

    def __getitem__(self, row):  # type: ignore[no-untyped-def]
        return self.entities[row]

    @property
    def names(self) -> list[str]:
        return [entity.name for entity in self.entities]

    def to_pandas(self) -> pandas.DataFrame:
        """A row an entity. Raises MissingExtraError without pandas."""
        fields = ("rank", "id", "name", "score", "hop", "walk")
        rows = [{field: getattr(entity, field) for field in fields} for entity in self.entities]
        return pandas_for("Ranking.to_pandas()").DataFrame(rows, columns=list(fields))

    def __repr__(self) -> str:
        first = ", ".join(entity.name for entity in self.entities[:3])
        return f"Ranking({self.question!r:.80}, {len(self)} entities: {first:.80}{', …' * (len(self) > 3)})"


def ask(graph: GraphLike, question: str, *, config: Config | None = None, **settings: Any) -> Ranking:
    """What one question retrieves: `ask(graph, "Who owns the house?", hops=2).names`.

    settings: any of config.yaml by name (hops, depth, retriever, linker, fuzzy …), over `config`. Raises
    UsageError for an unknown one, ConfigError for a value out of its bounds.
    """
    from tiny_graph_rag.study.evaluate import evaluate as evaluated

    if not isinstance(question, str) or not question.strip():
        raise UsageError("the question must be words, got {question}", question=repr(question))
    chosen = configured(config, settings).override(latency_sample=0)
    return _ranking(evaluated(graph_of(graph), EvalSet.of_question(question), chosen, ()))


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """What an evaluation found. evaluation: everything behind it (scores, run, judgments, verdicts)."""

    evaluation: Evaluation

    @property
    def summary(self) -> Summary:
        """Means with intervals, overall (`.overall.measures`) and by tag (`.by_tag`)."""
        return self.evaluation.summary

    @property
    def means(self) -> dict[str, float]:
        """Measure → its mean over all questions."""
        return {str(measure): mean.mean for measure, mean in self.summary.overall.measures.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the commands say next to their numbers: of the graph, the questions, the evaluation."""
        found = self.evaluation
        read = (*found.graph.notes.lines(), *found.examples.notes)
        return (*map(str, read), *found.notes)

    def to_pandas(self) -> pandas.DataFrame:
        """A row a question: id, query, tags, a column a measure (NaN where undefined), the names that were
        missed. Raises MissingExtraError without pandas."""
        from tiny_graph_rag.study.waterfall import Verdict

        found, examples = self.evaluation, self.evaluation.examples
        is_missed = found.explanation.diagnosis.verdicts != Verdict.HIT
        items = zip(found.judgments.item_offsets, found.judgments.references, strict=False)
        missed = [[one.name for one in its if is_missed[first + one.item]] for first, its in items]
        columns = {
            "query": [question.query for question in examples],
            "tags": [list(question.tags) for question in examples],
            **{str(measure): column for measure, column in found.scores.items()},
            "missed": missed,
        }
        frames = pandas_for("Result.to_pandas()")
        return frames.DataFrame(
            columns, index=frames.Index([question.id for question in examples], name="id")
        )

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the results file that `eval` writes, for `report` and `compare`; whole or not at all."""
        from tiny_graph_rag.report.json.results import document_parts

        return saved(path, document_parts(self.evaluation))

    def document(self, name: str = "results") -> Document:
        """The same in memory, for reports. name: of the file that it would be."""
        from tiny_graph_rag.report.json.results import document_parts

        return in_memory(document_parts(self.evaluation), name)

    def to_markdown(self) -> str:
        """The Markdown report."""
        from tiny_graph_rag.report.markdown import markdown

        return markdown([self.document()])

    def figures(self) -> dict[str, Figure]:
        """Pictures by name (`tags`). Raises MissingExtraError without matplotlib."""
        return figures_of(self.document())

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {mean:.3f}" for name, mean in self.means.items())
        told = f"; {len(self.notes)} in .notes" if self.notes else ""
        return f"Result({len(self.evaluation.examples):,} questions, {found}{told})"


def evaluate(
    graph: GraphLike,
    questions: QuestionsLike,
    *,
    measures: str | Sequence[Measure | str] | None = None,
    retriever: Any = None,
    config: Config | None = None,
    progress: Callable[[int], None] = lambda done: None,
    **settings: Any,
) -> Result:
    """Score a graph's retrieval against a gold set: `evaluate(graph, questions, hops=3).means`.

    graph, questions: loaded, or where they lie. measures: "ndcg@5,recall@{5,10},mrr", or one by one; without
    it the four that `eval` reports. retriever: the name of a built-in one, or a function of your own, sync or
    async, or an object that retrieves (docs/runs.md); it is asked in this process, each question for at most
    `timeout` seconds, `concurrency` at a time. settings: any of config.yaml by name (hops, top_k, linker …),
    over `config`. progress: is called with how many questions are done. Raises UsageError for what does not
    go together, ConfigError for a value out of its bounds, GraphError and DatasetError for broken input,
    ServiceError where a retriever of your own fails for every question.
    """
    from tiny_graph_rag.retrieval import make_retriever
    from tiny_graph_rag.study.evaluate import evaluate as evaluated
    from tiny_graph_rag.study.evaluate import measured

    if isinstance(graph, Mapping) or hasattr(graph, "columns"):
        raise UsageError("evaluate() takes a graph and questions; for a run and qrels, use score()")
    given = retriever is not None and not isinstance(retriever, str)
    if retriever is not None:
        settings["retriever"] = _called(retriever) if given else retriever
    chosen = configured(config, settings)
    own = is_own(chosen.retrieval.retriever)
    wanted = measured(chosen, measures)
    examples = questions if isinstance(questions, EvalSet) else load_questions(questions)
    maker = make_retriever
    if own:
        from tiny_graph_rag.retrieval.own import make_own
        from tiny_graph_rag.retrieval.own_calls import callable_of

        function = callable_of(retriever, chosen.retrieval.retriever) if given else None
        maker = make_own(chosen, function, done=lambda done, note: progress(done))
    shown = (lambda done: None) if own else progress
    return Result(
        evaluated(
            graph_of(graph), examples, chosen, wanted, shown, retriever_for=maker, every_kind=measures is None
        )
    )


def assert_retrieval(
    graph: GraphLike,
    questions: QuestionsLike,
    floors: str,
    **options: Any,
) -> Result:
    """For tests: `assert_retrieval(graph, questions, "recall@5>=0.8,mrr>0.5", hops=3)`.

    floors: as `--fail-under` takes them. options: those of `evaluate`; with gate_on="interval" the end of the
    interval on the failing side counts. Raises AssertionError with every floor that was missed and the
    questions furthest below; an undefined mean fails. Returns the result where all hold.
    """
    from tiny_graph_rag.study.gates import hold_floors, parse_floors

    gates = parse_floors(floors)
    measures = tuple(dict.fromkeys(gate.measure for gate in gates))
    result = evaluate(graph, questions, measures=measures, **options)
    outcomes = hold_floors(gates, result.summary, result.evaluation.config.running.gate_on)
    missed = [(gate, outcome) for gate, outcome in zip(gates, outcomes, strict=True) if not outcome.passed]
    if missed:
        lines = []
        for gate, outcome in missed:
            lines += [outcome.message, *_worst(result.evaluation, gate.measure)]
        raise AssertionError("\n".join(lines))
    return result


def _worst(evaluation: Evaluation, measure: Measure) -> list[str]:
    """The questions that a mean suffers from most, a line each."""
    rows = zip(evaluation.scores[measure].tolist(), evaluation.examples, strict=True)
    known = sorted((measure.sign * value, row.id, value, row.query) for value, row in rows if value == value)
    return [f"  {value:.3f}  {id}  {query[:80]}" for _, id, value, query in known[:SHOWN_WORST]]


def _called(retriever: Any) -> str:
    """How results name a callable of this process: as `--retriever` would, had it a file."""
    named = retriever if hasattr(retriever, "__name__") else type(retriever)
    module = str(getattr(named, "__module__", None) or "__main__")
    name = str(named.__name__)
    return f"{module if '.' in module else f'{module}.py'}:{name if name.isidentifier() else 'function'}"


def graph_of(given: GraphLike) -> KnowledgeGraph:
    return given if isinstance(given, KnowledgeGraph) else load_graph(given)


def _existing(path: str | PathLike[str], what: str) -> Path:
    from tiny_graph_rag.inputs import find_input

    _check_path(path, what)
    return find_input(Path(path), Path(), what, or_folder=what == "knowledge graph")


def _check_path(path: str | PathLike[str], what: str) -> None:
    if not isinstance(path, str | PathLike):
        raise UsageError("wanted the path of a {what}, got {kind}", what=what, kind=type(path).__name__)


def configured(config: Config | None, settings: Mapping[str, Any]) -> Config:
    for name, value in settings.items():
        if value is not None:
            find_setting(name).checked(value, name)
    return (config or Config()).override(**settings)


def _ranking(asked: Evaluation) -> Ranking:
    from tiny_graph_rag.report.json import Spelled, ranking
    from tiny_graph_rag.report.tables import walk_in_words
    from tiny_graph_rag.results import as_read
    from tiny_graph_rag.run import NO_HOP

    spelled = Spelled(asked.graph)
    rows = as_read(ranking(asked.run, 0, len(asked.run.entities), spelled))
    names = spelled.names_by_id()
    return Ranking(
        asked.linked[0].text,
        tuple(dict.fromkeys(spelled.names[seed.entity] for seed in asked.linked[0].seeds)),
        tuple(
            RankedEntity(
                rank,
                row["id"],
                row["name"],
                row["score"],
                None if row["hop"] == NO_HOP else row["hop"],
                walk_in_words(row.get("walk", []), names),
            )
            for rank, row in enumerate(rows, start=1)
        ),
    )


def saved(path: str | PathLike[str], parts: Iterable[bytes | memoryview]) -> Path:
    """The file, written whole or not at all."""
    from tiny_graph_rag.outputs import check_writable, write_atomically

    target = Path(path)
    check_writable(target)
    write_atomically(target, parts)
    return target


def in_memory(parts: Iterable[bytes | memoryview], name: str) -> Document:
    """The document that a file of this name would hold."""
    import msgspec

    from tiny_graph_rag.report.document import Document

    return Document(Path(f"{name}.json"), msgspec.json.decode(b"".join(parts)))


def figures_of(document: Document) -> dict[str, Figure]:
    """Name → picture, without the name of the document in front."""
    from tiny_graph_rag.report.plots import drawn_figures

    found = drawn_figures([document])
    return {name.removeprefix(f"{document.name}-"): figure for name, figure in found.items()}
