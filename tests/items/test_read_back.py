"""Every number with a unit that an item shows, read from a reply, is what the item means."""

from __future__ import annotations

import pytest

from monai_spatialqa.answers import read_choice, read_quantity
from monai_spatialqa.items.quantities_in_text import quantities_in
from monai_spatialqa.items.wording import shown_value
from monai_spatialqa.quantities import UNITS


def test_br_003_every_number_and_unit_that_an_item_shows_reads_back(valid_pairs):
    read = 0
    for item, reference in valid_pairs:
        for text in (item.question, *item.options, reference.answer_text):
            for shown in quantities_in(text):
                if shown.unit is None:
                    continue
                written = text[shown.start : shown.end]
                assert read_quantity(written, shown.unit).decimal == shown.value, (item.item_id, text)
                for name, unit in UNITS.items():
                    if unit.dimension == shown.dimension:
                        expected = float(shown.value * UNITS[shown.unit].size / unit.size)
                        assert read_quantity(written, name).value == pytest.approx(expected, rel=1e-12)
                read += 1
    assert read > 300


def test_br_003_a_block_of_864_mm3_reads_back_whatever_it_is_shown_in():
    for value, unit in ((864, "mm3"), (0.864, "ml"), (0.864, "cm3")):
        assert read_quantity(shown_value(value, unit), "mm3").value == 864


def test_the_key_of_every_item_reads_back_as_a_reply(valid_pairs):
    for item, reference in valid_pairs:
        if item.format == "numeric":
            found = read_quantity(reference.answer_text, item.answer_unit)
            assert found.value == pytest.approx(reference.answer_value, rel=0.006), item.item_id
        elif item.format == "mca":
            for reply in (reference.answer, f"{reference.answer}. {reference.answer_text}", reference.answer_text):
                assert read_choice(reply, item.options).letter == reference.answer, (item.item_id, reply)
        else:
            found = read_choice(reference.answer, ["yes", "no"])
            assert found.letter == ("A" if reference.answer == "yes" else "B")
