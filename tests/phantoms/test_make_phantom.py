"""The synthetic abdomen: where things are, that nothing overlaps, and that voxels agree with the analytic truth."""

from __future__ import annotations

import itertools
import math

import nibabel as nib
import numpy as np
import pytest

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.phantoms import abdomen, make_phantom
from monai_spatialqa.phantoms.layout import ORGANS, SHIFT_MM, SIZE_CHANGE, TUMOURS, _build
from monai_spatialqa.phantoms.painting import world_slabs

SMALL = {"shape": (60, 45, 50), "spacing_mm": (6.0, 6.0, 8.0)}
GRIDS = {
    "default": {},
    "isotropic": {"shape": (96, 72, 96), "spacing_mm": (4.0, 4.0, 4.0)},
    "anisotropic": {"shape": (150, 90, 60), "spacing_mm": (2.5, 3.0, 7.0)},
    "oblique": {"rotation_deg": (10, -7, 15), "axcodes": "LPS"},
    "one angle": {"rotation_deg": 20.0},
    "sheared": {"shear": math.tan(math.radians(15))},
    "sheared, oblique, permuted": {"shear": -0.2, "rotation_deg": (4, 6, -8), "axcodes": "SLA"},
    "far from the origin": {"center_ras_mm": (35.5, -180.25, 1312.0), "axcodes": "LAS"},
}


@pytest.fixture(scope="module")
def directions():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((4000, 3))
    return np.concatenate([vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.eye(3), -np.eye(3)])


def test_no_seed_can_make_structures_overlap(directions):
    """Worst case: both structures moved towards each other and grown by all that the seed may do."""

    class NoVariation:
        def uniform(self, low, high, count):
            return np.zeros(count)

    shapes = {organ.name: _build(organ, NoVariation(), "CT") for organ in ORGANS}
    spans = {name: shape.span_mm(directions) for name, shape in shapes.items()}
    growth = {
        organ.name: np.full(len(directions), organ.size_mm[0])
        if organ.kind == "tube"
        else (spans[organ.name][1] - spans[organ.name][0]) / 2
        for organ in ORGANS
    }
    towards = 2 * SHIFT_MM * np.abs(directions).sum(axis=1)
    for a, b in itertools.combinations(shapes, 2):
        gap = spans[b][0] - spans[a][1] - towards - SIZE_CHANGE * (growth[a] + growth[b])
        assert gap.max() > 0.5, (a, b)


def test_structures_of_many_seeds_are_apart(directions):
    for seed in range(30):
        shapes = {name: shape for name, shape in abdomen(seed).items() if not name.endswith("tumor")}
        spans = {name: shape.span_mm(directions) for name, shape in shapes.items()}
        for a, b in itertools.combinations(shapes, 2):
            # An empty slab between the two across some direction proves them apart.
            assert (spans[b][0] - spans[a][1]).max() > 0, (seed, a, b)


@pytest.mark.parametrize("seed", range(12))
def test_no_voxel_belongs_to_two_structures(seed):
    phantom = make_phantom(seed, **SMALL)
    owners = np.zeros(phantom.label.shape, dtype=int)
    for where, points in world_slabs(phantom.affine, (0, 0, 0), phantom.label.shape):
        for shape in phantom.shapes.values():
            owners[where] += shape.contains(points)
    assert owners.max() == 1
    assert ((owners == 1) == (phantom.label > 0)).all()


@pytest.mark.parametrize("seed", range(40))
def test_tumours_are_holes_of_their_organs(seed):
    shapes = abdomen(seed)
    holes = {hole.name: organ for organ in shapes.values() for hole in organ.holes}
    assert sorted(holes) == sorted(kind.name for kind in TUMOURS)
    for name, organ in holes.items():
        assert organ.volume_mm3 == pytest.approx(organ.solid_volume_mm3 - shapes[name].volume_mm3)
        assert not organ.contains(shapes[name].at_ras_mm)


@pytest.mark.parametrize("seed", range(20))
def test_organs_are_where_a_textbook_has_them(seed):
    at = {name: np.asarray(shape.center_ras_mm) for name, shape in abdomen(seed).items()}
    for name in ("liver", "gallbladder", "kidney_right", "inferior_vena_cava", "liver_tumor"):
        assert at[name][0] > 0, name
    for name in ("spleen", "stomach", "kidney_left", "aorta"):
        assert at[name][0] < 0, name
    assert at["stomach"][1] > at["pancreas"][1] > at["aorta"][1] > at["vertebrae_L1"][1]
    assert at["kidney_left"][2] > at["kidney_right"][2]
    assert at["liver"][2] > at["gallbladder"][2] > at["urinary_bladder"][2]
    column = [at[f"vertebrae_{level}"][2] for level in ("T12", "L1", "L2", "L3", "L4", "L5")]
    assert column == sorted(column, reverse=True)


