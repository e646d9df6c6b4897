"""The knowledge graph: columns with names at the edges, its index of names, traversal, distances, cache."""
