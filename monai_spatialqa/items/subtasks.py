"""Every subtask there is: importing the task files registers them."""

from __future__ import annotations

from monai_spatialqa.items import comparison, direction, distance, estimation, extent, volume
from monai_spatialqa.items.draft import SUBTASKS

TASK_FILES = (direction, distance, extent, volume, comparison, estimation)
"""Where subtasks are, in the order that items are listed."""

__all__ = ["SUBTASKS", "TASK_FILES"]
