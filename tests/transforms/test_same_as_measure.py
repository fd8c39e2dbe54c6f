"""Transforms and ``sqa.measure`` give the same numbers for the same file, to the last bit, in every orientation."""

from __future__ import annotations

import itertools

import nibabel as nib
import numpy as np
import pytest
import torch
from monai.transforms import Compose, LoadImaged, Orientationd

import monai_spatialqa as sqa
from monai_spatialqa import transforms
from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.phantoms import grid_affine, make_phantom
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.records import Status

CODES = {flag.name.lower(): int(flag) for flag in Status if flag.name} | {"ok": 0}
ORIENTATIONS = [
    "".join(letters) for order in itertools.permutations(("LR", "PA", "IS")) for letters in itertools.product(*order)
]
NAN3 = (float("nan"),) * 3


def code(words):
    return sum(CODES[word] for word in words)


def columns_of(record):
    """A record's figures under the names and in the types of the transforms."""
    rows = list(record.structures.values())
    boxes = [row.box for row in rows]
    nan = float("nan")

    def real(values):
        return torch.tensor(list(values), dtype=torch.float64)

    def place(name):
        return real((getattr(box, name) or NAN3) if box else NAN3 for box in boxes)

    return {
        "voxel_count": torch.tensor([-1 if row.voxel_count is None else row.voxel_count for row in rows]),
        "volume_mm3": real(nan if row.volume_mm3 is None else row.volume_mm3 for row in rows),
        "volume_status": torch.tensor([code(row.status) for row in rows]),
        "box_index": real((box.index_start, box.index_stop) if box else (NAN3, NAN3) for box in boxes),
        "extent_mm": place("extent_mm"),
        "center_ras_mm": place("center_ras_mm"),
        "world_min_ras_mm": place("world_min_ras_mm"),
        "world_max_ras_mm": place("world_max_ras_mm"),
        "centroid_ras_mm": real(row.centroid_ras_mm or NAN3 for row in rows),
        "centroid_inside": torch.tensor(
            [-1 if row.centroid_inside is None else int(row.centroid_inside) for row in rows]
        ),
        "box_status": torch.tensor([code(row.status) for row in rows]),
        "distance_mm": real(nan if pair.distance_mm is None else pair.distance_mm for pair in record.pairs),
        "distance_points_ras_mm": real(pair.points_ras_mm or (NAN3, NAN3) for pair in record.pairs),
        "distance_overlap_voxels": torch.tensor(
            [-1 if pair.overlap_voxels is None else pair.overlap_voxels for pair in record.pairs]
        ),
        "distance_status": torch.tensor([code(pair.status) for pair in record.pairs]),
    }


@pytest.fixture(scope="module")
def both_ways(differences):
    """Measure a file by ``sqa.measure`` and by a MONAI chain; the names whose figures differ."""

    def compare(path, names, axcodes="RAS", *, kind="box_center", tolerance=0.0, **options):
        pairs = list(itertools.combinations(names.values(), 2))
        record = sqa.measure(path, label_map=names, distances=pairs, distance_kind=kind, **options)
        form = options.pop("form", None)
        chain = Compose(
            [
                LoadImaged("label", reader=NiftiReader(form), dtype=None, ensure_channel_first=True),
                transforms.ValidateGeometryd("label"),
                *([] if axcodes is None else [Orientationd("label", axcodes, labels=None)]),
                transforms.MeasureVolumed("label", names, **options),
                transforms.MeasureBoundingBoxd("label", names, **options),
                transforms.MeasureDistanced("label", names, kind=kind, **options),
            ]
        )
        found = dict(chain({"label": path})["measured_label"])
        bands = torch.tensor(
            [row.volume_band_ml or (float("nan"),) * 2 for row in record.structures.values()], dtype=torch.float64
        )
        assert torch.allclose(found.pop("volume_band_mm3") / 1000, bands, rtol=1e-15, atol=0, equal_nan=True)
        assert found.pop("distance_rows").tolist() == [
            list(rows) for rows in itertools.combinations(range(len(names)), 2)
        ]
        # A record has both end points or none; the tensor keeps the one that there is.
        found["distance_points_ras_mm"] = found["distance_points_ras_mm"].where(
            ~found["distance_points_ras_mm"].isnan().flatten(1).any(1)[:, None, None], float("nan")
        )
        return differences(found, columns_of(record), tolerance)

    return compare


@pytest.fixture(scope="module")
def odd_map():
    """An asymmetric map: a bent structure, a plate, one at the border, one missing."""
    array = np.zeros((7, 9, 11), np.uint8)
    array[1:4, 2:7, 3:5] = 1
    array[3:6, 6:8, 4:9] = 1
    array[5, 0:2, 1:6] = 2
    array[0:2, 1, 9:] = 3
    return array, {1: "liver", 2: "spleen", 3: "lung_left", 4: "lung_right"}


@pytest.mark.parametrize("axcodes", ORIENTATIONS)
@pytest.mark.parametrize("grid", ["straight", "oblique", "sheared"])
def test_48_orientations(axcodes, grid, odd_map, both_ways, write_nifti):
    array, names = odd_map
    affine = grid_affine(
        array.shape,
        (1.3, 2.0, 0.7),
        center_ras_mm=(11, -7, 3),
        rotation_deg=0 if grid == "straight" else (10, -7, 13),
        shear=0.2 if grid == "sheared" else 0,
    )
    turn = nib.orientations.ornt_transform(nib.orientations.axcodes2ornt("RAS"), nib.orientations.axcodes2ornt(axcodes))
    stored = nib.orientations.apply_orientation(array, turn)
    stored_affine = affine @ nib.orientations.inv_ornt_aff(turn, array.shape)
    path = write_nifti("a.nii", stored, stored_affine, forms=(1, 0))
    assert not both_ways(path, names, None)
    assert not both_ways(path, names, "RAS", kind="centroid")


