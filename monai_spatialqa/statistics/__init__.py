"""Arithmetic on scores: pure functions on numbers, without files, torch or MONAI. Definitions: docs/metrics.md."""

from monai_spatialqa.statistics.accuracy import (
    CHOICE_TASKS,
    PAPER_COLUMNS,
    Accuracy,
    abstention_rate,
    accuracy,
    chance_adjusted,
    chance_adjusted_columns,
    macro_average,
    paper_average,
    validity_rate,
)
from monai_spatialqa.statistics.bootstrap import (
    Column,
    Estimate,
    bootstrap_columns,
    cluster_bootstrap,
    macro_bootstrap,
)
from monai_spatialqa.statistics.numeric_errors import ERROR_LIMITS, log10_ratio, median, relative_error, share_within
from monai_spatialqa.statistics.paired import Comparison, holm, paired_comparison
from monai_spatialqa.statistics.relative_accuracy import mean_relative_accuracy
from monai_spatialqa.statistics.rotations import (
    circular_accuracy,
    circular_scores,
    consistent_items,
    rotation_consistency,
)
from monai_spatialqa.statistics.tertiles import TERTILES, tertile_cuts, tertile_of

__all__ = [
    "CHOICE_TASKS",
    "ERROR_LIMITS",
    "PAPER_COLUMNS",
    "TERTILES",
    "Accuracy",
    "Column",
    "Comparison",
    "Estimate",
    "abstention_rate",
    "accuracy",
    "bootstrap_columns",
    "chance_adjusted",
    "chance_adjusted_columns",
    "circular_accuracy",
    "circular_scores",
    "cluster_bootstrap",
    "consistent_items",
    "holm",
    "log10_ratio",
    "macro_average",
    "macro_bootstrap",
    "mean_relative_accuracy",
    "median",
    "paired_comparison",
    "paper_average",
    "relative_error",
    "rotation_consistency",
    "share_within",
    "tertile_cuts",
    "tertile_of",
    "validity_rate",
]
