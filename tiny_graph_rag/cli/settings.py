"""`settings`: every setting, its value here and what it means."""

from __future__ import annotations

from typing import Annotated

from tiny_graph_rag.cli import app
from tiny_graph_rag.cli.command import command
from tiny_graph_rag.cli.help import LOOK, names_of, registry_of
from tiny_graph_rag.cli.options import Common, argument
from tiny_graph_rag.cli.session import Session
from tiny_graph_rag.config import all_settings, find_setting, section_comment, section_names
from tiny_graph_rag.messages import t
from tiny_graph_rag.secret import safe_url


@command(app, "settings", LOOK)
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
