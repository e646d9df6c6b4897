"""What every command needs: settings, the files it was given, and a place to speak."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tiny_graph_rag.cli import called
from tiny_graph_rag.cli.options import Chosen, Common, comma_list
from tiny_graph_rag.config import (
    NO_CACHE,
    Config,
    cache_folder,
    language,
    load_config,
    settings_of,
)
from tiny_graph_rag.errors import InputError, UsageError, at, unknown
from tiny_graph_rag.files import allow_unpacked, read_start
from tiny_graph_rag.inputs import find_input, forget_inputs, note_named
from tiny_graph_rag.language.folding import nfc
from tiny_graph_rag.messages import LANGUAGES, Said, said, shown, speak, t
from tiny_graph_rag.outputs import Outputs
from tiny_graph_rag.report.plain import without_controls
from tiny_graph_rag.secret import is_loopback, safe_url, scrubbed, url_secrets

if TYPE_CHECKING:  # a command loads only what it uses
    from tiny_graph_rag.fixing.applying import UsedPatch
    from tiny_graph_rag.gold.examples import EvalSet, Selection
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.report.terminal import Console, Shown

PROGRESS_FROM = 2000  # questions; below this a bar would only flicker
SECONDS_A_LINE = 10  # between two lines of progress where there is no terminal
SET_ENDINGS = ("-eval", "-hardset")
GRAPH_SIGNS, GOLD_SIGNS = (b'"entities":', b'"nodes":', b'"relation'), (b'"query":', b'"question":')
GRAPH_HINT = "the file looks like a knowledge graph; give that with -g, and the questions with --dataset"
GOLD_HINT = "the file looks like a gold set; give that with --dataset, and the graph with -g"


class Bar(Protocol):
    """Called with how many questions are done, and what else to show."""

    def __call__(self, done: int, note: str = "") -> None: ...


@dataclass(frozen=True, slots=True)
class Session:
    """config: settings after file, environment and flags. quiet: say nothing. to_stdout: `-o -` was given,
    so every message goes to standard error. outputs: the files that are written, which may be none that is
    read. patch: what `--patch` applies."""

    config: Config
    quiet: bool = False
    to_stdout: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    patch: UsedPatch | None = None

    @classmethod
    def open(
        cls,
        common: Common,
        *,
        to_stdout: bool = False,
        patch: Path | None = None,
        **flags: object,
    ) -> Session:
        """flags: settings given on the command line, None where not given; they overrule those of `patch`."""
        if common.lang is not None and common.lang not in LANGUAGES:
            raise unknown("--lang", common.lang, LANGUAGES)
        speak(common.lang or language())
        forget_inputs()
        config = load_config(common.config, trust=common.trust_config)
        used = None
        if patch is not None:
            from tiny_graph_rag.fixing.applying import UsedPatch, with_patch

            results = Path(config.override(**common.settings).storage.results_dir)
            used = UsedPatch.read(find_input(patch, results, "patch file"))
            config = with_patch(config, used.patch, used.path.name)
        config = _with_flags(config, common.set_, {**flags, **common.settings})
        allow_unpacked(config.running.largest_unpacked)
        if config.file is not None:
            note_named(config.file)
        if config.generation.prompt:  # an input, though a run without answers doesn't open it
            note_named(Path(config.generation.prompt).expanduser())
        session = cls(config, common.quiet, to_stdout, patch=used)
        if config.unused:
            session.warn(
                "{file}: ignored settings of upstream tiny-graph-RAG: {settings}",
                file=config.file,
                settings=", ".join(config.unused),
            )
        address = config.openai.base_url
        if "base_url" in config.untrusted and config.api_key and is_loopback(address):
            session.warn(
                "{file} isn't trusted: OPENAI_API_KEY isn't sent to {address}; --trust-config allows it",
                file=config.file,
                address=safe_url(address),
            )
        if cache_folder() == NO_CACHE:
            session.warn("the cache folder (XDG_CACHE_HOME) belongs to another user, so it isn't used")
        return session

    def made(self, label: str | None = None) -> dict[str, Any]:
        """When and by which command a file is made, and with which patch, for its head."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        secrets = (self.config.api_key, *url_secrets(self.config.openai.base_url))
        command = scrubbed(f"{called()} {shlex.join(sys.argv[1:])}", secrets)
        made = {"at": now, "label": scrubbed(label, secrets) if label else label, "command": command}
        return {"made": made} if self.patch is None else {"made": made, "patch": self.patch.record()}

    @property
    def console(self) -> Console:
        """Where lines and tables go: a pipe has no width."""
        from tiny_graph_rag.report.terminal import Console

        stream = sys.stderr if self.to_stdout else sys.stdout
        return Console(stream, self.quiet, shutil.get_terminal_size().columns if stream.isatty() else None)

    def show(self, parts: Iterable[Shown]) -> None:
        """Lines and tables, as report/terminal makes them."""
        console = self.console
        for part in parts:
            console.print(part)

    def say(self, text: str, /, **values: object) -> None:
        """text: English with `values` in its braces, or what is in words already."""
        if not self.quiet:
            print(_worded(text, values), file=sys.stderr if self.to_stdout else sys.stdout)

    def note(self, text: str, /, **values: object) -> None:
        """What goes on, where it takes minutes: on standard error, so that results stay alone."""
        if not self.quiet:
            print(_worded(text, values), file=sys.stderr, flush=True)

    def warn(self, text: str, /, **values: object) -> None:
        if not self.quiet:
            print(f"{t('warning')}: {_worded(text, values)}", file=sys.stderr)

    def eval_set(self, dataset: Path, chosen: Chosen | None = None) -> EvalSet:
        """Questions that say what is relevant, those that `chosen` leaves."""
        from tiny_graph_rag.formats.gold import read_eval_set

        path = find_input(dataset, Path(self.config.storage.dataset_dir), "gold set")
        self.outputs.confirm()
        try:
            examples = read_eval_set(path)
        except InputError as error:
            raise _hinted(error, path, GRAPH_SIGNS, said(GRAPH_HINT)) from error
        for line in examples.notes:
            self.note(at(examples.name, line))
        return examples if chosen is None else examples.select(selection(chosen))

    def questions(self, source: Path, chosen: Chosen | None = None) -> EvalSet:
        """Questions that may come without references, those that `chosen` leaves."""
        from tiny_graph_rag.formats.gold.drafts import read_questions

        examples = read_questions(source)
        for line in examples.notes:
            self.note(at(examples.name, line))
        return examples if chosen is None else examples.select(selection(chosen))

    def graph(self, given: Path | None, examples: EvalSet | None = None) -> KnowledgeGraph:
        """The graph given by -g, else by the gold set's name, else the only one in the folder."""
        from tiny_graph_rag.formats.graphs import read_graph, stated_columns, with_vocabulary

        running = self.config.running
        path = self.graph_path(given, examples)
        words = self.config.retrieval.vocabulary
        if words not in ("auto", "none"):
            find_input(words, path.parent, "vocabulary")  # refused before a large graph is read, not after
        columns = stated_columns(running.columns or None)
        self.outputs.confirm()  # an output may have been claimed before this graph was named
        try:
            graph = read_graph(path, cache_folder() if running.graph_cache else None, self.note, columns)
        except InputError as error:
            raise _hinted(error, path, GOLD_SIGNS, said(GOLD_HINT)) from error
        graph = with_vocabulary(graph, path, words)
        for line in graph.notes.lines():
            self.warn(at(graph.name, line))
        return graph

    def patched(self, graph: KnowledgeGraph, examples: EvalSet) -> tuple[KnowledgeGraph, EvalSet]:
        """The graph with `--patch` applied, and the gold set held to what it meant without it; both as they
        are where no patch is given."""
        if self.patch is None:
            return graph, examples
        from tiny_graph_rag.fixing.applying import patched

        if not self.patch.fits(graph):
            self.warn(
                "{file} was made for another version of the graph {graph}; check its entries",
                file=self.patch.path.name,
                graph=self.patch.patch.graph.name,
            )
        found = patched(graph, examples, self.patch.patch)
        self.say(self.patch.line())
        return found

    def graph_path(self, given: Path | None, examples: EvalSet | None = None) -> Path:
        """The file that `graph` reads."""
        from tiny_graph_rag.formats.graphs import located

        folder = Path(self.config.storage.kg_dir)
        if given is None:
            return _implied(folder, examples)
        return located(
            given,
            lambda name: find_input(name, folder, "knowledge graph", or_folder=True),
            cache_folder(),
            self.config.running.query or None,
        )

    @contextmanager
    def cluster(self) -> Iterator[Any]:
        """A client of the setting `running.cluster`; without an address nothing of it is loaded. Raises
        UsageError where a patch is applied too."""
        address = self.config.running.cluster
        if not address:
            yield None
            return
        if self.patch is not None:
            raise UsageError(
                "--patch doesn't work with running.cluster, because workers read the graph's file; write "
                "the graph with `convert --patch` first"
            )
        from tiny_graph_rag.retrieval.cluster import connected

        with connected(address) as client:
            yield client

    @contextmanager
    def progress(self, what: str, total: int, *, least: int = PROGRESS_FROM) -> Iterator[Bar]:
        """A bar on standard error where there is much to do, `least` or more; without a terminal a line every
        SECONDS_A_LINE."""
        if self.quiet or total < least:
            yield lambda done, note="": None
            return
        if not sys.stderr.isatty():
            last = time.monotonic()

            def line(done: int, note: str = "") -> None:
                nonlocal last
                if time.monotonic() - last >= SECONDS_A_LINE:
                    last = time.monotonic()
                    print(f"{what}: {done:,}/{total:,} {note}".rstrip(), file=sys.stderr, flush=True)

            yield line
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        note = TextColumn("{task.fields[note]}")
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), note, TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total, note="")
            yield lambda done, note="": bar.update(task, completed=done, note=note)


