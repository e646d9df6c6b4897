"""What holds for every journal: of paid calls, of an own retriever's replies, of a curator's decisions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tiny_graph_rag.errors import TinyGraphRagError, UsageError
from tiny_graph_rag.gold.curation import DraftJournal
from tiny_graph_rag.journals import JournalFile
from tiny_graph_rag.llm.kept import Journal
from tiny_graph_rag.retrieval.native import OwnReply
from tiny_graph_rag.retrieval.own import ReplyJournal

Opened = Callable[[Path], Any]
KINDS: dict[str, Opened] = {
    "calls": lambda path: Journal(path, resume=False),
    "replies": lambda path: ReplyJournal(path, "own.py:ask"),
    "decisions": DraftJournal,
}
FOREIGN = b'{"somebody": "else\'s"}\n'

every_kind = pytest.mark.parametrize("opened", KINDS.values(), ids=KINDS)


@every_kind
def test_a_file_that_is_no_journal_is_refused_and_stays(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(FOREIGN)
    with pytest.raises(TinyGraphRagError, match=r"a\.jsonl:1: "):
        opened(path)
    assert path.read_bytes() == FOREIGN


@every_kind
def test_a_pipe_is_refused_at_once(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    os.mkfifo(path)
    with pytest.raises(TinyGraphRagError, match="pipe"):
        opened(path)


@every_kind
def test_another_process_has_it_until_it_is_killed(opened: Opened, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    held = f"""
from pathlib import Path
from tiny_graph_rag.journals import JournalFile
file = JournalFile(Path({str(path)!r}), "")
print("held", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == b"held\n"
        with pytest.raises(UsageError, match=r"another .* journal"):
            opened(path)
        it.kill()
    opened(path).close()


@every_kind
def test_closing_twice_closes_nobody_elses_file(opened: Opened, tmp_path: Path) -> None:
    journal = opened(tmp_path / "a.jsonl")
    journal.close()
    with (tmp_path / "b").open("wb") as other:  # takes the descriptor that was given back
        journal.close()
        other.write(b"whole")
    assert (tmp_path / "b").read_bytes() == b"whole"


def test_half_a_line_is_no_line_and_whole_ones_stay(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    file = JournalFile(path, "")
    file.append(b"one\n")
    file.append(b"two\nthr")
    assert list(file.lines()) == [(1, b"one\n"), (2, b"two\n")]
    assert not file.ends_whole
    file.cut(8)
    file.append(b"three\n")
    assert file.ends_whole
    file.close()
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_new_run_of_replies_replaces_the_last_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for answer in ("first", "second"):
        journal = ReplyJournal(path, "own.py:ask")
        journal.keep("q", "who?", OwnReply(entities=(), answer=answer))
        journal.close()
    journal = ReplyJournal(path, "own.py:ask", resume=True)
    assert journal.known == {("q", "who?"): OwnReply(entities=(), answer="second")}
    journal.close()
