"""What would fix bad retrieval: changes proposed, applied in memory, and measured on questions that did not
choose them.

`patch` is the file that holds them; `aliases`, `merges`, `renames` and `missing` propose what a person
decides, `vocabulary` what can be proven; `fixes` measures all of it.
"""
