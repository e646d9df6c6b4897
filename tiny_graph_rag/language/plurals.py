"""What an English plural may be the plural of."""

from __future__ import annotations

from collections.abc import Iterator

SHORTEST = 4  # letters of a plural: `gas`, `was` and `his` are none
NO_PLURALS = ("ss", "us", "is", "as", "os")  # class, status, Paris, Texas, chaos


def singulars(word: str) -> Iterator[str]:
    """Words in lower case of which this is the regular plural: cities → city, boxes → box or boxe."""
    if len(word) < SHORTEST or word[-1] != "s" or not word.isascii() or not word.isalpha():
        return
    if word.endswith("ies"):
        yield word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield word[:-2]
    if not word.endswith(NO_PLURALS):
        yield word[:-1]
