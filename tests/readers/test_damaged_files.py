"""Cut, flipped and lengthened files: refused, or measured as the intact one; never something else."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import FileReadError, SpatialQAError


def figures(path, **options):
    """What is measured, without what the file is called."""
    return sqa.measure(path, case_id="case", **options).model_dump(exclude={"source"})


@pytest.fixture
def intact(write_nifti, block):
    """A small compressed file, and what is in it."""
    path = write_nifti("intact.nii.gz", block, spacing=(2, 3, 4))
    return path.read_bytes(), figures(path)


def test_cut_at_every_byte(intact, tmp_path):
    content, _ = intact
    path = tmp_path / "cut.nii.gz"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(FileReadError) as caught:
            sqa.measure(path)
        assert caught.value.file == str(path)
        assert caught.value.code == {0: "empty_file", 1: "not_nifti"}.get(length, "truncated_file")


def test_cut_at_every_byte_when_loaded(intact, tmp_path, load):
    content, _ = intact
    path = tmp_path / "cut.nii.gz"
    for length in range(0, len(content), 3):
        path.write_bytes(content[:length])
        with pytest.raises(FileReadError):
            load(path)


@pytest.mark.parametrize("compresslevel", [0, 1, 9])
def test_cut_somewhere_in_a_larger_file(compresslevel, tmp_path, to_nifti):
    rng = np.random.default_rng(0)
    array = (rng.random((64, 64, 40)) < 0.2).astype(np.uint8)
    content = gzip.compress(to_nifti(array), compresslevel)
    path = tmp_path / "cut.nii.gz"
    for length in [*rng.integers(2, len(content), 60), *range(len(content) - 12, len(content))]:
        path.write_bytes(content[:length])
        with pytest.raises(FileReadError, match="truncated"):
            sqa.measure(path)


def test_plain_file_cut_at_every_byte(write_nifti, block, tmp_path):
    content = write_nifti("intact.nii", block).read_bytes()
    path = tmp_path / "cut.nii"
    for length in [*range(0, 360), *range(360, len(content), 17), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(FileReadError) as caught:
            sqa.measure(path)
        assert caught.value.code in ("empty_file", "not_nifti", "truncated_file")


def test_every_bit_flipped(intact, tmp_path):
    """The checksum guards the voxels; bits that carry nothing (time stamp, padding) may change."""
    content, expected = intact
    path = tmp_path / "flipped.nii.gz"
    refused, harmless = [], 0
    for position in range(len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            path.write_bytes(bytes(damaged))
            try:
                found = figures(path)
            except SpatialQAError as error:
                refused.append(error)
            else:
                harmless += 1
                assert found == expected
    assert len(refused) > 5 * harmless
    assert {error.file for error in refused} == {str(path)}


@pytest.mark.parametrize("position", [-8, -5, -4, -1])
def test_trailer(position, intact, tmp_path, load):
    """The last eight bytes are the checksum and the length."""
    damaged = bytearray(intact[0])
    damaged[position] ^= 0x10
    path = tmp_path / "flipped.nii.gz"
    path.write_bytes(bytes(damaged))
    for read in (sqa.measure, load):
        with pytest.raises(FileReadError, match="checksum") as caught:
            read(path)
        assert caught.value.code == "checksum_mismatch"


@pytest.mark.parametrize("name", ["long.nii", "long.nii.gz"])
@pytest.mark.parametrize("extra", [b"\0", b"\0" * 960, b"\x01\x02"])
def test_more_voxels_than_announced(name, extra, tmp_path, block, to_nifti, load):
    content = to_nifti(block) + extra
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    for read in (sqa.measure, load):
        with pytest.raises(FileReadError, match="more voxels") as caught:
            read(path)
        assert caught.value.code == "extra_data"


def test_bytes_behind_the_compressed_stream(intact, tmp_path):
    content, expected = intact
    path = tmp_path / "long.nii.gz"
    path.write_bytes(content + bytes(512))  # padding, as tapes and some archives add it
    assert figures(path) == expected
    for extra in (b"garbage!", b"garbage!" * 100, gzip.compress(b"\x01")):
        path.write_bytes(content + extra)
        with pytest.raises(FileReadError):
            sqa.measure(path)


def test_several_gzip_members_are_one_stream(intact, tmp_path, block, to_nifti, load):
    plain = to_nifti(block, spacing=(2, 3, 4))
    path = tmp_path / "two.nii.gz"
    path.write_bytes(gzip.compress(plain[:500]) + gzip.compress(plain[500:]))
    assert figures(path) == intact[1]
    assert (load(path)[0].numpy() == block).all()


def test_compression_is_recognised_by_content(intact, tmp_path, block, to_nifti, load):
    plain = to_nifti(block, spacing=(2, 3, 4))
    for name, content in (("plain.nii.gz", plain), ("packed.nii", gzip.compress(plain))):
        path = tmp_path / name
        path.write_bytes(content)
        assert figures(path) == intact[1]
        assert (load(path)[0].numpy() == block).all()
