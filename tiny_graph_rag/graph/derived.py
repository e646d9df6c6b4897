"""What follows from a graph alone, such as an index of its names: made once, and of a cached graph kept."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tiny_graph_rag.columns.stored import BadRecordError, new_folder, read_record, write_record
from tiny_graph_rag.shown import short_repr

Arrays = Mapping[str, NDArray[Any]]
Build = Callable[[], Arrays]


@dataclass(frozen=True, slots=True)
class Kept:
    """Arrays in a folder. code: digest of the module that built them."""

    code: str
    arrays: dict[str, NDArray[Any]]


@dataclass(slots=True)
class Derived:
    """home: the folder in which arrays are kept, a folder each; None: in memory alone."""

    home: Path | None = None
    arrays: dict[str, Arrays] = field(default_factory=dict)
    shared: dict[object, Any] = field(default_factory=dict)

    __repr__ = short_repr

    def get(self, name: str, build: Build) -> Arrays:
        if name not in self.arrays:
            self.arrays[name] = build() if self.home is None else _kept(self.home / name, build)
        return self.arrays[name]


def _kept(folder: Path, build: Build) -> Arrays:
    """The arrays in a folder; built where it has none, or those of other code."""
    module = sys.modules.get(getattr(build, "__module__", ""))
    source = Path(getattr(module, "__file__", None) or "")
    code = hashlib.sha256(source.read_bytes() if source.is_file() else b"").hexdigest()
    with suppress(BadRecordError):
        kept = read_record(folder, Kept)
        if kept.code == code:
            return kept.arrays
    built = dict(build())
    with suppress(OSError, BadRecordError):
        with new_folder(folder) as new:
            write_record(new, Kept(code, built))
        return read_record(folder, Kept).arrays
    return built
