"""Gold sets: questions with the entities that answer them, and what those mean on a graph."""
