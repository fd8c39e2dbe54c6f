"""Where nothing can be written, kernels compile in every process instead of failing to import."""

from __future__ import annotations

import subprocess
import sys

_MEASURE = """
from numba.core import caching
caching.CacheImpl._locator_classes = []  # no folder can be written
import numpy as np
from monai_spatialqa.geometry.encoder import MarginalEncoder
encoder = MarginalEncoder((2, 2, 2), np.uint8, boundaries=False)
encoder.feed(np.array([0, 3, 3, 0, 0, 3, 0, 0], np.uint8))
print(encoder.result().count.tolist())
"""


def test_measuring_without_a_folder_for_the_cache() -> None:
    done = subprocess.run([sys.executable, "-c", _MEASURE], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[3]"]
