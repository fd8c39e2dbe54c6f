"""Handles, threads and names: nothing is left open, nothing left running, any path goes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import monai_spatialqa as sqa
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.readers.nifti_stream import NiftiStream, read_header


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def inflating() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "nifti-inflate" and thread.is_alive()]


@pytest.fixture
def large(write_nifti):
    """Twelve blocks."""
    noise = np.random.default_rng(0).integers(0, 4, (200, 200, 300)).astype(np.uint8)
    return write_nifti("large.nii.gz", noise)


def test_the_thread_ends_when_the_consumer_stops_early(large):
    before = open_files()
    with NiftiStream(large) as stream:
        blocks = stream.blocks()
        next(blocks)
        next(blocks)
        assert inflating()
        blocks.close()
        assert not inflating()
    assert open_files() == before


def test_the_thread_ends_when_the_consumer_fails(large):
    class Stopped(Exception):
        pass

    def consume():
        with NiftiStream(large) as stream:
            for number, _ in enumerate(stream.blocks()):
                if number == 2:
                    raise Stopped

    before = open_files()
    with pytest.raises(Stopped):
        consume()
    assert not inflating()
    assert open_files() == before


def test_the_thread_hands_its_error_on(large):
    content = large.read_bytes()
    large.write_bytes(content[: len(content) // 2])
    before = open_files()
    with pytest.raises(SpatialQAError, match="truncated"):
        sqa.measure(large)
    assert not inflating()
    gc.collect()
    assert open_files() == before


def test_a_slow_consumer_gets_every_block(large):
    with NiftiStream(large) as stream:
        total = 0
        for number, block in enumerate(stream.blocks()):
            if number < 3:
                time.sleep(0.15)  # longer than the producer waits before it looks whether it should stop
            total += int(block.astype(np.int64).sum())
    with NiftiStream(large) as stream:
        assert total == int(stream.read_all().astype(np.int64).sum())


def test_refusals_leave_no_file_open(write_nifti, block, tmp_path, load):
    broken = write_nifti("broken.nii.gz", block, edit=lambda header: header.__setitem__("pixdim", np.zeros(8)))
    (tmp_path / "empty.nii").write_bytes(b"")
    before = open_files()
    for path in (broken, tmp_path / "empty.nii", tmp_path / "none.nii"):
        for function in (sqa.measure, read_header, load):
            with pytest.raises(SpatialQAError):
                function(path)
    assert open_files() == before


def test_reading_a_header_reads_no_voxels(large):
    content = large.read_bytes()
    large.write_bytes(content[: len(content) // 2])
    assert read_header(large).shape == (200, 200, 300)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_br_095_handles_do_not_leak(tmp_path, write_nifti):
    """More files than may be open, by the same factor as 2,000 against 256."""
    array = np.zeros((3, 3, 3), np.uint8)
    array[1] = 1
    path = write_nifti("seg.nii.gz", array)
    code = f"""
        import os, resource, pathlib
        import monai_spatialqa as sqa
        from monai.transforms import LoadImaged
        from monai_spatialqa.readers import NiftiReader
        path = pathlib.Path({str(path)!r})
        content = path.read_bytes()
        loader = LoadImaged("label", reader=NiftiReader(), dtype=None)
        sqa.measure(path)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 48,) * 2)
        found = 0
        for number in range(400):
            name = path.with_name(f"seg_{{number}}.nii.gz")
            name.write_bytes(content)
            found += sqa.measure(name).structures["label_1"].voxel_count
            if number % 10 == 0:
                loader({{"label": str(name)}})
            name.unlink()
        print(found)
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
    assert done.stdout.strip() == str(400 * 9)
