"""Rules about the options of one item: equal, near, overlapping, incomplete, order-dependent, fillers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import combinations

from monai_spatialqa.items.lint_item import Fault, LintContext, LintItem, item_rule
from monai_spatialqa.items.quantities_in_text import Interval, Reading, ShownQuantity, folded
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.records.item import LETTERS

_LETTER = r"(?:(?:option|answer|choice) )?\(?[a-h]\)?"
_NAMED = rf"(?:{_LETTER}|[1-8])"
_ORDER = re.compile(
    r"(?:all|none|any|both|neither|either|two|one|some) of (?:the )?"
    r"(?:above|below|these|those|other|options|answers|preceding)"
    rf"|(?:both|either|neither|only|options?|answers?|choices?) {_NAMED}(?:,? ?(?:and|or|nor|&|,) ?{_NAMED})+(?: only)?"
    rf"|{_LETTER}(?:, ?{_LETTER})*,? (?:and|or|&) {_LETTER}(?: only)?"
    r"|(?:(?:all|none|any|both|neither|either|two|one|some) of )?(?:the )?(?:first|last) (?:two|three)"
    r"(?: options| answers)?"
    rf"|(?:the )?(?:option|answer|choice) {_NAMED}"
    rf"|(?:the )?(?:same|equal|identical|as much|as large) (?:as|to) {_NAMED}"
    r"|(?:the )?(?:option|answer|choice|one)s? (?:above|below)"
)
_ARTICLE = re.compile(r"^(?:the|an?) (?=\w\w)")
_SIDE = re.compile(r"\b(?:left|right)\b")
_EQUAL = (
    r"(?:the )?(?:equal(?:ly)?|same|similar|identical|comparable)"
    r"(?: (?:in|to|of|size|sized|large|long|far|big|volume|length|height|width|depth|distance|extent|diameter|values?|"
    r"magnitude|each other|one another|both|for (?:both|all)))*"
)
_NEARLY = r"(?:(?:about|approximately|roughly|nearly|almost|more or less|essentially|virtually) )?"
_FILLER = re.compile(
    r"(?:can ?not|can't|could not|impossible to|not possible to|unable to|hard to|difficult to)\b.*"
    r"\b(?:compare|compared|determined?|tell|say|said|be known|judged?|decide|decided|assess|assessed|answer|answered)"
    r"|(?:not enough|insufficient|no|lack of) (?:information|data|evidence)"
    r"|indetermina(?:te|ble)|undetermined|not comparable|unclear|unknown|uncertain|n ?/ ?a|i (?:don't|do not) know"
    r"|(?:i am |i'm )?(?:not (?:sure|certain|known|clear|determinable|given|stated|applicable|visible)|unsure)"
    r"|(?:don't|do not) know|undecided|ambiguous|no answer|skip|\?+"
    rf"|{_NEARLY}{_EQUAL}"
    rf"|(?:they|both|the two|these|all)(?: \w+)?(?: are| have| is)?(?: of)? {_NEARLY}{_EQUAL}"
    r"|no (?:significant |real |clear )?difference|other|something else|does not matter"
)


@item_rule("error")
def equal_options(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Two options are the same as shown: after folding spaces and case, rounding, or conversion of units."""
    for one, other in combinations(range(len(item.options)), 2):
        if _equal(item, one, other):
            yield _pair(item, one, other, "different answers as shown")


