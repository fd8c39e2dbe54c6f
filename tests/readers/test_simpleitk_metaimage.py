"""MetaImage files through SimpleITKReader: geometry, layouts of the data, and what is refused."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import SimpleITK as sitk
from monai.transforms import LoadImaged

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.readers import SimpleITKReader
from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry, read_sitk_volume
from monai_spatialqa.transforms import MeasureStructuresd

NAMES = {"i1": "CHAR", "u1": "UCHAR", "i2": "SHORT", "u2": "USHORT", "i4": "INT", "u4": "UINT"}
NAMES |= {"i8": "LONG_LONG", "u8": "ULONG_LONG", "f4": "FLOAT", "f8": "DOUBLE"}


def metaimage(array, data=True, compressed=True, **changes):
    """A MetaImage header with every field under control, None for a field to leave out; with or without the voxels."""
    content = array.tobytes(order="F")
    packed = zlib.compress(content) if compressed else content
    fields = {
        "ObjectType": "Image",
        "NDims": array.ndim,
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": array.dtype.byteorder == ">",
        "CompressedData": compressed,
        "CompressedDataSize": len(packed) if compressed else None,
        "TransformMatrix": "1 0 0 0 1 0 0 0 1",
        "Offset": "1 2 3",
        "ElementSpacing": "2 3 4",
        "DistanceUnits": "mm",
        "DimSize": " ".join(map(str, array.shape)),
        "ElementType": f"MET_{NAMES[array.dtype.newbyteorder('=').str[1:]]}",
    }
    last = {"ElementDataFile": changes.pop("ElementDataFile", "LOCAL")}
    fields = {**fields, **changes, **last}
    header = "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)
    return header.encode() + (packed if data else b"")


def load(path):
    return LoadImaged("label", reader=SimpleITKReader(), dtype=None, ensure_channel_first=True)({"label": str(path)})


def measured(path):
    found = MeasureStructuresd("label", {1: "block"}, "all")(load(path))["measured_label"]
    return {name: values[0].tolist() for name, values in found.items()}


def refusal(path):
    """Both ways of reading refuse alike."""
    with pytest.raises(SpatialQAError) as caught:
        load(path)
    with pytest.raises(SpatialQAError) as again:
        read_sitk_volume(path)
    assert str(again.value) == str(caught.value)
    assert None not in (caught.value.file, caught.value.found, caught.value.expected, caught.value.next_step)
    return caught.value


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="a.mha"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return to_file


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", ">i2", "<u4", ">i4", "<u8", ">i8", "<f4", ">f8"])
@pytest.mark.parametrize("compressed", [True, False])
def test_every_type(dtype, compressed, write):
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    if array.dtype.kind in "iu":
        array[1, 2, 3] = np.iinfo(array.dtype).max
    path = write(metaimage(array, compressed=compressed))
    found, geometry, names = read_sitk_volume(path)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert (found == array).all()
    assert found.flags.f_contiguous
    assert names is None
    assert geometry.notes == ()
    assert (array == sitk.GetArrayFromImage(sitk.ReadImage(str(path))).T).all()


def test_numbers_as_text(write, block):
    text = " ".join(str(value) for value in block.reshape(-1, order="F")).encode()
    content = metaimage(block, data=False, compressed=False, BinaryData="False") + text
    assert measured(write(content))["voxel_count"] == 36
    assert refusal(write(content[:-2])).code == "truncated_file"


def test_met_long_has_four_bytes_everywhere(write, block):
    path = write(metaimage(block.astype("<i4"), ElementType="MET_LONG"))
    assert read_sitk_volume(path)[0].dtype == np.int32
    assert (block == sitk.GetArrayFromImage(sitk.ReadImage(str(path))).T).all()


@pytest.mark.parametrize("name", ["TransformMatrix", "Rotation", "Orientation"])
@pytest.mark.parametrize("origin", ["Offset", "Origin", "Position"])
def test_geometry_is_the_one_of_itk(name, origin, write, block):
    c, s = np.cos(0.4), np.sin(0.4)
    fields = {"TransformMatrix": None, "Offset": None, name: f"{c} {s} 0 {-s} {c} 0 0 0 1", origin: "-5 7 11"}
    path = write(metaimage(block, **fields))
    image, geometry = sitk.ReadImage(str(path)), read_sitk_geometry(path)
    assert geometry.orientation_known
    assert geometry.notes == ()
    for index in ((0, 0, 0), (9, 11, 7), (3, 1, 5)):
        x, y, z = image.TransformIndexToPhysicalPoint(index)
        assert (geometry.affine @ [*index, 1])[:3] == pytest.approx([-x, -y, z])


@pytest.mark.parametrize("letters", ["RAI", "LPI"])
def test_without_a_matrix_the_orientation_is_unknown(letters, write, block):
    path = write(metaimage(block, TransformMatrix=None, AnatomicalOrientation=letters))
    label = load(path)["label"]
    assert label.meta["spatialqa_geometry"] == "orientation_unknown"
    assert "no TransformMatrix" in label.meta["spatialqa_notes"]
    assert label.pixdim.tolist() == [2, 3, 4]
    assert measured(path)["volume_mm3"] == 36 * 24


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"AnatomicalOrientation": "RAI"}, ""),
        ({"AnatomicalOrientation": "???"}, ""),
        ({"AnatomicalOrientation": "LAI"}, "does not fit the TransformMatrix (RAI)"),
        ({"CenterOfRotation": "0 0 0"}, ""),
        ({"CenterOfRotation": "1 0 0"}, "CenterOfRotation"),
        ({"Offset": None}, "no Offset"),
        ({"DistanceUnits": None}, "taken as mm"),
        ({"DistanceUnits": "?"}, "taken as mm"),
        ({"ElementSpacing": None, "ElementSize": "2 3 4"}, "ElementSize was used"),
        ({"DistanceUnits": "cm", "ElementSpacing": "0.2 0.3 0.4", "Offset": "0.1 0.2 0.3"}, "from cm to mm"),
    ],
)
def test_notes(changes, note, write, block):
    geometry = read_sitk_geometry(write(metaimage(block, **changes)))
    assert geometry.orientation_known
    assert np.diag(geometry.affine)[:3] == pytest.approx([-2, -3, 4])
    assert geometry.affine[:3, 3] == pytest.approx([0, 0, 0] if "Offset" in note else [-1, -2, 3])
    assert len(geometry.notes) == bool(note)
    assert note in "".join(geometry.notes)


def test_a_sheared_grid(write, block):
    found = measured(write(metaimage(block, TransformMatrix="1 0 0 0 1 0 0 0.6 0.8")))
    assert found["volume_mm3"] == pytest.approx(36 * 24 * 0.8)


HEADERS = {
    "zero spacing": ({"ElementSpacing": "2 0 4"}, GeometryError, "bad_spacing"),
    "negative spacing": ({"ElementSpacing": "2 -3 4"}, GeometryError, "bad_spacing"),
    "NaN spacing": ({"ElementSpacing": "2 nan 4"}, GeometryError, "bad_spacing"),
    "no spacing": ({"ElementSpacing": None}, GeometryError, "missing_spacing"),
    "singular": ({"TransformMatrix": "1 0 0 1 0 0 0 0 1"}, GeometryError, "singular_affine"),
    "NaN matrix": ({"TransformMatrix": "1 0 0 0 nan 0 0 0 1"}, GeometryError, "non_finite_affine"),
    "not of length 1": ({"TransformMatrix": "2 0 0 0 1 0 0 0 1"}, GeometryError, "contradictory_geometry"),
    "two matrices": ({"Rotation": "0 1 0 1 0 0 0 0 1"}, GeometryError, "contradictory_geometry"),
    "infinite origin": ({"Offset": "inf 0 0"}, GeometryError, "non_finite_affine"),
    "unknown unit": ({"DistanceUnits": "inch"}, GeometryError, "bad_unit"),
    "short matrix": ({"TransformMatrix": "1 0 0 0 1 0"}, FileReadError, "bad_header"),
    "two axes": ({"NDims": 2, "DimSize": "10 96"}, FileReadError, "not_3d"),
    "four axes": ({"NDims": 4, "DimSize": "10 12 4 2"}, FileReadError, "unclear_axis"),
    "vectors": ({"ElementNumberOfChannels": 3}, FileReadError, "unsupported_dtype"),
    "arrays": ({"ElementType": "MET_UCHAR_ARRAY"}, FileReadError, "unsupported_dtype"),
    "no type": ({"ElementType": None}, FileReadError, "bad_header"),
    "no sizes": ({"DimSize": None}, FileReadError, "bad_header"),
    "length 0": ({"DimSize": "10 0 8"}, FileReadError, "bad_header"),
    "byte order missing": ({"ElementType": "MET_USHORT", "DimSize": "10 12 4",
                            "BinaryDataByteOrderMSB": None}, FileReadError, "bad_header"),
    "not an image": ({"ObjectType": "Tube"}, FileReadError, "not_metaimage"),
    "scaled": ({"ElementToIntensityFunctionSlope": "2"}, FileReadError, "unsupported_scaling"),
    "more voxels than bytes": ({"DimSize": "10 12 9"}, FileReadError, "truncated_file"),
    "far more voxels than bytes": ({"DimSize": "32767 32767 32767"}, FileReadError, "truncated_file"),
    "fewer voxels than bytes": ({"DimSize": "10 12 7"}, FileReadError, "extra_data"),
}  # fmt: skip


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("what", HEADERS)
def test_headers_that_are_refused(what, compressed, write, block):
    changes, kind, code = HEADERS[what]
    error = refusal(write(metaimage(block, compressed=compressed, **changes)))
    assert isinstance(error, kind)
    assert error.code == code


@pytest.mark.parametrize("compressed", [True, False])
def test_cut_at_every_byte(compressed, write):
    content = metaimage(np.arange(24, dtype="<i2").reshape(2, 3, 4), compressed=compressed)
    for length in range(len(content)):
        assert isinstance(refusal(write(content[:length])), FileReadError)


def test_flipped_bits_in_the_packed_voxels(write, block):
    content = metaimage(block)
    for position in range(content.index(b"LOCAL\n") + 6, len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            try:
                array, _, _ = read_sitk_volume(write(bytes(damaged)))
            except FileReadError:
                continue
            assert (array == block).all()  # a bit of the header that carries nothing


def test_the_checksum_is_compared(write, block):
    content = bytearray(metaimage(block))
    content[-1] ^= 1
    assert refusal(write(bytes(content))).code == "checksum_mismatch"


class TestDetached:
    @pytest.mark.parametrize("compressed", [True, False])
    @pytest.mark.parametrize("name", ["voxels.raw", "Größe 三 mm.zraw"])
    def test_br_092_a_data_file_beside_the_header(self, name, compressed, write, block, tmp_path):
        data = block.tobytes(order="F")
        (tmp_path / name).write_bytes(zlib.compress(data) if compressed else data)
        path = write(metaimage(block, data=False, compressed=compressed, ElementDataFile=name), "a.mhd")
        assert measured(path)["voxel_count"] == 36

    def test_br_086_the_missing_data_file_is_named(self, write, block):
        path = write(metaimage(block, data=False, ElementDataFile="voxels.raw"), "a.mhd")
        error = refusal(path)
        assert error.code == "missing_file"
        assert "voxels.raw" in str(error)
        with pytest.raises(FileReadError, match=r"voxels\.raw"):
            read_sitk_geometry(path)

    @pytest.mark.parametrize("spec", ["s%02d.raw 1 8 1", "LIST", "LIST 2"])
    def test_a_file_for_each_slice(self, spec, write, block, tmp_path):
        for k in range(8):
            (tmp_path / f"s{k + 1:02}.raw").write_bytes(b"head" + block[..., k].tobytes(order="F"))
        content = metaimage(block, data=False, compressed=False, HeaderSize=4, ElementDataFile=spec)
        if spec.startswith("LIST"):
            content += "".join(f"s{k:02}.raw\n" for k in range(1, 9)).encode()
        path = write(content, "a.mhd")
        assert (read_sitk_volume(path)[0] == block).all()
        (tmp_path / "s05.raw").write_bytes(bytes(119))
        assert refusal(path).code == "truncated_file"
        (tmp_path / "s05.raw").unlink()
        assert "s05.raw" in str(refusal(path))
        fewer = content.replace(b" 1 8 1", b" 1 7 1").removesuffix(b"s08.raw\n")
        assert refusal(write(fewer, "b.mhd")).code == "bad_header"

    def test_voxels_at_the_end_of_a_file(self, write, block, tmp_path):
        (tmp_path / "a.dcm").write_bytes(b"whatever comes first" + block.tobytes(order="F"))
        content = metaimage(block, data=False, compressed=False, HeaderSize=-1, ElementDataFile="a.dcm")
        assert (read_sitk_volume(write(content, "a.mhd"))[0] == block).all()


def test_nonsense_in_the_header(write, block):
    assert refusal(write(b"ObjectType = Image\n\x00\x01\n")).code == "bad_header"
    assert refusal(write(b"NDims = 3\nNDims = 2\n")).code == "bad_header"
    assert refusal(write(metaimage(block, CompressedData="perhaps"))).code == "bad_header"


@pytest.mark.parametrize("compressed", [True, False])
def test_what_simpleitk_writes(compressed, tmp_path):
    array = np.random.default_rng(0).integers(0, 5, (4, 5, 6)).astype(np.int16)
    image = sitk.GetImageFromArray(array)
    image.SetSpacing((1.5, 2.5, 3.5))
    image.SetDirection((0, 0, 1, 1, 0, 0, 0, 1, 0))
    image.SetOrigin((-5, 7, 11))
    for name in ("a.mha", "a.mhd"):
        sitk.WriteImage(image, str(tmp_path / name), compressed)
        found, geometry, _ = read_sitk_volume(tmp_path / name)
        assert (found == array.T).all()
        assert geometry.notes == ("no spatial unit in the header, taken as mm",)
        for index in ((0, 0, 0), (5, 4, 3)):
            x, y, z = image.TransformIndexToPhysicalPoint(index)
            assert (geometry.affine @ [*index, 1])[:3] == pytest.approx([-x, -y, z])
