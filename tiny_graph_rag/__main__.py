"""The program's entry, by every name: `tiny-graph-rag`, `python -m tiny_graph_rag` and main.py.

Nothing is imported before an interruption has its answer: loading takes a moment, and Ctrl-C may come then.
"""

from __future__ import annotations

import sys

INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main() -> None:
    """Run a command; Ctrl-C at any time is one line and exit code 130. Ends the process.

    SIGTERM ends it as an error would, so that no temporary file stays.
    """
    try:
        try:
            import signal

            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
            from tiny_graph_rag.cli import run

            run()
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except OSError as error:  # of `--help` and `--version`; a command says its own
            from tiny_graph_rag.cli.command import end_refused

            end_refused(error)
    except SystemExit as ended:
        _finish(ended.code)
        raise


def _finish(code: object) -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done or given up: the interpreter may end in peace
    if code == INTERRUPTED:
        print("interrupted; nothing was overwritten", file=sys.stderr)


if __name__ == "__main__":
    main()
