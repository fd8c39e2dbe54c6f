"""What a run would take, without asking anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.evaluation.answer_files import read_answers
from monai_spatialqa.evaluation.loading import Inputs
from monai_spatialqa.evaluation.outputs import run_files
from monai_spatialqa.evaluation.questions import question_of
from monai_spatialqa.evaluation.rotation import Unit
from monai_spatialqa.evaluation.scans import Shown, ShownScans
from monai_spatialqa.evaluation.settings import EvaluateSettings
from monai_spatialqa.llm import Estimate, Request, estimate
from monai_spatialqa.models import OpenAIAdapter, OpenAIOptions
from monai_spatialqa.models.openai_adapter import request_of
from monai_spatialqa.records.item import Item


def estimate_run(units: Sequence[Unit], settings: EvaluateSettings, inputs: Inputs) -> Estimate:
    """Count what is not answered yet: calls, images, tokens, money. The scans are read, for the size of their views.

    A scan that cannot be shown counts nothing, as in the run.

    Raises:
        SettingsError: the adapter is of a kind whose calls are not known.
    """
    if settings.adapter != "openai":
        raise SettingsError(
            "what a run takes is only known of calls to a server",
            key="dry_run",
            found=f"adapter {settings.adapter}",
            expected="adapter openai",
            next_step="leave dry_run out",
        )
    options = OpenAIAdapter.read_options(settings.options)
    answered = {blind: _answered(settings, blind) for blind in settings.sights}
    left = [unit for unit in units if unit.answer_id not in answered[unit.blind]]
    return estimate(_requests(left, settings, inputs, options), settings.client)


def _answered(settings: EvaluateSettings, blind: bool) -> set[str]:
    answers = read_answers(run_files(settings.output, blind=blind).answers)
    return {one.answer_id for one in answers if one.outcome not in settings.retry}


def _requests(
    units: Sequence[Unit], settings: EvaluateSettings, inputs: Inputs, options: OpenAIOptions
) -> Iterator[Request]:
    scans = ShownScans(settings, inputs.measurements)

    @lru_cache(maxsize=2)
    def shown_of(key: object) -> Shown | None:
        try:
            return scans.make(about[key])
        except SpatialQAError:
            return None

    about: dict[object, Item] = {}
    for unit in units:
        shown = None
        if not unit.blind:
            key = scans.key(unit.item)
            about[key] = unit.item
            shown = shown_of(key)
            if shown is None:
                continue
        yield request_of(question_of(unit, shown, settings), options)
