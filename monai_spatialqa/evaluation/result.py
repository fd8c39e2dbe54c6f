"""The shape of a result: figures with their intervals and denominators, by group, for one run. Knows no arithmetic."""

from __future__ import annotations

from pydantic import Field

from monai_spatialqa.records.answer import ModelKind
from monai_spatialqa.records.base import RecordPart
from monai_spatialqa.statistics import Estimate

DIMENSIONS = ("task", "subtask", "structure", "organ", "tumour", "volume", "source", "modality")
"""What results are broken down by."""

FIGURES = (
    "accuracy_all",  # choices: right over all items asked, failures and missing answers included
    "accuracy_answered",  # choices: right over items with a reply (unreadable ones count as wrong)
    "chance_adjusted",  # choices: (accuracy_all - chance) / (1 - chance)
    "mra",  # numbers: mean relative accuracy, exact, over all
    "mra_parity",  # numbers: as public harnesses compute it, over all
    "validity",  # share of all answers from which a letter or number was read
    "abstention",  # share of all answers that say it cannot be determined
    "median_relative_error",  # numbers that were read
    "median_log10_ratio",  # numbers that were read, signed
    "within_5",  # numbers: share of all within 5 % of the truth
    "within_10",
    "within_20",
    "within_50",
)
"""Names of the figures of a group; shares are 0 to 1. A figure that does not apply is left out."""


class Figure(RecordPart):
    """A number with its 95 % interval (bootstrap over cases) and how many answers it is over."""

    value: float | None
    low: float | None = None
    high: float | None = None
    count: int = Field(ge=0, description="denominator")

    @classmethod
    def of(cls, estimate: Estimate) -> Figure:
        """A figure from its estimate."""
        return cls(value=estimate.value, low=estimate.low, high=estimate.high, count=estimate.count)


class Group(RecordPart):
    """Figures of the answers that share a value of a dimension."""

    dimension: str = Field(description="one of DIMENSIONS, or 'all'")
    name: str
    figures: dict[str, Figure] = Field(description="name of FIGURES -> figure")


class Counts(RecordPart):
    """What became of the items; every denominator is named."""

    items: int = Field(description="everything that was asked")
    answers: int = Field(description="answers to them, rotations and repeats included")
    read: int = Field(description="a letter or a number was read")
    abstained: int = Field(description="said that it cannot be determined")
    unread: int = Field(description="a reply, but nothing was read, abstentions left out")
    reasons: dict[str, int] = Field(default_factory=dict, description="why nothing was read -> how often")
    failed: dict[str, int] = Field(default_factory=dict, description="outcome other than answered -> how often")
    missing: list[str] = Field(default_factory=list, description="ids of items without an answer; they count as failed")
    unknown: list[str] = Field(default_factory=list, description="ids of answers to items that are not there")


class Spent(RecordPart):
    """What a run cost."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    currency: str | None = None


class RunResult(RecordPart):
    """Everything a report says of one run of one model.

    Figures are over items: repeats are averaged within an item. Answers to rotated options count for
    ``circular_accuracy`` and ``rotation_consistency`` only.
    """

    run: str = Field(description="name of the run in tables")
    model: str
    kind: ModelKind = "unstated"
    family: str | None = None
    size_billion: float | None = None
    blind: bool = False
    preset: str | None = None
    views: str | None = Field(default=None, description="what the model was shown, in words")
    counts: Counts
    overall: Group
    groups: list[Group] = Field(default_factory=list)
    paper_average: Figure | None = Field(
        default=None, description="unweighted mean of the six columns, an empty one as 0"
    )
    macro_average: Figure | None = Field(default=None, description="unweighted mean over the tasks with choices")
    blind_gain: Figure | None = Field(default=None, description="accuracy_all minus that of the blind run, paired")
    circular_accuracy: Figure | None = Field(default=None, description="choices right in every rotation")
    rotation_consistency: Figure | None = Field(default=None, description="choices with one answer over rotations")
    volume_cuts_ml: tuple[float, float] | None = Field(default=None, description="ends of the lower two tertiles")
    served_models: list[str] = Field(
        default_factory=list, description="other names than the model's that the server answered under"
    )
    spent: Spent = Field(default_factory=Spent)
    parser_version: str

    def column(self, task: str) -> Figure | None:
        """The main figure of a task: accuracy over all, or mean relative accuracy for numbers."""
        for group in self.groups:
            if group.dimension == "task" and group.name == task:
                return group.figures.get("accuracy_all") or group.figures.get("mra")
        return None


class Comparison(RecordPart):
    """A paired comparison of two runs on the items both have."""

    first: str
    second: str
    task: str = Field(description="task code, or 'all'")
    difference: Figure = Field(description="score of the first minus that of the second")
    p_value: float | None = Field(description="two-sided, sign flips over cases")
    p_holm: float | None = Field(description="the same after Holm's correction over the table")
