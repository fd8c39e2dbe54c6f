"""Stock loaders mend broken headers in silence; ValidateGeometryd looks at the raw header again."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from monai.transforms import Compose, LoadImaged, Orientationd, Spacingd

from monai_spatialqa import transforms
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.records import Status
from monai_spatialqa.transforms.inputs import check_label

STOCK = LoadImaged(["label"], dtype=None, ensure_channel_first=True)
OWN = LoadImaged(["label"], reader=NiftiReader(), dtype=None, ensure_channel_first=True)


def sform_is_identity(header):
    header["srow_x"], header["srow_y"], header["srow_z"] = np.eye(4)[:3]


def no_spacing_along_k(header):
    header["pixdim"][3] = 0


def zero_column(header):
    header["srow_x"], header["srow_y"], header["srow_z"] = np.diag([2.0, 3.0, 0.0, 1.0])[:3]


def statuses(label, structures):
    return transforms.MeasureVolume(structures)(label)["volume_status"].tolist()


def test_a_stock_load_is_unverified_until_validated(structures, scene, write_nifti, differences):
    path = write_nifti("a.nii.gz", scene, np.diag([-2.0, 3.0, 4.0, 1.0]))
    stock = STOCK({"label": path})
    assert check_label(stock["label"]).geometry == "unverified"
    assert statuses(stock["label"], structures) == [256, 256, 257]
    validated = transforms.ValidateGeometryd("label")(stock)
    assert check_label(validated["label"]).geometry == "verified"
    step = transforms.MeasureStructures(structures, "all")
    assert not differences(step(validated["label"]), step(OWN({"label": path})["label"]))


def test_own_reader_has_validated_already(scene, write_nifti):
    label = OWN({"label": write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))})["label"]
    assert transforms.ValidateGeometry()(label) is label


def test_voxels_are_shared_and_the_input_kept(scene, write_nifti):
    data = STOCK({"label": write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))})
    data = Orientationd("label", "LPS", labels=None)(data)
    label, meta = data["label"], copy.deepcopy(data["label"].meta)
    result = transforms.ValidateGeometryd("label")(data)["label"]
    assert result is not label
    assert result.data_ptr() == label.data_ptr()
    assert str(label.meta) == str(meta)
    assert set(result.meta) - set(meta) == {"spatialqa_geometry", "spatialqa_notes"}
    assert torch.equal(result.affine, label.affine)
    assert result.applied_operations == label.applied_operations
    assert Orientationd("label", "LPS", labels=None)


@pytest.mark.parametrize("after", [[], [Orientationd("label", "RAS", labels=None)]])
def test_br004_a_unit_that_stock_loaders_ignore(after, structures, scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(500, 500, 500), unit="micron")
    with refused("affine_mismatch", "a.nii.gz", "500", "0.5", "NiftiReader"):
        Compose([STOCK, *after, transforms.ValidateGeometryd("label")])({"label": path})
    found = Compose([OWN, transforms.ValidateGeometryd("label"), transforms.MeasureVolumed("label", structures)])
    assert found({"label": path})["measured_label"]["volume_mm3"].tolist() == [4.5, 3, 0]


def test_a_unit_without_a_form(scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(500, 500, 500), unit="micron", forms=(0, 0))
    with refused("affine_mismatch", "500", "0.5"):
        transforms.ValidateGeometryd("label")(STOCK({"label": path}))


def test_br017_no_form_code(structures, scene, write_nifti):
    """Sizes are measured; places and directions are not, and the status says so."""
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4), forms=(0, 0))
    for loader in (STOCK, OWN):
        label = transforms.ValidateGeometryd("label")(loader({"label": path}))["label"]
        found = transforms.MeasureStructures(structures)(label)
        assert found["volume_mm3"].tolist() == [864, 576, 0]
        assert found["extent_mm"][0].tolist() == [6, 12, 12]
        assert found["center_ras_mm"].isnan().all()
        assert found["volume_status"].tolist()[:2] == [Status.ORIENTATION_UNKNOWN] * 2
        assert not transforms.MeasureDirection(structures)(label)["direction"].any()


def test_br020_contradictory_forms(scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4), edit=sform_is_identity)
    with refused("contradictory_geometry", "a.nii.gz", "case: c3"):
        Compose([STOCK, transforms.ValidateGeometryd("label")])({"label": path, "case_id": "c3"})
    with refused("contradictory_geometry"):
        OWN({"label": path})


def test_br020_one_form_asked_for(structures, scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4), edit=sform_is_identity)
    for form, volume in (("sform", 36), ("qform", 864)):
        reader = LoadImaged("label", reader=NiftiReader(form), dtype=None, ensure_channel_first=True)
        chain = Compose([reader, transforms.ValidateGeometryd("label", form=form)])
        found = transforms.MeasureVolume(structures)(chain({"label": path})["label"])
        assert found["volume_mm3"][0] == volume
    # the stock loader takes the qform in silence: with form="sform" that is not what was asked for
    stock = STOCK({"label": path})
    assert transforms.ValidateGeometryd("label", form="qform")(stock)
    with refused("affine_mismatch"):
        transforms.ValidateGeometryd("label", form="sform")(stock)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"spacing": (2, 3, 4), "forms": (0, 1), "edit": no_spacing_along_k}, "bad_spacing"),
        ({"spacing": (2, 3, 4), "forms": (1, 0), "edit": zero_column}, "singular_affine"),
    ],
    ids=["BR-027 zero spacing", "BR-030 singular"],
)
def test_faults_that_stock_loaders_repair(options, code, scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, **options)
    for loader in (STOCK, OWN):
        with refused(code, "a.nii.gz"):
            Compose([loader, transforms.ValidateGeometryd("label")])({"label": path})


def test_a_file_that_is_gone(scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    data = STOCK({"label": path})
    path.unlink()
    with refused("missing_file", "a.nii.gz"):
        transforms.ValidateGeometryd("label")(data)


def test_a_file_that_has_changed(scene, write_nifti, refused):
    path = write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))
    data = STOCK({"label": path})
    write_nifti("a.nii.gz", scene, spacing=(2, 3, 5))
    with refused("affine_mismatch"):
        transforms.ValidateGeometryd("label")(data)


def test_an_affine_changed_by_hand(scene, write_nifti, refused):
    data = STOCK({"label": write_nifti("a.nii.gz", scene, spacing=(2, 3, 4))})
    label = data["label"]
    del label.meta["original_affine"]
    assert check_label(transforms.ValidateGeometry()(label)).geometry == "verified"
    label.affine = torch.diag(torch.tensor([2.0, 3.0, 4.5, 1.0]))
    with refused("affine_mismatch"):
        transforms.ValidateGeometry()(label)


def test_an_affine_kept_in_lps(structures, scene, write_nifti):
    affine = np.array([[0, -3, 0, 5], [2, 0, 0, -7], [0, 0, 4, 11], [0, 0, 0, 1.0]])
    path = write_nifti("a.nii.gz", scene, affine)
    label = STOCK({"label": path})["label"]
    lps = torch.diag(torch.tensor([-1.0, -1, 1, 1], dtype=torch.float64)) @ label.affine
    label.meta.update(affine=lps, original_affine=lps.numpy(), space="LPS")
    assert check_label(transforms.ValidateGeometry()(label)).geometry == "verified"


@pytest.mark.parametrize("file", [None, "scan.nrrd", "scan.mha"])
def test_headers_that_cannot_be_read_again(file, structures, scene):
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    meta = {"original_affine": affine, **({} if file is None else {"filename_or_obj": file})}
    label = MetaTensor(torch.as_tensor(scene[None]), affine=torch.as_tensor(affine), meta=meta)
    validated = transforms.ValidateGeometry()(label)
    assert check_label(validated).geometry == "unverified"
    assert statuses(validated, structures) == [256, 256, 257]


@pytest.fixture
def pair(write_nifti, block):
    """Load an image and a label; the image's voxels, affine and spacing may differ."""

    def load(image=None, affine=None, **options):
        array = np.zeros((10, 12, 8), np.int16) if image is None else image
        options = {"spacing": (2, 3, 4), **options} if affine is None else options
        paths = {
            "label": write_nifti("label.nii.gz", block, spacing=(2, 3, 4)),
            "image": write_nifti("image.nii.gz", array, affine, **options),
        }
        loader = LoadImaged(["image", "label"], reader=NiftiReader(), dtype=None, ensure_channel_first=True)
        return loader(paths)

    return load


