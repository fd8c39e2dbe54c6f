"""The GPU path a MONAI user has, with the device as a parameter, and what keeps voxels on it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from monai.data import CacheDataset, ThreadDataLoader, decollate_batch
from monai.transforms import Compose, EnsureTyped, LoadImaged, Orientationd
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from monai_spatialqa import transforms
from monai_spatialqa.geometry import tensors
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.phantoms import grid_affine, make_phantom
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.transforms import measuring

UNSIGNED = {torch.uint16, torch.uint32, torch.uint64}
VIEWS = ("view", "alias", "detach", "select", "slice", "permute", "as_strided", "unbind", "expand", "_reshape_alias")


@pytest.fixture(scope="module")
def phantom():
    return make_phantom(2, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0), axcodes="LPI", rotation_deg=(4, -6, 9))


@pytest.fixture
def torch_path(monkeypatch):
    """Make CPU tensors take the path of a GPU: torch alone, tensors all through."""
    monkeypatch.setattr(measuring, "marginals_of", functools.partial(marginals_of, compiled=False))
    monkeypatch.setattr(measuring, "numpy_on_cpu", lambda found: found)


def measuring_steps(names):
    return [
        transforms.MeasureVolumed("label", names),
        transforms.MeasureBoundingBoxd("label", names),
        transforms.MeasureDistanced("label", names),
        transforms.MeasureDirectiond("label", names),
    ]


@pytest.mark.parametrize("cached", ["results", "labels"])
def test_recipe(cached, device, phantom, tmp_path, differences):
    """Orient on the CPU, move, then measure there: inside the cache, or after it."""
    names = phantom.label_names
    _, path = phantom.save(tmp_path, "p")
    loading = [
        LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
        transforms.ValidateGeometryd("label"),
        Orientationd("label", "RAS", labels=None),
    ]
    moving = [EnsureTyped("label", device=torch.device(device)), *measuring_steps(names)]
    inside, after = ([*loading, *moving], []) if cached == "results" else (loading, moving)
    dataset = CacheDataset([{"label": str(path)}] * 3, Compose(inside), progress=False, num_workers=0)
    loader = ThreadDataLoader(dataset, batch_size=2, num_workers=0)
    found = [Compose(after)(item) for batch in loader for item in decollate_batch(batch)]
    expected = Compose([*loading, *measuring_steps(names)])({"label": path})["measured_label"]
    assert len(found) == 3
    for item in found:
        assert item["label"].device.type == device
        assert {value.device.type for value in item["measured_label"].values()} == {device}
        assert not differences(item["measured_label"], expected, 1e-9)


class Watching(TorchDispatchMode):
    """Notes voxels that leave their device, and operations on wide unsigned types that are more than a view."""

    def __init__(self, voxels: int) -> None:
        super().__init__()
        self.voxels = voxels
        self.left: list[str] = []
        self.computed: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = [value for value in tree_flatten((args, kwargs))[0] if isinstance(value, torch.Tensor)]
        made = [value for value in tree_flatten(result)[0] if isinstance(value, torch.Tensor)]
        name = func.name().removeprefix("aten::").split(".")[0]
        if any(value.device != other.device and value.numel() >= self.voxels for value in given for other in made):
            self.left.append(func.name())
        if any(value.dtype in UNSIGNED for value in given) and name not in VIEWS:
            self.computed.append(func.name())
        return result


def odd_map(dtype):
    array = np.zeros((9, 8, 7), dtype)
    top = np.iinfo(dtype).max
    array[1:4, 2:6, 1:3], array[5:8, 1:5, 3:6] = top, top // 2 + 1
    return array, {int(top): "a", int(top // 2 + 1): "b"}


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_voxels_stay_and_unsigned_types_are_only_viewed(dtype, layers, device, torch_path, tensor_of):
    """Few CUDA kernels exist for uint16, uint32 and uint64: beyond views, nothing may be computed with them."""
    array, names = odd_map(dtype)
    voxels = array[None] if layers == 1 else np.stack([np.where(array == max(names), array, 0), array // 2 * 2])
    if layers == 2:
        voxels[1][array == max(names)] = min(names)
    label = tensor_of(voxels, grid_affine(array.shape, (1.0, 2.0, 3.0), rotation_deg=(3, 4, 5)), device=device)
    step = transforms.MeasureStructures(names, "all")
    expected = step(label)
    with Watching(array.size) as watching:
        found = step(label)
    assert watching.left == []
    assert watching.computed == []
    assert expected.keys() == found.keys()
    assert found["voxel_count"].tolist() == ([36, 24] if layers == 1 else [60, 24])
    assert found["distance_overlap_voxels"].tolist() == [0 if layers == 1 else 24]


def test_watching_sees_both(tensor_of):
    """The watch itself: computing with an unsigned type is noted."""
    with Watching(1) as watching:
        _ = torch.zeros(3, dtype=torch.uint16) == 1
    assert watching.computed


@pytest.fixture(scope="module")
def parity():
    path = Path(__file__).parents[1] / "gpu_parity.py"
    spec = importlib.util.spec_from_file_location("gpu_parity", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gpu_parity(parity, device, capsys):
    assert parity.main(["--device", device, "--size", "48"]) == 0
    told = capsys.readouterr().out
    assert told.count(" ok\n") == len(parity.CHECKS) == 13
    assert "all agree" in told


def test_gpu_parity_finds_a_mismatch(parity, capsys, monkeypatch):
    right = tensors.TorchPass._boundaries

    def wrong(self, known):
        interior, dilated = right(self, known)
        return interior, dilated + 1

    monkeypatch.setattr(tensors.TorchPass, "_boundaries", wrong)
    monkeypatch.setattr(parity, "CHECKS", [parity.check_types, parity.check_transforms, parity.check_refusals])
    assert parity.main(["--device", "cpu"]) == 1
    told = capsys.readouterr().out
    assert "dilated differs" in told
    assert "2 of 3 checks failed" in told
    monkeypatch.setattr(tensors, "TorchPass", None)
    assert parity.main(["--device", "cpu"]) == 1
    assert "TypeError" in capsys.readouterr().out


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_parity_without_a_gpu(parity, capsys):
    assert parity.main([]) == 2
    assert "--device cpu" in capsys.readouterr().out
