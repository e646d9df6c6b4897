"""What altered spellings of the questions cost, in the terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tiny_graph_rag.errors import amount
from tiny_graph_rag.report.console import Console, Table, escape
from tiny_graph_rag.report.console.summary import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tiny_graph_rag.evaluation.perturb import Perturbed

BROKEN_SHOWN = 3  # questions of a kind; the results file has them all


def print_perturbed(found: Sequence[Perturbed], console: Console) -> None:
    """What each kind of altered question cost, with the first questions that broke."""
    table = Table()
    for name in ("asked again with", "measure"):
        table.add_column(name)
    for name in ("mean", "drop", "95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        for place, (measure, drop) in enumerate(each.measures.items()):
            ends = "–" if math.isnan(drop.low) else f"{drop.low:+.3f} … {drop.high:+.3f}"
            drops = "–" if math.isnan(drop.drop) else f"{drop.drop:+.3f}"
            row = (str(measure), shown(drop.mean), drops, ends, f"{drop.n:,}")
            table.add_row("" if place else each.kind, *row)
    console.print(table)
    for each in found:
        more = ", …" if len(each.broken) > BROKEN_SHOWN else ""
        listed = ", ".join(question for question, _ in each.broken[:BROKEN_SHOWN]) + more
        said = f"{len(each.broken):,} broke ({listed})" if each.broken else "none broke"
        console.print(
            escape(f"{each.kind}: {amount(each.altered, 'question')} altered, {said}"), soft_wrap=True
        )
