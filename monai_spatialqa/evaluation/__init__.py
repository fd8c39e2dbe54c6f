"""The evaluate stage: asks models, reads and scores their answers, compares them with baselines."""

from monai_spatialqa.evaluation.baselines import BASELINES, baseline_answers
from monai_spatialqa.evaluation.comparisons import compare_runs
from monai_spatialqa.evaluation.presets import load_preset, shipped_presets
from monai_spatialqa.evaluation.result import Comparison, Counts, Figure, Group, RunResult, Spent
from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.evaluation.stage import rescore, run_evaluation
from monai_spatialqa.evaluation.summary import EvaluateSummary
from monai_spatialqa.evaluation.tables import About, build_result

__all__ = [
    "BASELINES",
    "About",
    "Comparison",
    "Counts",
    "EvaluateSettings",
    "EvaluateSummary",
    "Figure",
    "Group",
    "RunResult",
    "Spent",
    "baseline_answers",
    "build_result",
    "compare_runs",
    "load_preset",
    "rescore",
    "run_evaluation",
    "score_answers",
    "shipped_presets",
]
