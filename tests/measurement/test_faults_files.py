"""Faults that users of neighbouring tools met with files and paths: what happens here."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import FileReadError


def test_br_088_half_a_file(write_nifti, block):
    path = write_nifti("seg.nii.gz", block)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileReadError, match="truncated") as caught:
        sqa.measure(path)
    assert (caught.value.code, caught.value.file) == ("truncated_file", str(path))


def test_br_088_the_image_of_a_pair(write_nifti, block):
    label, image = write_nifti("seg.nii.gz", block), write_nifti("ct.nii", block)
    image.write_bytes(image.read_bytes()[:500])
    with pytest.raises(FileReadError, match="truncated") as caught:
        sqa.measure(label, image=image)
    assert caught.value.file == str(image)


def test_br_091_plain_nifti_named_gz(write_nifti, block, tmp_path):
    plain = write_nifti("plain.nii", block)
    named = tmp_path / "seg.nii.gz"
    named.write_bytes(plain.read_bytes())
    assert sqa.measure(named).structures == sqa.measure(plain).structures


@pytest.mark.parametrize("name", ["seg.nii", "seg.nii.gz"])
def test_br_091_zero_bytes(name, tmp_path):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(FileReadError, match="empty") as caught:
        sqa.measure(tmp_path / name)
    assert (caught.value.code, caught.value.file) == ("empty_file", str(tmp_path / name))


FOLDERS = ["a folder", "Müller-Übung", "症例 1", "a'b\"c", "x" * 120 + "/" + "y" * 120, "-rf", "a%b#c$d"]


@pytest.mark.parametrize("folder", FOLDERS, ids=range(len(FOLDERS)))
@pytest.mark.parametrize("name", ["seg ä 肝.nii.gz", "seg ä 肝.nii"])
def test_br_092_any_path(folder, name, write_nifti, block, monkeypatch, tmp_path):
    label = write_nifti(f"{folder}/{name}", block)
    image = write_nifti(f"{folder}/ct {name}", block)
    measurement = sqa.measure(label, image=image)
    assert measurement.case_id == "seg ä 肝"
    assert measurement.structures["label_1"].voxel_count == 36
    monkeypatch.chdir(tmp_path)
    measurement = sqa.measure(label.relative_to(tmp_path), image=str(image.relative_to(tmp_path)))
    assert measurement.source.path == f"{folder}/{name}"
    line = measurement.to_json_line().encode("utf-8")
    assert name.encode("utf-8") in line  # as typed, not escaped
    assert json.loads(line)["source"]["image_path"] == f"{folder}/ct {name}"


def test_br_092_refusals_show_the_path(tmp_path):
    path = tmp_path / "症例 1" / "Übung.nii.gz"
    path.parent.mkdir()
    path.write_bytes(b"")
    with pytest.raises(FileReadError) as caught:
        sqa.measure(path)
    assert str(path) in str(caught.value)
    with pytest.raises(FileReadError, match="no such file"):
        sqa.measure(path.with_name("missing.nii.gz"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's account of memory")
def test_br_096_memory_does_not_follow_the_volume(tmp_path, to_nifti):
    """512^3 voxels of 100 ids in under a quarter of the array's memory, threads and tables included."""
    cell = np.zeros((512, 512, 8), np.uint8)
    for number in range(100):
        row, column = divmod(number, 10)
        cell[51 * row : 51 * row + 40, 51 * column : 51 * column + 40] = number + 1
    header = to_nifti(cell, edit=lambda header: header.__setitem__("dim", [3, 512, 512, 512, 1, 1, 1, 1]))[:352]
    path = tmp_path / "seg.nii.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header)
        for _ in range(64):
            file.write(cell.tobytes(order="F"))
    small = tmp_path / "small.nii.gz"
    small.write_bytes(gzip.compress(to_nifti(cell)))
    code = f"""
        import resource
        import monai_spatialqa as sqa
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        sqa.measure({str(small)!r})
        before = peak()
        measurement = sqa.measure({str(path)!r})
        print(peak() - before, sum(s.voxel_count for s in measurement.structures.values()), len(measurement.structures))
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    extra, voxels, structures = map(int, done.stdout.split())
    assert (voxels, structures) == (100 * 40 * 40 * 512, 100)
    assert extra < 512**3 // 4
