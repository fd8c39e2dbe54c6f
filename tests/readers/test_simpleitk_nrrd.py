"""NRRD files through SimpleITKReader: geometry, layouts of the data, and what is refused."""

from __future__ import annotations

import bz2
import gzip

import numpy as np
import pytest
import SimpleITK as sitk
from monai.transforms import LoadImaged

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.readers import SimpleITKReader
from monai_spatialqa.readers.simpleitk_volume import read_sitk_geometry, read_sitk_volume
from monai_spatialqa.transforms import MeasureStructuresd

NAMES = {"u1": "uchar", "i1": "signed char", "u2": "unsigned short", "i2": "short", "u4": "uint", "i4": "int"}
NAMES |= {"u8": "unsigned long long int", "i8": "int64", "f4": "float", "f8": "double"}
PACK = {"raw": bytes, "gzip": gzip.compress, "gz": gzip.compress, "bzip2": bz2.compress}
PACK["hex"] = lambda data: data.hex().encode()


def nrrd(array, data=True, encoding="gzip", **changes):
    """An NRRD header with every field under control, None for a field to leave out; with or without the voxels."""
    dtype = array.dtype
    fields = {
        "type": NAMES[dtype.newbyteorder("=").str[1:]],
        "dimension": array.ndim,
        "space": "left-posterior-superior",
        "sizes": " ".join(map(str, array.shape)),
        "space directions": "(2,0,0) (0,3,0) (0,0,4)",
        "kinds": "domain domain domain",
        "endian": "big" if dtype.byteorder == ">" else "little",
        "encoding": encoding,
        "space origin": "(1,2,3)",
        "space units": '"mm" "mm" "mm"',
    }
    fields.update({key.replace("_", " "): value for key, value in changes.items()})
    header = "NRRD0005\n# a comment\n" + "".join(f"{k}: {v}\n" for k, v in fields.items() if v is not None)
    content = array.tobytes(order="F")
    packed = " ".join(str(value) for value in array.reshape(-1, order="F")).encode() if encoding == "ascii" else None
    return header.encode() + (b"\n" + (packed or PACK[encoding](content)) if data else b"")


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
    assert caught.value.file is not None
    assert caught.value.found is not None
    assert caught.value.expected is not None
    assert caught.value.next_step is not None
    return caught.value


@pytest.fixture
def write(tmp_path):
    def to_file(content, name="a.nrrd"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return to_file


@pytest.mark.parametrize("dtype", ["u1", "i1", "<u2", ">i2", "<u4", ">i4", "<u8", ">i8", "<f4", ">f8"])
@pytest.mark.parametrize("encoding", ["raw", "gzip", "bzip2", "ascii", "hex"])
def test_every_type_and_encoding(dtype, encoding, write):
    array = np.arange(24).astype(dtype).reshape(2, 3, 4)
    if array.dtype.kind in "iu":
        array[1, 2, 3] = np.iinfo(array.dtype).max
    found, geometry, names = read_sitk_volume(write(nrrd(array, encoding=encoding)))
    assert found.dtype == array.dtype.newbyteorder("=")
    assert (found == array).all()
    assert found.flags.f_contiguous
    assert names is None
    assert geometry.notes == ()


def test_voxels_are_not_copied(write, block):
    class Spy(SimpleITKReader):
        def read(self, data, **kwargs):
            self.last = super().read(data, **kwargs)
            return self.last

    spy = Spy()
    path = write(nrrd(block.astype("i2")))
    label = LoadImaged("label", reader=spy, dtype=None, ensure_channel_first=True)({"label": str(path)})["label"]
    assert label.data_ptr() == spy.last.scan.voxels.ctypes.data
    assert label.stride()[1:] == (1, 10, 120)
    assert label.meta["spatialqa_geometry"] == "verified"


def test_br_013_the_space_field_counts(write, block):
    path = write(nrrd(block, space="right-anterior-superior"))
    assert measured(path)["centroid_ras_mm"] == [7, 15.5, 11]


@pytest.mark.parametrize(
    ("space", "signs"),
    [("RAS", (1, 1, 1)), ("left-anterior-superior", (-1, 1, 1)), ("LAS", (-1, 1, 1)), ("lps", (-1, -1, 1))],
)
def test_spaces(space, signs, write, block):
    geometry = read_sitk_geometry(write(nrrd(block, space=space)))
    assert geometry.orientation_known
    assert (geometry.affine == np.diag([*signs, 1]) @ [[2, 0, 0, 1], [0, 3, 0, 2], [0, 0, 4, 3], [0, 0, 0, 1]]).all()


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"space": "scanner-xyz"}, "scanner-xyz"),
        ({"space": "3D-left-handed"}, "3d-left-handed"),
        ({"space": None, "space_dimension": 3}, "names no space"),
        ({"space_directions": None, "spacings": "2 3 4", "space_origin": None, "space": None}, "no space directions"),
    ],
)
def test_br_084_sizes_are_fine_where_the_orientation_is_unknown(changes, note, write, block):
    path = write(nrrd(block, **changes))
    label = load(path)["label"]
    assert label.meta["spatialqa_geometry"] == "orientation_unknown"
    assert note in label.meta["spatialqa_notes"]
    assert label.pixdim.tolist() == [2, 3, 4]
    assert measured(path)["volume_mm3"] == 36 * 24


