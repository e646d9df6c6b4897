"""Functions over arrays, compiled by numba where it is installed and the work is worth its start-up.

Write a kernel as a plain function of numpy arrays and numbers, `compiled(kernel)` where
`worth_compiling(steps)` says so, and the function itself elsewhere. Both must give equal results: integers,
or floats that are added in one order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

# Importing numba takes about a second, in which plain Python does this many innermost steps.
WORTH_STEPS = 3_000_000

P = ParamSpec("P")
R = TypeVar("R")


@cache
def can_compile() -> bool:
    """Whether numba is installed (the extra `fast`). Looks without importing it."""
    return find_spec("numba") is not None


def worth_compiling(steps: int, *, allowed: bool = True) -> bool:
    """Whether to use the compiled kernel for about `steps` innermost iterations in all.

    allowed: the setting `running.compiled`. Once numba is in, it is always worth it.
    """
    return allowed and can_compile() and ("numba" in sys.modules or steps >= WORTH_STEPS)


@cache
def compiled(kernel: Callable[P, R], called: tuple[Callable[..., object], ...] = ()) -> Callable[P, R]:
    """The kernel as machine code that lets other threads run; kept on disk next to its module by numba.

    called: plain functions of its module that it calls, which are compiled with it. Such a kernel may make no
    arrays: the caller holds those that it is given, and no function of it counts who else does, which would
    take a quarter of the time of many short ones. Nothing in it may divide by zero.
    """
    import numba

    _look_for_blas_later()
    options: dict[str, Any] = {}
    if called:
        from numba.core.options import DefaultOptions
        from numba.extending import register_jitable

        options["error_model"] = "numpy"
        if hasattr(DefaultOptions, "_nrt"):  # numba's name for that counting, which no release documents
            options["_nrt"] = False
        for name in called:
            register_jitable(**options)(name)
    made: Callable[P, R] = numba.njit(nogil=True, cache=True, **options)(kernel)
    return made


@cache
def _look_for_blas_later() -> None:
    """Before its first kernel numba loads scipy.linalg, where scipy is there, to know whether matrices can be
    multiplied: that takes longer than the kernels. Whoever multiplies some finds it then."""
    linalg = import_module("numba.np.linalg")
    look = getattr(linalg, "ensure_blas", None)
    if look is None or "numba.np.arraymath" in sys.modules:
        return

    def is_there() -> None:
        if find_spec("scipy") is None:
            raise ImportError

    linalg.ensure_blas = is_there  # type: ignore[attr-defined]
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look  # type: ignore[attr-defined]
