"""Whether a model needs the image, and whether the order of the options moves it: small tables of their own."""

from __future__ import annotations

from collections.abc import Sequence

from monai_spatialqa.evaluation.ordering import WITHOUT_IMAGE, in_order, part_of
from monai_spatialqa.evaluation.result import Figure, RunResult
from monai_spatialqa.report.result_table import Table
from monai_spatialqa.report.wording import shown, signed

_ACCURACY = "accuracy_all"


def image_table(results: Sequence[RunResult]) -> Table:
    """Accuracy with and without the image, and the difference, for every model that was asked both ways."""
    rows = []
    for result in in_order(results):
        if result.blind_gain is not None:
            figures = [result.overall.figures.get(_ACCURACY), _unseen(result, results)]
            rows.append((result.run, (*map(shown, figures), signed(result.blind_gain))))
    heads = ("Model", "With the image", "Without", "Gain from the image")
    return Table("With and without the image", heads, tuple(rows))


def _unseen(result: RunResult, results: Sequence[RunResult]) -> Figure | None:
    """Accuracy of the same model without the image; None unless there is exactly one such run."""
    found = [
        other.overall.figures.get(_ACCURACY)
        for other in results
        if part_of(other) == WITHOUT_IMAGE and (other.model, other.preset) == (result.model, result.preset)
    ]
    return found[0] if len(found) == 1 else None


def rotation_table(results: Sequence[RunResult]) -> Table:
    """CircularEval: how a model does when its options are moved on, for every run that was asked so."""
    rows = [
        (
            result.run,
            tuple(
                map(
                    shown,
                    (
                        result.overall.figures.get(_ACCURACY),
                        result.circular_accuracy,
                        result.rotation_consistency,
                    ),
                )
            ),
        )
        for result in in_order(results)
        if result.circular_accuracy is not None
    ]
    heads = ("Run", "Right in the first rotation", "In every rotation", "Same answer in every rotation")
    return Table("With the options moved on (CircularEval)", heads, tuple(rows))