@pytest.mark.parametrize("axcodes", ["LPS", "SPL", "PIR"])
def test_any_orientation_in_the_chain(axcodes, odd_map, both_ways, write_nifti):
    """Orienting to something else than RAS leaves the figures as they are, but for the last bits of MONAI's matrix."""
    array, names = odd_map
    path = write_nifti("a.nii.gz", array, grid_affine(array.shape, (1.3, 2.0, 0.7), rotation_deg=20))
    assert not both_ways(path, names, axcodes, tolerance=1e-9)


@pytest.mark.parametrize("known", ["no form", "micron", "qform only", "form asked for"])
def test_what_headers_say(known, odd_map, both_ways, write_nifti):
    array, names = odd_map
    affine = np.diag([-2.0, 3.0, 4.0, 1.0])
    options = {
        "no form": {"forms": (0, 0)},
        "micron": {"unit": "micron"},
        "qform only": {"forms": (0, 1)},
        "form asked for": {"edit": lambda header: header.__setitem__("srow_x", (5, 0, 0, 0))},
    }[known]
    path = write_nifti("a.nii.gz", array, affine, **options)
    assert not both_ways(path, names, **({"form": "qform"} if known == "form asked for" else {}))


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.uint8, 1), (np.int16, 1), (np.uint16, 16384), (np.int32, 2**28), (np.uint32, 2**30), (np.uint64, 2**62)],
)
def test_ids_of_every_width(dtype, factor, odd_map, both_ways, write_nifti):
    array, names = odd_map
    path = write_nifti("a.nii.gz", array.astype(dtype) * np.array(factor, dtype), spacing=(2, 3, 4))
    wide = {label * factor: name for label, name in names.items() if label < 4}
    assert not both_ways(path, wide)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_and_scaled_labels(dtype, odd_map, both_ways, write_nifti):
    array, names = odd_map
    noisy = (array + 0.0004).astype(dtype)
    assert not both_ways(write_nifti("float.nii.gz", noisy, spacing=(2, 3, 4)), names)

    def scaled(header):
        header["scl_slope"], header["scl_inter"] = 0.5, -1.0

    stored = (array * 2 + 2).astype(np.int16)
    assert not both_ways(write_nifti("scaled.nii.gz", stored, spacing=(2, 3, 4), edit=scaled), names)


def test_settings_mean_the_same(odd_map, both_ways, write_nifti):
    array, names = odd_map
    array = array.astype(np.int16)
    array[6] = -1
    path = write_nifti("a.nii.gz", array, spacing=(2, 3, 4))
    assert not both_ways(path, names, ignore=[-1], fov_margin_voxels=1, strict=True)
    assert not both_ways(path, names, ignore=[-1], segmented=["liver", "spleen", "lung_left"])


@pytest.mark.parametrize("options", [{"strict": True}, {"segmented": ["spleen"]}, {"strict": True, "segmented": []}])
def test_refusals_read_the_same(options, odd_map, write_nifti):
    array, names = odd_map
    path = write_nifti("a.nii.gz", np.where(array > 2, array + 20, array), spacing=(2, 3, 4))
    names = {label: name for label, name in names.items() if label <= 2}
    label = LoadImaged("label", reader=NiftiReader(), ensure_channel_first=True, dtype=None)({"label": path})["label"]
    told = []
    for measure in (
        lambda: sqa.measure(path, label_map=names, **options),
        lambda: transforms.MeasureVolume(names, **options)(label),
    ):
        with pytest.raises(LabelValueError) as caught:
            measure()
        told.append(caught.value.details() | {"case": None})
    assert told[0] == told[1]


@pytest.mark.parametrize("background", [False, True])
def test_channels_in_a_file(background, odd_map, both_ways, write_nifti):
    """BR-057: (X, Y, Z, C) one-hot."""
    array, names = odd_map
    channels = [array == label for label in ([0] if background else []) + [1, 2, 3, 4]]
    channels[-3] = channels[-3] | (array == 1)  # an overlap
    path = write_nifti("a.nii.gz", np.stack(channels, -1).astype(np.uint8), np.diag([2.0, -3.0, 4.0, 1.0]))
    assert not both_ways(path, names)
    assert not both_ways(path, names, None)


@pytest.mark.parametrize(
    "options",
    [
        {"axcodes": "LAS"},
        {"axcodes": "SPR", "rotation_deg": (5, 10, -15)},
        {"shear": 0.25, "axcodes": "PIR"},
        {"truncate": "superior"},
    ],
    ids=str,
)
def test_phantoms(options, both_ways, tmp_path):
    phantom = make_phantom(3, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0), **options)
    _, path = phantom.save(tmp_path, "p")
    assert not both_ways(path, phantom.label_names)
    assert not both_ways(path, phantom.label_names, None, kind="centroid")


def test_one_pass_equals_three_transforms(odd_map, tensor_of, differences):
    array, names = odd_map
    label = tensor_of(array, grid_affine(array.shape, (1.3, 2.0, 0.7), rotation_deg=20))
    for kind in ("box_center", "centroid"):
        apart = transforms.MeasureVolume(names)(label) | transforms.MeasureBoundingBox(names)(label)
        apart |= transforms.MeasureDistance(names, kind=kind)(label)
        assert not differences(transforms.MeasureStructures(names, "all", kind=kind)(label), apart)
