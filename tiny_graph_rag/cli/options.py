"""Options that mean the same everywhere: groups that a command takes as one argument.

A command names the groups it takes, so every option has one name, one help text and one place.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from tiny_graph_rag.config import setting_field
from tiny_graph_rag.errors import UsageError


def from_config(flag: str, *more: str, help: str = "") -> Any:
    """An option whose default, unit and comment are those of the setting of the same name."""
    each = setting_field(flag.partition("/")[0].lstrip("-").replace("-", "_"))
    text = help or str(each.metadata["comment"])
    return typer.Option(flag, *more, help=text[:1].upper() + text[1:] + ".", show_default=str(each.default))


@dataclass(frozen=True, slots=True)
class Common:
    """On every command."""

    config: Annotated[
        Path | None,
        typer.Option("--config", help="Settings file.", show_default="config.yaml, if there is one"),
    ] = None
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False
    seed: Annotated[int | None, from_config("--seed")] = None


@dataclass(frozen=True, slots=True)
class Folders:
    """Where relative file names are looked for."""

    kg_dir: Annotated[str | None, from_config("--kg-dir", help="folder of knowledge graphs")] = None
    dataset_dir: Annotated[str | None, from_config("--dataset-dir", help="folder of gold sets")] = None
    results_dir: Annotated[str | None, from_config("--results-dir", help="folder of results")] = None


Dataset = Annotated[Path, typer.Option("--dataset", help="Gold set (JSONL).")]


@dataclass(frozen=True, slots=True)
class Graph:
    graph: Annotated[
        Path | None,
        typer.Option(
            "-g",
            "--graph",
            help="Knowledge graph.",
            show_default="the gold set's NAME-KG.json, else the only one",
        ),
    ] = None
    graph_cache: Annotated[bool | None, from_config("--graph-cache/--no-graph-cache")] = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which questions of a gold set."""

    limit: Annotated[int | None, typer.Option("--limit", help="Only the first N questions.")] = None
    tags: Annotated[
        str | None, typer.Option("--tags", help="Only questions with one of these tags (a,b).")
    ] = None
    ids: Annotated[str | None, typer.Option("--ids", help="Only these questions (Q1,Q2).")] = None


@dataclass(frozen=True, slots=True)
class Retrieving:
    """Linking and retrieval."""

    linker: Annotated[str | None, from_config("--linker")] = None
    fuzzy: Annotated[float | None, from_config("--fuzzy")] = None
    retriever: Annotated[str | None, from_config("--retriever")] = None
    hops: Annotated[int | None, from_config("--hops")] = None
    depth: Annotated[int | None, from_config("--depth")] = None
    exclude_seeds: Annotated[bool | None, from_config("--exclude-seeds")] = None
    direction: Annotated[str | None, from_config("--direction")] = None
    relations: Annotated[str | None, from_config("--relations")] = None
    not_relations: Annotated[str | None, from_config("--not-relations")] = None
    types: Annotated[str | None, from_config("--types")] = None
    min_weight: Annotated[float | None, from_config("--min-weight")] = None
    max_degree: Annotated[int | None, from_config("--max-degree")] = None
    min_score: Annotated[float | None, from_config("--min-score")] = None
    vocabulary: Annotated[str | None, from_config("--vocabulary")] = None
    relation_similarity: Annotated[str | None, from_config("--relation-similarity")] = None
    threads: Annotated[int | None, from_config("--threads")] = None


@dataclass(frozen=True, slots=True)
class Generating:
    """Answers by a language model, and their cost."""

    skip_generation: Annotated[bool, typer.Option("--skip-generation", help="Measure retrieval only.")] = (
        False
    )
    generate: Annotated[
        bool, typer.Option("--generate", help="Insist on answers: without a key it is an error.")
    ] = False
    model: Annotated[str | None, from_config("--model")] = None
    prompt: Annotated[str | None, from_config("--prompt")] = None
    context_tokens: Annotated[int | None, from_config("--context-tokens")] = None
    concurrency: Annotated[int | None, from_config("--concurrency")] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show calls, tokens and cost of the answers; call nothing.")
    ] = False
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="USD that the run may cost at most.", min=0.0)
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the journal of a run that was cut off.")
    ] = False
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Go on with the journal and ask its failed calls again.")
    ] = False
    judge: Annotated[str | None, from_config("--judge")] = None
    accuracy_model: Annotated[str | None, from_config("--accuracy-model")] = None
    bleu: Annotated[bool | None, from_config("--bleu/--no-bleu")] = None
    fail_on_error: Annotated[float | None, from_config("--fail-on-error")] = None
    answer_cache: Annotated[bool | None, from_config("--answer-cache/--no-answer-cache")] = None


GENERATION_SETTINGS = (
    "model",
    "prompt",
    "context_tokens",
    "concurrency",
    "judge",
    "accuracy_model",
    "bleu",
    "fail_on_error",
    "answer_cache",
)


def flags(group: Any) -> dict[str, Any]:
    """The settings that a group of options gives, for Session.open."""
    return {each.name: getattr(group, each.name) for each in fields(group)}


Measured = Annotated[
    str | None,
    typer.Option(
        "--measures",
        help="What to compute, such as ndcg@5,recall@{1,3,5},mrr (all of them: the command `measures`).",
        show_default="precision, recall, ndcg at --top-k, and mrr",
    ),
]


@dataclass(frozen=True, slots=True)
class Reporting:
    """What to show results in."""

    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            help="Reports to write beside the results: html, md, csv, png, svg.",
            show_default="none",
        ),
    ] = None

    def names(self, *, to_stdout: bool = False) -> tuple[str, ...]:
        """The reports asked for. Raises UsageError for an unknown one, and where no file is written."""
        if self.report is None:
            return ()
        if to_stdout:
            raise UsageError("--report needs a results file to stand beside; leave out `-o -`")
        from tiny_graph_rag.report.reports import check_reports

        names = comma_list(self.report)
        check_reports(names)
        return names


def comma_list(text: str | None) -> tuple[str, ...]:
    """`a, b` → ("a", "b"); raises UsageError where only commas came."""
    if text is None:
        return ()
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if not items:
        raise UsageError(f"wanted a comma-separated list, got {text!r}")
    return items
