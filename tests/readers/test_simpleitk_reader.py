"""The same scan in every format gives the same figures; real label maps against published ones; names and handles."""

from __future__ import annotations

import gc
import importlib.util
import os
import pickle
import sys

import numpy as np
import pytest
import SimpleITK as sitk
from monai.data import MetaTensor
from monai.transforms import Compose, LoadImaged, Orientationd

from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.readers import NiftiReader, SimpleITKReader
from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry, read_sitk_volume
from monai_spatialqa.transforms import MeasureBoundingBoxd, MeasureStructuresd

FORMATS = ["a.nrrd", "a.nhdr", "a.mha", "a.mhd"]


def image_of(array, spacing=(2, 3, 4), origin=(-5, 7, 11), turn=0.0):
    """A SimpleITK image of an array (X, Y, Z)."""
    image = sitk.GetImageFromArray(np.ascontiguousarray(array.T))
    image.SetSpacing(spacing)
    image.SetOrigin(origin)
    c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
    image.SetDirection((c, -s, 0, s, c, 0, 0, 0, 1))
    return image


def load(path, reader=None):
    loader = LoadImaged("label", reader=reader or SimpleITKReader(), dtype=None, ensure_channel_first=True)
    return loader({"label": str(path)})


def structures_of(data, names):
    found = MeasureStructuresd("label", names, "all")(data)["measured_label"]
    return {name: values.numpy() for name, values in found.items()}


@pytest.mark.parametrize("name", [*FORMATS, "a.nii.gz"])
def test_br_012_a_turned_grid_in_every_format(name, block, tmp_path):
    path = tmp_path / name
    sitk.WriteImage(image_of(block, turn=30), str(path))
    data = load(path, NiftiReader() if name.endswith(".nii.gz") else None)
    measured = MeasureBoundingBoxd("label", {1: "block"})(data)["measured_label"]
    assert measured["centroid_ras_mm"][0].tolist() == pytest.approx([6.554, -21.691, 19.0], abs=6e-4)


@pytest.mark.parametrize("name", FORMATS)
def test_br_011_left_and_right_survive_reorientation(name, tmp_path):
    array = np.zeros((8, 6, 6), np.uint8)
    array[1, 3, 3], array[6, 3, 3] = 1, 2
    sitk.WriteImage(image_of(array), str(tmp_path / name))
    plain = load(tmp_path / name)
    for codes in ("RAS", "LPS", "PIR"):
        turned = Orientationd("label", axcodes=codes, labels=None)(plain)
        found = structures_of(turned, {1: "first", 2: "second"})["centroid_ras_mm"]
        assert found.tolist() == [[3, -16, 23], [-7, -16, 23]]


@pytest.mark.parametrize("name", FORMATS)
def test_br_092_spaces_and_letters_beyond_ascii(name, block, tmp_path):
    path = tmp_path / "Ordner mit Größe 三" / f"ein Bild ü 肝{name}"
    path.parent.mkdir()
    image = image_of(block)
    sitk.WriteImage(image, str(path))
    label = load(path)["label"]
    assert int(label.sum()) == 36
    assert label.meta["filename_or_obj"] == str(path)
    path.write_bytes(b"")
    with pytest.raises(SpatialQAError) as caught:
        load(path)
    assert caught.value.file == str(path)


def test_br_092_a_series_in_such_a_folder(data_folder, tmp_path):
    folder = tmp_path / "Ordner mit Größe 三"
    folder.mkdir()
    for path in (data_folder / "sts_002" / "ct_dicom").iterdir():
        (folder / f"Schicht ü 肝 {path.name}").write_bytes(path.read_bytes())
    assert load(folder)["label"].shape == (1, 161, 143, 4)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_nothing_is_left_open(block, tmp_path, data_folder):
    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    for name in FORMATS:
        sitk.WriteImage(image_of(block), str(tmp_path / name), True)
    whole = (tmp_path / "a.nrrd").read_bytes()
    (tmp_path / "cut.nrrd").write_bytes(whole[:-5])
    read_sitk_volume(data_folder / "sts_002" / "ct_dicom")
    before = open_files()
    for name in FORMATS:
        read_sitk_volume(tmp_path / name)
        read_sitk_geometry(tmp_path / name)
    read_sitk_volume(data_folder / "sts_002" / "ct_dicom")
    for function in (read_sitk_volume, load):
        with pytest.raises(SpatialQAError):
            function(tmp_path / "cut.nrrd")
    assert open_files() == before


def test_the_header_alone_is_read_for_the_geometry(block, tmp_path):
    """A damaged stream does not show in it; a missing data file does, see the tests of each format."""
    sitk.WriteImage(image_of(block), str(tmp_path / "a.nrrd"), True)
    content = (tmp_path / "a.nrrd").read_bytes()
    (tmp_path / "a.nrrd").write_bytes(content[:-5])
    assert read_sitk_geometry(tmp_path / "a.nrrd").shape == (10, 12, 8)


def test_a_missing_file(tmp_path):
    with pytest.raises(SpatialQAError, match="No such file"):
        load(tmp_path / "none.nrrd")


def test_the_reader_pickles_and_tells_its_settings(tmp_path):
    reader = pickle.loads(pickle.dumps(SimpleITKReader({1: "liver"}, series_uid="1.2")))
    assert repr(reader) == "SimpleITKReader(structures='custom', series_uid='1.2')"
    assert reader.verify_suffix(["a.nrrd", "b.NHDR", "c.mha", "d.mhd", "e.seg.nrrd", "f.dcm", str(tmp_path)])
    assert not reader.verify_suffix(["a.nii.gz"])


