"""`python -m tiny_graph_rag …`."""

from tiny_graph_rag.cli import main

if __name__ == "__main__":
    main()
