"""Every refusal arrives through LoadImaged, names the file, what was found and expected, and what to do next."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
import torch
from monai.transforms import LoadImaged

from monai_spatialqa.errors import FileReadError, GeometryError, SpatialQAError
from monai_spatialqa.readers import NiftiReader


def field(name, value):
    def edit(header):
        header[name] = value

    return edit


def pixdim(axis, value, forms=(0, 1)):
    def edit(header):
        header["pixdim"][axis] = value

    return {"edit": edit, "forms": forms}


def identity_sform(header):
    header["srow_x"], header["srow_y"], header["srow_z"] = np.eye(4)[:3]


def moved_qform(header):
    header["qoffset_y"] += 3 * 0.6  # voxels of 3 mm


HEADERS = {
    # what is wrong: (options of the writer, error, its code, a word of its message)
    "zero spacing": (pixdim(3, 0.0), GeometryError, "bad_spacing", "axis k"),
    "negative spacing": (pixdim(1, -2.0), GeometryError, "bad_spacing", "axis i"),
    "NaN spacing": (pixdim(2, np.nan), GeometryError, "bad_spacing", "axis j"),
    "infinite spacing": (pixdim(2, np.inf), GeometryError, "bad_spacing", "axis j"),
    "zero spacing beside an sform": (pixdim(3, 0.0, (1, 1)), GeometryError, "bad_spacing", "axis k"),
    "zero spacing, no form": (pixdim(3, 0.0, (0, 0)), GeometryError, "bad_spacing", "axis k"),
    "negative spacing, no form": (pixdim(3, -1.0, (0, 0)), GeometryError, "bad_spacing", "axis k"),
    "NaN in the sform": (
        {"edit": field("srow_y", [0, np.nan, 0, 0]), "forms": (1, 0)},
        GeometryError,
        "non_finite_affine",
        "NaN",
    ),
    "zero column": (
        {"edit": field("srow_z", [0, 0, 0, 0]), "forms": (1, 0)},
        GeometryError,
        "singular_affine",
        "singular",
    ),
    "equal columns": (
        {"edit": field("srow_y", [0, 0, 4, 0]), "forms": (1, 0)},
        GeometryError,
        "singular_affine",
        "singular",
    ),
    "impossible quaternion": (
        {"edit": field("quatern_b", 1.5), "forms": (0, 1)},
        GeometryError,
        "non_finite_affine",
        "qform",
    ),
    "sform against qform and pixdim": ({"edit": identity_sform}, GeometryError, "contradictory_geometry", "contradict"),
    "sform against pixdim": (
        {"edit": identity_sform, "forms": (1, 0)},
        GeometryError,
        "contradictory_geometry",
        "pixdim",
    ),
    "qform more than half a voxel off": ({"edit": moved_qform}, GeometryError, "contradictory_geometry", "0.6 voxels"),
    "unknown unit": ({"unit": 5}, GeometryError, "bad_unit", "unit"),
    "unknown type": ({"edit": field("datatype", 999)}, FileReadError, "unsupported_dtype", "999"),
    "colour": ({"edit": field("datatype", 128)}, FileReadError, "unsupported_dtype", "RGB"),
    "complex": ({"edit": field("datatype", 32)}, FileReadError, "unsupported_dtype", "complex64"),
    "two axes": ({"edit": field("dim", [2, 10, 12, 1, 1, 1, 1, 1])}, FileReadError, "not_3d", "three axes"),
    "no axis": ({"edit": field("dim", [0, 10, 12, 8, 1, 1, 1, 1])}, FileReadError, "bad_header", "dimensions"),
    "length 0": ({"edit": field("dim", [3, 10, 0, 8, 1, 1, 1, 1])}, FileReadError, "bad_header", "dimensions"),
    "negative length": ({"edit": field("dim", [3, 10, -12, 8, 1, 1, 1, 1])}, FileReadError, "bad_header", "dimensions"),
    "more voxels than bytes": (
        {"edit": field("dim", [3, 10, 12, 9, 1, 1, 1, 1])},
        FileReadError,
        "truncated_file",
        "truncated",
    ),
    "far more voxels than bytes": (
        {"edit": field("dim", [3, 32767, 32767, 32767, 1, 1, 1, 1])},
        FileReadError,
        "truncated_file",
        "truncated",
    ),
    "fewer voxels than bytes": (
        {"edit": field("dim", [3, 10, 12, 7, 1, 1, 1, 1])},
        FileReadError,
        "extra_data",
        "more voxels",
    ),
    "negative offset": ({"edit": field("vox_offset", -5)}, FileReadError, "bad_header", "offset"),
    "offset beyond the end": ({"edit": field("vox_offset", 1e7)}, FileReadError, "truncated_file", "truncated"),
    "Analyze 7.5": ({"edit": field("magic", b"")}, FileReadError, "unsupported_format", "Analyze"),
}


@pytest.mark.parametrize("name", ["seg.nii", "seg.nii.gz"])
@pytest.mark.parametrize("what", HEADERS)
def test_headers(what, name, write_nifti, block, load):
    options, kind, code, word = HEADERS[what]
    path = write_nifti(name, block, **{"spacing": (2, 3, 4), **options})
    with pytest.raises(kind) as caught:
        load(path)
    error = caught.value
    assert error.code == code
    assert error.file == str(path)
    for part in (error.found, error.expected, error.next_step):
        assert part
        assert part in str(error)
    assert re.search(word, str(error))


@pytest.mark.parametrize("version", [1, 2])
def test_absurd_sizes_take_no_memory(version, write_nifti, block, load):
    lengths = [3, *[32767 if version == 1 else 2**40] * 3, 1, 1, 1, 1]
    path = write_nifti("seg.nii.gz", block, version=version, edit=field("dim", lengths))
    with pytest.raises(FileReadError, match="truncated"):
        load(path)


FILES = {
    "empty": (b"", "empty_file"),
    "empty gzip": (gzip.compress(b""), "empty_file"),
    "one byte": (b"\x1f", "not_nifti"),
    "gzip magic only": (b"\x1f\x8b", "truncated_file"),
    "text": (b"this is no scan", "not_nifti"),
    "gzipped text": (gzip.compress(b"this is no scan" * 100), "not_nifti"),
    "half a header": ((348).to_bytes(4, "little") + bytes(100), "truncated_file"),
}


@pytest.mark.parametrize("what", FILES)
def test_files_that_are_no_nifti(what, tmp_path, load):
    content, code = FILES[what]
    path = tmp_path / "seg.nii.gz"
    path.write_bytes(content)
    with pytest.raises(FileReadError) as caught:
        load(path)
    error = caught.value
    assert (error.code, error.file) == (code, str(path))
    assert error.found
    assert error.expected
    assert error.next_step


def test_missing_files(tmp_path, write_nifti, block, load):
    for path in (tmp_path / "none.nii.gz", tmp_path):
        with pytest.raises(FileReadError) as caught:
            load(path)
        assert caught.value.file == str(path)
        assert caught.value.next_step
    content = write_nifti("a.nii", block, edit=field("magic", b"ni1")).read_bytes()
    alone = tmp_path / "a.hdr"
    alone.write_bytes(content[:348])
    with pytest.raises(FileReadError, match=r"a\.img or .*a\.img\.gz") as caught:
        load(alone)
    assert caught.value.code == "missing_file"


def test_a_form_that_is_not_there(write_nifti, block, load):
    path = write_nifti("a.nii", block, forms=(1, 0))
    with pytest.raises(GeometryError, match="qform was asked for") as caught:
        load(path, form="qform")
    assert caught.value.found == "usable: sform"
    assert (load(path, form="sform").affine.numpy() == np.eye(4)).all()


def test_several_files_are_refused(write_nifti, block):
    paths = [str(write_nifti(name, block)) for name in ("a.nii", "b.nii")]
    with pytest.raises(FileReadError, match="2 files"):
        LoadImaged("label", reader=NiftiReader())({"label": paths})


def test_no_other_reader_takes_over(tmp_path, write_nifti, block):
    """A reader that raises in read() would be replaced by one that repairs the header in silence."""
    path = write_nifti("seg.nii.gz", block, spacing=(2, 3, 4), **pixdim(3, 0.0))
    quiet = LoadImaged("label")({"label": str(path)})["label"]
    assert quiet.pixdim.tolist() == [2, 3, 1]  # what a stock reader makes of it
    loader = LoadImaged("label", reader=NiftiReader, dtype=None)
    with pytest.raises(SpatialQAError):
        loader({"label": str(path)})


def test_out_of_memory_is_a_refusal(monkeypatch, write_nifti, block, load):
    from monai_spatialqa.readers.nifti_stream import NiftiStream

    def no_room(self):
        raise MemoryError

    monkeypatch.setattr(NiftiStream, "read_all", no_room)
    with pytest.raises(FileReadError, match="memory") as caught:
        load(write_nifti("a.nii", block))
    assert caught.value.code == "too_large"


def test_damaged_headers_give_a_geometry_or_a_refusal(block, to_nifti):
    """Random bytes in the header: never another exception, never a warning."""
    from monai_spatialqa.readers.nifti_header import parse_header

    raw = to_nifti(block, spacing=(2, 3, 4))[:352]
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(2000):
        damaged = bytearray(raw)
        for position in rng.integers(0, 352, rng.integers(1, 5)):
            damaged[position] = rng.integers(0, 256)
        try:
            geometry = parse_header(bytes(damaged), "seg.nii")
        except SpatialQAError as error:
            refused.append(error)
        else:
            assert np.isfinite(geometry.affine).all()
            assert abs(np.linalg.det(geometry.affine[:3, :3])) > 0
            assert min(geometry.shape) > 0
    assert 200 < len(refused) < 1800
    assert {error.file for error in refused} == {"seg.nii"}


def test_stock_dtype_conversion_still_works(write_nifti, block):
    label = LoadImaged("label", reader=NiftiReader(), ensure_channel_first=True)({"label": write_nifti("a.nii", block)})
    assert label["label"].dtype == torch.float32
