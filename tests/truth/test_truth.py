"""The comparison with SimpleITK and stored values over the real scans in `tests/data`, and numbers others published."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import PairingError, SpatialQAError

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def compare():
    """The script beside this file, whatever the working directory."""
    spec = importlib.util.spec_from_file_location("spatialqa_truth_compare", HERE / "compare.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


REFUSED = {
    "odd_derived/nan_affine_seg.nii.gz": "non_finite_affine",
    "odd_derived/truncated_seg.nii.gz": "truncated_file",
    "odd_derived/zero_byte.nii.gz": "empty_file",
    "odd_derived/zero_pixdim_seg.nii.gz": "bad_spacing",
    "sts_002/mr_t1.nii.gz": "intensity_image",
}
BY_NUMPY = {"odd_derived/shear_bright.nii.gz": "sheared", "odd_derived/qs_mismatch_seg.nii.gz": "sform"}


def test_every_file_agrees(compare, data_folder, tmp_path, capsys):
    out = tmp_path / "rows.json"
    code = compare.main([str(data_folder), "--reference", str(data_folder / "reference.json"), "--json", str(out)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    rows = {row["file"]: row for row in json.loads(out.read_text(encoding="utf-8"))}
    assert len(rows) == 38
    refused = {name: row["reason"].split(":")[0] for name, row in rows.items() if row["verdict"] == "refused"}
    assert refused == REFUSED
    assert {name for name, row in rows.items() if row["against"] == "numpy"} == set(BY_NUMPY)
    for name, word in BY_NUMPY.items():
        assert word in rows[name]["reason"]
    assert sum(row["reference_difference"] is not None for row in rows.values()) == 30
    assert sum(row["surface_difference_mm"] is not None for row in rows.values()) == 3
    for row in rows.values():
        assert row["count_difference"] == row["box_difference"] == 0
    assert "33 agrees, 5 refused, 0 DIFFERS" in printed


def test_a_difference_is_told(compare, data_folder, tmp_path, capsys):
    name = "ibsi_digital_phantom/mask.nii.gz"
    stored = json.loads((data_folder / "reference.json").read_text(encoding="utf-8"))["labels"][name]
    stored["structures"]["1"]["voxels"] += 1
    (tmp_path / "wrong.json").write_text(json.dumps({"labels": {"mask.nii.gz": stored}}), encoding="utf-8")
    folder = data_folder / "ibsi_digital_phantom"
    assert compare.main([str(folder), "--reference", str(tmp_path / "wrong.json")]) == 1
    printed = capsys.readouterr().out
    assert "id 1 against the reference: count and box differ" in printed
    assert "0 agrees, 0 refused, 1 DIFFERS" in printed


@pytest.mark.parametrize("change", ["count", "start", "volume_mm3", "centroid_ras_mm", "missing"])
def test_each_kind_of_difference_is_found(change, compare, data_folder, monkeypatch):
    original = compare._itk_facts

    def other(image, ids, *, oriented):
        facts = original(image, ids, oriented=oriented)
        fact = facts[2]
        if change == "count":
            fact.count += 1
        elif change == "start":
            fact.start = (fact.start[0] + 1, *fact.start[1:])
        elif change == "volume_mm3":
            fact.volume_mm3 *= 1 + 2e-6
        elif change == "centroid_ras_mm":
            fact.centroid_ras_mm = (fact.centroid_ras_mm[0] + 1e-3, *fact.centroid_ras_mm[1:])
        else:
            del facts[2]
        return facts

    monkeypatch.setattr(compare, "_itk_facts", other)
    row = compare.compare_file(data_folder / "odd/draw.nii.gz", "draw")
    assert row.verdict == "DIFFERS"
    assert len(row.problems) == 1


def test_totalsegmentators_own_volumes(data_folder):
    published = json.loads((data_folder / "ct_totalseg/example_seg_fast_statistics.json").read_text(encoding="utf-8"))
    measurement = sqa.measure(data_folder / "ct_totalseg/example_seg_fast.nii.gz", label_map="totalsegmentator_v2")
    assert len(published) == 117
    assert {name: found.volume_mm3 for name, found in measurement.structures.items()} == {
        name: values["volume"] for name, values in published.items()
    }
    absent = {name for name, values in published.items() if values["volume"] == 0}
    assert absent == {name for name, found in measurement.structures.items() if found.status == ["absent"]}
    assert len(absent) == 77


def test_published_vertebra_volumes(data_folder):
    report = json.loads((data_folder / "ct_totalseg/spine/spine_report.json").read_text(encoding="utf-8"))["results"]
    names = {19 + number: f"vertebrae_L{number}" for number in range(1, 6)}
    path = data_folder / "ct_totalseg/spine/totalseg_vertebrae_pp_refined.nii.gz"
    measurement = sqa.measure(path, label_map=names, ignore=[19])
    for name in names.values():
        assert round(measurement.structures[name].volume_ml, 2) == report[f"{name}_volume_ml"]


def test_ibsi_digital_phantom(data_folder):
    found = sqa.measure(data_folder / "ibsi_digital_phantom/mask.nii.gz").structures["label_1"]
    assert (found.voxel_count, found.volume_mm3) == (74, 592.0)
    assert found.box.extent_mm == (10, 8, 8)  # volume density in the box of whole voxels: 556 / 640


@pytest.fixture(scope="module")
def expected(data_folder):
    return sqa.measure(data_folder / "ct_totalseg/example_seg.nii.gz").structures


class TestOddFiles:
    """What was made from one segmentation gives its figures, or is refused."""

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("singleton4d_seg", {}),
            ("negative_background_seg", {"ignore": [-1]}),
            ("qs_mismatch_seg", {"form": "sform"}),
        ],
    )
    def test_same_figures(self, name, options, expected, data_folder):
        assert sqa.measure(data_folder / f"odd_derived/{name}.nii.gz", **options).structures == expected

    def test_metres(self, expected, data_folder):
        found = sqa.measure(data_folder / "odd_derived/metre_units_seg.nii.gz").structures
        for name, structure in expected.items():
            assert found[name].volume_mm3 == pytest.approx(structure.volume_mm3, rel=1e-6)
            assert found[name].centroid_ras_mm == pytest.approx(structure.centroid_ras_mm, abs=1e-4)

    def test_turned_in_space(self, expected, data_folder):
        path = data_folder / "odd_derived/oblique_seg.nii.gz"
        pairs = [("label_1", "label_5"), ("label_2", "label_3")]
        straight = sqa.measure(data_folder / "ct_totalseg/example_seg.nii.gz", distances=pairs)
        turned = sqa.measure(path, distances=pairs)
        for name, structure in expected.items():
            assert turned.structures[name].volume_mm3 == pytest.approx(structure.volume_mm3, rel=1e-6)
            assert turned.structures[name].box.extent_mm == pytest.approx(structure.box.extent_mm, rel=1e-6)
            assert turned.structures[name].volume_band_ml == pytest.approx(structure.volume_band_ml, rel=1e-6)
        for one, other in zip(straight.pairs, turned.pairs, strict=True):
            assert one.distance_mm == pytest.approx(other.distance_mm, rel=1e-6)

    def test_a_cropped_grid_lies_at_the_same_place(self, expected, data_folder):
        cropped = sqa.measure(data_folder / "odd_derived/cropped_grid_seg.nii.gz").structures
        whole = [name for name, found in cropped.items() if not found.truncated_faces]
        assert len(whole) == 4
        for name in whole:
            assert cropped[name].voxel_count == expected[name].voxel_count
            assert cropped[name].centroid_ras_mm == pytest.approx(expected[name].centroid_ras_mm, abs=1e-4)

    @pytest.mark.parametrize(
        ("name", "code"),
        [("cropped_grid_seg", "other_extent"), ("halfvoxel_shift_seg", "other_place"), ("oblique_seg", "other_place")],
    )
    def test_pairs_are_checked(self, name, code, data_folder):
        image = data_folder / "ct_totalseg/example_seg_fast.nii.gz"
        with pytest.raises(PairingError) as caught:
            sqa.measure(data_folder / f"odd_derived/{name}.nii.gz", image=image)
        assert caught.value.code == code
        assert sqa.measure(data_folder / "ct_totalseg/example_seg.nii.gz", image=image).errors == []

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            *REFUSED.items(),
            ("odd_derived/qs_mismatch_seg.nii.gz", "contradictory_geometry"),
            ("odd_derived/negative_background_seg.nii.gz", "negative_label"),
        ],
    )
    def test_refusals(self, name, code, data_folder):
        with pytest.raises(SpatialQAError) as caught:
            sqa.measure(data_folder / name)
        assert caught.value.code == code
        assert caught.value.file == str(data_folder / name)

    def test_nothing_there(self, data_folder):
        empty = sqa.measure(data_folder / "odd_derived/empty_seg.nii.gz", label_map="totalsegmentator_v2")
        assert {tuple(found.status) for found in empty.structures.values()} == {("absent",)}

    def test_shear(self, data_folder):
        found = sqa.measure(data_folder / "odd_derived/shear_bright.nii.gz")
        structure = found.structures["label_1"]
        overstated = structure.voxel_count * np.prod(found.geometry.spacing_mm)
        assert overstated / structure.volume_mm3 == pytest.approx(1.0545, abs=1e-4)
        assert "sheared" in structure.status
