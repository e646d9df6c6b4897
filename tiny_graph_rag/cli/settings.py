"""`settings` and `measures`: every setting with its value here, every measure with its definition."""

from __future__ import annotations

import sys
from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import names_of, registry_of
from tiny_graph_rag.cli.options import Common, argument
from tiny_graph_rag.cli.output import STDOUT, Output, Written
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import all_settings, find_setting, section_comment, section_names
from tiny_graph_rag.measures.reference import listed
from tiny_graph_rag.messages import ENGLISH, speaking, t
from tiny_graph_rag.report.tables import View
from tiny_graph_rag.secret import safe_url


@command(app, "settings")
def settings_command(
    common: Common,
    section: Annotated[
        str | None, argument("Only this section (retrieval) or this setting (retrieval.hops).")
    ] = None,
) -> None:
    """List every setting with its value here, its default and its meaning; of one alone (retriever, linker,
    judge) also what it can be. `--set section.name=value` changes it for one run of any command."""
    session = Session.open(common)
    sections = section_names()
    chosen = all_settings() if section in (None, *sections) else (find_setting(section or ""),)
    for name in sections if section not in sections else (section,):
        rows = [setting for setting in chosen if setting.section == name]
        if rows:
            session.say(f"{name}: {t(section_comment(name))}")
        for setting in rows:
            value = getattr(getattr(session.config, name), setting.name)
            value = safe_url(value) if setting.full_name == "openai.base_url" else value
            changed = "" if value == setting.default else f" [{t('default')} {spelled(setting.default)}]"
            session.say(f"  {setting.full_name}={spelled(value)}{changed}  {t(setting.comment)}")
            if len(chosen) == 1:
                option = f"--{setting.name}"
                for name in names_of(option):
                    session.say(f"    {name}: {t(registry_of(option).entry(name).line)}")


def spelled(value: object) -> str:
    """A value as `--set` takes it."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)


@command(app, "measures")
def measures(common: Common, output: Written = None) -> None:
    """List every measure with its spelling, range, definition and source."""
    session = Session.open(common, to_stdout=output == STDOUT)
    rows = listed()
    fields = ("name", "range", "definition", "source")
    with speaking(ENGLISH):  # files are in English
        listing = [dict(zip(fields, row, strict=True)) for row in listed()]
    Output.of(session, output).at().document("measures", measures=listing)
    if session.to_stdout:
        return
    if not sys.stdout.isatty():
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for name, its_span, definition, source in rows:
            session.say(f"{name:{widths[0]}}  {its_span:{widths[1]}}  {definition} [{source}]")
        return
    heads = (t("measure"), t("range"), t("definition"), t("cited from"))
    session.show([View(heads, tuple(rows), (0, 1, 2, 3))])
