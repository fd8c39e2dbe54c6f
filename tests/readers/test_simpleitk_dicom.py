"""DICOM image series through SimpleITKReader: order and geometry from positions, and what is refused."""

from __future__ import annotations

import shutil

import nibabel as nib
import numpy as np
import pytest
import SimpleITK as sitk
from monai.transforms import LoadImaged

from monai_spatialqa.errors import FileReadError, GeometryError, PairingError, SpatialQAError
from monai_spatialqa.geometry.affine import is_sheared
from monai_spatialqa.readers import SimpleITKReader
from monai_spatialqa.readers.meta import KIND_KEY
from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry, read_sitk_volume

STRAIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


@pytest.fixture
def write_slice(tmp_path):
    """Write one slice: array (rows, columns) at a position in LPS mm, with the name and tags asked for."""

    def to_file(array, position, name, axes=STRAIGHT, spacing=(2.0, 3.0), series="1.2.3.4", text="axial", **tags):
        image = sitk.GetImageFromArray(array)
        image.SetSpacing(spacing)
        values = {
            "0008|0060": "CT",
            "0008|103e": text,
            "0020|000e": series,
            "0020|000d": "1.2.3",
            "0020|0032": "\\".join(map(str, position)),
            "0020|0037": "\\".join(str(value) for axis in axes for value in axis),
            **tags,
        }
        for key, value in values.items():
            if value is not None:
                image.SetMetaData(key, str(value))
        writer = sitk.ImageFileWriter()
        writer.SetImageIO("GDCMImageIO")
        writer.KeepOriginalImageUIDOn()
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        writer.SetFileName(str(path))
        writer.Execute(image)
        return path

    return to_file


@pytest.fixture
def voxels():
    """(5, 4, 6) int16, every voxel another number."""
    return (np.arange(120, dtype=np.int16).reshape(5, 4, 6, order="F") - 50).astype(np.int16)


@pytest.fixture
def write_series(write_slice, voxels, tmp_path):
    """Six slices in a folder, named against their order; step and first position in LPS mm, or all positions."""

    def to_folder(step=(0, 0, 4), first=(-5, 7, 11), positions=None, folder="series", **options):
        for k in range(6):
            place = positions[k] if positions is not None else np.add(first, np.multiply(step, k))
            instance = {"0020|0013": (k * 5) % 6}
            write_slice(voxels[..., k].T, place, f"{folder}/{9 - k}.dcm", **{**instance, **options})
        return tmp_path / folder

    return to_folder


def load(source):
    names = [str(name) for name in source] if isinstance(source, list) else str(source)
    return LoadImaged("image", reader=SimpleITKReader(), dtype=None, ensure_channel_first=True)({"image": names})


def refusal(source):
    """Both ways of reading refuse alike."""
    with pytest.raises(SpatialQAError) as caught:
        load(source)
    with pytest.raises(SpatialQAError) as again:
        read_sitk_volume(source)
    assert str(again.value) == str(caught.value)
    assert None not in (caught.value.file, caught.value.found, caught.value.expected, caught.value.next_step)
    return caught.value


def test_slices_are_put_in_order_by_position(write_series, voxels):
    folder = write_series()
    image = load(folder)["image"]
    assert (image[0].numpy() == voxels).all()
    assert image.dtype.is_signed
    assert image.affine.numpy() == pytest.approx(
        np.array([[-2, 0, 0, 5], [0, -3, 0, -7], [0, 0, 4, 11], [0, 0, 0, 1.0]])
    )
    assert image.meta[KIND_KEY] == "image"
    assert image.meta["spatialqa_geometry"] == "verified"
    assert "spatialqa_segments" not in image.meta
    listed = load(sorted(folder.iterdir()))["image"]
    assert (listed == image).all()


def test_the_order_does_not_depend_on_the_direction_of_writing(write_series, voxels):
    found, geometry, _ = read_sitk_volume(write_series(step=(0, 0, -4), first=(-5, 7, 31)))
    assert (found == voxels[..., ::-1]).all()
    assert geometry.affine[:3, 3] == pytest.approx([5, -7, 11])


@pytest.mark.parametrize("turn", [0.0, 0.5, 1.2])
def test_geometry_is_the_one_of_itk(turn, write_series, voxels):
    c, s = np.cos(turn), np.sin(turn)
    axes = ((c, s, 0.0), (0.0, 0.0, -1.0))  # coronal, turned about the body's axis
    normal = np.cross(*axes)
    folder = write_series(step=tuple(4 * normal), axes=axes)
    series = sitk.ImageSeriesReader()
    series.SetFileNames(series.GetGDCMSeriesFileNames(str(folder)))
    image = series.Execute()
    found, geometry, _ = read_sitk_volume(folder)
    assert (found == sitk.GetArrayFromImage(image).T).all()
    for index in ((0, 0, 0), (4, 3, 5)):
        x, y, z = image.TransformIndexToPhysicalPoint(index)
        assert (geometry.affine @ [*index, 1])[:3] == pytest.approx([-x, -y, z], abs=1e-4)


