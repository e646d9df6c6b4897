"""`uv run python main.py …`: the command line from a clone."""

from tiny_graph_rag.cli import main

if __name__ == "__main__":
    main()
