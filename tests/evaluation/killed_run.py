"""A run in a process of its own, to be killed: ``python -m tests.evaluation.killed_run BASE_URL``."""

from __future__ import annotations

import sys

from monai_spatialqa.evaluation import run_evaluation
from tests.evaluation.small_run import small_settings

if __name__ == "__main__":
    run_evaluation(small_settings(sys.argv[1], circular=True, blind=False))
