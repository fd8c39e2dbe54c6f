"""What the linter sees: an item of any origin, the case it is about, and the rules by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.items.quantities_in_text import Reading, folded, read_text, unit_asked
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.quantities import unit_named
from monai_spatialqa.records.item import LETTERS, Item, Reference

Severity = Literal["error", "warning", "note"]

_TOLD = re.compile(r"(?:the )?(?:option|choice)[ _]?\(?([a-z]|\d{1,2})\)?")
"""An answer that names its option as "option B"."""


@dataclass(frozen=True)
class Fault:
    """What a rule finds.

    Attributes:
        field: of the item, e.g. ``options[2]``.
        found: what stands there.
        expected: what should.
    """

    field: str
    found: str
    expected: str


@dataclass(frozen=True)
class Finding:
    """A fault of one item, or of the file.

    Attributes:
        rule: id of the rule.
        severity: error, warning or note.
        item_id: of the item; None for the file.
        row: of the item in its file, from 1; None for the file.
        field, found, expected: see :class:`Fault`.
    """

    rule: str
    severity: Severity
    item_id: str | None
    row: int | None
    field: str
    found: str
    expected: str

    @property
    def message(self) -> str:
        """All of it in one line."""
        who = "the file" if self.item_id is None else f"item {self.item_id} (row {self.row})"
        return f"{who}: {self.rule}: {self.field}: found {self.found}; expected {self.expected}"


@dataclass(frozen=True)
class LintOptions:
    """Settings of the rules.

    Attributes:
        value_gap: least relative gap between two options that are values.
        comparison_gap: least relative gap between two figures that are compared.
        robust: the key must be the same anywhere within half a voxel.
        options: options that a choice must have; None takes any number.
        least_items: items below which the file is not searched for biases.
    """

    value_gap: float = 0.15
    comparison_gap: float = 0.10
    robust: bool = True
    options: int | None = None
    least_items: int = 40


@dataclass(frozen=True)
class LintItem:
    """An item of any origin.

    Attributes:
        item_id: as given, or ``row <n>``.
        row: in its file, from 1.
        question: as shown.
        options: texts as shown, without their letters; empty for an open question.
        letters: letter of each option.
        answers: everything that is given as the answer; one text, where all is well.
        unit: unit that the file states for the answer.
        case_id: the scan it is about; None where the file does not say.
        structures: names of structures, where the file gives them.
        format: mca, yesno or numeric.
        subtask: what kind of question it is, where the file says so.
        item, reference: the records, for items of this package.
        malformed: what could not be read.
        with_references: whether answers are given as references, which hold evidence.
    """

    item_id: str
    row: int
    question: str
    options: tuple[str, ...]
    letters: tuple[str, ...]
    answers: tuple[str, ...]
    unit: str | None = None
    case_id: str | None = None
    structures: tuple[str, ...] = ()
    format: Literal["mca", "yesno", "numeric"] = "mca"
    subtask: str = ""
    item: Item | None = None
    reference: Reference | None = None
    malformed: tuple[Fault, ...] = ()
    with_references: bool = False

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """The options taken apart."""
        return tuple(read_text(option) for option in self.options)

    @cached_property
    def keys(self) -> tuple[int, ...]:
        """Places of the options that the answer names, by letter or by text; one, where all is well."""
        return tuple(dict.fromkeys(at for answer in self.answers for at in self.named_by(answer)))

    def named_by(self, answer: str) -> list[int]:
        """Places of the options that one answer names: its letter, its text, or its letter and text."""
        shown = folded(answer)
        told = _TOLD.fullmatch(shown)
        shown = told.group(1) if told else shown
        bare = shown.strip("().:[] ").upper()
        if bare in self.letters:
            return [self.letters.index(bare)]
        same = [at for at, option in enumerate(self.options) if folded(option) == shown]
        if same:
            return same
        return [
            at
            for at, (letter, option) in enumerate(zip(self.letters, self.options, strict=True))
            if shown.lstrip("([").startswith(letter.casefold())
            and shown.lstrip("([")[1:2] in (".", ":", ")", "]", "-", " ")
            and folded(shown.lstrip("([")[1:].lstrip(".:)]- ")) == folded(option)
        ]

    @cached_property
    def key(self) -> str | None:
        """Text of the answer, where there is exactly one."""
        if self.options:
            return self.options[self.keys[0]] if len(self.keys) == 1 else None
        return self.answers[0] if len(self.answers) == 1 else None

    @cached_property
    def asked_unit(self) -> str | None:
        """The unit that the file or the question states."""
        return unit_named(self.unit) or unit_asked(self.question)

    def option_field(self, *places: int) -> str:
        """Name of the fields of options, by their letters."""
        return " and ".join(f"option {self.letters[at]}" for at in places)


@dataclass
class LintContext:
    """What rules may look at besides the item.

    Attributes:
        options: settings.
        views: case id -> case, from the measurements; None where there are none.
        items: all items of the file.
        orphans: ids of references without an item.
    """

    options: LintOptions
    views: Mapping[str, CaseView] | None
    items: Sequence[LintItem]
    orphans: Sequence[str] = field(default_factory=tuple)


ItemRule = Callable[[LintItem, LintContext], Iterator[Fault]]
FileRule = Callable[[LintContext], Iterator[tuple[LintItem | None, Fault]]]


@dataclass(frozen=True)
class LintRule:
    """A rule.

    Attributes:
        id: its name.
        severity: of its findings.
        about: one sentence that says what it finds.
        check: finds it in one item; None for a rule about the file.
        check_file: finds it in the file; None for a rule about items.
    """

    id: str
    severity: Severity
    about: str
    check: ItemRule | None = None
    check_file: FileRule | None = None


RULES: dict[str, LintRule] = {}
"""All rules by id, in the order of their files."""


def _register(rule: LintRule) -> None:
    if rule.id in RULES:
        raise SettingsError("two rules of the linter have one id", key="rule", found=rule.id)
    RULES[rule.id] = rule


def item_rule(severity: Severity) -> Callable[[ItemRule], ItemRule]:
    """Register a function as a rule about single items; its name is the id, its docstring's first line the sentence."""

    def register(check: ItemRule) -> ItemRule:
        _register(LintRule(check.__name__, severity, (check.__doc__ or "").strip().splitlines()[0], check=check))
        return check

    return register


def file_rule(severity: Severity) -> Callable[[FileRule], FileRule]:
    """Register a function as a rule about the whole file, in the same way."""

    def register(check: FileRule) -> FileRule:
        _register(LintRule(check.__name__, severity, (check.__doc__ or "").strip().splitlines()[0], check_file=check))
        return check

    return register


def default_letters(count: int) -> tuple[str, ...]:
    """Letters of options that have none of their own."""
    alphabet = LETTERS + "IJKLMNOPQRSTUVWXYZ"
    return tuple(alphabet[:count]) + tuple(str(at + 1) for at in range(len(alphabet), count))