@pytest.mark.parametrize(
    ("units", "lengths", "note"),
    [
        ('"mm" "mm" "mm"', "(2,0,0) (0,3,0) (0,0,4)", ""),
        ('"m" "m" "m"', "(0.002,0,0) (0,0.003,0) (0,0,0.004)", "from m to mm"),
        ('"um" "micron" "cm"', "(2000,0,0) (0,3000,0) (0,0,0.4)", "to mm"),
        (None, "(2,0,0) (0,3,0) (0,0,4)", "taken as mm"),
        ('"" "" ""', "(2,0,0) (0,3,0) (0,0,4)", "taken as mm"),
    ],
)
def test_units(units, lengths, note, write, block):
    geometry = read_sitk_geometry(write(nrrd(block, space_units=units, space_directions=lengths)))
    assert np.diag(geometry.affine)[:3] == pytest.approx([-2, -3, 4])
    assert note in "; ".join(geometry.notes)
    assert bool(note) == bool(geometry.notes)


def test_units_of_spacings(write, block):
    content = nrrd(block, space=None, space_directions=None, space_origin=None, space_units=None)
    content = content.replace(b"encoding:", b'spacings: 0.2 0.3 0.4\nunits: "cm" "cm" "cm"\nencoding:', 1)
    geometry = read_sitk_geometry(write(content))
    assert np.diag(geometry.affine)[:3] == pytest.approx([2, 3, 4])


def test_a_sheared_grid_is_read_though_simpleitk_refuses_it(write, block):
    path = write(nrrd(block, space_directions="(2,0,0) (0,3,0) (0,2,4)"))
    found = measured(path)
    assert found["volume_mm3"] == pytest.approx(36 * 24)
    assert read_sitk_geometry(path).affine[:3, 2].tolist() == [0, -2, 4]


def test_spacings_may_repeat_what_the_directions_say(write, block):
    assert read_sitk_geometry(write(nrrd(block, spacings="2 3 4"))).orientation_known


HEADERS = {
    "zero spacing": ({"space_directions": "(2,0,0) (0,0,0) (0,0,4)"}, GeometryError, "bad_spacing"),
    "NaN direction": ({"space_directions": "(2,0,0) (0,nan,0) (0,0,4)"}, GeometryError, "bad_spacing"),
    "infinite direction": ({"space_directions": "(2,0,0) (0,inf,0) (0,0,4)"}, GeometryError, "bad_spacing"),
    "singular": ({"space_directions": "(2,0,0) (2,0,0) (0,0,4)"}, GeometryError, "singular_affine"),
    "NaN origin": ({"space_origin": "(nan,0,0)"}, GeometryError, "non_finite_affine"),
    "no size of voxels": ({"space_directions": None}, GeometryError, "missing_spacing"),
    "negative spacing": ({"space_directions": None, "spacings": "2 -3 4"}, GeometryError, "bad_spacing"),
    "NaN spacing": ({"space_directions": None, "spacings": "2 nan 4"}, GeometryError, "bad_spacing"),
    "contradiction": ({"spacings": "1 1 1"}, GeometryError, "contradictory_geometry"),
    "unknown unit": ({"space_units": '"mm" "mm" "inch"'}, GeometryError, "bad_unit"),
    "unknown space": ({"space": "left-over-there"}, GeometryError, "unknown_space"),
    "two axes": ({"dimension": 2, "sizes": "10 96", "kinds": "domain domain",
                  "space_directions": "(2,0,0) (0,3,0)"}, FileReadError, "not_3d"),
    "colour": ({"dimension": 4, "sizes": "3 10 12 8", "kinds": "RGB-color domain domain domain",
                "space_directions": "none (2,0,0) (0,3,0) (0,0,4)"}, FileReadError, "unsupported_dtype"),
    "vectors": ({"dimension": 4, "sizes": "2 10 12 8", "kinds": "vector domain domain domain",
                 "space_directions": "none (2,0,0) (0,3,0) (0,0,4)"}, FileReadError, "unsupported_dtype"),
    "time": ({"dimension": 4, "sizes": "10 12 4 2", "kinds": "domain domain domain time",
              "space_directions": "(2,0,0) (0,3,0) (0,0,4) none"}, FileReadError, "unclear_axis"),
    "list": ({"dimension": 4, "sizes": "2 10 12 4", "kinds": "list domain domain domain",
              "space_directions": "none (2,0,0) (0,3,0) (0,0,4)"}, FileReadError, "unclear_axis"),
    "four axes": ({"dimension": 4, "sizes": "10 12 4 2", "kinds": None, "space_directions": None,
                   "spacings": "2 3 4 1"}, FileReadError, "unclear_axis"),
    "length 0": ({"sizes": "10 0 8"}, FileReadError, "bad_header"),
    "sizes missing": ({"sizes": None}, FileReadError, "bad_header"),
    "too few sizes": ({"sizes": "10 12"}, FileReadError, "bad_header"),
    "more voxels than bytes": ({"sizes": "10 12 9"}, FileReadError, "truncated_file"),
    "far more voxels than bytes": ({"sizes": "32767 32767 32767"}, FileReadError, "truncated_file"),
    "fewer voxels than bytes": ({"sizes": "10 12 7"}, FileReadError, "extra_data"),
    "unknown encoding": ({"encoding": "zrl"}, FileReadError, "unsupported_encoding"),
    "unknown type": ({"type": "block"}, FileReadError, "unsupported_dtype"),
    "byte order missing": ({"type": "short", "endian": None, "sizes": "10 12 4"}, FileReadError, "bad_header"),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["raw", "gzip"])
