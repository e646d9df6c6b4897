"""The study of a run: evaluate, verdicts, ties, advice, sweep, comparison, noise, gates."""
