"""From intensities to grey values: HU presets for CT, percentiles for MR.

The presets are conventional radiology settings, as PACS viewers and textbooks give them: soft tissue (level 40, width
400), lung (-600, 1500), bone (400, 1800), brain (40, 80). HU mean nothing on an MR, so a preset is refused there.
Values are clipped to the window **before** the type is narrowed; NaN is shown as background.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from monai_spatialqa.errors import SettingsError

Modality = Literal["CT", "MR"]


@dataclass(frozen=True)
class Window:
    """An intensity window: what lies at or below ``low`` is black, what lies at or above ``high`` is white.

    Args:
        level: its middle, HU or MR units.
        width: its width, in the same unit; positive.

    Raises:
        SettingsError: when a number is not finite or the width is not positive.
    """

    level: float
    width: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.level) and math.isfinite(self.width) and self.width > 0):
            raise SettingsError(
                "a window has a finite level and a positive width", key="window", found=(self.level, self.width)
            )

    @property
    def low(self) -> float:
        """The value shown black."""
        return self.level - self.width / 2

    @property
    def high(self) -> float:
        """The value shown white."""
        return self.level + self.width / 2


CT_WINDOWS: dict[str, Window] = {
    "soft_tissue": Window(40, 400),
    "lung": Window(-600, 1500),
    "bone": Window(400, 1800),
    "brain": Window(40, 80),
}
"""HU presets by name."""

_LARGEST_SAMPLE = 2_000_000


def percentile_window(image: npt.ArrayLike, lower: float = 1.0, upper: float = 99.0) -> Window:
    """The window between two percentiles of the finite values, for images without a physical unit.

    Args:
        image: any shape. Beyond two million values, every n-th one along each axis is looked at.
        lower: percentile shown black.
        upper: percentile shown white.

    Returns:
        The window; of width 1 when the two percentiles are equal, around 0 when no value is finite.

    Raises:
        SettingsError: unless 0 <= lower < upper <= 100.
    """
    if not 0 <= lower < upper <= 100:
        raise SettingsError("percentiles must rise", key="window", found=(lower, upper), expected="0 <= lower < upper")
    values = np.asarray(image)
    step = math.ceil((values.size / _LARGEST_SAMPLE) ** (1 / max(1, values.ndim)))
    values = values[(slice(None, None, max(1, step)),) * values.ndim]
    values = values[np.isfinite(values)]
    if values.size == 0:
        return Window(0.0, 1.0)
    low, high = np.percentile(values.astype(np.float64), [lower, upper])
    return Window(float(low + high) / 2, float(high - low) if high > low else 1.0)


def choose_window(image: npt.ArrayLike, modality: str, window: Window | str | None = None) -> Window:
    """The window to show an image in.

    Args:
        image: its intensities, used for MR percentiles only.
        modality: ``CT`` or ``MR``.
        window: a window in the image's unit; a name of :data:`CT_WINDOWS` (CT only); or None for soft tissue in a CT
            and the 1st to 99th percentile in an MR.

    Returns:
        The window.

    Raises:
        SettingsError: an unknown modality or preset, or a HU preset for an MR.
    """
    if modality not in get_args(Modality):
        raise SettingsError("unknown modality", key="modality", found=modality, expected="CT or MR")
    if isinstance(window, Window):
        return window
    if window is None:
        return CT_WINDOWS["soft_tissue"] if modality == "CT" else percentile_window(image)
    if modality != "CT":
        raise SettingsError(
            "a preset in Hounsfield units cannot show an MR",
            key="window",
            found=window,
            next_step="leave the window out, or give a Window in the image's own units",
        )
    if window not in CT_WINDOWS:
        raise SettingsError("unknown window", key="window", found=window, expected=", ".join(CT_WINDOWS))
    return CT_WINDOWS[window]


def apply_window(image: npt.ArrayLike, window: Window) -> npt.NDArray[np.uint8]:
    """Grey values 0 to 255, rounded, linear inside the window (DICOM's LINEAR_EXACT).

    Args:
        image: any shape and real type, infinities included.
        window: which values to show.

    Returns:
        uint8 of the same shape; NaN becomes 0, the background.
    """
    values = np.asarray(image, dtype=np.float64)
    shares = (np.clip(values, window.low, window.high) - window.low) / window.width
    return np.rint(np.nan_to_num(shares, nan=0.0) * 255).astype(np.uint8)