@pytest.mark.parametrize("what", HEADERS)
def test_headers_that_are_refused(what, encoding, write, block):
    changes, kind, code = HEADERS[what]
    content = nrrd(block, encoding=encoding)
    head, _, data = content.partition(b"\n\n")
    path = write(nrrd(block, data=False, **{"encoding": encoding, **changes}) + b"\n" + data)
    assert head
    error = refusal(path)
    assert isinstance(error, kind)
    assert error.code == code


@pytest.mark.parametrize("encoding", ["raw", "gzip", "bzip2", "ascii", "hex"])
def test_cut_at_every_byte(encoding, write):
    content = nrrd(np.arange(100, 124, dtype="<i2").reshape(2, 3, 4), encoding=encoding)
    for length in range(len(content) - 2 * (encoding == "ascii")):  # the last number without digits is a number
        error = refusal(write(content[:length]))
        assert isinstance(error, FileReadError)


def test_flipped_bits_in_the_packed_voxels(write, block):
    for encoding in ("gzip", "bzip2"):
        content = nrrd(block, encoding=encoding)
        start = content.index(b"\n\n") + 2 + (10 if encoding == "gzip" else 0)  # a gzip header carries nothing
        for position in range(start, len(content)):
            damaged = bytearray(content)
            damaged[position] ^= 1
            try:
                array, _, _ = read_sitk_volume(write(bytes(damaged)))
            except FileReadError:
                continue
            assert (array == block).all()  # padding bits


def test_several_streams_are_one(write, block):
    data = block.tobytes(order="F")
    for encoding, pack in (("gzip", gzip.compress), ("bzip2", bz2.compress)):
        head = nrrd(block, data=False, encoding=encoding) + b"\n"
        assert (read_sitk_volume(write(head + pack(data[:500]) + pack(data[500:])))[0] == block).all()


def test_something_behind_the_voxels(write, block):
    for encoding in ("raw", "gzip", "bzip2"):
        assert refusal(write(nrrd(block, encoding=encoding) + b"garbage!")).code in (
            "extra_data",
            "corrupt_file",
            "truncated_file",
        )
    assert refusal(write(nrrd(block, encoding="ascii") + b" 7")).code == "extra_data"
    assert refusal(write(nrrd(block, encoding="ascii") + b" seven")).code == "corrupt_file"


