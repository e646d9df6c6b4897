"""Whole columns in place of objects: the design's one idea.

Arrays of numbers, columns of strings and characters, tables of hashes, columns kept in files, and the
functions over them that numba compiles where it is installed.
"""
