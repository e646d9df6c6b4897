"""Options that mean the same everywhere: groups that a command takes as one argument.

A command names the groups it takes, so every option has one name, one help text and one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from tiny_graph_rag.cli.help import ANSWERS, INPUT, MEASURES, MORE, OUTPUT, RETRIEVAL
from tiny_graph_rag.config import find_setting
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.messages import LANGUAGES

RETRIEVER_HELP = "how entities are found and ranked; file.py:function for your own function"
Given = dict[str, Any]  # settings by name, None where not given
NO_DEFAULT = (None, "", False)  # said by the option's own words, or plain from its being a flag


def option(
    help: str,
    panel: str | None = None,
    *,
    flag: str = "",
    short: str = "",
    default: str | bool = True,
    **more: Any,
) -> Any:
    """An option of a command; `command` names it after its parameter where no flag is given.

    panel: its group in `--help`, else that of its record. default: what to show as it, or whether to show the
    value.
    """
    flags = filter(None, (short, flag))
    return typer.Option(..., *flags, help=help, rich_help_panel=panel, show_default=default, **more)


def to_file(help: str, default: str | bool = True, panel: str | None = OUTPUT) -> Any:
    """`-o` of a command. default: as `option` has it."""
    return option(help, panel, short="-o", default=default)


def argument(help: str, *, default: str | bool = True, metavar: str | None = None) -> Any:
    """An argument of a command. default: as `option` has it."""
    return typer.Argument(help=help, show_default=default, metavar=metavar)


def from_config(flag: str, *, help: str = "", panel: str | None = None) -> Any:
    """An option whose default, unit and comment are those of the setting of the same name.

    panel: its group in `--help`. Without one the option is rare: `--help` leaves it out, because `--set` does
    the same, and lists of settings name it.
    """
    setting = find_setting(flag.partition("/")[0].lstrip("-"))
    default: Any = False if setting.default in NO_DEFAULT else str(setting.default)
    return option(help or setting.comment, panel, flag=flag, default=default, hidden=panel is None)


class Settings:
    """Flags that are settings of the same name: a rare one alone, another with its group in `--help` and,
    where the setting's comment is too long, what it is for.

    `retrieving: Annotated[Given, RETRIEVING]` gives a command what was said of each, None where nothing was.
    """

    def __init__(self, *options: str | tuple[str, ...]) -> None:
        self.options: dict[str, Any] = {}
        for option in options:
            flag, panel, help_ = (*((option,) if isinstance(option, str) else option), "", "")[:3]
            setting = find_setting(flag.partition("/")[0].lstrip("-"))
            self.options[setting.name] = Annotated[
                setting.type | None, from_config(flag, help=help_, panel=panel or None)
            ]

    def without(self, *names: str) -> Settings:
        """The same less settings that a command has in its own form."""
        other = Settings()
        other.options = {name: option for name, option in self.options.items() if name not in names}
        return other


@dataclass(frozen=True, slots=True)
class Common:
    """On every command."""

    PANEL: ClassVar[str] = MORE

    config: Annotated[Path | None, option("Settings file.", MORE, default="config.yaml, if there is one")] = (
        None
    )
    trust_config: Annotated[bool, option("Trust code and API address of this settings file.", MORE)] = False
    quiet: Annotated[bool, option("Print only errors.")] = False
    debug: Annotated[bool, option("Show the traceback of an error.")] = False
    seed: Annotated[int | None, from_config("--seed")] = None
    set_: Annotated[
        list[str] | None,
        option(
            "Any setting, such as retrieval.depth=50 (the command `settings` lists all). Repeatable.",
            INPUT,
            metavar="SECTION.NAME=VALUE",
        ),
    ] = None
    lang: Annotated[
        str | None, option("Language of all output.", default="from the locale", metavar="|".join(LANGUAGES))
    ] = None


@dataclass(frozen=True, slots=True)
class Folders:
    """Where relative file names are looked for."""

    PANEL: ClassVar[str] = MORE

    kg_dir: Annotated[str | None, from_config("--kg-dir")] = None
    dataset_dir: Annotated[str | None, from_config("--dataset-dir")] = None
    results_dir: Annotated[str | None, from_config("--results-dir")] = None


def completed(folder_of: str, what: str) -> Callable[[str], list[str]]:
    """For the shell: files of a settings' folder (`kg_dir`, `dataset_dir`) that begin as typed. what: they
    are, as `find_input` calls it."""

    def names(incomplete: str) -> list[str]:
        from tiny_graph_rag.config import load_config
        from tiny_graph_rag.inputs import files_of_kind

        folder = Path(getattr(load_config().storage, folder_of))
        return [name for name in files_of_kind(folder, what) if name.startswith(incomplete)]

    return names


Dataset = Annotated[Path, option("Gold set.", INPUT, autocompletion=completed("dataset_dir", "gold set"))]


@dataclass(frozen=True, slots=True)
class Graph:
    PANEL: ClassVar[str] = INPUT

    graph: Annotated[
        Path | None,
        option(
            "Knowledge graph.",
            short="-g",
            default="the gold set's NAME-KG.json, else the only one in the folder",
            autocompletion=completed("kg_dir", "knowledge graph"),
        ),
    ] = None
    graph_cache: Annotated[bool | None, from_config("--graph-cache/--no-graph-cache")] = None
    columns: Annotated[
        str | None,
        option(
            "Meaning of the columns of a graph file (source=head,target=tail,name=label).",
            MORE,
            default="NAME-columns.yaml next to the graph",
        ),
    ] = None
    query: Annotated[
        str | None,
        option(
            "Cypher query that selects what to read from the database given by -g.",
            MORE,
            default="everything",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which questions of a gold set."""

    PANEL: ClassVar[str] = MORE

    limit: Annotated[int | None, option("Only the first N questions.")] = None
    tags: Annotated[str | None, option("Only questions with one of these tags (a,b).")] = None
    ids: Annotated[str | None, option("Only these questions (Q1,Q2).")] = None


