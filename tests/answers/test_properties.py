"""What holds for any reply: a number in any form reads back, a letter is never made up, nothing takes long."""

from __future__ import annotations

import math
import time
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monai_spatialqa.answers import REASONS, read_choice, read_quantity
from monai_spatialqa.answers.cues import FIRST_WORDS, STATED, stated_in
from monai_spatialqa.answers.number_words import WORDS
from monai_spatialqa.answers.text import Vocabulary, plain, small
from monai_spatialqa.quantities import UNITS

OPTIONS = ("left kidney", "right kidney", "spleen", "liver")
SHOWN = {"ml": ("ml", "mL", "cc", "cm3", "cm³", "cm^3", "millilitres", "毫升"), "mm": ("mm", "millimeters", "毫米")}
STATING = ("{}", "**{}**", "The answer is {}.", "Answer: {}", "\\boxed{{{}}}", "<think>5 ml</think>{}")
FRAMES = (*STATING, "It is about {}.")
PIECES = (
    *(
        "The answer is ",
        "not ",
        "12 ml",
        "A",
        "B.",
        "(C)",
        " or ",
        " to ",
        "1,450",
        "-",
        "\n",
        "<think>",
        "</think>",
        "{",
        "}",
    ),
    *(
        '"answer":',
        "\\boxed{",
        "cannot be determined",
        "actually ",
        "slice ",
        "答案是",
        "选",
        "一百",
        " = ",
        " x ",
        "less than ",
    ),
)
replies = st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
numbers = st.decimals(min_value="0.001", max_value="9999999", places=3)


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"


def _grouped(number: Decimal) -> str:
    whole, _, part = _plain(number).partition(".")
    return f"{int(whole):,}" + (f".{part}" if part else "")


def _continental(number: Decimal) -> str:
    return (
        f"{number:,.3f}".translate(str.maketrans(",.", ".,")) if number >= 1000 else f"{number:.2f}".replace(".", ",")
    )


def _spaced(number: Decimal) -> str:
    return _grouped(number).replace(",", "\u202f")


def _swiss(number: Decimal) -> str:
    return _grouped(number).replace(",", "'")


def _scientific(number: Decimal) -> str:
    return f"{number:e}"


def _power_of_ten(number: Decimal) -> str:
    head, _, power = f"{number:e}".partition("e")
    return f"{head} × 10^{int(power)}"  # noqa: RUF001


def _full_width(number: Decimal) -> str:
    return _plain(number).translate({code: code + 0xFEE0 for code in range(0x2E, 0x3A)})


FORMS = (_plain, _grouped, _continental, _spaced, _swiss, _scientific, _power_of_ten, _full_width)


@given(numbers, st.sampled_from(FORMS), st.sampled_from(["ml", "mm"]), st.data())
def test_a_number_in_any_supported_form_reads_back(number, form, asked, data):
    shown = form(number)
    expected = number if form is not _continental or number >= 1000 else Decimal(f"{number:.2f}")
    reply = data.draw(st.sampled_from(FRAMES)).format(f"{shown} {data.draw(st.sampled_from(SHOWN[asked]))}")
    found = read_quantity(reply, asked)
    assert found.decimal == expected, reply


@given(numbers, st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS)))
def test_a_number_is_converted_within_its_dimension_and_never_across(number, written, asked):
    found = read_quantity(f"{_plain(number)} {written}", asked)
    if UNITS[written].dimension != UNITS[asked].dimension:
        assert found.value is None
        assert found.reason == ("percent" if written == "%" else "other_dimension")
    else:
        assert found.value == pytest.approx(float(number * UNITS[written].size / UNITS[asked].size), rel=1e-12)


@given(numbers, numbers)
def test_a_range_is_its_exact_midpoint(first, second):
    low, high = sorted((first, second))
    for joint in ("-", "–", " to ", " - "):  # noqa: RUF001
        found = read_quantity(f"{_plain(low)}{joint}{_plain(high)} ml", "ml")
        assert (found.decimal, found.flags) == ((low + high) / 2, ("range",))


