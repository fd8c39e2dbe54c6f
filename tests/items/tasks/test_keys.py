"""Every key, found again from the record by formulas written for the test alone."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest

from monai_spatialqa.items.wording import readable_name

AXES = ("left-right", "anterior-posterior", "superior-inferior")
WAYS = {"right": (0, 1), "left": (0, -1), "anterior": (1, 1), "posterior": (1, -1), "superior": (2, 1)} | {
    "inferior": (2, -1)
}
TASKS = {
    "DIR": {
        "relation",
        "dominant_direction",
        "direction_pair",
        "side_of_spine",
        "outermost_of",
        "order_along_axis",
    },
    "EXT": {"extent_value", "box_size", "edge_order", "longest_along", "largest_extent_of"},
    "VOL": {"volume_value", "volume_interval", "volume_at_least"},
    "COMP": {
        "larger_than",
        "larger_side",
        "largest_of",
        "smallest_of",
        "volume_order",
        "ratio_value",
        "ratio_interval",
    },
    "VOLEST": {"volume_estimate", "ratio_estimate", "total_estimate"},
}
SUBTASK_NAMES = sorted(name for names in TASKS.values() for name in names)


class Case:
    """The plain figures of a record."""

    def __init__(self, record):
        self.of = {name: each for name, each in record.structures.items() if each.box is not None}
        self.named = {readable_name(name): name for name in self.of}
        self.geometry = record.geometry

    def center(self, name):
        box, affine = self.of[name].box, np.array(self.geometry.affine_ras_mm)
        if self.geometry.sheared:
            return np.add(box.world_min_ras_mm, box.world_max_ras_mm) / 2
        middle = (np.array(box.index_start) + np.array(box.index_stop) - 1) / 2
        return affine[:, :3] @ middle + affine[:, 3]

    def edges(self, name):
        box = self.of[name].box
        if self.geometry.sheared:
            return np.subtract(box.world_max_ras_mm, box.world_min_ras_mm)
        return np.subtract(box.index_stop, box.index_start) * np.array(self.geometry.spacing_mm)

    def ml(self, name):
        return self.of[name].voxel_count * abs(np.linalg.det(np.array(self.geometry.affine_ras_mm)[:, :3])) / 1000


def asked(item):
    """The question without its structures' names, whose sides are no directions asked for."""
    text = item.question
    for name in sorted(map(readable_name, item.structures), key=len, reverse=True):
        text = text.replace(name, "_")
    return text


def way_in(text):
    (found,) = {word for word in WAYS if re.search(rf"\b{word}\b", text)}
    return WAYS[found]


def axis_in(item):
    (found,) = [at for at, axis in enumerate(AXES) if axis in item.question]
    return found


def number(text):
    (found,) = re.findall(r"\d+(?:\.\d+)?", text)
    return float(found)


def holds(option, value):
    cuts = [float(found) for found in re.findall(r"\d+(?:\.\d+)?", option)]
    if option.startswith("less than"):
        return value < cuts[0]
    return cuts[0] <= value and (len(cuts) == 1 or value < cuts[1])


def told(true):
    return "yes" if true else "no"


def relation(case, item):
    axis, sign = way_in(asked(item))
    first, second = item.structures
    return told(sign * (case.center(first) - case.center(second))[axis] > 0)


def dominant_direction(case, item):
    step = case.center(item.structures[0]) - case.center(item.structures[1])
    axis = int(np.abs(step).argmax())
    return next(word for word, (at, sign) in WAYS.items() if at == axis and sign * step[axis] > 0)


def direction_pair(case, item):
    step = case.center(item.structures[0]) - case.center(item.structures[1])
    right = [
        option
        for option in item.options
        if all(WAYS[word][1] * step[WAYS[word][0]] > 0 for word in option.split(" and "))
    ]
    assert len(right) == 1
    return right[0]


def outermost_of(case, item):
    axis, sign = way_in(item.question)
    return max(item.options, key=lambda option: sign * case.center(case.named[option])[axis])


def order_along_axis(case, item):
    start = re.search(r"from (?:the patient's )?(\w+) to", item.question).group(1)
    axis, sign = WAYS[start]
    return ", ".join(
        sorted(map(readable_name, item.structures), key=lambda name: -sign * case.center(case.named[name])[axis])
    )


def extent_value(case, item):
    return case.edges(item.structures[0])[axis_in(item)]


def box_size(case, item):
    right = [
        option
        for option in item.options
        if np.allclose(
            [float(found) for found in re.findall(r"[\d.]+", option)], case.edges(item.structures[0]), atol=0.501
        )
    ]
    assert len(right) == 1
    return right[0]


def edge_order(case, item):
    edges = case.edges(item.structures[0])
    return ", ".join(AXES[axis] for axis in sorted(range(3), key=lambda axis: -edges[axis]))


def longest_along(case, item):
    axis = axis_in(item)
    right = [option for option in item.options if int(case.edges(case.named[option]).argmax()) == axis]
    assert len(right) == 1
    return right[0]


def largest_extent_of(case, item):
    axis = axis_in(item)
    return max(item.options, key=lambda option: case.edges(case.named[option])[axis])


def volume_interval(case, item):
    (right,) = [option for option in item.options if holds(option, case.ml(item.structures[0]))]
    return right


