"""What every command needs: settings, the files it was given, and a place to speak."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_graph_rag.cli.options import Chosen, Common, Given
from tiny_graph_rag.config import Config, settings_of
from tiny_graph_rag.config.sources import NO_CACHE, cache_folder, language, load_config
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
    from tiny_graph_rag.gold.examples import EvalSet
    from tiny_graph_rag.graph.model import KnowledgeGraph
    from tiny_graph_rag.report.terminal import Console, Shown

PROGRESS_FROM = 2000  # questions; below this a bar would only flicker
STDOUT = "-"
SECONDS_A_LINE = 10  # between two lines of progress where there is no terminal
GRAPH_SIGNS = re.compile('(?s)(?!.*"que).*("entities|"nodes|"relation|ubject,|ource,|주어,)'.encode())
GOLD_SIGNS = re.compile(rb'(?s).*"(query|question)":')  # which a graph has none of
GRAPH_HINT = "the file looks like a knowledge graph; give that with -g, and the questions with --dataset"
GOLD_HINT = "the file looks like a gold set; give that with --dataset, and the graph with -g"


@dataclass(frozen=True, slots=True)
class Session:
    """config: settings after file, environment and flags. given: what flags say of them. to_stdout: `-o -`
    was given, so every message goes to standard error. outputs: the files that are written, which may be none
    that is read. patch: what `--patch` applies."""

    config: Config
    common: Common = field(default_factory=Common)
    given: Given = field(default_factory=dict)
    to_stdout: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    patch: UsedPatch | None = None

    @classmethod
    def open(cls, common: Common, given: Given, output: object = None) -> Session:
        """given: what flags say, which overrules a patch. output: of `-o`."""
        if common.lang is not None and common.lang not in LANGUAGES:
            raise unknown("--lang", common.lang, LANGUAGES)
        speak(common.lang or language())
        forget_inputs()
        config = load_config(common.config, trust=common.trust_config)
        used, patch = None, given.get("patch")
        if patch is not None:
            from tiny_graph_rag.fixing.applying import UsedPatch, with_patch

            results = Path(config.override(**common.settings).storage.results_dir)
            used = UsedPatch.read(find_input(patch, results, "patch file"))
            config = with_patch(config, used.patch, used.path.name)
        named = {
            setting.full_name: setting.parse(text, f"--set {setting.full_name}")
            for setting, text in settings_of(common.set_ or (), "--set")
        }
        config = config.replaced(named).trusting(named)
        config = config.override(**{**given, **common.settings, "patch": None})
        allow_unpacked(config.running.largest_unpacked)
        if config.file is not None:
            note_named(config.file)
        if config.generation.prompt:  # an input, though a run without answers doesn't open it
            note_named(Path(config.generation.prompt).expanduser())
        session = cls(config, common, given, output == STDOUT, patch=used)
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

    @property
    def quiet(self) -> bool:
        """Say nothing but errors."""
        return self.common.quiet

    def using(self, **settings: object) -> Session:
        """The same with these settings, None where they stay as they are."""
        return replace(self, config=self.config.override(**settings))

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
        with hinting(path, GRAPH_SIGNS, said(GRAPH_HINT)):
            examples = read_eval_set(path)
        return self.told(examples, chosen)

    def questions(self, source: Path, chosen: Chosen | None = None) -> EvalSet:
        """Questions that may come without references, those that `chosen` leaves."""
        from tiny_graph_rag.formats.gold.drafts import read_questions

        with hinting(source, GRAPH_SIGNS, said(GRAPH_HINT)):
            return self.told(read_questions(source), chosen)

    def told(self, examples: EvalSet, chosen: Chosen | None = None) -> EvalSet:
        """Say what was noticed in a gold set; the questions of it that `chosen` leaves."""
        for line in examples.notes:
            self.note(at(examples.name, line))
        return examples if chosen is None else examples.select(chosen.selection())

    def graph(self, given: Path | None, examples: EvalSet | None = None) -> KnowledgeGraph:
        """The graph given by -g, else by the gold set's name, else the only one in the folder."""
        from tiny_graph_rag.formats.graphs import read_graph
        from tiny_graph_rag.formats.graphs.base import Columns
        from tiny_graph_rag.graph.vocabulary import with_vocabulary

        running = self.config.running
        path = self.graph_path(given, examples)
        words = self.config.retrieval.vocabulary
        if words not in ("auto", "none"):
            find_input(words, path.parent, "vocabulary")  # refused before a large graph is read, not after
        columns = Columns.of(running.columns) if running.columns else None
        self.outputs.confirm()  # an output may have been claimed before this graph was named
        with hinting(path, GOLD_SIGNS, said(GOLD_HINT)):
            graph = read_graph(path, cache_folder() if running.graph_cache else None, self.note, columns)
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
        """The file that `graph` reads. Raises UsageError where none is given and several may be meant."""
        from tiny_graph_rag.formats.graphs import graph_files, located

        folder, query = Path(self.config.storage.kg_dir), self.config.running.query or None
        if given is not None:
            return located(
                given,
                lambda name: find_input(name, folder, "knowledge graph", or_folder=True),
                cache_folder(),
                query,
            )
        graphs = graph_files(folder)
        name = "" if examples is None else examples.name.removesuffix("-eval").removesuffix("-hardset")
        named = [path for path in graphs if nfc(path.name) in (f"{name}-KG.json", f"{name}-KG.json.gz")]
        if named or len(graphs) == 1:
            return (named or graphs)[0]
        if not graphs:
            raise UsageError(
                "no knowledge graph in {folder}; give one with -g, or another folder with --kg-dir",
                folder=folder,
            )
        raise UsageError(
            "the knowledge graph isn't clear: give one with -g. {folder} has: {names}",
            folder=folder,
            names=", ".join(path.name for path in graphs),
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
    def progress(self, what: str, total: int, *, least: int = PROGRESS_FROM) -> Iterator[Callable[..., None]]:
        """How far it is, on standard error, where there is much to do (`least` or more): on a terminal in
        one line, elsewhere a line every SECONDS_A_LINE. What is given takes how many are done, and what
        else to show."""
        is_shown = not self.quiet and total >= least
        start, end, seconds = ("\r\x1b[K", "", 0.1) if sys.stderr.isatty() else ("", "\n", SECONDS_A_LINE)
        last = time.monotonic()

        def line(done: int, note: str = "") -> None:
            nonlocal last
            if is_shown and time.monotonic() - last >= seconds:
                last = time.monotonic()
                text = f"{t(what)}: {done:,}/{total:,} {note}".rstrip()
                print(f"{start}{text}", end=end, file=sys.stderr, flush=True)

        try:
            yield line
        finally:
            if is_shown:
                print(start, end="", file=sys.stderr, flush=True)


def called() -> str:
    """How this program was called, for commands that it prints to be copied."""
    first = Path(sys.argv[0]).name
    if first == "main.py":
        return "uv run python main.py"
    return "python -m tiny_graph_rag" if first == "__main__.py" else "tiny-graph-rag"


def shell_command(name: str, /, *arguments: str, **given: object) -> str:
    """A line to be copied: this program's command `name` with the flags that are not None or False; a list
    gives its flag once for each value."""
    flags = [
        f"--{flag.replace('_', '-')}" + ("" if value is True else f" {_quoted(str(value))}")
        for flag, values in given.items()
        for value in (values if isinstance(values, list | tuple) else [values])
        if value is not None and value is not False
    ]
    return " ".join([called(), name, *map(_quoted, arguments), *flags])


def _quoted(text: str) -> str:
    """As a shell wants it; letters of any language need no quotes."""
    plain = text and all(sign.isalnum() or sign in "-_./:,=+@%" for sign in text)
    return text if plain else shlex.quote(text)


def _worded(text: str, values: dict[str, object]) -> str:
    """A text in the language spoken, its values too, less what a terminal would obey."""
    return without_controls(shown(text if isinstance(text, Said) else said(text, **values)))


@contextmanager
def hinting(path: Path, signs: re.Pattern[bytes], hint: Said) -> Iterator[None]:
    """Read a file; an error about it gets the hint where its start looks like what another option takes."""
    try:
        yield
    except InputError as error:
        start = read_start(path, 4096) if path.is_file() else b""
        raise type(error)(*error.problems, *([hint] if signs.match(start) else [])) from error
