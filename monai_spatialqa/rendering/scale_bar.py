"""How long a scale bar is: a round number of mm."""

from __future__ import annotations

import math

BAR_SHARE = 0.28
"""A bar is at most this share of the width it stands in."""


def round_length_mm(limit_mm: float) -> float:
    """The largest of 1, 2, 5 x 10^k mm that is not longer than the limit."""
    power = 10.0 ** math.floor(math.log10(limit_mm))
    return max(step * power for step in (1, 2, 5) if step * power <= limit_mm)
