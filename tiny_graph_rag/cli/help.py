"""How `--help` reads: plain lines in groups, in the reader's language; what most people need comes first.

An option says its group by Typer's own `rich_help_panel`. Those in MORE are needed less often: they come
after all others. What an option chooses by name is listed with it, as its registry has it; none of it is
imported for that.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tiny_graph_rag.errors import RegistrationError
from tiny_graph_rag.messages import shown, t
from tiny_graph_rag.registry import Registry
from tiny_graph_rag.report.plain import cell_width, wrapped

INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES, OPTIONS = (
    "Input",
    "Retrieval",
    "Measures",
    "Output",
    "Answers by a model",
    "Gates for CI",
    "Options",
)
ARGUMENTS, MORE = "Arguments", "More options"
BEGIN, MEASURE, LOOK, GOLD = "Begin", "Measure and compare", "Look closer", "Gold sets"
GROUPS = (
    *(ARGUMENTS, INPUT, RETRIEVAL, MEASURES, OUTPUT, ANSWERS, GATES, OPTIONS, MORE),
    *(BEGIN, MEASURE, LOOK, GOLD),
)
# Every command by its group, with how its own help begins: the program's help loads none of them.
COMMANDS = {
    BEGIN: {
        "init": (
            "Write config.yaml, a small graph and a gold set to start with. Existing files are never "
            "overwritten."
        ),
    },
    MEASURE: {
        "eval": "Score a knowledge graph's retrieval against a gold set, overall and by tag.",
        "score": "Score a run of any program against a gold set, in any common format.",
        "sweep": "Try hop limits, cutoffs, retrievers or any setting on a gold set and recommend one.",
        "fix": (
            "Propose changes to settings, vocabulary and graph, and show which gains hold on other questions."
        ),
        "retrieve": (
            "Retrieve entities for questions without references and write a run, for a contest or a later "
            "review."
        ),
        "compare": (
            "Compare results: which is better, by how much, how certain that is, and which questions changed."
        ),
        "history": "Show results over time: a table and a line for each measure, oldest first.",
    },
    LOOK: {
        "query": (
            "Show one question in detail: its seeds, what is retrieved, the paths, and a model's answer."
        ),
        "report": (
            "Show results files as a page, as Markdown, as tables or as pictures. Nothing is computed again."
        ),
        "stats": "Show the entities, relations, types, degrees, components, aliases and problems of a graph.",
        "convert": "Write a graph for another program: KG JSON, GraphML or triples.",
        "visualize": "Draw a graph as one HTML page that opens offline, and list what was left out.",
        "measures": "List every measure with its spelling, range, definition and source.",
        "settings": (
            "List every setting with its value here, its default and its meaning; of one alone (retriever, "
            "linker, judge) also what it can be. `--set section.name=value` changes it for one run of any "
            "command."
        ),
        "mcp": (
            "Offer stats, query, eval, sweep, compare, validate and generate to an AI assistant (MCP over "
            "standard input and output). It reads the folders of graphs, gold sets and results."
        ),
    },
    GOLD: {
        "validate": (
            "Check a gold set against its graph: missing or ambiguous names, duplicates, the recall ceiling."
        ),
        "generate": "Generate a gold set from a graph: questions whose answers are computed on the graph.",
        "recommend": "Propose references for questions that have none, and write a draft that needs review.",
        "curate": "Review a draft in the browser. Each decision is saved immediately.",
        "dataset": "Merge, split, convert and version gold sets, and draft them from answers.",
    },
}
NAMES_WIDTH = 28  # columns for names of options; longer ones stand on a line of their own

Rows = list[tuple[str, str]]
# Where the registry of what an option chooses stands.
CHOOSING = {
    "--retriever": "tiny_graph_rag.retrieval.base:RETRIEVERS",
    "--linker": "tiny_graph_rag.linking.base:LINKERS",
    "--report": "tiny_graph_rag.report.reports:REPORTS",
    "--judge": "tiny_graph_rag.answers.rubrics:JUDGES",
    "--gold-format": "tiny_graph_rag.formats.gold:GOLD_FORMATS",
    "--run-format": "tiny_graph_rag.formats.runs:RUN_FORMATS",
}
USUAL = ("config", "set_", "quiet", "lang", "kg_dir", "dataset_dir", "results_dir")  # on every command
EXPLAINED = ("--retriever", "--linker")  # by the command `settings`


def write_help(command: Any, ctx: Any, formatter: Any) -> None:
    """Usage, what the command or the program does, then its options and its commands in groups."""
    formatter.write(f"{t('Usage:')} {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}\n")
    for paragraph in paragraphs(command.help or ""):
        formatter.write("\n" + "".join(f"  {line}\n" for line in wrapped(t(paragraph), formatter.width - 2)))
    groups: dict[str, Rows] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            row = record[0].replace(" range>", ">"), option_help(parameter)
            groups.setdefault(group_of(parameter), []).append(row)
    if hasattr(command, "commands"):
        for title, its in (COMMANDS if ctx.parent is None else {LOOK: command.commands}).items():
            helps = {name: command.get_command(ctx, name).help or "" for name in its}
            groups[title] = [(name, t(paragraphs(text)[0])) for name, text in helps.items()]
    for title in sorted(groups, key=GROUPS.index):
        _write_rows(formatter, t(title), groups[title])
    if ctx.parent is not None:
        program = ctx.find_root()
        usual = ", ".join(
            parameter.opts[0] for parameter in program.command.params if parameter.name in USUAL
        )
        line = t("On every command: {names}; `{program} -h`.", names=usual, program=program.info_name)
        formatter.write("\n" + "\n".join(wrapped(line, formatter.width)) + "\n")


def command_lines() -> dict[str, str]:
    """Every command, group by group, with how its help begins."""
    return {name: line for its in COMMANDS.values() for name, line in its.items()}


def group_of(parameter: Any) -> str:
    """The group of `--help` that an option or argument stands in."""
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    return MORE if parameter.name == "help" else getattr(parameter, "rich_help_panel", None) or OPTIONS


def option_help(parameter: Any) -> str:
    """What an option is for, its default and what it can choose, in the language spoken."""
    text = t("Show this message and exit.") if parameter.name == "help" else sentence(parameter.help or "")
    default = t("required") if parameter.required else default_of(parameter)
    text = f"{text} [{default}]" if default else text
    option = parameter.opts[0]
    names = ", ".join(names_of(option))
    if option in EXPLAINED:
        names = t("{names}; `settings {setting}` explains", names=names, setting=option[2:])
    return f"{text} ({names})" if names else text


def sentence(text: str) -> str:
    """A help text, or a setting's comment, in the language spoken; in English a sentence."""
    words = t(text)
    start = words[:1].upper() if words == text else words[:1]
    return f"{start}{words[1:]}{'' if words[-1:] in ('', '.') else '.'}"