RETRIEVING = Settings(
    ("--hops", RETRIEVAL),
    ("--retriever", RETRIEVAL, RETRIEVER_HELP),
    ("--linker", RETRIEVAL, "how a question's entities (seeds) are found"),
    ("--fuzzy", RETRIEVAL),
    ("--exclude-seeds", RETRIEVAL),
    *("--depth", "--direction", "--relations", "--not-relations", "--types", "--min-weight", "--max-degree"),
    *("--min-score", "--vocabulary", "--relation-similarity", "--text-similarity", "--threads"),
)
SCORING = Settings(
    ("--top-k", MEASURES),
    *("--match", "--rouge-threshold", "--relation-match", "--source-chunks", "--ambiguous"),
    *("--latency-sample", "--save-reasons", "--results"),
)
ANSWERING = Settings(
    ("--model", ANSWERS, "model that answers"),
    *("--prompt", "--context-tokens", "--concurrency", "--timeout"),
    ("--judge", MORE, "what a model judges (a,b)"),
    *("--accuracy-model", "--bleu/--no-bleu", "--fail-on-error", "--answer-cache/--no-answer-cache"),
)


@dataclass(frozen=True, slots=True)
class Generating:
    """Answers by a language model, and their cost."""

    PANEL: ClassVar[str] = MORE

    skip_generation: Annotated[bool, option("Measure retrieval only.", ANSWERS)] = False
    generate: Annotated[bool, option("Require answers: fail if there is no key.")] = False
    dry_run: Annotated[
        bool, option("Show calls, tokens and cost of the answers without calling anything.", ANSWERS)
    ] = False
    max_cost: Annotated[float | None, option("Most USD that the run may cost.", ANSWERS, min=0.0)] = None
    price_per_1k_input: Annotated[
        float | None, option("USD per 1,000 input tokens of --model.", min=0.0, hidden=True)
    ] = None
    price_per_1k_output: Annotated[
        float | None, option("USD per 1,000 output tokens of --model.", min=0.0, hidden=True)
    ] = None
    resume: Annotated[bool, option("Continue an interrupted run from its journal.")] = False
    retry_failed: Annotated[bool, option("Continue from the journal and repeat failed calls.")] = False

    @property
    def has_prices(self) -> bool:
        return self.price_per_1k_input is not None or self.price_per_1k_output is not None

    def check(self) -> None:
        """Raises UsageError for options that contradict each other, and for a cap that is no number."""
        if self.max_cost is not None and math.isnan(self.max_cost):
            raise UsageError("--max-cost must be an amount of USD, got nan")
        for name in ("generate", "dry_run"):
            if self.skip_generation and getattr(self, name):
                raise UsageError(
                    "--skip-generation and --{name} can't be used together; leave one out",
                    name=name.replace("_", "-"),
                )


Measured = Annotated[
    str | None,
    option(
        "What to compute, such as ndcg@5,recall@{1,3,5},mrr (the command `measures` lists all).",
        MEASURES,
        default="precision, recall, ndcg at --top-k, and mrr",
    ),
]
PatchFile = Annotated[
    Path | None, option("Apply the confirmed entries of a patch that `fix` wrote, in memory.", MORE)
]
Cluster = Annotated[
    str | None,
    option("Dask cluster to share the work (tcp://HOST:8786).", MORE, flag="--cluster", metavar="ADDRESS"),
]
Label = Annotated[str | None, option("A label of your own, recorded in the results.", OUTPUT)]


@dataclass(frozen=True, slots=True)
class Reporting:
    """What to show results in."""

    PANEL: ClassVar[str] = OUTPUT

    report: Annotated[str | None, option("Reports to write next to the results (a,b).", default="none")] = (
        None
    )
    title: Annotated[str | None, option("Title of the reports.", MORE, default="the gold set's name")] = None

    def names(self, *, to_stdout: bool = False) -> tuple[str, ...]:
        """The reports asked for. Raises UsageError for an unknown one, and where no file is written."""
        if self.report is None:
            return ()
        if to_stdout:
            raise UsageError("--report writes files next to a results file; leave out `-o -`")
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
        raise UsageError("wanted a comma-separated list, got {text}", text=repr(text))
    return items