def test_names_and_ids_follow_totalsegmentator():
    ids = {name: shape.label for name, shape in make_phantom(0, **SMALL).shapes.items()}
    known = {
        "spleen": 1,
        "kidney_right": 2,
        "kidney_left": 3,
        "gallbladder": 4,
        "liver": 5,
        "stomach": 6,
        "pancreas": 7,
        "urinary_bladder": 21,
        "vertebrae_L5": 27,
        "vertebrae_L4": 28,
        "vertebrae_L3": 29,
        "vertebrae_L2": 30,
        "vertebrae_L1": 31,
        "vertebrae_T12": 32,
        "aorta": 52,
        "inferior_vena_cava": 63,
        "liver_tumor": 201,
        "kidney_tumor": 202,
        "pancreas_tumor": 203,
    }
    assert ids == known


@pytest.mark.parametrize("grid", GRIDS)
def test_voxels_agree_with_the_analytic_truth(grid):
    phantom = make_phantom(4, **GRIDS[grid])
    assert phantom.scale == 1.0
    assert not phantom.truncated_faces
    assert sorted(np.unique(phantom.label)) == [0, *phantom.label_names]
    half = np.abs(phantom.affine[:3, :3]).sum(axis=1) / 2
    for name, shape in phantom.shapes.items():
        indices = np.argwhere(phantom.label == shape.label)
        points = indices @ phantom.affine[:3, :3].T + phantom.affine[:3, 3]
        volume = len(points) * phantom.voxel_volume_mm3
        assert abs(volume - shape.volume_mm3) <= shape.volume_error_bound_mm3(phantom.affine), name
        bound = np.asarray(shape.box_error_bound_mm(phantom.affine))
        low, high = np.asarray(shape.world_box_ras_mm)
        assert (np.abs(points.min(axis=0) - half - low) <= bound).all(), name
        assert (np.abs(points.max(axis=0) + half - high) <= bound).all(), name
        assert np.abs(points.mean(axis=0) - shape.centroid_ras_mm).max() < 3.5, name


def test_volume_follows_the_determinant_under_shear():
    phantom = make_phantom(4, shear=math.tan(math.radians(15)))
    assert phantom.spacing_mm == pytest.approx((3, 3, 4))
    assert phantom.voxel_volume_mm3 == pytest.approx(36 * math.cos(math.radians(15)))
    liver = phantom.shapes["liver"]
    count = int((phantom.label == liver.label).sum())
    assert count * phantom.voxel_volume_mm3 == pytest.approx(liver.volume_mm3, rel=0.01)
    assert count * 36 > 1.03 * liver.volume_mm3


def test_a_seed_decides_everything():
    first, again, other = make_phantom(5, **SMALL), make_phantom(5, **SMALL), make_phantom(6, **SMALL)
    assert (first.image == again.image).all()
    assert (first.label == again.label).all()
    assert first.shapes == again.shapes
    assert (first.label != other.label).any()
    assert first.shapes != other.shapes


def test_tumours_change_nothing_else():
    with_tumours, without = make_phantom(5, **SMALL), make_phantom(5, **SMALL, tumour=False)
    assert set(with_tumours.shapes) - set(without.shapes) == {"liver_tumor", "kidney_tumor", "pancreas_tumor"}
    differ = with_tumours.label != without.label
    assert set(np.unique(with_tumours.label[differ])) <= {201, 202, 203}
    assert (with_tumours.image[~differ] == without.image[~differ]).all()
    assert without.label.dtype == np.uint8


@pytest.mark.parametrize("axcodes", ["LPS", "LAS", "RPI", "PIR", "SAL", "AIL", ("I", "R", "A")])
def test_orientation_only_reorders_voxels(axcodes):
    grid = {**SMALL, "rotation_deg": (5, -4, 9)}
    plain, turned = make_phantom(2, **grid), make_phantom(2, **grid, axcodes=axcodes)
    assert turned.axcodes == "".join(axcodes)
    for name in ("image", "label"):
        back = nib.as_closest_canonical(nib.Nifti1Image(getattr(turned, name), turned.affine))
        assert back.affine == pytest.approx(plain.affine)
        assert (np.asarray(back.dataobj) == getattr(plain, name)).all()
        assert getattr(turned, name).flags.f_contiguous
    assert turned.shapes == plain.shapes


