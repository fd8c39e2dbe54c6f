"""Hold every device-dependent path against the compiled CPU path, wherever there is a GPU:

    python tests/gpu_parity.py --device cuda:0

Counts, boxes and codes must be equal, figures equal within 1e-9. Prints a table; the exit code is 1 when anything
differs, 2 when the device is not there. Takes less than five minutes. With ``--device cpu`` the pure torch path that a
GPU takes runs on the CPU, so that this script, and that path, can be tried anywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from monai.data import CacheDataset, MetaTensor, ThreadDataLoader, decollate_batch
from monai.transforms import Compose, EnsureTyped, LoadImaged, Orientationd, Spacingd
from torch import Tensor

from monai_spatialqa import transforms
from monai_spatialqa.errors import SpatialQAError
from monai_spatialqa.geometry import tensors
from monai_spatialqa.geometry.affine import Projection, RasGrid
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.run_tensors import runs_of
from monai_spatialqa.geometry.tensors import marginals_of
from monai_spatialqa.phantoms import grid_affine, make_label_map, make_phantom
from monai_spatialqa.readers import NiftiReader
from monai_spatialqa.transforms import measuring

TOLERANCE = 1e-9

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.uint16,
    torch.int32,
    torch.uint32,
    torch.int64,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "C order": lambda volume: volume,
    "Fortran order": lambda volume: volume.permute(2, 1, 0).contiguous().permute(2, 1, 0),
    "permuted": lambda volume: volume.permute(1, 2, 0),
    "strided": lambda volume: volume[::2, 1:, ::3],
    "expanded": lambda volume: volume[:, :, :1].expand(-1, -1, 5),
}

TRANSFORMS: dict[str, dict[str, Any]] = {
    "MeasureVolume": {},
    "MeasureBoundingBox": {},
    "MeasureDistance": {"kind": "centroid"},
    "MeasureDirection": {"midline": ["s001"]},
    "MeasureStructures": {"pairs": "all", "kind": "surface", "detail": "full"},
    "MeasureComponents": {"listed": 5},
    "MeasureContact": {},
    "MeasureDiameter": {"of": ["s001"]},
}

GRIDS: dict[str, dict[str, Any]] = {
    "straight": {},
    "oblique": {"rotation_deg": (12, -7, 20)},
    "sheared": {"rotation_deg": (3, 5, 0), "shear": 0.25},
}


@dataclass
class Outcome:
    """What comparing came to."""

    cases: int = 0
    largest: float = 0.0
    trouble: str = ""

    def compare(self, what: str, expected: dict[str, Tensor], found: dict[str, Tensor]) -> None:
        """Hold one set of named tensors against another; the first difference is kept."""
        self.cases += 1
        if expected.keys() != found.keys():
            self.fail(f"{what}: {sorted(expected)} and {sorted(found)}")
            return
        for name, one in expected.items():
            other = found[name].cpu()
            if one.dtype != other.dtype or one.shape != other.shape:
                self.fail(f"{what}: {name} is {one.dtype}{tuple(one.shape)} and {other.dtype}{tuple(other.shape)}")
            elif not one.is_floating_point():
                if not torch.equal(one, other):
                    self.fail(f"{what}: {name} differs")
            elif not torch.equal(one.isnan(), other.isnan()):
                self.fail(f"{what}: {name} is NaN at other places")
            elif one.numel():
                scaled = ((one - other).abs() / one.abs().clamp(min=1)).nan_to_num(0)
                self.largest = max(self.largest, float(scaled.max()))
                if self.largest > TOLERANCE:
                    self.fail(f"{what}: {name} differs by {self.largest:.3g}")

    def fail(self, trouble: str) -> None:
        """Keep the first trouble."""
        self.trouble = self.trouble or trouble


@dataclass(frozen=True)
class Bench:
    """What the checks run with."""

    device: torch.device
    size: int

    @contextlib.contextmanager
    def path(self) -> Iterator[None]:
        """On the CPU, make the transforms take the path of a GPU: torch alone, tensors all through."""
        if self.device.type != "cpu":
            yield
            return
        with (
            mock.patch.object(measuring, "marginals_of", functools.partial(marginals_of, compiled=False)),
            mock.patch.object(measuring, "runs_of", functools.partial(runs_of, compiled=False)),
            mock.patch.object(measuring, "numpy_on_cpu", lambda found: found),
            mock.patch.object(measuring, "on_device", as_tensors_on),
        ):
            yield

    def measured(self, step: Any, label: MetaTensor) -> dict[str, Tensor]:
        """Results of a transform on the device; refuses results that lie elsewhere."""
        with self.path():
            found: dict[str, Tensor] = step(label.to(self.device))
        elsewhere = [name for name, value in found.items() if value.device.type != self.device.type]
        if elsewhere:
            raise AssertionError(f"{elsewhere} are not on {self.device}")
        return found


def as_tensors_on(found: Marginals, device: torch.device) -> Marginals:
    """What ``on_device`` does for a GPU, for the CPU too."""

    def moved(column: Any) -> Any:
        if isinstance(column, tuple):
            return tuple(map(moved, column))
        return None if column is None else torch.from_numpy(column).to(device)

    names = ("count", "index_sum", "start", "stop", "interior", "dilated", "low", "high")
    return replace(found, **{name: moved(getattr(found, name)) for name in names})


def facts(found: Marginals) -> dict[str, Tensor]:
    """Everything in marginals, as named tensors; ids as text would lose nothing, 64-bit words do not either."""
    words = [label - 2**64 if label >= 2**63 else label for label in found.labels]
    columns = {"labels": torch.tensor(words, dtype=torch.int64), "shape": torch.tensor(found.shape)}
    for name in ("count", "index_sum", "start", "stop", "interior", "dilated", "low", "high"):
        value = getattr(found, name)
        if value is not None:
            columns[name] = torch.stack(value) if isinstance(value, tuple) else value
    return columns


def random_map(seed: int, shape: tuple[int, ...], dtype: torch.dtype, noise: float = 0.1) -> Tensor:
    """Slabs of ids with single voxels in between; wide types get ids that only they hold."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 4, [length // 3 + 1 for length in shape])
    labels = coarse.repeat(3, 0).repeat(3, 1).repeat(3, 2)[: shape[0], : shape[1], : shape[2]]
    labels = np.where(rng.random(shape) < noise, rng.integers(0, 6, shape), labels)
    if dtype == torch.bool:
        return torch.from_numpy(labels > 1)
    kind = np.dtype(str(dtype).removeprefix("torch.")) if dtype != torch.bfloat16 else np.dtype(np.float32)
    if kind.kind == "f":
        return torch.from_numpy(labels.astype(kind)).to(dtype)
    top = np.iinfo(kind).max
    ids = np.array([0, 1, 2, top // 2, top // 2 + 1, top], dtype=kind)
    return torch.from_numpy(ids[labels])


def label_on(grid: dict[str, Any], array: Any, spacing: tuple[float, float, float] = (0.8, 1.3, 2.1)) -> MetaTensor:
    """A checked label map on one of the grids, stored as LPS."""
    voxels = torch.as_tensor(array)
    voxels = voxels[None] if voxels.ndim == 3 else voxels
    affine = grid_affine(voxels.shape[1:], spacing, center_ras_mm=(10, -20, 30), **grid)
    affine[:3, :2] *= -1
    meta = {"original_affine": affine, "spatialqa_geometry": "verified", "spatialqa_notes": ""}
    return MetaTensor(voxels, affine=torch.as_tensor(affine), meta=meta)


def check_types(bench: Bench, outcome: Outcome) -> None:
    """Every voxel type."""
    for dtype in DTYPES:
        volume = random_map(1, (13, 11, 17), dtype)
        expected = marginals_of(volume, compiled=True)
        found = marginals_of(volume.to(bench.device), compiled=False)
        outcome.compare(str(dtype), facts(expected), facts(found))


def check_memory_layouts(bench: Bench, outcome: Outcome) -> None:
    """Every memory layout, in narrow and wide types, small slabs included."""
    for dtype in (torch.uint8, torch.uint16, torch.int64):
        volume = random_map(2, (14, 9, 12), dtype)
        there = volume.to(bench.device)
        for name, layout in LAYOUTS.items():
            expected = facts(marginals_of(layout(volume), compiled=True))
            for slab in (tensors.SLAB_VOXELS, 50):
                with mock.patch.object(tensors, "SLAB_VOXELS", slab):
                    found = marginals_of(layout(there), compiled=False)
                outcome.compare(f"{name}, {dtype}, slabs of {slab}", expected, facts(found))


def check_shapes(bench: Bench, outcome: Outcome) -> None:
    """Thin, flat and single-voxel volumes; empty and full ones."""
    for number, shape in enumerate([(1, 1, 1), (1, 9, 1), (7, 1, 5), (1, 1, 40), (40, 1, 1), (3, 4, 5)]):
        for volume in (random_map(number, shape, torch.int16), torch.zeros(shape), torch.ones(shape)):
            for boundaries in (True, False):
                expected = marginals_of(volume, boundaries=boundaries, compiled=True)
                found = marginals_of(volume.to(bench.device), boundaries=boundaries, compiled=False)
                outcome.compare(f"{shape}", facts(expected), facts(found))


def check_projections(bench: Bench, outcome: Outcome) -> None:
    """Exact extremes along the world's axes on oblique and sheared grids."""
    for name, grid in GRIDS.items():
        label = label_on(grid, random_map(3, (15, 12, 10), torch.uint8))
        ras = RasGrid.of(label.shape[1:], label.affine.numpy())
        weights = Projection.of(ras).stored_weights(ras)
        expected = marginals_of(label.as_tensor()[0], weights=weights, compiled=True)
        found = marginals_of(label.as_tensor()[0].to(bench.device), weights=weights, compiled=False)
        outcome.compare(name, facts(expected), facts(found))


def check_many_labels(bench: Bench, outcome: Outcome) -> None:
    """The largest number of structures there may be, and ignored values among them."""
    volume = torch.arange(1, 5001, dtype=torch.int32).repeat_interleave(6).reshape(50, 100, 6)
    for ignore in ((), (7, 4999, -1)):
        expected = marginals_of(volume, ignore=ignore, compiled=True)
        found = marginals_of(volume.to(bench.device), ignore=ignore, compiled=False)
        outcome.compare(f"ignoring {ignore}", facts(expected), facts(found))


def check_refusals(bench: Bench, outcome: Outcome) -> None:
    """What one path refuses, the other refuses with the same code."""
    intensities = torch.arange(20 * 20 * 20, dtype=torch.int16).reshape(20, 20, 20)
    for volume in (
        torch.full((3, 4, 5), -2, dtype=torch.int16),
        torch.full((3, 4, 5), 0.5),
        torch.full((3, 4, 5), float("nan")),
        intensities,
    ):
        codes = []
        for where, compiled in ((torch.device("cpu"), True), (bench.device, False)):
            try:
                marginals_of(volume.to(where), compiled=compiled)
                codes.append("accepted")
            except SpatialQAError as error:
                codes.append(error.code)
        outcome.cases += 1
        if codes[0] != codes[1] or codes[0] == "accepted":
            outcome.fail(f"{volume.dtype}: {codes[0]} and {codes[1]}")


def check_transforms(bench: Bench, outcome: Outcome) -> None:
    """Every measuring transform on every grid, with absent structures and unknown orientation."""
    array = make_label_map((40, 36, 30), 12, seed=4)
    names = {number: f"s{number:03}" for number in range(1, 15)}
    for grid_name, grid in GRIDS.items():
        for known in ("verified", "orientation_unknown"):
            label = label_on(grid, array)
            label.meta["spatialqa_geometry"] = known
            for name, options in TRANSFORMS.items():
                step = getattr(transforms, name)(names, **options)
                outcome.compare(f"{name}, {grid_name}, {known}", step(label), bench.measured(step, label))


def check_channel_layouts(bench: Bench, outcome: Outcome) -> None:
    """One-hot channels with and without background, and layers, with overlaps."""
    array = torch.as_tensor(make_label_map((30, 28, 26), 9, seed=5))
    names = {number: f"s{number:03}" for number in range(1, 10)}
    hot = torch.stack([array == number for number in range(10)]).to(torch.uint8)
    hot[2] |= hot[1].roll(2, 0)  # an overlap
    hot[0] = (hot[1:] == 0).all(dim=0)
    layers = torch.stack([torch.where(array % 3 == part, array, 0) for part in range(3)])
    layers[1] = torch.where(layers[1] > 0, layers[1], layers[1].roll(3, 1))
    for name, voxels in {"one-hot": hot[1:], "one-hot with background": hot, "layers": layers}.items():
        for grid in GRIDS.values():
            step = transforms.MeasureStructures(names, "all")
            label = label_on(grid, voxels)
            outcome.compare(name, step(label), bench.measured(step, label))


def check_unions(bench: Bench, outcome: Outcome) -> None:
    """Structures that a label map derives from others, with all of it measured, whole and with a part missing."""
    array = make_label_map((40, 36, 30), 4, seed=9)
    for missing in (3, 2):
        label = label_on(GRIDS["oblique"], np.where(array == missing, 0, array).astype(np.uint8))
        for step in (
            transforms.MeasureStructures("brats2021", [("whole_tumour", "tumour_core")], detail="full"),
            transforms.MeasureBoundingBox("brats2021"),
        ):
            outcome.compare(f"{step}, without {missing}", step(label), bench.measured(step, label))


def check_wide_ids(bench: Bench, outcome: Outcome) -> None:
    """Ids that only unsigned types hold: found, looked up and compared as themselves."""
    for dtype in DTYPES[1:]:
        volume = random_map(6, (12, 11, 10), dtype)
        ids = [int(value) for value in volume.flatten().tolist() if value]
        names = {number: f"s{row:03}" for row, number in enumerate(sorted(set(ids)), start=1)}
        other = torch.where(volume == volume.flatten()[0], volume, torch.zeros((), dtype=dtype))
        layers = torch.stack([torch.where(volume == other, torch.zeros((), dtype=dtype), volume), other.flip(0)])
        step = transforms.MeasureStructures(names, "all")
        for voxels in (volume, layers):
            label = label_on(GRIDS["oblique"], voxels)
            outcome.compare(f"{dtype}, {label.shape[0]} layers", step(label), bench.measured(step, label))


def check_monai_pipeline(bench: Bench, outcome: Outcome) -> None:
    """The documented recipe: EnsureTyped(device=...) in a CacheDataset, a ThreadDataLoader without workers."""
    phantom = make_phantom(1, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0), axcodes="LPI", rotation_deg=(4, -6, 9))
    with tempfile.TemporaryDirectory() as folder:
        _, path = phantom.save(Path(folder), "p")
        for resampling in ([], [Spacingd("label", (5.0, 5.0, 5.0), mode="nearest")]):
            results = []
            for device in (torch.device("cpu"), bench.device):
                chain = Compose(
                    [
                        LoadImaged("label", reader=NiftiReader(), dtype=None, ensure_channel_first=True),
                        transforms.ValidateGeometryd("label"),
                        Orientationd("label", "RAS", labels=None),
                        *resampling,
                        EnsureTyped("label", device=device),
                        transforms.MeasureStructuresd("label", phantom.label_names, "all"),
                        transforms.MeasureDirectiond("label", phantom.label_names),
                    ]
                )
                with bench.path() if len(results) else contextlib.nullcontext():
                    dataset = CacheDataset([{"label": str(path)}] * 2, chain, progress=False, num_workers=0)
                    loader = ThreadDataLoader(dataset, batch_size=2, num_workers=0)
                    results.append(decollate_batch(next(iter(loader)))[1]["measured_label"])
            outcome.compare(f"{len(resampling)} resampling steps", *results)


def check_deterministic_mode(bench: Bench, outcome: Outcome) -> None:
    """torch.use_deterministic_algorithms(True) neither forbids nor changes anything."""
    label = label_on(GRIDS["oblique"], make_label_map((30, 28, 26), 9, seed=7))
    step = transforms.MeasureStructures({number: f"s{number:03}" for number in range(1, 10)}, "all")
    expected = step(label)
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        for _ in range(3):
            outcome.compare("deterministic", expected, bench.measured(step, label))
    finally:
        torch.use_deterministic_algorithms(before)


def check_large_map(bench: Bench, outcome: Outcome) -> None:
    """A whole segmentation's worth: 117 structures in a large volume, all pairs."""
    count = min(117, (bench.size // 8) ** 3)
    array = make_label_map((bench.size,) * 3, count, seed=8)
    names = {number: f"s{number:03}" for number in range(1, count + 1)}
    step = transforms.MeasureStructures(names, "all")
    for name in ("straight", "oblique"):
        label = label_on(GRIDS[name], array)
        outcome.compare(name, step(label), bench.measured(step, label))


CHECKS: list[Callable[[Bench, Outcome], None]] = [
    check_types,
    check_memory_layouts,
    check_shapes,
    check_projections,
    check_many_labels,
    check_refusals,
    check_transforms,
    check_channel_layouts,
    check_unions,
    check_wide_ids,
    check_monai_pipeline,
    check_deterministic_mode,
    check_large_map,
]


def run_check(check: Callable[[Bench, Outcome], None], bench: Bench) -> tuple[Outcome, float]:
    """Run one check; whatever it raises is its outcome."""
    outcome = Outcome()
    start = time.perf_counter()
    try:
        check(bench, outcome)
        if bench.device.type == "cuda":
            torch.cuda.synchronize(bench.device)
    except Exception as error:  # the other checks still run, and the table says what happened
        outcome.fail(f"{type(error).__name__}: {error}")
    return outcome, time.perf_counter() - start


def main(arguments: list[str] | None = None) -> int:
    """Run all checks and print the table.

    Returns:
        0 when everything agrees, 1 when something differs, 2 when the device is not there.
    """
    parser = argparse.ArgumentParser(description="Compare every device-dependent path with the compiled CPU path.")
    parser.add_argument("--device", default="cuda:0", help="cuda:0, or cpu for the pure torch path on the CPU")
    parser.add_argument("--size", type=int, default=256, help="edge of the large map, voxels")
    options = parser.parse_args(arguments)
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here; --device cpu tries the pure torch path")
        return 2
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU, pure torch path"
    print(f"torch {torch.__version__}; {name}; integers exact, figures within {TOLERANCE:g}\n")
    print(f"{'check':22}{'cases':>7}{'largest difference':>20}{'seconds':>9}  result")
    failed = 0
    for check in CHECKS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome, seconds = run_check(check, Bench(device, options.size))
        failed += bool(outcome.trouble)
        label = check.__name__.removeprefix("check_").replace("_", " ")
        result = outcome.trouble or "ok"
        print(f"{label:22}{outcome.cases:7}{outcome.largest:20.3g}{seconds:9.2f}  {result}", flush=True)
    print(f"\n{failed} of {len(CHECKS)} checks failed" if failed else "\nall agree")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
