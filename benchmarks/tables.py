"""The tables of docs that a script prints: run the script again, compare, and write.

    uv run python benchmarks/tables.py                      # every marked table of docs/: minutes
    uv run python benchmarks/tables.py --quick              # of each table the rows that are cheap
    uv run python benchmarks/tables.py docs/statistics.md --write

A table is marked by a comment above it, with the command that prints it and, after a bar, options that print
some of its rows only:

    <!-- table: benchmarks/choosing.py --sweeps 300 | --only "6 systems" -->

A command may print several tables, and text around them; the one with the document's header counts. A row
that the command prints must stand in the document word for word; of a whole table no other row may.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARKED = re.compile(
    r"^<!-- table: (?P<command>[^|\n]+?)(?: \| (?P<quick>[^\n]+?))? -->\n(?P<table>(?:^\|.*\n)+)", re.M
)
SECONDS = 3600  # that one script may take


@dataclass(frozen=True)
class MarkedTable:
    """rows: the header first, without the line of dashes. quick: options for some of the rows, "" without."""

    path: Path
    command: str
    quick: str
    rows: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.path.name}: {self.command}"

    def printed(self, *, quick: bool) -> tuple[str, ...]:
        """The rows that the command prints of this table. Raises LookupError without such a table."""
        command = shlex.split(self.command) + (shlex.split(self.quick) if quick else [])
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode:
            raise LookupError(f"{self.name}: ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        for rows in tables_in(done.stdout):
            if rows[0] == self.rows[0]:
                return rows
        raise LookupError(f"{self.name}: printed no table with the header {self.rows[0]}")

    def differences(self, *, quick: bool) -> list[str]:
        """Rows that the document lacks, and (of whole tables) rows that nothing prints."""
        printed = self.printed(quick=quick)
        lines = [f"+ {row}" for row in printed if row not in self.rows]
        return lines + [f"- {row}" for row in self.rows if not quick and row not in printed]


def tables_in(text: str) -> Iterator[tuple[str, ...]]:
    """Every Markdown table of a text, as its rows without the line of dashes."""
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.M):
        rows = [line.strip() for line in block.splitlines()]
        yield tuple(row for row in rows if not re.fullmatch(r"[|\-: ]+", row))


def marked_tables(path: Path) -> list[MarkedTable]:
    """The tables of a page that name their command, in order."""
    return [
        MarkedTable(path, found["command"], found["quick"] or "", next(tables_in(found["table"])))
        for found in MARKED.finditer(path.read_text(encoding="utf-8"))
    ]


def written(path: Path) -> str:
    """The page with every marked table as its command prints it now."""

    def fresh(found: re.Match[str]) -> str:
        table = MarkedTable(path, found["command"], found["quick"] or "", next(tables_in(found["table"])))
        header, *rows = table.printed(quick=False)
        dashes = "|" + "---|" * (header.count("|") - 1)
        marker = found[0][: found.start("table") - found.start()]
        return marker + "".join(f"{row}\n" for row in (header, dashes, *rows))

    return MARKED.sub(fresh, path.read_text(encoding="utf-8"))


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("pages", nargs="*", type=Path, default=sorted((ROOT / "docs").glob("**/*.md")))
    options.add_argument("--quick", action="store_true", help="only the rows that are cheap")
    options.add_argument("--write", action="store_true", help="write what the commands print into the pages")
    given = options.parse_args(arguments)
    wrong = 0
    for page in given.pages:
        if given.write:
            if marked_tables(page):
                page.write_text(written(page), encoding="utf-8")
            continue
        for table in marked_tables(page):
            if given.quick and not table.quick:
                continue
            differences = table.differences(quick=given.quick)
            wrong += bool(differences)
            print(
                f"{'differs' if differences else 'the same'}: {table.name}",
                *differences,
                sep="\n  ",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
