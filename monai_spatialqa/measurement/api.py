"""``sqa.measure``: one label map in, one record out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.anatomy.pairs import PairSpec
from monai_spatialqa.errors import SettingsError, readable
from monai_spatialqa.measurement.case import CaseFiles, measure_case
from monai_spatialqa.measurement.listing import stem_of
from monai_spatialqa.measurement.options import Detail, MeasureOptions, segmented_names, whole_values
from monai_spatialqa.records import Case, DistanceKind, Measurement


def measure(
    label: str | Path | Sequence[str | Path],
    image: str | Path | None = None,
    *,
    label_map: str | Path | Mapping[int, str] | LabelMap | None = None,
    distances: PairSpec = None,
    distance_kind: DistanceKind = "box_center",
    detail: Detail = "basic",
    case_id: str | None = None,
    ignore: int | Iterable[int] = (),
    segmented: str | Iterable[str] | None = None,
    form: Literal["sform", "qform"] | None = None,
    fov_margin_voxels: int = 0,
    strict: bool = False,
) -> Measurement:
    """Measure every structure of a label map: volume, box, centroid and, for chosen pairs, distance.

    NIfTI files and folders of NIfTI masks are read once, block by block, and never held in memory; other formats are
    loaded. Measured is the native grid; boxes are given in the RAS grid it becomes by permuting and flipping axes.

    Args:
        label: NIfTI, NRRD, seg.nrrd, MetaImage or DICOM SEG with integer ids (or one-hot channels), a folder with one
            mask per structure, or a list of such masks.
        image: the scan it was drawn on, a file or the folder of a DICOM series; only its headers are read, to check
            that both cover the same place. A DICOM SEG gets its grid.
        label_map: names of the ids: a shipped name such as ``"totalsegmentator_v2"``, a YAML or JSON file, a mapping
            id -> name; None names every id found ``label_<id>``.
        distances: ``"all"``, ``{"among": [names or groups]}``, or a list of name pairs.
        distance_kind: ``"box_center"`` (the SpatialMed paper, arXiv 2603.13800), ``"centroid"`` or ``"surface"``.
        detail: ``"full"`` also measures components, axial diameters of tumours and, for the pairs, surface distance,
            contact and containment.
        case_id: id in the record; default: the file's name without its suffix, or the name of the folder.
        ignore: values that are no structure besides 0, e.g. ``[-1]``.
        segmented: names that were looked for; the others are not_segmented instead of absent. Default: all.
        form: take this NIfTI form where the header contradicts itself, instead of refusing.
        fov_margin_voxels: structures this close to the border count as truncated; 0 means in the outermost layer.
        strict: refuse ids outside the label map instead of measuring them as ``label_<id>``.

    Returns:
        The record; lengths in mm, volumes in mm3 and ml, positions in RAS mm.

    Raises:
        SpatialQAError: the file cannot be measured without guessing; the message names the file, what was found, what
            was expected and a next step.

    Example:
        >>> import monai_spatialqa as sqa
        >>> m = sqa.measure("seg.nii.gz", label_map="totalsegmentator_v2",
        ...                 distances=[("liver", "spleen")])  # doctest: +SKIP
        >>> m.structures["liver"].volume_ml, m.pairs[0].distance_mm  # doctest: +SKIP
    """
    labels = [label] if isinstance(label, (str, Path)) else list(label) if isinstance(label, (list, tuple)) else []
    for key, paths in (("label", labels), ("image", [] if image is None else [image])):
        if not all(isinstance(path, (str, Path)) and str(path) not in ("", ".") for path in paths) or (
            key == "label" and not paths
        ):
            found = label if key == "label" else image
            raise SettingsError(f"{key} is not a path", key=key, found=repr(found)[:80], expected="path of a scan")
    named = None if label_map is None else load_label_map(label_map)
    options = MeasureOptions(
        label_map=named,
        distances=distances,
        distance_kind=distance_kind,
        detail=detail,
        ignore=whole_values(ignore),
        segmented=segmented_names(segmented, named),
        form=form,
        fov_margin_voxels=fov_margin_voxels,
        strict=strict,
    )
    case = Case(
        case_id=str(case_id) if case_id is not None and str(case_id) else _default_id(labels),
        label=readable(str(label)) if isinstance(label, (str, Path)) else [readable(str(path)) for path in labels],
        image=None if image is None else readable(str(image)),
    )
    return measure_case(CaseFiles(case, Path.cwd()), options)


def _default_id(labels: Sequence[str | Path]) -> str:
    return stem_of(labels[0]) if len(labels) == 1 else Path(labels[0]).absolute().parent.name