@item_rule("error")
def near_options(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Two options that are values differ by less than the value gap, relative to the larger."""
    gap = Decimal(repr(context.options.value_gap))
    for one, other in combinations(range(len(item.options)), 2):
        left, right = item.readings[one], item.readings[other]
        if left.interval or right.interval or not _comparable(left, right) or _equal(item, one, other):
            continue
        pairs = list(zip(left.quantities, right.quantities, strict=True))
        # Counts and other whole numbers without a unit are exact: 7 and 8 lesions are different answers.
        if len(pairs) == 1 and all(a.unit is None and b.unit is None and a.step == b.step == 1 for a, b in pairs):
            continue
        if _gap(left, right) < gap:
            yield _pair(item, one, other, f"values that differ by {gap:.0%} or more")


@item_rule("error")
def overlapping_intervals(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """Two options are intervals, or an interval and a value in it, that have more than an end in common."""
    for (one, first), (other, second) in combinations(_intervals(item), 2):
        low = max((end for end in (first.low, second.low) if end is not None), default=None)
        high = min((end for end in (first.high, second.high) if end is not None), default=None)
        point = first if first.low == first.high else second if second.low == second.high else None
        if point is not None and point.low is not None:
            inside = first.holds(point.low) and second.holds(point.low)
        else:
            inside = low is None or high is None or low < high
        if inside and not _equal(item, one, other):
            yield _pair(item, one, other, "intervals that do not overlap")


@item_rule("warning")
def shared_interval_end(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A value on the border of two intervals belongs to both, or to neither."""
    for (one, first), (other, second) in combinations(_intervals(item), 2):
        for below, above in ((first, second), (second, first)):
            if below.high is None or below.high != above.low or below.low == below.high or above.low == above.high:
                continue
            if below.high_closed == above.low_closed:
                yield _pair(item, one, other, f"one of the two to hold the end {below.high.normalize():f}")


@item_rule("error")
def intervals_not_exhaustive(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """The options are intervals, and some values are in none of them."""
    intervals = _intervals(item)
    if len(intervals) < max(2, len(item.options)) or any(one.low == one.high for _, one in intervals):
        return
    spans = sorted((one for _, one in intervals), key=lambda one: (one.low is not None, one.low or Decimal(0)))
    last, covered = spans[0], spans[0].high
    missing = [] if last.low is None or last.low <= 0 else [f"below {_plain(last.low)}"]
    for span in spans[1:]:
        if covered is None:
            break
        # Of rounded values, 50-59 and 60-69 leave none out.
        room = min(span.step, last.step) if last.high_closed and span.low_closed else Decimal(0)
        if span.low is not None and span.low - covered > room:
            missing.append(f"between {_plain(covered)} and {_plain(span.low)}")
        if span.high is None or span.high > covered:
            last, covered = span, span.high
    bounded = item.readings[0].quantities[0].dimension == "share"
    if covered is not None and not (bounded and covered >= 100):
        missing.append(f"above {_plain(covered)}")
    if missing:
        yield Fault("options", ", ".join(item.options), f"an option for values {' and '.join(missing)} (base unit)")


@item_rule("error")
def order_dependent_option(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """An option refers to other options, such as "all of the above" or "both A and B", so the order matters."""
    for at, option in enumerate(item.options):
        if _of_structures(item, option):
            continue
        if _ORDER.fullmatch(folded(option).strip(" .")) or re.search(r"\bof the (?:above|below)\b", folded(option)):
            yield Fault(item.option_field(at), option, "an answer that stands for itself in any order")


@item_rule("error")
def filler_option(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """An option is a filler that no measurement gives, such as "cannot compare" or "about equal"."""
    for at, option in enumerate(item.options):
        if _FILLER.fullmatch(folded(option).strip(" .()")):
            yield Fault(item.option_field(at), option, "an answer that could be right")


@item_rule("error")
def option_count(item: LintItem, context: LintContext) -> Iterator[Fault]:
    """A choice has too few or too many options, or not as many as the settings say."""
    count, wanted = len(item.options), context.options.options
    if item.format == "numeric" or (item.malformed and not count):
        return
    if not 2 <= count <= len(LETTERS):
        yield Fault("options", f"{count} options", f"2 to {len(LETTERS)}")
    elif item.format == "mca" and wanted is not None and count != wanted:
        yield Fault("options", f"{count} options", f"{wanted}")


def _of_structures(item: LintItem, option: str) -> bool:
    """Whether an option only lists structures of the item, which may be called A and B."""
    names = {folded(name) for name in item.structures} | {folded(readable_name(name)) for name in item.structures}
    return all(part in names for part in re.split(r",? and |, ?", folded(option).strip(" .")))


def _pair(item: LintItem, one: int, other: int, expected: str) -> Fault:
    return Fault(item.option_field(one, other), f"{item.options[one]!r} and {item.options[other]!r}", expected)


def _comparable(one: Reading, other: Reading) -> bool:
    return bool(one.quantities) and one.frame == other.frame and one.dimensions == other.dimensions


def _equal(item: LintItem, one: int, other: int) -> bool:
    if _meant(item.options[one]) == _meant(item.options[other]):
        return True
    left, right = item.readings[one], item.readings[other]
    if not _comparable(left, right):
        return False
    if (left.interval is None) != (right.interval is None):
        return False
    if left.interval and right.interval:
        ends = ("low", "high", "low_closed", "high_closed")
        return all(getattr(left.interval, end) == getattr(right.interval, end) for end in ends)
    return all(_rounds_alike(a, b) for a, b in zip(left.quantities, right.quantities, strict=True))


def _meant(option: str) -> str:
    """A text without what leaves its meaning: case, spaces, a full stop, an article, the place of its side."""
    text = _ARTICLE.sub("", folded(option).replace("_", " ").strip(" .;:\"'"))
    if len(_SIDE.findall(text)) == 1 and not re.search(r"\d|,|\band\b", text):
        text = readable_name(text.replace(" ", "_"))
    return text.replace(" ", "")


def _rounds_alike(one: ShownQuantity, other: ShownQuantity) -> bool:
    """Whether the finer value, rounded to the coarser one's last digit, is the coarser one."""
    coarse, fine = (one, other) if one.base_step >= other.base_step else (other, one)
    if coarse.base_step == fine.base_step:
        return coarse.base == fine.base
    return abs(coarse.base - fine.base) < coarse.base_step / 2


def _gap(left: Reading, right: Reading) -> Decimal:
    """How far two readings are apart: positions as points, over the longer one; sizes by the edge that differs most."""
    pairs = list(zip(left.quantities, right.quantities, strict=True))
    if len(pairs) > 1 and left.frame.startswith(("(", "[")):
        apart = sum(((one.base - other.base) ** 2 for one, other in pairs), Decimal(0)).sqrt()
        far = max(sum((one.base**2 for one in each.quantities), Decimal(0)) for each in (left, right)).sqrt()
        return apart / far if far else Decimal(0)
    return max(_widest_gap(one, other) for one, other in pairs)


def _widest_gap(one: ShownQuantity, other: ShownQuantity) -> Decimal:
    """Relative gap of two values, as wide as it can have been before they were rounded to what is shown."""
    larger, smaller = (one, other) if abs(one.base) >= abs(other.base) else (other, one)
    top = abs(larger.base) + larger.base_step / 2
    difference = abs(larger.base - smaller.base) + (larger.base_step + smaller.base_step) / 2
    return difference / top if top else Decimal(0)


def _intervals(item: LintItem) -> list[tuple[int, Interval]]:
    """The options that are intervals in one dimension, and values among them as intervals of one point."""
    if not any(reading.interval for reading in item.readings):
        return []
    found: list[tuple[int, Interval]] = []
    frames = {reading.frame for reading in item.readings if reading.interval}
    dimensions = {one.dimension for reading in item.readings for one in reading.quantities}
    if len(frames) > 1 or len(dimensions) > 1:
        return []
    for at, reading in enumerate(item.readings):
        if reading.interval is not None:
            found.append((at, reading.interval))
        elif reading.frame in frames and len(reading.quantities) == 1:
            one = reading.quantities[0]
            found.append((at, Interval(one.base, one.base, low_closed=True, high_closed=True, step=one.base_step)))
    return found


def _plain(value: Decimal) -> str:
    return f"{value.normalize():f}"
