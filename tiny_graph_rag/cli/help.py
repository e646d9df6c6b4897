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
COMMANDS = {
    BEGIN: ("init",),
    MEASURE: ("eval", "score", "sweep", "fix", "retrieve", "compare", "history"),
    LOOK: ("query", "report", "stats", "convert", "visualize", "measures", "settings", "mcp"),
    GOLD: ("validate", "generate", "recommend", "curate", "dataset"),
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
    its = getattr(command, "commands", {})
    listed: dict[str, tuple[str, ...]] = COMMANDS if ctx.parent is None else {LOOK: tuple(its)}
    for kind, names in listed.items() if its else ():
        groups[kind] = [(name, t(paragraphs(its[name].help or "")[0])) for name in names]
    for title in sorted(groups, key=GROUPS.index):
        _write_rows(formatter, t(title), groups[title])
    if ctx.parent is not None:
        program = ctx.find_root()
        usual = ", ".join(
            parameter.opts[0] for parameter in program.command.params if parameter.name in USUAL
        )
        line = t("On every command: {names}; `{program} -h`.", names=usual, program=program.info_name)
        formatter.write("\n" + "\n".join(wrapped(line, formatter.width)) + "\n")


def command_names() -> list[str]:
    """Every command, group by group."""
    return [name for names in COMMANDS.values() for name in names]


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
