"""Every subtask there is: importing the task files registers them."""

from __future__ import annotations

from monai_spatialqa.items import distance
from monai_spatialqa.items.draft import SUBTASKS

TASK_FILES = (distance,)
"""Where subtasks are, in the order that items are listed."""

__all__ = ["SUBTASKS", "TASK_FILES"]
