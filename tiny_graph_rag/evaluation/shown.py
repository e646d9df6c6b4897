"""How much of a ranking is shown."""

SHOWN_RANKS = 10  # results hold the first max(k, this) of each ranking; --save-run holds them all