def test_a_tilted_gantry_gives_a_sheared_grid(write_series):
    geometry = read_sitk_geometry(write_series(step=(0, 1, 4)))
    assert is_sheared(geometry.affine)
    assert geometry.affine[:3, 2] == pytest.approx([0, -1, 4])
    assert abs(np.linalg.det(geometry.affine)) == pytest.approx(24)


def test_slopes_that_differ_from_slice_to_slice(write_slice, tmp_path):
    """As in PET. The type must hold every slice, the first one says integers."""
    for k, slope in enumerate((b"1 ", b".5", b"2 ")):
        stored = np.full((4, 5), 11, np.int16)
        path = write_slice(stored, (0, 0, 4 * k), f"s/{k}", **{"0028|1052": "0", "0028|1053": "1"})
        tag = b"\x28\x00\x53\x10\x02\x00\x00\x00"
        content = path.read_bytes()
        assert content.count(tag + b"1 ") == 1
        path.write_bytes(content.replace(tag + b"1 ", tag + slope))
    found, _, _ = read_sitk_volume(tmp_path / "s")
    assert found.dtype.kind == "f"
    assert found[0, 0].tolist() == [11, 5.5, 22]
    assert (found == found[:1, :1]).all()


def test_thickness_is_not_spacing(write_series):
    folder = write_series(**{"0018|0050": "1.0", "0018|0088": "1.0"})
    assert read_sitk_geometry(folder).affine[2, 2] == 4


def test_rounded_positions_are_even(write_series):
    folder = write_series(positions=[(0, 0, round(3.3333 * k, 2)) for k in range(6)])
    assert read_sitk_geometry(folder).affine[2, 2] == pytest.approx(16.67 / 5)


def test_a_missing_slice_is_named(write_series):
    folder = write_series()
    (folder / "6.dcm").unlink()
    error = refusal(folder)
    assert isinstance(error, GeometryError)
    assert error.code == "uneven_slices"
    assert "a gap of 8 mm behind 7.dcm" in error.found
    assert error.expected == "4 mm"
    assert error.file == str(folder / "5.dcm")


@pytest.mark.parametrize(
    ("positions", "word"),
    [
        ([(0, 0, z) for z in (0, 4, 8, 12, 16.5, 20.5)], "unevenly"),
        ([(0, 0, z) for z in (0, 4, 8, 8, 12, 16)], "same place"),
        ([(0, 0, z) for z in (0, 0, 4, 4, 8, 8)], "same place"),
        ([(0, 0, z) for z in (7, 7, 7, 7, 7, 7)], "same place"),
        ([(x, 0, 4 * k) for k, x in enumerate((0, 0, 0, 1, 0, 0))], "straight line"),
    ],
)
def test_positions_that_make_no_grid(positions, word, write_series):
    error = refusal(write_series(positions=positions))
    assert error.code == "uneven_slices"
    assert word in str(error)


def test_a_localizer_in_the_folder(write_series, write_slice, voxels):
    folder = write_series()
    coronal = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    write_slice(voxels[..., 0].T, (0, 0, 50), "series/a.dcm", axes=coronal)
    assert "not parallel" in str(refusal(folder))
    write_slice(voxels[..., 0].T, (-5, 7, 35), "series/a.dcm", spacing=(1.0, 1.0))
    assert "pixel spacing" in str(refusal(folder))
    write_slice(voxels[:3, :, 0].T.copy(), (-5, 7, 35), "series/a.dcm")
    assert "differ in size" in str(refusal(folder))


def test_several_series_must_be_told_apart(write_series, voxels):
    folder = write_series(series="1.2.3.4", text="thin lung")
    write_series(series="1.2.3.5", text="thick", first=(0, 0, 100), folder="other")
    for path in (folder.parent / "other").iterdir():
        shutil.copy(path, folder / f"b{path.name}")
    error = refusal(folder)
    assert isinstance(error, PairingError)
    assert error.code == "several_series"
    for part in ("thin lung, 6 files (1.2.3.4)", "thick, 6 files (1.2.3.5)"):
        assert part in error.found
    assert read_sitk_geometry(folder, series_uid="1.2.3.5").affine[2, 3] == 100
    chosen = LoadImaged("image", reader=SimpleITKReader(series_uid="1.2.3.4"), dtype=None)({"image": str(folder)})
    assert (chosen["image"].numpy() == voxels).all()
    with pytest.raises(PairingError, match="not here"):
        read_sitk_geometry(folder, series_uid="9")


def test_one_slice_is_no_volume(write_slice, voxels):
    path = write_slice(voxels[..., 0].T, (0, 0, 0), "one/1.dcm")
    for source in (path, path.parent, [path]):
        assert refusal(source).code == "not_3d"


