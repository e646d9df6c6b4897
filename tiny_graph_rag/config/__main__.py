"""`python -m tiny_graph_rag.config > config.yaml`."""

from tiny_graph_rag.config.sources import config_yaml

print(config_yaml(), end="")
