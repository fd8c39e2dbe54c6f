"""The evaluate stage: asks what is not answered yet, reads and scores all answers, and writes everything down."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.evaluation.asking import Asked, Journals, ask, waiting
from monai_spatialqa.evaluation.loading import Inputs, load_inputs
from monai_spatialqa.evaluation.outputs import append_run, blind_paths, main_paths, write_results
from monai_spatialqa.evaluation.questions import question_of
from monai_spatialqa.evaluation.rotation import Unit, units_of
from monai_spatialqa.evaluation.scans import ShownScans
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.summary import EvaluateSummary, summary_lines
from monai_spatialqa.llm import Request, estimate
from monai_spatialqa.models import Adapter, build_adapter
from monai_spatialqa.progress import Progress, show
from monai_spatialqa.records import Journal
from monai_spatialqa.records.answer import Answer