def _worded(text: str, values: dict[str, object]) -> str:
    """A text in the language spoken, its values too, less what a terminal would obey."""
    return without_controls(shown(text if isinstance(text, Said) else said(text, **values)))


def _hinted(error: InputError, path: Path, signs: Sequence[bytes], hint: str) -> InputError:
    """An error about a file, with a hint where the file seems to be what another option wants."""
    start = read_start(path, 4096) if path.is_file() else b""
    return type(error)(*error.problems, hint) if any(sign in start for sign in signs) else error


def _with_flags(config: Config, given: Iterable[str], flags: Mapping[str, object]) -> Config:
    """The settings of `--set`, then those of flags, None where not given."""
    by_name = {
        setting.full_name: setting.parse(text, f"--set {setting.full_name}")
        for setting, text in settings_of(given, "--set")
    }
    return config.replaced(by_name).trusting(by_name).override(**flags)


def selection(chosen: Chosen) -> Selection:
    """The questions that the options of `Chosen` leave."""
    from tiny_graph_rag.gold.examples import Selection

    return Selection(chosen.limit, comma_list(chosen.tags), comma_list(chosen.ids))


def selected(chosen: Chosen) -> Selection | None:
    """The same; None where these are all questions, for which nothing of gold sets is loaded."""
    return selection(chosen) if chosen.limit is not None or chosen.tags or chosen.ids else None


def base_name(examples: EvalSet) -> str:
    """`NAME` of `NAME-eval.jsonl` and `NAME-hardset.jsonl`."""
    for ending in SET_ENDINGS:
        if examples.name.endswith(ending):
            return examples.name.removesuffix(ending)
    return examples.name


def _implied(folder: Path, examples: EvalSet | None) -> Path:
    from tiny_graph_rag.formats.graphs import graph_files

    graphs = graph_files(folder)
    if examples is not None:
        wanted = f"{base_name(examples)}-KG.json"
        for graph in graphs:
            if nfc(graph.name) in (wanted, f"{wanted}.gz"):
                return graph
    if len(graphs) == 1:
        return graphs[0]
    if not graphs:
        raise UsageError(
            "no knowledge graph in {folder}; give one with -g, or another folder with --kg-dir",
            folder=folder,
        )
    listed = ", ".join(graph.name for graph in graphs)
    raise UsageError(
        "the knowledge graph isn't clear: give one with -g. {folder} has: {names}",
        folder=folder,
        names=listed,
    )
