"""Every subtask there is: importing the task files registers them."""

from __future__ import annotations

from monai_spatialqa.items import (
    comparison,
    direction,
    distance,
    estimation,
    extent,
    lesion_relations,
    lesions,
    volume,
)
from monai_spatialqa.items.draft import SUBTASKS

TASK_FILES = (direction, distance, extent, volume, comparison, estimation, lesions, lesion_relations)
"""Where subtasks are."""

__all__ = ["SUBTASKS", "TASK_FILES"]