def test_one_scene_on_every_grid():
    """The anatomy stands still while grids turn over it."""
    turned = make_phantom(9, rotation_deg=(8, 3, -12), axcodes="PIL")
    assert make_phantom(9).shapes == turned.shapes


@pytest.mark.parametrize(
    ("face", "cut"),
    [
        ("left", "spleen"),
        ("right", "liver"),
        ("posterior", "vertebrae_T12"),
        ("anterior", "liver"),
        ("inferior", "urinary_bladder"),
        ("superior", "liver"),
    ],
)
@pytest.mark.parametrize("axcodes", ["RAS", "LIP"])
def test_truncation_cuts_one_face(face, cut, axcodes):
    whole, phantom = make_phantom(3, axcodes=axcodes), make_phantom(3, axcodes=axcodes, truncate=face)
    assert phantom.label.shape == whole.label.shape
    assert face in phantom.truncated_faces[cut]
    assert all(faces == (face,) for faces in phantom.truncated_faces.values())
    assert phantom.shapes == whole.shapes
    label = phantom.shapes[cut].label
    kept = (phantom.label == label).sum() / (whole.label == label).sum()
    assert 0.5 < kept < 0.95
    for name in set(phantom.shapes) - set(phantom.truncated_faces):
        label = phantom.shapes[name].label
        assert (phantom.label == label).sum() == (whole.label == label).sum(), name
    steps = np.linalg.solve(whole.affine[:3, :3], phantom.affine[:3, 3] - whole.affine[:3, 3])
    assert steps == pytest.approx(np.rint(steps))


def test_truncated_faces_are_those_of_the_outermost_layer():
    phantom = make_phantom(3, truncate="superior")
    top = {int(value) for value in np.unique(phantom.label[:, :, -1])} - {0}
    assert top == {phantom.shapes[name].label for name in phantom.truncated_faces}


def test_intensities_are_the_shapes_means():
    for modality, low in (("CT", -1024), ("MR", 0)):
        phantom = make_phantom(8, modality=modality, noise_hu=15.0)
        assert phantom.image.dtype == np.int16
        assert phantom.image.min() >= low
        for name, shape in phantom.shapes.items():
            values = phantom.image[phantom.label == shape.label]
            assert abs(values.mean() - shape.intensity) < 5 * 15 / math.sqrt(len(values)) + 0.01, name
            if len(values) > 500:
                assert values.std() == pytest.approx(15, rel=0.15)
    clean = make_phantom(8, **SMALL, noise_hu=0)
    assert set(np.unique(clean.image[clean.label == 5])) == {round(clean.shapes["liver"].intensity)}


def test_the_anatomy_shrinks_into_a_small_field_of_view():
    phantom = make_phantom(1, shape=(64, 48, 64), spacing_mm=(2.0, 2.0, 2.0))
    assert 0.2 < phantom.scale < 0.4
    outer = phantom.label.copy()
    outer[1:-1, 1:-1, 1:-1] = 0
    assert not outer.any()
    volume = (phantom.label == 5).sum() * 8.0
    assert volume == pytest.approx(phantom.shapes["liver"].volume_mm3, rel=0.03)
    fixed = make_phantom(1, shape=(64, 48, 64), spacing_mm=(2.0, 2.0, 2.0), scale=0.2)
    assert fixed.shapes["liver"].volume_mm3 == pytest.approx(
        phantom.shapes["liver"].volume_mm3 * (0.2 / phantom.scale) ** 3
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"truncate": "top"}, "unknown face"),
        ({"modality": "PET"}, "unknown modality"),
        ({"noise_hu": -1}, "noise"),
        ({"noise_hu": math.nan}, "noise"),
        ({"scale": 1.5}, "does not fit"),
        ({"scale": 0}, "does not fit"),
        ({"spacing_mm": (1, 0, 1)}, "spacing_mm"),
        ({"shape": (10, 10)}, "three whole numbers"),
        ({"shape": (10, 10.5, 10)}, "three whole numbers"),
        ({"shape": (3, 3, 3)}, "too small"),
        ({"axcodes": "RAR"}, "axcodes"),
        ({"axcodes": "XYZ"}, "axcodes"),
        ({"rotation_deg": 60}, "turned so far"),
        ({"rotation_deg": (1, 2)}, "rotation_deg"),
        ({"rotation_deg": math.nan}, "finite"),
        ({"center_ras_mm": (0, 0, math.inf)}, "center_ras_mm"),
    ],
)
def test_impossible_requests_are_refused(settings, said):
    with pytest.raises(SettingsError, match=said):
        make_phantom(0, **settings)