def ratio_interval(case, item):
    (right,) = [option for option in item.options if holds(option, _ratio(case, item))]
    return right


def _ratio(case, item):
    return case.ml(item.structures[0]) / case.ml(item.structures[1])


TRUTH = {
    "relation": relation,
    "side_of_spine": relation,
    "dominant_direction": dominant_direction,
    "direction_pair": direction_pair,
    "outermost_of": outermost_of,
    "order_along_axis": order_along_axis,
    "extent_value": extent_value,
    "box_size": box_size,
    "edge_order": edge_order,
    "longest_along": longest_along,
    "largest_extent_of": largest_extent_of,
    "volume_value": lambda case, item: case.ml(item.structures[0]),
    "volume_interval": volume_interval,
    "volume_at_least": lambda case, item: told(
        case.ml(item.structures[0]) >= number(re.search(r"[\d.]+ ml", item.question).group())
    ),
    "larger_than": lambda case, item: told(case.ml(item.structures[0]) > case.ml(item.structures[1])),
    "larger_side": lambda case, item: told(case.ml(item.structures[0]) > case.ml(item.structures[1])),
    "largest_of": lambda case, item: max(item.options, key=lambda option: case.ml(case.named[option])),
    "smallest_of": lambda case, item: min(item.options, key=lambda option: case.ml(case.named[option])),
    "volume_order": lambda case, item: ", ".join(
        sorted(map(readable_name, item.structures), key=lambda name: -case.ml(case.named[name]))
    ),
    "ratio_value": _ratio,
    "ratio_interval": ratio_interval,
    "volume_estimate": lambda case, item: case.ml(item.structures[0]),
    "ratio_estimate": _ratio,
    "total_estimate": lambda case, item: sum(map(case.ml, item.structures)),
}


@pytest.mark.parametrize("subtask", SUBTASK_NAMES)
def test_br_175_every_key_is_that_of_the_measurement(records, make_items, subtask):
    """The key never comes from anything but the record: formulas written here find every one of them again."""
    count = 0
    for record in records.values():
        case = Case(record)
        for item, reference in make_items(record, subtask):
            count += 1
            truth = TRUTH[subtask](case, item)
            if isinstance(truth, str):
                assert reference.answer_text == truth, item
            else:
                assert reference.answer_value == pytest.approx(truth, rel=1e-9)
                whole_mm = 0.5 if reference.answer_unit == "mm" else 0.0  # as voxels of a millimetre and more allow
                assert number(reference.answer_text) == pytest.approx(truth, rel=0.006, abs=whole_mm)
            if item.format == "mca":
                assert item.options["ABCD".index(reference.answer)] == reference.answer_text
            elif item.format == "yesno":
                assert reference.answer == reference.answer_text
    assert count >= (1 if subtask == "larger_side" else 3)


@pytest.mark.parametrize("subtask", SUBTASK_NAMES)
def test_the_key_holds_anywhere_within_half_a_voxel(records, make_items, subtask):
    for record in records.values():
        for item, reference in make_items(record, subtask):
            assert item.format == "numeric" or reference.margin is None or reference.margin > 1


@pytest.mark.parametrize("subtask", SUBTASK_NAMES)
def test_options_are_distinct_and_of_one_unit(records, make_items, subtask):
    for record in records.values():
        for item, reference in make_items(record, subtask):
            folded = {"".join(option.casefold().split()) for option in item.options}
            assert len(folded) == len(item.options)
            assert len({re.sub(r"[\d.]+", "#", option).split()[-1] for option in item.options if "#" in option}) <= 1
            assert "voxel" not in " ".join([item.question, *item.options])
            assert len(reference.distractors) == max(len(item.options) - 1, 0)
            assert all(wrong.why for wrong in reference.distractors)
            assert not re.search(r"[{}]", item.question)


@pytest.mark.parametrize("subtask", ["extent_value", "volume_value", "ratio_value"])
def test_values_are_apart_by_the_gap(records, make_items, subtask):
    for record in records.values():
        for item, reference in make_items(record, subtask):
            values = sorted([reference.answer_value, *(wrong.value for wrong in reference.distractors)])
            assert all((high - low) / high >= 0.15 for low, high in pairwise(values))
            assert [number(option) for option in item.options].count(number(reference.answer_text)) == 1
            (found,) = reference.evidence
            assert not any(found.low <= wrong.value <= found.high for wrong in reference.distractors)


def test_no_refused_structure_is_asked_about(records, make_items):
    for record in records.values():
        for subtask in SUBTASK_NAMES:
            for item, _ in make_items(record, subtask, most=60):
                for name in item.structures:
                    assert not {"absent", "truncated", "not_segmented", "name_conflict"} & set(
                        record.structures[name].status
                    )
                    assert record.structures[name].union_of is None


def test_equal_seeds_give_equal_items(example, make_items):
    for subtask in SUBTASK_NAMES:
        first, second, other = (
            [item.model_dump_json() + reference.model_dump_json() for item, reference in made]
            for made in (
                make_items(example, subtask, seed=0, most=30),
                make_items(example, subtask, seed=0, most=30),
                make_items(example, subtask, seed=1, most=30),
            )
        )
        assert first == second
        assert not first or first != other
