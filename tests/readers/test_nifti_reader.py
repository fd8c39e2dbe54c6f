"""What NiftiReader hands on through LoadImaged: the stored values without a copy, and a matrix in RAS mm."""

from __future__ import annotations

import gzip
import pickle

import nibabel as nib
import numpy as np
import pytest
import torch
from monai.data import MetaTensor
from monai.transforms import LoadImage

from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.readers.nifti_stream import NiftiStream, read_header


class Spy(NiftiReader):
    """Remembers the array that was read."""

    def read(self, data, **kwargs):
        self.last = super().read(data, **kwargs)
        return self.last


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_voxels_are_not_copied(name, endian, write_nifti, block):
    path = write_nifti(name, block.astype(np.int16), spacing=(2, 3, 4), endian=endian)
    spy = Spy()
    label = LoadImage(reader=spy, dtype=None, ensure_channel_first=True)(str(path))
    assert isinstance(label, MetaTensor)
    assert label.data_ptr() == spy.last.scan.voxels.ctypes.data
    assert label.shape == (1, 10, 12, 8)
    assert label.stride()[1:] == (1, 10, 120)
    assert label.dtype == torch.int16
    assert (label[0].numpy() == block).all()


@pytest.mark.parametrize("endian", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
def test_every_stored_type(dtype, version, endian, write_nifti, load):
    kind = np.dtype(dtype)
    array = np.arange(2 * 3 * 4, dtype=kind).reshape(2, 3, 4)
    if kind.kind in "iu":
        array[1, 2, 3] = np.iinfo(kind).max
    path = write_nifti("a.nii.gz", array, spacing=(2, 3, 4), version=version, endian=endian)
    label = load(path)
    assert label.numpy().dtype == kind
    assert (label[0].numpy() == array).all()
    assert read_header(path).dtype.newbyteorder("=") == kind
    # nibabel reads the same
    assert (np.asarray(nib.load(path).dataobj) == array).all()
    assert label.affine.numpy() == pytest.approx(nib.load(path).affine)


@pytest.mark.parametrize(
    ("dtype", "slope", "inter", "expected", "values"),
    [
        ("u1", 1, 0, "u1", [0, 1, 255]),
        ("u1", 0, 7, "u1", [0, 1, 255]),  # slope 0 means: not scaled
        ("u1", np.nan, np.nan, "u1", [0, 1, 255]),
        ("u1", 2, 0, "i2", [0, 2, 510]),
        ("u1", 1, -1, "i2", [-1, 0, 254]),
        ("u1", 200, 0, "i4", [0, 200, 51_000]),
        ("u1", 2**24, 0, "i8", [0, 2**24, 255 * 2**24]),
        ("u1", 0.5, 0, "f4", [0, 0.5, 127.5]),
        ("f4", 2, 1, "f4", [1, 3, 511]),
        ("f8", 2, 1, "f8", [1, 3, 511]),
        ("i4", 0.5, 0, "f8", [0, 0.5, 127.5]),
    ],
)
def test_scaling(dtype, slope, inter, expected, values, write_nifti, load):
    array = np.array([0, 1, 255], dtype).reshape(3, 1, 1)

    def scaled(header):
        header["scl_slope"], header["scl_inter"] = slope, inter

    label = load(write_nifti("a.nii", array, edit=scaled))
    assert label.numpy().dtype == np.dtype(expected)
    assert label.flatten().tolist() == values


@pytest.mark.parametrize(
    ("unit", "factor", "note"),
    [("mm", 1, ""), ("micron", 1e-3, "micrometre"), ("m", 1e3, "metre"), (None, 1, "no spatial unit")],
)
def test_units(unit, factor, note, write_nifti, block, load):
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = 10, 20, 30
    affine[:3] /= factor
    path = write_nifti("a.nii", block, affine, unit=unit)
    label = load(path)
    expected = np.diag([2.0, 3.0, 4.0, 1.0])
    expected[:3, 3] = 10, 20, 30
    assert label.affine.numpy() == pytest.approx(expected)
    assert note in label.meta["spatialqa_notes"]
    assert bool(note) == bool(label.meta["spatialqa_notes"])


def test_time_units_do_not_disturb(write_nifti, block, load):
    label = load(write_nifti("a.nii", block, spacing=(2, 3, 4), unit=2 | 8))  # mm and seconds
    assert label.pixdim.tolist() == [2, 3, 4]


@pytest.mark.parametrize("turned", [True, False])
def test_qform_alone(turned, write_nifti, block, load):
    affine = np.diag([-2.0, 3.0, 4.0, 1.0])
    if turned:
        c, s = np.cos(0.4), np.sin(0.4)
        affine[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ affine[:3, :3]
    affine[:3, 3] = 7, 8, 9
    path = write_nifti("a.nii", block, affine, forms=(0, 1))
    label = load(path)
    assert label.affine.numpy() == pytest.approx(affine, abs=1e-5)
    assert label.affine.numpy() == pytest.approx(nib.load(path).affine, abs=1e-5)
    assert label.meta["spatialqa_geometry"] == "verified"


def test_sform_alone_may_be_sheared(write_nifti, block, load):
    affine = np.array([[1.0, 0, 0, 5], [0, 1, 0.5, 6], [0, 0, 2, 7], [0, 0, 0, 1]])
    label = load(write_nifti("a.nii", block, affine, forms=(1, 0)))
    assert (label.affine.numpy() == affine).all()


def test_no_form(write_nifti, block, load):
    label = load(write_nifti("a.nii", block, spacing=(2, 3, 4), forms=(0, 0)))
    assert label.meta["spatialqa_geometry"] == "orientation_unknown"
    assert "orientation unknown" in label.meta["spatialqa_notes"]
    assert label.pixdim.tolist() == [2, 3, 4]


class TestContradictions:
    """The sform says 1 mm, the qform and pixdim say 2 x 3 x 4 mm."""

    @pytest.fixture
    def path(self, write_nifti, block):
        def identity(header):
            header["srow_x"], header["srow_y"], header["srow_z"] = np.eye(4)[:3]

        return write_nifti("a.nii", block, spacing=(2, 3, 4), edit=identity)

    def test_a_form_may_be_chosen(self, path, load):
        assert (load(path, form="sform").affine.numpy() == np.eye(4)).all()
        assert (load(path, form="qform").affine.numpy() == np.diag([2, 3, 4, 1])).all()


@pytest.mark.parametrize(
    ("shift_voxels", "quiet"), [(0.0, True), (0.05, True), (0.3, False)], ids=["equal", "rounding", "noted"]
)
def test_forms_that_nearly_agree(shift_voxels, quiet, write_nifti, block, load):
    def moved(header):
        header["qoffset_x"] += 2 * shift_voxels

    label = load(write_nifti("a.nii", block, spacing=(2, 3, 4), edit=moved))
    assert label.affine[0, 3] == 0  # the sform's
    assert ("differ by 0.30 voxel" in label.meta["spatialqa_notes"]) == (not quiet)


@pytest.mark.parametrize("broken", ["sform", "qform"])
def test_a_broken_form_beside_a_good_one(broken, write_nifti, block, load):
    def edit(header):
        if broken == "sform":
            header["srow_x"] = 0
        else:
            header["quatern_b"] = np.nan

    label = load(write_nifti("a.nii", block, spacing=(2, 3, 4), edit=edit))
    assert label.pixdim.tolist() == [2, 3, 4]
    assert f"the {broken} is coded but unusable" in label.meta["spatialqa_notes"]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("version", [1, 2])
def test_header_and_image_in_two_files(version, compressed, tmp_path, block, to_nifti, load):
    def pair(header):
        header["magic"] = b"ni1" if version == 1 else b"ni2\0\r\n\x1a\n"
        header["vox_offset"] = 0

    content = to_nifti(block, spacing=(2, 3, 4), version=version, edit=pair)
    size = 348 if version == 1 else 540
    end = ".gz" if compressed else ""
    pack = gzip.compress if compressed else bytes
    (tmp_path / f"a.hdr{end}").write_bytes(pack(content[:size]))
    (tmp_path / f"a.img{end}").write_bytes(pack(content[size + 4 :]))
    label = load(tmp_path / f"a.hdr{end}")
    assert (label[0].numpy() == block).all()
    assert label.pixdim.tolist() == [2, 3, 4]


def test_voxels_behind_a_header_extension(write_nifti, tmp_path, block, load):
    content = write_nifti("plain.nii", block, edit=lambda header: header.__setitem__("vox_offset", 1008)).read_bytes()
    extension = b"\x01\0\0\0" + (656).to_bytes(4, "little") + (6).to_bytes(4, "little") + b"x" * 648
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(content[:348] + extension + content[352:]))
    assert (load(tmp_path / "a.nii.gz")[0].numpy() == block).all()


def test_voxels_start_behind_the_header_even_if_it_says_0(write_nifti, block, load):
    path = write_nifti("a.nii.gz", block, edit=lambda header: header.__setitem__("vox_offset", 0))
    assert (load(path)[0].numpy() == block).all()


@pytest.mark.parametrize("lengths", [(6, 5, 4, 3), (6, 5, 4, 1, 3), (6, 5, 4, 1, 1, 3)])
def test_several_volumes_become_channels(lengths, write_nifti, load):
    array = np.arange(360, dtype=np.int16).reshape(lengths, order="F")
    label = load(write_nifti("a.nii", array))
    assert label.shape == (3, 6, 5, 4)
    flat = array.reshape(6, 5, 4, 3, order="F")
    assert (label.numpy() == flat.transpose(3, 0, 1, 2)).all()


def test_a_fourth_axis_of_one_is_no_channel_axis(write_nifti, block, load):
    assert load(write_nifti("a.nii", block[..., None])).shape == (1, 10, 12, 8)


def test_the_reader_pickles_and_tells_its_settings():
    reader = pickle.loads(pickle.dumps(NiftiReader(form="qform")))
    assert repr(reader) == "NiftiReader(form='qform')"
    assert reader.verify_suffix(["a.nii", "b.NII.GZ", "c.hdr"])
    assert not reader.verify_suffix(["a.nii", "b.nrrd"])


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("endian", ["<", ">"])
def test_blocks_are_the_voxels_in_stored_order(ahead, endian, write_nifti):
    array = np.random.default_rng(0).integers(0, 2**31, (120, 90, 70)).astype(np.int32)
    path = write_nifti("a.nii.gz", array, endian=endian)
    with NiftiStream(path) as stream:
        # A block is valid until the next one is asked for.
        blocks = [block.copy() for block in stream.blocks(ahead=ahead)]
    assert {block.dtype for block in blocks} == {np.dtype(f"{endian}i4")}
    found = np.concatenate(blocks)
    assert (found == array.reshape(-1, order="F")).all()
    with NiftiStream(path) as stream:
        assert (stream.read_all() == found).all()
