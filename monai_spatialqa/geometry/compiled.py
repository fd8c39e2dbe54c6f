"""How loops are compiled: without the GIL, and kept on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile on first call.

    The machine code is kept beside the package or in the user's cache folder, so that the next process starts at once.
    Where neither can be written (a read-only container without a home), every process compiles anew.
    """
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no folder for the cache
        return njit(nogil=True)(function)
