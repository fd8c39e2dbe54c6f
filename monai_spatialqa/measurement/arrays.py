"""The path of arrays: the open MONAI chain ends here, in a transform that turns measured tensors into a record."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from monai.config import KeysCollection
from monai.data import MetaTensor
from monai.transforms import MapTransform, Transform
from monai.utils import ImageMetaKey, MetaKeys

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.errors import SettingsError, SpatialQAError
from monai_spatialqa.execution import failure_from
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.measurement.declared import declared_structures, named_pairs, union_members, union_notes
from monai_spatialqa.measurement.label_scan import overlaps_of
from monai_spatialqa.measurement.options import MeasureOptions
from monai_spatialqa.measurement.pair_records import pair_records
from monai_spatialqa.measurement.records import CaseFacts, build_measurement, error_measurement
from monai_spatialqa.readers.image_reader import scan_meta
from monai_spatialqa.readers.scans import Scan, first_file, read_scan
from monai_spatialqa.records import Measurement, Overlap, Source
from monai_spatialqa.transforms.array import MeasureStructures
from monai_spatialqa.transforms.dictionary import MEASURED_PREFIX
from monai_spatialqa.transforms.inputs import CheckedLabel, check_label


class RecordMeasurementd(MapTransform):
    """Turn ``data["measured_<key>"]`` into a :class:`~monai_spatialqa.records.Measurement` and let the voxels go.

    Stands last in a chain of measuring transforms over ``options.label_map``. Figures that the chain did not measure
    are null in the record. Ids outside the label map are measured here, as ``label_<id>``.

    Args:
        keys: the key of the label map (one).
        options: how the chain measures; its label map and pairs name the rows of the tensors.

    Returns of a call:
        the dictionary with ``record`` added, and the label map and its measured tensors taken out.

    Raises:
        SpatialQAError: when the tensors do not belong to the options.
    """

    def __init__(self, keys: KeysCollection, options: MeasureOptions) -> None:
        super().__init__(keys)
        if options.label_map is None:
            raise SettingsError(
                "measuring with transforms needs a label map: their tensors have a fixed length",
                key="label_map",
                found=None,
                expected="a shipped name or a file id -> name",
                next_step="pass label_map, or path: stream, which takes the ids as they come",
            )
        self.options = options

    def __repr__(self) -> str:
        return f"RecordMeasurementd(keys={self.keys!r})"

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
        """Add the record, drop the voxels."""
        d = dict(data)
        for key in self.key_iterator(d):
            label = d.pop(key)
            measured = d.pop(f"{MEASURED_PREFIX}{key}", {})
            source = d.get("source") or Source(path=None, sha256=None)
            assert self.options.label_map is not None
            d["record"] = record_of(
                label, measured, self.options.label_map, self.options, str(d.get("case_id", key)), source
            )
        return d


class Guarded(Transform):
    """Run a chain on one case; a case that fails becomes an error record and never stops the others.

    Args:
        transform: the chain; it leaves a ``record`` in the dictionary.
        options: how it measures, for the error record.

    Returns of a call:
        ``{"case_id", "record"}``.
    """

    def __init__(self, transform: Callable[[Any], Any], options: MeasureOptions) -> None:
        self.transform = transform
        self.options = options

    def __repr__(self) -> str:
        return f"Guarded({self.transform!r})"

    def __call__(self, data: Mapping[Hashable, Any]) -> dict[str, Any]:
        """Run the chain on one case."""
        case_id, source = str(data["case_id"]), data["source"]
        try:
            with _record_tells_unknown_ids():
                record = self.transform(dict(data))["record"]
        except Exception as error:  # whatever it is, it concerns this case only
            details = dict(failure_from(case_id, _first_refusal(error)).error)
            if details["key"] in data:  # the place in the dictionary says nothing that the file does not
                details["key"] = None
            record = error_measurement(case_id, source, details, self.options.sha256, data["root"])
        return {"case_id": case_id, "record": record}


def image_paths(cases: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Path of the label map -> path of the image it was drawn on, for the cases that the stage gives the chain."""
    found = {}
    for case in cases:
        label = case["label"] if isinstance(case["label"], str) else case["label"][0]
        if case.get("image_path") is not None:
            found[label] = case["image_path"]
    return found


def _first_refusal(error: BaseException) -> BaseException:
    """The error behind MONAI's "applying transform" wrapper."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, SpatialQAError):
            return cause
        last, cause = cause, cause.__cause__ or cause.__context__
    return last


@contextmanager
def _record_tells_unknown_ids() -> Iterator[None]:
    """No warning of ids outside the label map: the record names and measures them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="ids outside .* are not measured")
        yield


def measure_loaded(
    label: Scan, source: Source, options: MeasureOptions, case_id: str, *, image: Path | None = None
) -> Measurement:
    """Measure a label map by loading it whole: what is no NIfTI file of one volume.

    Args:
        label: the label map.
        source: what the record says of the files.
        options: how to measure.
        case_id: id of the case.
        image: the scan it was drawn on, whose grid a DICOM SEG gets.

    Raises:
        SpatialQAError: it cannot be measured without guessing.
    """
    try:
        tensor = _loaded(label, options, image)
        label_map = options.label_map or _map_of_found(check_label(tensor), options)
        measure = MeasureStructures(
            label_map,
            ignore=options.ignore,
            segmented=options.segmented,
            fov_margin_voxels=options.fov_margin_voxels,
            strict=options.strict,
            pairs=[(pair.first, pair.second) for pair in named_pairs(options, _rows(label_map))],
            kind=options.distance_kind,
            detail=options.detail,
        )
        with _record_tells_unknown_ids():
            return record_of(tensor, measure(tensor), label_map, options, case_id, source)
    except SpatialQAError as error:
        raise error.with_context(case=case_id, file=first_file(label)) from None


