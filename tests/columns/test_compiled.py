"""Machine code that numba keeps goes when a source beside its module has changed."""

from __future__ import annotations

import os
from pathlib import Path

from tiny_graph_rag.columns.arrays import _forget_older


def test_what_was_kept_before_a_source_changed_is_removed(tmp_path: Path) -> None:
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    ages = {"kernel.py": 10, "classes.py": 20}
    ages |= {f"__pycache__/{name}": age for name, age in
             {"kernel.old-1.nbi": 15, "kernel.new-1.nbi": 25, "other.old-1.nbi": 15}.items()}  # fmt: skip
    for name, age in ages.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (age, age))
    _forget_older(kept, tmp_path / "kernel.py")
    assert sorted(path.name for path in kept.iterdir()) == ["kernel.new-1.nbi", "other.old-1.nbi"]
