"""A folder of one mask per structure, through ``LoadImaged`` as MONAI users load it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from monai.transforms import Compose, LoadImage, LoadImaged, Orientationd

from monai_spatialqa.anatomy import load_label_map
from monai_spatialqa.errors import FileReadError, GeometryError, LabelMapError, LabelValueError, SpatialQAError
from monai_spatialqa.readers import MaskFolderReader
from monai_spatialqa.readers.masks import list_masks
from monai_spatialqa.readers.meta import read_geometry_meta, read_segments_meta
from tests.conftest import nifti_bytes

SHAPE = (6, 5, 4)
SPACING = (2.0, 3.0, 4.0)
ORGANS = {1: "liver", 2: "spleen", 7: "aorta"}


def mask(*boxes, dtype=np.uint8, value=1):
    array = np.zeros(SHAPE, dtype)
    for box in boxes:
        array[tuple(slice(*ends) for ends in box)] = value
    return array


LIVER = mask(((0, 3), (1, 4), (1, 3)))
SPLEEN = mask(((2, 5), (1, 2), (1, 3)))


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "segmentations"
    place.mkdir()

    def write(name, array, **header):
        (place / name).write_bytes(nifti_bytes(array, **({"spacing": SPACING} | header)))
        return place / name

    write("liver.nii.gz", LIVER)
    write("spleen.nii.gz", SPLEEN)
    return place, write


def load(path, structures=None, **options):
    return LoadImage(
        reader=MaskFolderReader(structures, **options), dtype=None, ensure_channel_first=True, image_only=True
    )(path)


def refused(path, kind, **options):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - MONAI wraps, or does not
        load(path, **options)
    error = caught.value
    while not isinstance(error, SpatialQAError):
        error = error.__cause__ or error.__context__
    assert isinstance(error, kind)
    return error


def test_br_052_overlaps_are_kept_in_layers(folder):
    loaded = load(str(folder[0]), ORGANS)
    assert tuple(loaded.shape) == (2, *SHAPE)
    assert ((loaded == 1).any(0).numpy() == (LIVER > 0)).all()
    assert ((loaded == 2).any(0).numpy() == (SPLEEN > 0)).all()
    assert read_segments_meta(loaded.meta) == {1: "liver", 2: "spleen"}
    assert np.allclose(np.diag(loaded.affine.numpy()), [*SPACING, 1])


def test_without_overlaps_there_is_one_layer_of_the_map_s_ids(folder):
    place, write = folder
    write("spleen.nii.gz", mask(((4, 6), (0, 2), (0, 2))))
    loaded = load(str(place), {300: "liver", 2: "spleen"})
    assert tuple(loaded.shape) == (1, *SHAPE)
    assert loaded.dtype.itemsize == 2
    assert sorted(loaded.unique().tolist()) == [0, 2, 300]


def test_br_054_other_files_are_passed_over_and_listed(folder):
    place, _ = folder
    for name in ("statistics.json", "preview.png", "._liver.nii.gz"):
        (place / name).write_bytes(b"x")
    (place / "old").mkdir()
    listing = list_masks(place)
    assert [item.name for item in listing.masks] == ["liver", "spleen"]
    assert listing.skipped == ("._liver.nii.gz", "old", "preview.png", "statistics.json")
    _, notes = read_geometry_meta(load(str(place)).meta)
    assert notes == ["files that are no masks were passed over: ._liver.nii.gz, old, preview.png, statistics.json"]


def test_a_list_of_files_is_a_folder(folder):
    place, _ = folder
    loaded = load([str(place / "liver.nii.gz"), str(place / "spleen.nii.gz")], ORGANS)
    assert (loaded.numpy() == load(str(place), ORGANS).numpy()).all()


def test_names_outside_the_label_map_get_free_ids(folder):
    place, write = folder
    write("cyst.nii.gz", mask(((5, 6), (4, 5), (3, 4))))
    assert read_segments_meta(load(str(place), ORGANS).meta) == {8: "cyst", 1: "liver", 2: "spleen"}
    assert read_segments_meta(load(str(place)).meta) == {1: "cyst", 2: "liver", 3: "spleen"}


@pytest.mark.parametrize(
    ("array", "header"),
    [
        (mask(((0, 2), (0, 2), (0, 2)), value=255), {}),
        (mask(((0, 2), (0, 2), (0, 2)), dtype=np.float32), {}),
        (mask(((0, 2), (0, 2), (0, 2)), dtype=np.int16), {"endian": ">"}),
    ],
    ids=["0 and 255", "float", "big endian"],
)
def test_a_mask_may_be_stored_in_any_way(folder, array, header):
    place, write = folder
    write("aorta.nii", array, **header)
    loaded = load(str(place), ORGANS)
    assert ((loaded == 7).any(0).numpy() == (array > 0)).all()


def test_an_empty_mask_was_looked_for(folder):
    place, write = folder
    write("aorta.nii.gz", np.zeros(SHAPE, np.uint8))
    loaded = load(str(place), ORGANS)
    assert read_segments_meta(loaded.meta)[7] == "aorta"
    assert 7 not in loaded.unique().tolist()


def test_orientation_and_dictionaries(folder):
    place, write = folder
    affine = np.array([[-2.0, 0, 0, 30], [0, 0, 4, 1], [0, 3, 0, 2], [0, 0, 0, 1]])
    for name, array in (("liver.nii.gz", LIVER), ("spleen.nii.gz", SPLEEN)):
        write(name, array, affine=affine)
    chain = Compose(
        [
            LoadImaged("label", reader=MaskFolderReader(ORGANS), dtype=None, ensure_channel_first=True),
            Orientationd("label", "RAS", labels=None),
        ]
    )
    turned = chain({"label": str(place)})["label"]
    assert ((turned == 1).any(0).numpy() == np.flip(LIVER.transpose(0, 2, 1), 0)).all()


def test_refusals_name_the_file(folder, tmp_path):
    place, write = folder
    assert refused(tmp_path / "no", FileReadError).code == "missing_file"
    assert "segmentations/" in str(refused(tmp_path, FileReadError))
    bad = write("stomach.nii.gz", mask(((0, 1), (0, 1), (0, 1)), value=3) + LIVER)
    error = refused(str(place), LabelValueError)
    assert error.details()["file"] == str(bad)
    assert error.details()["found"].startswith("values 1, ")
    bad.unlink()
    bad = write("stomach.nii.gz", LIVER, spacing=(2.0, 3.0, 4.2))
    assert refused(str(place), GeometryError).details()["file"] == str(bad)
    bad.unlink()
    bad = write("stomach.nii.gz", LIVER, forms=(0, 0))
    assert refused(str(place), GeometryError).code == "other_grid"
    bad.unlink()
    bad = write("stomach.nii.gz", (LIVER * 0.5).astype(np.float32))
    assert refused(str(place), LabelValueError).code == "fractional_labels"
    bad.unlink()
    bad = write("stomach.nii.gz", np.stack([LIVER] * 2, -1))
    assert refused(str(place), LabelValueError).code == "not_a_mask"
    bad = write("stomach.nii.gz", LIVER)
    bad.write_bytes(bad.read_bytes()[:-20])
    assert refused(str(place), FileReadError).details()["file"] == str(bad)
    bad.unlink()
    write("liver.nii", LIVER)
    assert refused(str(place), LabelMapError).code == "duplicate_name"


def test_br_092_any_path(tmp_path):
    place = tmp_path / "Ordner mit Ümläut 肝臓"
    place.mkdir()
    (place / "肝臓.nii.gz").write_bytes(nifti_bytes(LIVER, spacing=SPACING))
    assert read_segments_meta(load(str(place)).meta) == {1: "肝臓"}
    assert json.loads(load(str(place)).meta["spatialqa_segments"]) == {"1": "肝臓"}


def test_ids_of_the_shipped_map():
    assert load_label_map("totalsegmentator_v2").by_name("liver").label == 5