def moved(x):
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[0, 3] = x
    return affine


def test_the_image_may_be_turned_or_of_another_resolution(pair):
    check = transforms.ValidateGeometryd(["image", "label"], reference_key="image")
    assert check(pair())
    assert check(pair(np.zeros((8, 10, 12), np.int16), [[0, -2, 0, 18], [0, 0, 3, 0], [4, 0, 0, 0], [0, 0, 0, 1]]))
    affine = np.diag([1.0, 1.5, 2.0, 1.0])
    affine[:3, 3] = (-0.5, -0.75, -1)
    assert check(pair(np.zeros((20, 24, 16), np.int16), affine))
    assert check(pair(np.zeros((10, 12, 8, 2), np.int16)))


def test_br049_same_shape_other_place(pair, refused):
    with refused("other_place", "14.000 mm", "label.nii.gz", "key: label"):
        transforms.ValidateGeometryd("label", reference_key="image")(pair(affine=moved(14)))


def test_br048_one_slice_short(pair, refused):
    with refused("other_extent", "(10, 12, 8)", "(10, 12, 7)"):
        transforms.ValidateGeometryd("label", reference_key="image")(pair(np.zeros((10, 12, 7), np.int16)))


def test_an_interpolated_image_is_a_fine_reference(pair):
    """Only label maps must not be interpolated."""
    data = Spacingd(["image", "label"], (1, 1.5, 2), mode=("bilinear", "nearest"))(pair())
    assert transforms.ValidateGeometryd(["image", "label"], reference_key="image")(data)


def test_a_reference_that_is_missing_or_unusable(pair, refused):
    data = pair()
    with refused("bad_settings", "ct", "image, label"):
        transforms.ValidateGeometryd("label", reference_key="ct")(data)
    with refused("no_affine", "key: image"):
        transforms.ValidateGeometryd("label", reference_key="image")({**data, "image": data["image"].numpy()})


def test_keys_and_settings(refused):
    with pytest.raises(KeyError):
        transforms.ValidateGeometryd("label")({"image": 1})
    assert transforms.ValidateGeometryd("label", allow_missing_keys=True)({"image": 1}) == {"image": 1}
    for make in (transforms.ValidateGeometry, lambda form: transforms.ValidateGeometryd("label", form=form)):
        with refused("bad_settings", "form"):
            make("both")