@pytest.mark.parametrize(
    ("written", "instead", "code"),
    [
        (b"1\\0\\0\\0\\1\\0", b"1\\0\\0\\1\\0\\0", "bad_orientation"),
        (b"1\\0\\0\\0\\1\\0", b"2\\0\\0\\0\\1\\0", "bad_orientation"),
        (b"1\\0\\0\\0\\1\\0", b"1\\0\\0\\0\\1 0", "bad_position"),
        (b"-5\\7\\11", b"-5\\7\\xx", "bad_position"),
        (b"3\\2", b"0\\2", "bad_spacing"),
        (b"\x20\x00\x37\x00", b"\x20\x00\x38\x00", "missing_position"),
        (b"\x28\x00\x30\x00", b"\x28\x00\x33\x00", "missing_position"),
    ],
)
def test_tags_that_are_missing_or_impossible(written, instead, code, write_series):
    path = write_series() / "9.dcm"
    content = path.read_bytes()
    assert content.count(written) == 1
    path.write_bytes(content.replace(written, instead))
    error = refusal(path.parent)
    assert error.code == code
    assert error.file == str(path)


def test_other_files_in_the_folder_are_passed_over_with_a_note(write_series):
    folder = write_series()
    (folder / "LICENSE").write_text("free")
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / "deeper").mkdir()
    geometry = read_sitk_geometry(folder)
    assert geometry.notes == ("1 files passed over that are no DICOM image: LICENSE",)


@pytest.mark.parametrize(("content", "code"), [(b"", "empty_file"), (b"text", "not_dicom"), (bytes(2000), "not_dicom")])
def test_a_slice_that_is_no_dicom_file(content, code, write_series):
    folder = write_series()
    (folder / "3.dcm").write_bytes(content)
    error = refusal(folder)
    assert error.code == code
    assert error.file == str(folder / "3.dcm")


def test_a_truncated_slice(write_series):
    folder = write_series()
    content = (folder / "6.dcm").read_bytes()
    for length in (len(content) - 2, len(content) - 30, len(content) // 2, 140):
        (folder / "6.dcm").write_bytes(content[:length])
        error = refusal(folder)
        assert isinstance(error, FileReadError)
        assert error.file == str(folder / "6.dcm")


def test_colours_and_frames(tmp_path):
    colours = sitk.GetImageFromArray(np.zeros((4, 5, 3), np.uint8), isVector=True)
    sitk.WriteImage(colours, str(tmp_path / "rgb.dcm"))
    assert refusal(tmp_path / "rgb.dcm").code == "unsupported_dtype"
    sitk.WriteImage(sitk.GetImageFromArray(np.ones((3, 4, 5), np.uint8)), str(tmp_path / "frames.dcm"))
    assert refusal(tmp_path / "frames.dcm").code == "multi_frame"


@pytest.mark.parametrize(
    ("uid", "what", "step"),
    [
        ("1.2.840.10008.5.1.4.1.1.66.4", "a DICOM SEG", "DICOM SEG reader"),
        ("1.2.840.10008.5.1.4.1.1.481.3", "an RTSTRUCT", "RTSTRUCT is not read"),
        ("1.2.840.10008.5.1.4.1.1.88.33", "a structured report", "move it out"),
    ],
)
def test_other_objects_are_named(uid, what, step, write_series):
    """The kind of a DICOM file stands in its meta header."""
    folder = write_series()
    value = uid.encode() + b"\0" * (len(uid) % 2)
    head = b"\x02\x00\x02\x00UI" + len(value).to_bytes(2, "little") + value
    (folder / "3.dcm").write_bytes(bytes(128) + b"DICM" + head + bytes(400))
    error = refusal(folder)
    assert what in str(error)
    assert step in error.next_step
    assert error.file == str(folder / "3.dcm")


def test_a_folder_without_dicom(tmp_path):
    (tmp_path / "a.txt").write_text("nothing")
    assert refusal(tmp_path).code == "no_dicom"


def test_a_real_series(data_folder):
    """Four slices of a CT, and the tumour's mask in the NIfTI file that the same project made of the whole series."""
    found, geometry, _ = read_sitk_volume(data_folder / "sts_002" / "ct_dicom")
    mask = nib.load(data_folder / "sts_002" / "ct_gtv.nii.gz")
    assert found.shape == (161, 143, 4)
    assert found.dtype == np.int16
    # sums of the same slices, 24 to 27, in the project's NIfTI file of the CT, and its mean inside the mask
    assert found.sum(axis=(0, 1), dtype=np.int64).tolist() == [-5869228, -5826817, -5879803, -6085292]
    inside = np.asarray(mask.dataobj)[..., 24:28] > 0
    means = [found[..., k][inside[..., k]].mean() for k in range(4)]
    assert means == pytest.approx([57.1795301, 58.8690265, 58.5894125, 55.9386214], abs=1e-5)
    expected = mask.affine.copy()
    expected[:3, 3] = (mask.affine @ [0, 0, 24, 1])[:3]
    assert geometry.affine == pytest.approx(expected, abs=1e-4)  # the NIfTI file holds floats of 32 bits
