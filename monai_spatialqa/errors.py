"""The one exception family of the package: every refusal says what, where, what was expected and what to do next."""

from __future__ import annotations

from typing import Any


def readable(text: str) -> str:
    """Text that came from the system, as Unicode that can be written.

    Under a locale without UTF-8, Python hands over names and arguments beyond ASCII as escaped bytes; these are read as
    the UTF-8 they are. Any other text is unchanged.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class SpatialQAError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        problem: one sentence saying what is wrong.
        code: short machine-readable reason, e.g. ``"singular_affine"``; it goes into error records.
        case: case id, where one is known.
        file: path of the file concerned, as the user gave it.
        key: dictionary key, header field or setting concerned.
        found: the value found.
        expected: the value or kind of value expected.
        next_step: one thing the user can do about it.
    """

    default_code = "error"

    def __init__(
        self,
        problem: str,
        *,
        code: str | None = None,
        case: str | None = None,
        file: Any = None,
        key: str | None = None,
        found: Any = None,
        expected: Any = None,
        next_step: str | None = None,
    ) -> None:
        self.problem = problem
        self.code = code or self.default_code
        self.case = case
        self.file = None if file is None else readable(str(file))
        self.key = key
        self.found = None if found is None else readable(str(found))
        self.expected = None if expected is None else str(expected)
        self.next_step = next_step
        super().__init__(problem)

    def details(self) -> dict[str, str | None]:
        """All parts of the message, ready for an error record."""
        names = ("code", "problem", "case", "file", "key", "found", "expected", "next_step")
        return {name: getattr(self, name) for name in names}

    def with_context(self, *, case: str | None = None, file: Any = None, key: str | None = None) -> SpatialQAError:
        """Fill in what the raising function could not know; what is already there stays. Returns ``self``."""
        self.case = self.case or case
        self.file = self.file or (None if file is None else readable(str(file)))
        self.key = self.key or key
        return self

    def __str__(self) -> str:
        parts = [self.problem.removesuffix(".") + "."]
        labelled = [
            ("case", self.case),
            ("file", self.file),
            ("key", self.key),
            ("found", self.found),
            ("expected", self.expected),
        ]
        told = "; ".join(f"{name}: {value}" for name, value in labelled if value is not None)
        if told:
            parts.append(f"[{told}]")
        if self.next_step:
            parts.append(f"Next step: {self.next_step}" + ("" if self.next_step.endswith((".", "?")) else "."))
        return " ".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.details())


def _rebuild(kind: type[SpatialQAError], details: dict[str, Any]) -> SpatialQAError:
    """Recreate an error on the other side of a process boundary."""
    details = dict(details)
    return kind(details.pop("problem"), **details)


class FileReadError(SpatialQAError):
    """A file is missing, cut short, fails its checksum, or is not what its name says."""

    default_code = "unreadable_file"


class GeometryError(SpatialQAError):
    """The header's geometry is missing, impossible, or contradicts itself."""

    default_code = "bad_geometry"


class LabelValueError(SpatialQAError):
    """Voxel values that cannot be structure ids, or ids that the label map does not allow."""

    default_code = "bad_labels"


class LabelMapError(SpatialQAError):
    """A label map or a list of structures is unusable."""

    default_code = "bad_label_map"


class PairingError(SpatialQAError):
    """Image and label do not belong together, or cases cannot be listed without guessing."""

    default_code = "bad_pair"


class SettingsError(SpatialQAError):
    """A setting, override or run id that does not exist or has the wrong type or value."""

    default_code = "bad_settings"


class JournalError(SpatialQAError):
    """An output folder holds results that do not belong to this run."""

    default_code = "bad_journal"


class ScoringError(SpatialQAError):
    """Items, references and answers do not belong together, or a question has no score."""

    default_code = "bad_scoring"


class MissingExtraError(SpatialQAError):
    """An optional package is needed; the message names the pip command."""

    default_code = "missing_extra"
