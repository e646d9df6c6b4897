"""Options that mean the same everywhere: groups that a command takes as one argument.

A command names the groups it takes, so every option has one name, one help text and one place. Those that
every command has (`Common`) are options of the program itself, before or after the command's name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tiny_graph_rag.cli.help import ANSWERS, INPUT, MEASURES, MORE, OUTPUT, RETRIEVAL
from tiny_graph_rag.config import find_setting
from tiny_graph_rag.errors import UsageError
from tiny_graph_rag.messages import LANGUAGES

if TYPE_CHECKING:
    from tiny_graph_rag.gold.examples import Selection

RETRIEVER_HELP = "how entities are found and ranked; file.py:function for your own function"
Given = dict[str, Any]  # what flags say of settings and `patch`, None where not given
FOLDERS = ("kg_dir", "dataset_dir", "results_dir")
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

    panel: its group in `--help`. default: what to show as it, or whether to show the
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
    """An option whose default, unit and comment are those of the setting of the same name."""
    setting = find_setting(flag.lstrip("-"))
    default: Any = False if setting.default in NO_DEFAULT else str(setting.default)
    return option(help or setting.comment, panel, flag=flag, default=default)


def settings(*flags: tuple[str, ...]) -> dict[str, Any]:
    """Flags that are settings of the same name, each with its group in `--help` and, where the setting's
    comment is too long, what it is for: name of the setting → its option."""
    options: dict[str, Any] = {}
    for flag, panel, *help_ in flags:
        setting = find_setting(flag.lstrip("-"))
        annotation = from_config(flag, help="".join(help_), panel=panel)
        options[setting.name] = Annotated[setting.type | None, annotation]
    return options


@dataclass(frozen=True, slots=True)
class Common:
    """The program's own options, which apply to its commands."""

    config: Annotated[Path | None, option("Settings file.", default="config.yaml, if there is one")] = None
    set_: Annotated[
        list[str] | None,
        option(
            "Any setting, such as retrieval.depth=50 (the command `settings` lists all). Repeatable.",
            metavar="SECTION.NAME=VALUE",
        ),
    ] = None
    quiet: Annotated[bool, option("Print only errors.")] = False
    lang: Annotated[
        str | None,
        option("Language of all output.", default="from the locale", metavar="|".join(LANGUAGES)),
    ] = None
    kg_dir: Annotated[str | None, from_config("--kg-dir")] = None
    dataset_dir: Annotated[str | None, from_config("--dataset-dir")] = None
    results_dir: Annotated[str | None, from_config("--results-dir")] = None
    columns: Annotated[str | None, from_config("--columns")] = None
    trust_config: Annotated[bool, option("Trust code and API address of this settings file.")] = False

    @property
    def settings(self) -> Given:
        """Those that say a setting."""
        return {name: getattr(self, name) for name in (*FOLDERS, "columns")}

    @property
    def again(self) -> Given:
        """What another command needs too, to read the same files with the same settings."""
        return {**self.settings, "config": self.config, "set": self.set_}


Dataset = Annotated[Path, option("Gold set.", INPUT)]
GRAPH_HELP, ONLY_ONE = "Knowledge graph.", "the only one in the folder"
Graph = Annotated[
    Path | None,
    option(GRAPH_HELP, INPUT, short="-g", default=f"the gold set's NAME-KG.json, else {ONLY_ONE}"),
]
GraphAlone = Annotated[Path | None, option(GRAPH_HELP, INPUT, short="-g", default=ONLY_ONE)]
RETRIEVING = settings(
    ("--hops", RETRIEVAL),
    ("--retriever", RETRIEVAL, RETRIEVER_HELP),
    ("--linker", RETRIEVAL, "how a question's entities (seeds) are found"),
    ("--exclude-seeds", RETRIEVAL),
)
CUTTING = settings(("--top-k", MEASURES))
ANSWERING = settings(
    ("--model", ANSWERS, "model that answers"), ("--judge", MORE, "what a model judges (a,b)")
)
PATCHING = {
    "patch": Annotated[
        Path | None, option("Apply the confirmed entries of a patch that `fix` wrote, in memory.", MORE)
    ]
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which questions of a gold set."""

    limit: Annotated[int | None, option("Only the first N questions.", MORE)] = None
    tags: Annotated[str | None, option("Only questions with one of these tags (a,b).", MORE)] = None
    ids: Annotated[str | None, option("Only these questions (Q1,Q2).", MORE)] = None

    def selection(self) -> Selection:
        """The same as the gold set takes it."""
        from tiny_graph_rag.gold.examples import Selection

        return Selection(self.limit, comma_list(self.tags), comma_list(self.ids))


@dataclass(frozen=True, slots=True)
class Generating:
    """Answers by a language model, and their cost."""

    skip_generation: Annotated[bool, option("Measure retrieval only.", ANSWERS)] = False
    generate: Annotated[bool, option("Require answers: fail if there is no key.", MORE)] = False
    dry_run: Annotated[
        bool, option("Show calls, tokens and cost of the answers without calling anything.", ANSWERS)
    ] = False
    max_cost: Annotated[float | None, option("Most USD that the run may cost.", ANSWERS, min=0.0)] = None
    resume: Annotated[bool, option("Go on from the journal; failed calls are repeated.", MORE)] = False

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
Label = Annotated[str | None, option("A label of your own, recorded in the results.", OUTPUT)]
Details = Annotated[bool, option("Print all tables, not only one screen.", OUTPUT)]
Reports = Annotated[str | None, option("Reports to write next to the results (a,b).", OUTPUT, default="none")]


def reports_of(given: str | None, *, to_stdout: bool = False) -> tuple[str, ...]:
    """The reports that `--report` asks for. Raises UsageError for an unknown one, and where no file is
    written."""
    if given is None:
        return ()
    if to_stdout:
        raise UsageError("--report writes files next to a results file; leave out `-o -`")
    from tiny_graph_rag.report.reports import check_reports

    names = comma_list(given)
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