class TestDetached:
    @pytest.mark.parametrize(
        "name", ["voxels.raw", "Größe 三 mm.raw", "sub folder/voxels.raw", "sub folder\\voxels.raw"]
    )
    def test_br_092_a_data_file_beside_the_header(self, name, write, block, tmp_path):
        (tmp_path / "sub folder").mkdir()
        (tmp_path / name.replace("\\", "/")).write_bytes(block.tobytes(order="F"))
        for key in ("data_file", "datafile"):
            path = write(nrrd(block, data=False, encoding="raw", **{key: name}), "a.nhdr")
            assert measured(path)["voxel_count"] == 36

    def test_br_086_the_missing_data_file_is_named(self, write, block):
        path = write(nrrd(block, data=False, data_file="voxels.raw.gz"), "a.nhdr")
        error = refusal(path)
        assert error.code == "missing_file"
        assert "voxels.raw.gz" in str(error)
        with pytest.raises(FileReadError, match=r"voxels\.raw\.gz"):
            read_sitk_geometry(path)

    @pytest.mark.parametrize("spec", ["s%02d.raw 1 8 1", "s%02d.raw 1 8 1 2", "LIST", "LIST 2"])
    def test_a_file_for_each_slice(self, spec, write, block, tmp_path):
        for k in range(8):
            (tmp_path / f"s{k + 1:02}.raw").write_bytes(block[..., k].tobytes(order="F"))
        content = nrrd(block, data=False, encoding="raw", data_file=spec)
        if spec.startswith("LIST"):
            content += "".join(f"s{k:02}.raw\n" for k in range(1, 9)).encode()
        path = write(content, "a.nhdr")
        assert (read_sitk_volume(path)[0] == block).all()
        (tmp_path / "s05.raw").write_bytes(bytes(119))
        assert refusal(path).code == "truncated_file"
        (tmp_path / "s05.raw").unlink()
        assert "s05.raw" in str(refusal(path))

    def test_too_few_files(self, write, block):
        assert refusal(write(nrrd(block, data=False, data_file="s%02d.raw 1 7 1"), "a.nhdr")).code == "bad_header"

    def test_bytes_and_lines_to_pass_over(self, write, block, tmp_path):
        data = block.tobytes(order="F")
        (tmp_path / "a.raw").write_bytes(b"one\ntwo\n" + b"###" + data)
        path = write(nrrd(block, data=False, encoding="raw", data_file="a.raw", line_skip=2, byte_skip=3), "a.nhdr")
        assert (read_sitk_volume(path)[0] == block).all()
        path = write(nrrd(block, data=False, encoding="raw", data_file="a.raw", byte_skip=-1), "b.nhdr")
        assert (read_sitk_volume(path)[0] == block).all()
        (tmp_path / "a.gz").write_bytes(b"one\n" + gzip.compress(b"###" + data))
        path = write(nrrd(block, data=False, data_file="a.gz", line_skip=1, byte_skip=3), "c.nhdr")
        assert (read_sitk_volume(path)[0] == block).all()


@pytest.mark.parametrize(
    ("content", "code", "found"),
    [
        (b"", "empty_file", "0 bytes"),
        (gzip.compress(b"x" * 600, mtime=0), "unsupported_format", "gzip"),
        (b"PK\x03\x04" + bytes(60), "unsupported_format", "ZIP"),
        (b"<!DOCTYPE html><html>", "unsupported_format", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "unsupported_format", "Git LFS"),
        (b"see the other folder\n", "unsupported_format", "text"),
        (bytes(1000), "unsupported_format", "zeros"),
        (b"NRRD0009\n", "not_nrrd", "NRRD0009"),
        (b"NRRD0005\nnonsense\n", "bad_header", "nonsense"),
    ],
)
def test_other_content(content, code, found, write):
    error = refusal(write(content))
    assert error.code == code
    assert found in error.found


def test_read_by_content_whatever_the_name(write, block):
    for name in ("a.mha", "b.nii.gz", "c"):
        assert measured(write(nrrd(block), name))["voxel_count"] == 36


def test_windows_line_ends(write, block):
    head, _, data = nrrd(block).partition(b"\n\n")
    assert measured(write(head.replace(b"\n", b"\r\n") + b"\r\n\r\n" + data))["voxel_count"] == 36


@pytest.mark.parametrize("compressed", [True, False])
def test_what_simpleitk_writes(compressed, tmp_path):
    array = np.random.default_rng(0).integers(0, 5, (4, 5, 6)).astype(np.int16)
    image = sitk.GetImageFromArray(array)
    image.SetSpacing((1.5, 2.5, 3.5))
    image.SetDirection((0, 0, 1, 1, 0, 0, 0, 1, 0))
    image.SetOrigin((-5, 7, 11))
    sitk.WriteImage(image, str(tmp_path / "a.nrrd"), compressed)
    sitk.WriteImage(image, str(tmp_path / "a.nhdr"), compressed)
    for name in ("a.nrrd", "a.nhdr"):
        found, geometry, _ = read_sitk_volume(tmp_path / name)
        assert (found == array.T).all()
        for index in ((0, 0, 0), (5, 4, 3)):
            x, y, z = image.TransformIndexToPhysicalPoint(index)
            assert (geometry.affine @ [*index, 1])[:3] == pytest.approx([-x, -y, z])