def _loaded(label: Scan, options: MeasureOptions, image: Path | None) -> MetaTensor:
    """The label map as ``LoadImage(reader=ScanReader(), ensure_channel_first=True)`` gives it.

    Read directly: ``LoadImage`` sets up every reader that MONAI has, and some of them warn of what is not installed.
    """
    scan = read_scan(label, form=options.form, label_map=options.label_map, reference=image, ignore=options.ignore)
    voxels = torch.from_numpy(scan.voxels)
    meta = scan_meta(scan) | {ImageMetaKey.FILENAME_OR_OBJ: str(first_file(label))}
    channels = voxels[None] if voxels.ndim == 3 else voxels.movedim(-1, 0)
    meta[MetaKeys.AFFINE] = torch.from_numpy(scan.geometry.affine)
    return MetaTensor(channels, meta=meta)


def record_of(
    label: Any,
    measured: Mapping[str, Any],
    label_map: LabelMap,
    options: MeasureOptions,
    case_id: str,
    source: Source,
) -> Measurement:
    """The record of a label tensor and what was measured of it.

    Args:
        label: the MetaTensor that was measured, channel-first.
        measured: the tensors that the measuring transforms wrote, over the structures of ``label_map``.
        label_map: the structures, in the order of the tensors.
        options: how it was measured.
        case_id: id of the case.
        source: what the record says of the files.

    Raises:
        SettingsError: the tensors are not over the structures of the label map.
    """
    checked = check_label(label)
    lengths = {len(value) for name, value in measured.items() if name in ("voxel_count", "box_index")}
    if lengths - {len(label_map.row_names)}:
        raise SettingsError(
            "the chain measured other structures than the settings declare",
            key="structures",
            found=f"{sorted(lengths)} rows",
            expected=f"{len(label_map.row_names)} structures of {label_map.name}",
            next_step="give every measuring transform the same structures as label_map",
        )
    fields = {name: value.cpu().numpy() for name, value in measured.items()}
    others = _ids(checked, (*label_map.ids, *options.ignore))
    unknown: list[int] = []
    names = _rows(label_map)
    if others or set(checked.segments or ()) - {*label_map.ids, *options.ignore}:
        try:
            names, unknown = declared_structures(others, options, checked.segments)
        except SpatialQAError as error:
            raise error.with_context(case=case_id, file=checked.file) from None
        rest = load_label_map({number: name for name, number in names.items() if number in unknown})
        extra = MeasureStructures(
            rest,
            ignore=(*label_map.ids, *options.ignore),
            fov_margin_voxels=options.fov_margin_voxels,
            segmented=rest.names,
            detail=options.detail,
        )(label)
        for name, value in extra.items():
            if name in fields:
                fields[name] = np.concatenate([fields[name], value.cpu().numpy()])
    facts = CaseFacts(
        case_id=case_id,
        source=source,
        label_map=None if options.label_map is None else options.label_map.name,
        settings_sha256=options.sha256,
        grid=checked.grid,
        stored_orientation=checked.stored_orientation,
        geometry=checked.geometry,
        notes=[*checked.notes, *_channel_notes(checked), *union_notes(options, unknown)],
        resampled=checked.resampled,
        margin=options.fov_margin_voxels,
    )
    overlaps: list[Overlap] = []
    if len(checked.voxels) > 1:
        everything = load_label_map({number: name for name, number in names.items() if number is not None})
        runs = (
            MeasureStructures(everything, ignore=options.ignore, segmented=everything.names)
            .measure(label, boundaries=False)
            .structure_runs
        )
        overlaps = overlaps_of(runs.of_row, everything.names, runs.grid)
    return build_measurement(
        facts,
        names,
        fields,
        pair_records(fields, named_pairs(options, names), options.distance_kind),
        unions=union_members(options),
        overlaps=overlaps,
        unknown_labels=unknown,
    )


def _channel_notes(checked: CheckedLabel) -> list[str]:
    """How several volumes of one file were read; nobody but the user can know that they are no time series."""
    count = len(checked.voxels)
    if count == 1 or checked.segments is not None:
        return []
    kind = "one-hot channels" if int(checked.voxels.max()) <= 1 else "layers of ids"
    return [f"{count} volumes in one file, read as {kind}"]


def _rows(label_map: LabelMap) -> dict[str, int | None]:
    own = dict(zip(label_map.names, label_map.ids, strict=True))
    return {name: own.get(name) for name in label_map.row_names}


def _ids(checked: CheckedLabel, ignore: tuple[int, ...]) -> list[int]:
    """Ids in a label tensor besides those ignored; none for one-hot channels, whose values are no ids."""
    found = {
        label for channel in checked.voxels for label in marginals_of(channel, ignore=ignore, boundaries=False).labels
    }
    one_hot = checked.segments is None and len(checked.voxels) > 1 and found <= {1}
    return [] if one_hot else sorted(found)


def _map_of_found(checked: CheckedLabel, options: MeasureOptions) -> LabelMap:
    """A label map of what a file without one holds, by the names that the file gives."""
    if checked.segments:
        return load_label_map({n: name for n, name in checked.segments.items() if n not in options.ignore})
    ids = _ids(checked, options.ignore) or list(range(1, len(checked.voxels) + 1))
    return load_label_map({label: f"label_{label}" for label in ids})
