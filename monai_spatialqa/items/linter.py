"""The linter: every rule over every item of a file, and what it found. Works on anybody's items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Each of these registers its rules; the order is that of the table.
from monai_spatialqa.items import lint_file, lint_key, lint_options, lint_text  # noqa: F401
from monai_spatialqa.items.lint_input import lint_items, read_rows
from monai_spatialqa.items.lint_item import RULES, Finding, LintContext, LintItem, LintOptions, LintRule, Severity
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Item, Reference

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From worst to least."""


@dataclass(frozen=True)
class LintReport:
    """What the linter found.

    Attributes:
        items: all items, in the order of their file.
        findings: by item in this order, then those about the file.
    """

    items: tuple[LintItem, ...]
    findings: tuple[Finding, ...]

    def count(self, severity: Severity) -> int:
        """Findings of a severity."""
        return sum(finding.severity == severity for finding in self.findings)

    @property
    def clean(self) -> bool:
        """Whether there is neither an error nor a warning."""
        return not self.count("error") and not self.count("warning")

    def of(self, item: LintItem) -> list[Finding]:
        """Findings of one item."""
        return self._by_row.get(item.row, [])

    @property
    def of_file(self) -> list[Finding]:
        """Findings about the file."""
        return self._by_row.get(None, [])

    @property
    def _by_row(self) -> dict[int | None, list[Finding]]:
        found: dict[int | None, list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.row, []).append(finding)
        return found

    @property
    def faulty_items(self) -> int:
        """Items with at least one error."""
        return len(
            {finding.row for finding in self.findings if finding.severity == "error" and finding.row is not None}
        )

    def per_rule(self) -> dict[str, int]:
        """Rule -> findings, for rules that found something, in the order of the rules."""
        counts = Counter(finding.rule for finding in self.findings)
        return {rule: counts[rule] for rule in RULES if counts[rule]}

    def item_rows(self) -> list[dict[str, Any]]:
        """One row an item, for ``lint.jsonl``."""
        by_row = self._by_row
        rows = []
        for item in self.items:
            found = by_row.get(item.row, [])
            counts = Counter(finding.severity for finding in found)
            rows.append(
                {
                    "item_id": item.item_id,
                    "row": item.row,
                    "errors": counts["error"],
                    "warnings": counts["warning"],
                    "findings": [_row(finding) for finding in found],
                }
            )
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Counts, and the findings about the file, for ``lint_summary.json``."""
        return {
            "items": len(self.items),
            "faulty_items": self.faulty_items,
            **{f"{severity}s": self.count(severity) for severity in SEVERITIES},
            "rules": self.per_rule(),
            "file": [_row(finding) for finding in self.of_file],
        }

    def table(self) -> str:
        """What was found, as text: a line a rule, with the first item it was found in."""
        lines = [
            f"{len(self.items)} items: {self.count('error')} errors in {self.faulty_items} of them or in the file, "
            f"{self.count('warning')} warnings, {self.count('note')} notes"
        ]
        counts = self.per_rule()
        if not counts:
            return lines[0]
        width = max(len("rule"), *map(len, counts))
        lines += ["", f"{'severity':<9} {'rule':<{width}} {'found':>6}  first"]
        for severity in SEVERITIES:
            for rule, count in counts.items():
                if RULES[rule].severity == severity:
                    first = next(finding for finding in self.findings if finding.rule == rule)
                    lines.append(f"{severity:<9} {rule:<{width}} {count:>6}  {_shortened(first.message)}")
        return "\n".join(lines)


def _row(finding: Finding) -> dict[str, Any]:
    names = ("rule", "severity", "field", "found", "expected", "message")
    return {name: getattr(finding, name) for name in names}


def _shortened(text: str, length: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def lint(
    items: Sequence[LintItem],
    options: LintOptions | None = None,
    views: Mapping[str, CaseView] | None = None,
    orphans: Sequence[str] = (),
) -> LintReport:
    """Apply every rule to every item, and to the file.

    Args:
        items: as ``lint_input.lint_items`` makes them.
        options: settings of the rules.
        views: case id -> case; without them nothing is recomputed.
        orphans: ids of references without an item.
    """
    context = LintContext(options or LintOptions(), views, items, orphans)
    findings = [
        _finding(rule, item, fault)
        for item in items
        for rule in RULES.values()
        if rule.check is not None
        for fault in rule.check(item, context)
    ]
    about_file: list[Finding] = []
    for rule in RULES.values():
        for item, fault in rule.check_file(context) if rule.check_file is not None else ():
            (about_file if item is None else findings).append(_finding(rule, item, fault))
    order = {rule: at for at, rule in enumerate(RULES)}
    findings.sort(key=lambda finding: (finding.row or 0, order[finding.rule]))
    return LintReport(tuple(items), (*findings, *about_file))


def _finding(rule: LintRule, item: LintItem | None, fault: Any) -> Finding:
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        item_id=None if item is None else item.item_id,
        row=None if item is None else item.row,
        field=fault.field,
        found=fault.found,
        expected=fault.expected,
    )


def case_views(measurements: Iterable[Measurement]) -> dict[str, CaseView]:
    """The measured cases by id; those with errors are left out."""
    return {record.case_id: CaseView(record) for record in measurements if not record.errors and record.geometry}


def lint_rows(
    rows: Sequence[Any],
    references: Sequence[Any] | None = None,
    measurements: Iterable[Measurement] | None = None,
    options: LintOptions | None = None,
) -> LintReport:
    """Lint parsed rows of a file: dictionaries with a question, options and an answer, or this package's records.

    Args:
        rows: see ``lint_input.py`` for the fields.
        references: rows of ``references.jsonl``; None where the rows hold their answers.
        measurements: of the cases; None recomputes nothing.
        options: settings of the rules.

    Example:
        >>> report = lint_rows([{"question": "How long is it?", "options": ["34 mm", "3.4 cm"], "answer": "A"}])
        >>> list(report.per_rule())
        ['equal_options', 'mixed_units']
    """
    items, orphans = lint_items(rows, references)
    views = None if measurements is None else case_views(measurements)
    return lint(items, options, views, orphans)


def lint_records(
    items: Sequence[Item],
    references: Sequence[Reference],
    measurements: Iterable[Measurement] | None = None,
    options: LintOptions | None = None,
) -> LintReport:
    """Lint items of this package with their references, before or after they were written."""
    rows = [item.model_dump(mode="json") for item in items]
    answers = [reference.model_dump(mode="json") for reference in references]
    return lint_rows(rows, answers, measurements, options)


def lint_item_file(
    items: Path,
    references: Path | None = None,
    measurements: Iterable[Measurement] | None = None,
    options: LintOptions | None = None,
) -> LintReport:
    """Lint a file of items: JSON, JSON Lines or CSV.

    Raises:
        SpatialQAError: a file cannot be read, or references are given for items that are not this package's.
    """
    rows = read_rows(items)
    return lint_rows(rows, None if references is None else read_rows(references), measurements, options)