def default_of(parameter: Any) -> str:
    """The default as shown, "" for none."""
    words = getattr(parameter, "show_default", None)
    if isinstance(words, str):
        return t(words)
    default = parameter.default
    hidden = words is False or default is None or isinstance(default, bool) or callable(default)
    return "" if hidden else str(default)


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def registry_of(option: str) -> Registry[Any]:
    """The registry of what this option chooses from."""
    module, _, name = CHOOSING[option].partition(":")
    registry: Registry[Any] = getattr(import_module(module), name)
    return registry


def names_of(option: str) -> list[str]:
    """What an option can choose, other packages' things too."""
    try:
        return list(registry_of(option)) if option in CHOOSING else []
    except RegistrationError as error:
        return [shown(error.args[0])]


def _write_rows(formatter: Any, title: str, rows: Rows) -> None:
    """A group: names in a column, what they mean next to them."""
    widths = [cell_width(name) for name, _ in rows]
    column = max((width for width in widths if width <= NAMES_WIDTH), default=NAMES_WIDTH)
    formatter.write(f"\n{title}:\n")
    for (name, text), width in zip(rows, widths, strict=True):
        lines = wrapped(text, formatter.width - column - 4)
        if width > column:
            formatter.write(f"  {name}\n")
            width, name = 0, ""
        for place, line in enumerate(lines):
            start = f"  {name}{' ' * (column - width)}" if place == 0 else " " * (column + 2)
            formatter.write(f"{start}  {line}".rstrip() + "\n")
