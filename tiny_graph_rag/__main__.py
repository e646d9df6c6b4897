"""The program's entry, by every name: `tiny-graph-rag`, `python -m tiny_graph_rag` and main.py.

Nothing is imported before an interruption has its answer: loading takes a moment, and Ctrl-C may come then.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED, TERMINATED = 130, 143  # 128 + the signal's number, as shells count
STOPPED, RESUMED = "interrupted; nothing was overwritten", "; --resume goes on"


def _leave_folder_out() -> None:
    """Take the current folder off the import path, where `python -m` puts it: a stranger's folder may hold a
    `yaml.py`, and nothing in a folder is run unasked. The folder of the package itself stays."""
    here = os.getcwd()  # noqa: PTH109 - pathlib is not loaded yet, and may lie in that very folder
    is_first = bool(sys.path) and sys.path[0] in ("", here)
    package = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    if is_first and os.path.dirname(package) != here:  # noqa: PTH120
        del sys.path[0]


def _unraisable(ignored: sys.UnraisableHookArgs) -> None:
    """Python says what it can't raise and goes on; but an interruption in an import's callback ends all."""
    if ignored.exc_type is KeyboardInterrupt:
        _finish(INTERRUPTED)
    sys.__unraisablehook__(ignored)


def main() -> None:
    """Run a command; Ctrl-C at any time is one line and exit code 130. Ends the process.

    SIGTERM ends it as an error would, so that no temporary file stays.
    """
    sys.unraisablehook = _unraisable
    try:
        try:
            _leave_folder_out()
            import signal

            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
            from tiny_graph_rag.cli import run

            run()
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
    except SystemExit as ended:
        _finish(ended.code)
        raise


def _finish(code: object) -> None:
    import contextlib
    import gc
    import signal

    if "duckdb" not in sys.modules:  # which complains of what is not collected
        gc.freeze()  # the process goes, and what it holds with it: to search that for waste takes some 30 ms
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done or given up: the interpreter may end in peace
    if code == INTERRUPTED:
        print(STOPPED + RESUMED * ("eval" in sys.argv[1:]), file=sys.stderr)
    if isinstance(code, int) and code in (INTERRUPTED, TERMINATED):
        # The interpreter's own end would wait for threads that nobody can stop.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
