"""The versions of the package and of what it writes, in one place."""

__version__ = "0.1.0"
SCHEMA_VERSION = 1  # of results files
