"""Gold sets: questions with the entities that answer them, what those mean on a graph, how well they fit."""
