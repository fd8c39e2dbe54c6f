# ruff: noqa: RUF001 - replies as they are written
"""Faults met in other evaluators, one test for each, named after its id."""

from __future__ import annotations

from decimal import Decimal

import pytest

from monai_spatialqa.answers import read_choice, read_quantity
from monai_spatialqa.errors import SettingsError

FOUR = ("12 ml", "15 ml", "18 ml", "21 ml")
NINE = tuple(f"{size} ml" for size in range(1, 10))


def letter(reply, options=FOUR):
    return read_choice(reply, options).letter


def value(reply, unit, **settings):
    return read_quantity(reply, unit, **settings).value


def test_br_117_a_letter_behind_the_answer_does_not_win():
    assert letter("The answer is (B) because A is smaller.") == "B"


def test_br_118_an_article_or_a_first_capital_is_no_letter():
    assert letter("A large mass is seen.") is None
    assert letter("Based on the scan, it is (D).") == "D"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("b", "B"), ("(d).", "D"), ("**C**", "C"), ("**Answer:** C", "C"), ("ANSWER: $B$", "B")],
)
def test_br_119_wrappers_and_case(reply, expected):
    assert letter(reply) == expected


@pytest.mark.parametrize("reply", ["A. or C", "ANSWER: AB"])
def test_br_121_two_letters_are_ambiguous(reply):
    assert letter(reply) is None
    assert read_choice(reply, FOUR).reason == "ambiguous"


def test_br_122_reasoning_is_not_graded():
    assert letter("<think>A, or rather B</think>C") == "C"
    assert read_choice("<think>The answer is A", FOUR).reason == "unclosed_reasoning"
    assert letter("The answer is A, so far.</think>D") == "D"


def test_br_124_a_json_reply():
    found = read_choice('```json\n{"answer": "B"}\n```', FOUR)
    assert (found.letter, found.rule) == ("B", "json")


@pytest.mark.parametrize("reply", ["Ｂ", "（Ｂ）", "答案是B", "答案是Ｂ", "选B"])
def test_br_126_full_width_and_chinese(reply):
    assert letter(reply) == "B"


def test_br_128_words_are_not_letters():
    assert letter("None of the above") is None
    assert letter("I don't know") is None


def test_br_129_the_phrase_is_an_option():
    assert letter("None of the above", (*FOUR[:3], "None of the above")) == "D"


@pytest.mark.parametrize(
    ("reply", "reason"), [("I'm sorry, but I can't help with that.", "refusal"), ("", "empty"), (None, "empty")]
)
def test_br_130_no_random_fallback(reply, reason):
    readings = {read_choice(reply, FOUR) for _ in range(20)}
    assert {(found.letter, found.reason) for found in readings} == {(None, reason)}


def test_br_131_echoed_options_are_no_answer():
    echo = "\n".join(f"{mark}. {text}" for mark, text in zip("ABCD", FOUR, strict=True))
    assert letter(f"{echo}\nThe answer is C") == "C"
    assert letter(echo) is None


def test_br_134_a_letter_out_of_range():
    assert read_choice("E", FOUR).reason == "out_of_range"
    assert letter("I think it is large.", NINE) is None
    assert letter("I", NINE) is None
    assert letter("(I)", NINE) == "I"


def test_br_136_thousands_comma():
    assert value("1,450 cm³", "cm3") == 1450
    assert value("\\boxed{8,000}", "ml") == 8000


@pytest.mark.parametrize(("reply", "expected"), [("It is 72 mm, altogether.", 72), ("(42).", 42), ("42!", 42)])
def test_br_137_punctuation(reply, expected):
    assert value(reply, "mm") == expected


def test_br_139_a_superscript_is_no_digit():
    assert value("12 cm³", "cm3") == 12


@pytest.mark.parametrize(
    ("reply", "unit", "expected"), [("1.45 L", "ml", 1450), ("3.4 cm", "mm", 34), ("1450", "ml", 1450)]
)
def test_br_141_another_unit_than_the_one_asked_for(reply, unit, expected):
    assert value(reply, unit) == expected


@pytest.mark.parametrize("reply", ["about 1.2–1.5 cm3", "about 1.2-1.5 cm3"])
def test_br_143_a_range_is_its_midpoint(reply):
    found = read_quantity(reply, "cm3")
    assert (found.decimal, found.flags) == (Decimal("1.35"), ("range",))
    strict = read_quantity(reply, "cm3", strict=True)
    assert (strict.value, strict.reason) == (None, "range")


@pytest.mark.parametrize("reply", ["−5 mm", "-5"])
def test_br_144_signs(reply):
    assert value(reply, "mm") == -5


@pytest.mark.parametrize("reply", ["1.4e3 ml", "1.4E+3 mL"])
def test_br_145_exponents(reply):
    assert value(reply, "ml") == 1400


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("NaN", "not_finite"), ("inf", "not_finite"), ("cannot be measured", "abstained"), ("", "empty")],
)
def test_br_146_what_is_no_number(reply, reason):
    found = read_quantity(reply, "ml")
    assert (found.value, found.reason) == (None, reason)


def test_br_148_numbers_on_the_way_do_not_count():
    assert value("Label 5, slices 12 to 60: the volume is 1450 ml.", "ml") == 1450


def test_br_149_a_percentage_is_no_volume():
    assert read_quantity("60%", "ml").reason == "percent"


def test_br_154_the_number_need_not_come_first():
    assert value("The distance is 3.5 cm.", "mm") == 35


@pytest.mark.parametrize("options", ["ABCD", [], ["one"], ["x"] * 27])
def test_a_choice_needs_2_to_26_texts(options):
    with pytest.raises(SettingsError, match="2 to 26"):
        read_choice("A", options)


def test_an_unknown_unit_is_refused():
    with pytest.raises(SettingsError, match="furlong"):
        read_quantity("12", "furlong")


def test_a_letter_with_the_text_of_another_option_counts_and_is_flagged():
    found = read_choice("B. 21 ml", FOUR)
    assert (found.letter, found.flags) == ("B", ("letter_text_conflict",))


def test_flags_say_what_was_done_to_a_reply():
    assert read_choice("<think>A?</think>15 ml", FOUR).flags == ("letter_missing", "reasoning_dropped")
    assert read_choice("B\nQuestion: and now?\nAnswer: C", FOUR).flags == ("run_on_cut",)
    assert read_quantity("1450", "ml").flags == ("bare",)
    assert read_quantity("1.45 L", "ml").flags == ("converted",)


def test_abstaining_in_words_and_by_an_option():
    assert read_choice("It cannot be determined.", FOUR).abstained
    refused = read_choice("It cannot be determined.", FOUR, allow_abstain=False)
    assert (refused.abstained, refused.reason) == (False, "refusal")
    chosen = read_choice("D", (*FOUR[:3], "cannot be determined"))
    assert (chosen.letter, chosen.abstained) == ("D", True)
    assert read_quantity('{"value": null, "unit": "ml"}', "ml").abstained