# Published with the files, or computed from the affine; see tests/data/README.md.
REAL = {
    # file: {id: (voxels, volume in mm3, centroid in RAS mm)}
    "radiomics_reference/breast1_label.nrrd": {1: (143, 132.42579545515324, (100.2201, 2.1433, 28.629))},
    "radiomics_reference/brain1_label.nrrd": {1: (4137, 16412.658691406243, (-46.473, -16.5185, 15.5296))},
    "radiomics_reference/prostate_phantom_subvolume-label.nrrd": {1: (168, 126.0, (-1.359, -54.9792, -39.7761))},
    "dicom/dcmqi_ct3_seg/liver_seg.nrrd": {1: (107098, 70361.9337, (74.0571, 33.262, -127.6995))},
    "dicom/dcmqi_ct3_seg/partial_overlaps-1.nrrd": {
        1: (9602, 6308.3838, (75.1194, 45.9222, -127.69)),
        4: (6693, 4397.2102, (-28.5729, -60.8724, -128.69)),
        5: (4713, 3096.3771, (99.4197, -69.8231, -128.69)),
    },
    "dicom/dcmqi_ct3_seg/partial_overlaps-2.nrrd": {2: (11888, 7810.2548, (11.7116, 22.1172, -127.69))},
    "dicom/dcmqi_ct3_seg/partial_overlaps-3.nrrd": {3: (10743, 7058.0053, (27.3963, 28.0944, -126.7227))},
}
BOXES = {
    # start and size in voxels, published by pyradiomics
    "radiomics_reference/breast1_label.nrrd": ((21, 64, 8), (9, 12, 3)),
    "radiomics_reference/brain1_label.nrrd": ((162, 84, 11), (47, 70, 7)),
}


@pytest.mark.parametrize("file", REAL)
def test_real_label_maps(file, data_folder):
    expected = REAL[file]
    found = structures_of(load(data_folder / file), {label: f"structure {label}" for label in expected})
    for at, (voxels, volume, centroid) in enumerate(expected.values()):
        assert found["voxel_count"][at] == voxels
        assert found["volume_mm3"][at] == pytest.approx(volume, rel=1e-6)
        assert found["centroid_ras_mm"][at] == pytest.approx(centroid, abs=1e-4)
    image = sitk.ReadImage(str(data_folder / file))
    statistics = sitk.LabelShapeStatisticsImageFilter()
    statistics.Execute(image)
    for at, label in enumerate(expected):
        x, y, z = statistics.GetCentroid(label)
        assert found["voxel_count"][at] == statistics.GetNumberOfPixels(label)
        assert found["centroid_ras_mm"][at] == pytest.approx([-x, -y, z], abs=1e-9)


@pytest.mark.parametrize("file", BOXES)
def test_published_boxes(file, data_folder):
    """The world box of the published index box."""
    (start, size), geometry = BOXES[file], read_sitk_geometry(data_folder / file)
    found = structures_of(load(data_folder / file), {1: "structure"})
    ends = np.array([start, np.add(start, size)]) - 0.5
    corners = np.array([(geometry.affine @ [*end, 1])[:3] for end in ends])
    assert found["world_min_ras_mm"][0] == pytest.approx(corners.min(0), abs=1e-9)
    assert found["world_max_ras_mm"][0] == pytest.approx(corners.max(0), abs=1e-9)


@pytest.mark.extra
@pytest.mark.skipif(importlib.util.find_spec("itk") is None, reason="needs itk")
class TestItkReader:
    """What MONAI's ITKReader loads is measured alike."""

    @staticmethod
    def both(path, names):
        theirs, ours = load(path, "ITKReader"), load(path)
        assert isinstance(theirs["label"], MetaTensor)
        one, other = structures_of(theirs, names), structures_of(ours, names)
        assert one.keys() == other.keys()
        for name, values in one.items():
            if not name.endswith("_status"):  # which says that nobody looked at the raw header
                assert values == pytest.approx(other[name], abs=1e-9, nan_ok=True), name

    @pytest.mark.parametrize("name", FORMATS)
    @pytest.mark.parametrize("turn", [0, 30])
    def test_written_files(self, name, turn, block, tmp_path):
        sitk.WriteImage(image_of(block, turn=turn), str(tmp_path / name), True)
        self.both(tmp_path / name, {1: "block", 2: "nothing"})

    @pytest.mark.parametrize("file", REAL)
    def test_real_files(self, file, data_folder):
        self.both(data_folder / file, {label: f"structure {label}" for label in REAL[file]})


def test_a_pipeline(block, tmp_path):
    """As a dataset runs it."""
    sitk.WriteImage(image_of(block), str(tmp_path / "a.mha"))
    pipeline = Compose(
        [
            LoadImaged("label", reader=SimpleITKReader(), dtype=None, ensure_channel_first=True),
            Orientationd("label", axcodes="RAS", labels=None),
            MeasureStructuresd("label", {1: "block"}, "all"),
        ]
    )
    found = pipeline({"label": str(tmp_path / "a.mha")})["measured_label"]
    assert found["volume_mm3"].tolist() == [36 * 24]