@pytest.mark.parametrize(
    ("settings", "qform_code"),
    [({}, 1), ({"axcodes": "LPS"}, 1), ({"rotation_deg": (5, 6, 7), "axcodes": "PSR"}, 1), ({"shear": 0.2}, 0)],
)
def test_saved_files_hold_the_same_grid(tmp_path, settings, qform_code):
    phantom = make_phantom(6, **SMALL, **settings)
    paths = phantom.save(tmp_path / "new folder", "case 1")
    assert [path.name for path in paths] == ["case 1_image.nii.gz", "case 1_label.nii.gz"]
    for path, array in zip(paths, (phantom.image, phantom.label), strict=True):
        nifti = nib.load(path)
        assert (np.asarray(nifti.dataobj) == array).all()
        assert nifti.get_data_dtype() == array.dtype
        assert (int(nifti.header["sform_code"]), int(nifti.header["qform_code"])) == (1, qform_code)
        assert nifti.get_sform() == pytest.approx(phantom.affine, abs=1e-3)
        if qform_code:
            assert nifti.get_qform() == pytest.approx(phantom.affine, abs=1e-3)
        assert nifti.header.get_zooms() == pytest.approx(phantom.spacing_mm)
        assert nifti.header.get_xyzt_units()[0] == "mm"
    assert sorted(path.name for path in (tmp_path / "new folder").iterdir()) == [path.name for path in paths]


def test_equal_phantoms_make_equal_files(tmp_path):
    for folder in ("a", "b"):
        make_phantom(6, **SMALL).save(tmp_path / folder, "x")
    for name in ("x_image.nii.gz", "x_label.nii.gz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("stem", ["", "a/b", "../x"])
def test_a_stem_is_no_path(tmp_path, stem):
    with pytest.raises(SettingsError, match="stem"):
        make_phantom(6, **SMALL).save(tmp_path, stem)


def test_simpleitk_sees_the_same_places(tmp_path):
    sitk = pytest.importorskip("SimpleITK")
    phantom = make_phantom(6, **SMALL, rotation_deg=(5, 6, 7), axcodes="LIP")
    _, path = phantom.save(tmp_path, "case")
    statistics = sitk.LabelShapeStatisticsImageFilter()
    statistics.Execute(sitk.ReadImage(str(path)))
    for label, name in phantom.label_names.items():
        indices = np.argwhere(phantom.label == label)
        centroid = indices.mean(axis=0) @ phantom.affine[:3, :3].T + phantom.affine[:3, 3]
        assert np.asarray(statistics.GetCentroid(label)) * (-1, -1, 1) == pytest.approx(centroid, abs=1e-2), name
        assert statistics.GetPhysicalSize(label) == pytest.approx(len(indices) * phantom.voxel_volume_mm3, rel=1e-5)


def test_a_phantoms_label_map_knows_tumours_and_vessels():
    label_map = make_phantom(7, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0)).label_map
    assert label_map.tumours == {
        "kidney": ("kidney_tumor",),
        "pancreas": ("pancreas_tumor",),
        "liver": ("liver_tumor",),
    }
    assert label_map.group("vessels") == ["aorta", "inferior_vena_cava"]


def test_varied_tumours_lie_in_on_and_beside_their_organ():
    """Their volumes are known all the same, and those on a kidney share no voxel with anything."""
    seen = set()
    for seed in range(9):
        phantom = make_phantom(seed, varied=True)
        voxel_mm3 = abs(np.linalg.det(phantom.affine[:3, :3]))
        for name in ("liver_tumor", "kidney_tumor", "pancreas_tumor", "kidney_left", "kidney_right"):
            solid = phantom.shapes[name]
            found = np.count_nonzero(phantom.label == solid.label) * voxel_mm3
            assert abs(found - solid.volume_mm3) <= solid.volume_error_bound_mm3(phantom.affine), (seed, name)
        tumour = phantom.shapes["kidney_tumor"]
        hosts = [phantom.shapes[name] for name in ("kidney_left", "kidney_right")]
        inside = any(kidney.solid_contains(np.array([tumour.center_ras_mm]))[0] for kidney in hosts)
        lateral = abs(tumour.center_ras_mm[0]) > 80 * phantom.scale
        seen.add("inside" if inside else "lateral" if lateral else "medial")
    assert seen == {"inside", "lateral", "medial"}
