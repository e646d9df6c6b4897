"""What compiling brings along, seen from a process of its own."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
from tiny_graph_rag.columns.arrays import compiled
from tiny_graph_rag.graph.bfs import add_neighbours

reached = np.array([[1], [0]], dtype=np.uint64)
grown = reached.copy()
compiled(add_neighbours)(np.array([0, 1, 2]), np.array([1, 0], dtype=np.int32), reached, grown)
print(grown.ravel().tolist(), "scipy.linalg" in sys.modules)
{more}
"""
DOT = """
import numba
print(numba.njit(lambda a: np.dot(a, a))(np.eye(2)).tolist())
"""


def said(more: str = "") -> list[str]:
    script = SCRIPT.format(more=more)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_kernel_does_not_load_scipys_matrices() -> None:
    pytest.importorskip("numba")
    assert said() == ["[1, 1] False"]


@pytest.mark.slow
def test_somebody_elses_kernel_may_still_multiply_matrices() -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    assert said(DOT) == ["[1, 1] False", "[[1.0, 0.0], [0.0, 1.0]]"]