@given(st.sampled_from("ABCD"), st.sampled_from(STATING), st.sampled_from(["{}", "({})", "{}.", "[{}]", "Option {}"]))
def test_a_letter_in_any_wrapper_reads_back(letter, frame, wrapper):
    assert read_choice(frame.format(wrapper.format(letter)), OPTIONS).letter == letter


@settings(max_examples=200)
@given(replies)
def test_any_reply_is_read_or_has_one_reason_and_a_letter_or_an_option_is_in_it(reply):
    found = read_choice(reply, OPTIONS)
    assert (found.letter is None) == (found.reason in REASONS)
    assert (found.rule is None) == (found.letter is None)
    if found.letter is not None:
        text = plain(reply).lower()
        assert found.letter.lower() in text or OPTIONS["ABCD".index(found.letter)] in text
    assert read_choice(reply, OPTIONS) == found


@settings(max_examples=200)
@given(replies, st.sampled_from(["ml", "mm", "%", "times", None]), st.booleans())
def test_any_reply_gives_a_finite_number_or_one_reason(reply, unit, strict):
    found = read_quantity(reply, unit, strict=strict)
    assert (found.value is None) == (found.reason in REASONS)
    if found.value is not None:
        assert math.isfinite(found.value)
        assert float(found.decimal) == found.value
        assert found.rule is not None


@given(st.text(alphabet=st.characters(exclude_categories=["Nd", "No", "Nl", "Lo"]), max_size=80))
def test_without_digits_and_number_words_there_is_no_number(text):
    if Vocabulary(small(plain(text))).any_of(WORDS) is False:
        assert read_quantity(text, "ml").value is None


@given(
    st.lists(
        st.sampled_from([*sorted(FIRST_WORDS), "answer is", " ", "答案是", "选", "(", "\\boxed{", "x"]), max_size=12
    )
)
def test_statements_are_found_by_the_words_they_begin_with(pieces):
    text = plain(" ".join(pieces))
    assert [found.span() for found in stated_in(text, small(text))] == [found.span() for found in STATED.finditer(text)]


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "(", "<think>", "1 ", "1/", "1 ml or ", "answer is ", "\\boxed{", "选", "一", "one ", "I would "),
        *("1 ml. cannot tell. ", '{"a":', "A. left kidney\n", "question:\n"),
    ],
)
def test_100_kb_take_a_bounded_time(piece):
    reply = piece * (100_000 // len(piece))
    before = time.process_time()
    read_choice(reply, OPTIONS)
    read_quantity(reply, "ml")
    assert time.process_time() - before < 5


@pytest.mark.parametrize("letter", "ABCD")
@pytest.mark.parametrize("mark", [". ", ": ", ") "])
@pytest.mark.parametrize("denial", [" is incorrect.", " - ruled out", " is not correct", " (wrong)", " ❌", ", no."])
def test_a_denied_option_is_never_the_answer(letter, mark, denial):
    own = OPTIONS["ABCD".index(letter)]
    assert read_choice(f"{letter}{mark}{own}{denial}", OPTIONS).letter is None
    assert read_choice(f"Option {letter}{denial}", OPTIONS).letter is None


@pytest.mark.parametrize("statement", ["The volume is B. ", "The answer is B. ", "The spleen is large. "])
def test_a_reply_of_megabytes_is_read_from_its_head_and_tail(statement):
    reply = statement * (3_400_000 // len(statement))
    before = time.process_time()
    found, number = read_choice(reply, OPTIONS), read_quantity(reply, "ml")
    assert time.process_time() - before < 2
    assert found.letter == ("B" if "B" in statement else None)
    assert found.flags == number.flags == ("shortened",)
    assert read_choice("<think>" + reply + "</think>C", OPTIONS).flags == ("reasoning_dropped",)
