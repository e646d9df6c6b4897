"""`uv run python main.py …`: the command line from a clone."""

from tiny_graph_rag.__main__ import main

if __name__ == "__main__":
    main()
