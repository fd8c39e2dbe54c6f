"""MONAI metrics and ignite handlers give what the pure functions give, however the answers are cut into batches."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from ignite.engine import Engine
from monai.data import MetaTensor
from monai.handlers import from_engine
from monai.metrics import CumulativeIterationMetric

from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.metrics import (
    NO_REPLY,
    UNREAD,
    ChoiceAccuracy,
    ChoiceAccuracyMetric,
    RelativeAccuracy,
    RelativeAccuracyMetric,
)
from monai_spatialqa.statistics import accuracy, mean_relative_accuracy

CHOSEN = [0, 1, 2, 3, 0, 1, UNREAD, UNREAD, NO_REPLY, NO_REPLY]
KEYS = [0, 1, 2, 3, 0, 1, 0, 1, 2, 3]

NUMBERS = [104.0, 107.0, 122.0, 160.0, 0.0, float("nan"), 0.105, 95.0]
TRUTHS = [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 0.1, 100.0]

FORMS = {
    "tensor": torch.tensor,
    "column": lambda values: torch.tensor(values)[:, None],
    "float64": lambda values: torch.tensor(values, dtype=torch.float64),
    "numpy": np.array,
    "numbers": list,
    "tensors": lambda values: [torch.tensor(value) for value in values],
    "tensors of one": lambda values: [torch.tensor([value]) for value in values],
    "arrays": lambda values: [np.array(value) for value in values],
    "meta": lambda values: MetaTensor(torch.tensor(values)),
}


def batches(size: int, *columns: list) -> list[tuple[list, ...]]:
    return [tuple(column[at : at + size] for column in columns) for at in range(0, len(columns[0]), size)]


@pytest.mark.parametrize("size", [1, 3, 10])
@pytest.mark.parametrize("over", ["all", "answered"])
def test_br_197_choices_over_batches_are_accuracy(over, size, device):
    metric = ChoiceAccuracyMetric(over)
    assert isinstance(metric, CumulativeIterationMetric)
    for chosen, keys in batches(size, CHOSEN, KEYS):
        scores = metric(torch.tensor(chosen, device=device), torch.tensor(keys, device=device))
        assert scores.shape == (len(chosen), 1)
        assert scores.device.type == device
    right = [chosen == key for chosen, key in zip(CHOSEN, KEYS, strict=True)]
    expected = accuracy(right, [chosen != NO_REPLY for chosen in CHOSEN])
    assert (expected.over_all, expected.over_answered) == (0.6, 0.75)
    assert metric.aggregate().item() == (expected.over_all if over == "all" else expected.over_answered)


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize("mode", ["exact", "parity"])
def test_numbers_over_batches_are_mean_relative_accuracy(mode, size, device):
    metric = RelativeAccuracyMetric(mode)
    found = []
    for numbers, truths in batches(size, NUMBERS, TRUTHS):
        scores = metric(
            torch.tensor(numbers, dtype=torch.float64, device=device),
            torch.tensor(truths, dtype=torch.float64, device=device),
        )
        assert scores.device.type == device
        found += scores.squeeze(1).tolist()
    expected = mean_relative_accuracy(NUMBERS, TRUTHS, mode).tolist()
    assert found == expected
    assert metric.aggregate().item() == pytest.approx(sum(expected) / len(expected), abs=1e-15)


def test_exact_and_parity_differ_where_the_error_is_a_multiple_of_five_percent():
    values = [RelativeAccuracyMetric(mode)([105.0], [100.0]).item() for mode in ("exact", "parity")]
    assert values == [0.9, 1.0]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_batch_are_one(form):
    make = FORMS[form]
    choices, numbers = ChoiceAccuracyMetric(), RelativeAccuracyMetric()
    assert choices(make(CHOSEN), make(KEYS)).shape == (10, 1)
    assert choices.aggregate().item() == 0.6
    # Float32 holds neither 0.105 nor 0.1; it counts as the decimal that was meant.
    scores = numbers(make(NUMBERS), make(TRUTHS)).squeeze(1).tolist()
    assert scores == [1.0, 0.9, 0.6, 0.0, 0.0, 0.0, 0.9, 0.9]


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.float16, torch.bfloat16, torch.float32])
def test_types_of_tensors(kind):
    answers, truths = torch.tensor([104, 107, 160], dtype=kind), torch.tensor([100, 100, 100], dtype=kind)
    assert RelativeAccuracyMetric()(answers, truths).squeeze(1).tolist() == [1.0, 0.9, 0.0]


@pytest.mark.parametrize(
    ("metric", "y_pred", "y", "code", "key"),
    [
        (ChoiceAccuracyMetric(), [0, -3], [0, 0], "bad_choice", "y_pred[1]"),
        (ChoiceAccuracyMetric(), [0.5], [0], "bad_choice", "y_pred[0]"),
        (ChoiceAccuracyMetric(), [True], [True], "bad_choice", "y_pred[0]"),
        (ChoiceAccuracyMetric(), [0, 1], [0, UNREAD], "bad_choice", "y[1]"),
        (ChoiceAccuracyMetric(), [0, 1], [0], "bad_batch", "y"),
        (ChoiceAccuracyMetric(), [0], None, "bad_batch", "y"),
        (ChoiceAccuracyMetric(), torch.zeros(4, 3), torch.zeros(4), "bad_batch", "y_pred"),
        (RelativeAccuracyMetric(), [torch.zeros(2)], [1.0], "bad_batch", "y_pred[0]"),
        (RelativeAccuracyMetric(), [1.0, 1.0], [1.0, 0.0], "zero_truth", "truth[1]"),
        (RelativeAccuracyMetric(), [1.0], [float("nan")], "bad_truth", "truth[0]"),
    ],
)
def test_br_151_what_cannot_be_scored_is_refused_and_leaves_no_trace(metric, y_pred, y, code, key):
    with pytest.raises(SpatialQAError) as error:
        metric(y_pred, y)
    assert (error.value.code, error.value.key) == (code, key)
    assert len(metric) == 0


@pytest.mark.parametrize("metric", [ChoiceAccuracyMetric(), RelativeAccuracyMetric()])
def test_nothing_to_aggregate_is_an_error(metric):
    with pytest.raises(SpatialQAError, match="nothing to aggregate"):
        metric.aggregate()
    metric([1], [1])
    assert metric.aggregate().item() == 1
    metric.reset()
    with pytest.raises(SpatialQAError, match="nothing to aggregate"):
        metric.aggregate()


def test_no_reply_at_all_has_no_accuracy_over_the_answered():
    metric = ChoiceAccuracyMetric("answered")
    metric([NO_REPLY], [0])
    assert np.isnan(metric.aggregate().item())


def test_impossible_settings_are_refused():
    with pytest.raises(SettingsError):
        ChoiceAccuracyMetric("some")
    with pytest.raises(SettingsError):
        RelativeAccuracyMetric("rounded")


@pytest.mark.parametrize("metric", [ChoiceAccuracyMetric("answered"), RelativeAccuracyMetric("parity")])
def test_metrics_pickle_and_say_what_they_are(metric):
    assert repr(pickle.loads(pickle.dumps(metric))) == repr(metric)
    assert repr(metric) in ("ChoiceAccuracyMetric(over='answered')", "RelativeAccuracyMetric(mode='parity')")


def test_handlers_report_to_the_engine():
    """As an evaluator does it: a list of dictionaries per iteration, one per answer."""

    def step(_, batch):
        return [
            {"choice": torch.tensor(c), "key": torch.tensor(k), "ml": torch.tensor(n), "truth": torch.tensor(t)}
            for c, k, n, t in batch
        ]

    engine = Engine(step)
    ChoiceAccuracy(output_transform=from_engine(["choice", "key"])).attach(engine, "accuracy")
    ChoiceAccuracy("answered", from_engine(["choice", "key"]), save_details=False).attach(engine, "over_answered")
    RelativeAccuracy(output_transform=from_engine(["ml", "truth"])).attach(engine, "mra")
    rows = list(zip(CHOSEN[:8], KEYS[:8], NUMBERS, TRUTHS, strict=True))
    data = [rows[:3], rows[3:6], [*rows[6:], (NO_REPLY, 0, 104.0, 100.0)]]
    for _ in range(2):  # a second run starts anew
        state = engine.run(data)
        assert state.metrics["accuracy"] == 6 / 9
        assert state.metrics["over_answered"] == 6 / 8
        assert state.metrics["mra"] == pytest.approx((1 + 0.9 + 0.6 + 0.9 + 0.9 + 1) / 9, abs=1e-15)
        assert set(state.metric_details) == {"accuracy", "mra"}
        assert state.metric_details["mra"].shape == (9, 1)
