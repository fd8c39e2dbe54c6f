"""Counts, boxes and centroids of every structure of a label map that is an array in memory.

Each row gets the array as its tool wants it (a SimpleITK image is made outside the clock) and includes reading the
results out for every label.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.facts import Facts
from tests.benchmarks.rows import Prepare, Row, Table

THREADS = min(2, os.cpu_count() or 1)
OBLIQUE = [[981, 87, 174], [-97, 993, 54], [-168, -70, 983]]
"""An integer projection as an oblique scan has it."""


def read_once(array: NDArray) -> Callable[[], Any]:
    """The limit: every byte is read once, by vector code."""
    flat = array.reshape(-1, order="F").view(np.uint8)
    words = flat[: flat.size // 8 * 8].view(np.uint64)
    return lambda: words.max()


def ours(*, threads: int, band: bool = False, everything: bool = False, compiled: bool = True) -> Prepare:
    """Our pass over a tensor; ``everything`` adds what the record of an oblique scan needs.

    ``compiled=False`` takes the path that CUDA tensors take, on the CPU.
    """

    def prepare(array: NDArray) -> Callable[[], Facts]:
        import torch

        from monai_spatialqa.geometry.tensors import marginals_of

        tensor = torch.from_numpy(array)
        weights = OBLIQUE if everything else None

        def call() -> Facts:
            torch.set_num_threads(threads)  # here, because rows of one process differ in it
            found = marginals_of(tensor, boundaries=band or everything, weights=weights, compiled=compiled)
            facts = _facts_of(found)
            if everything:
                middle = np.floor(np.asarray(facts.centroid) + 0.5).astype(np.int64)
                tensor[tuple(torch.from_numpy(middle.T))]  # is the centroid inside?
            return facts

        return call

    return prepare


def _facts_of(marginals: Any) -> Facts:
    def stacked(columns: Any) -> NDArray:
        return np.stack([np.asarray(column) for column in columns], axis=1)

    count = np.asarray(marginals.count)
    return Facts(
        np.array(marginals.labels, np.int64),
        count,
        stacked(marginals.start),
        stacked(marginals.stop),
        stacked(marginals.index_sum) / count[:, None],
    )


def simpleitk(*, perimeter: bool, threads: int) -> Prepare:
    """LabelShapeStatisticsImageFilter; ``perimeter=True`` is as constructed."""

    def prepare(array: NDArray) -> Callable[[], Facts]:
        import SimpleITK as sitk

        sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(threads)
        image = sitk.GetImageFromArray(array.T)
        return lambda: label_shapes(image, perimeter=perimeter)

    return prepare


def label_shapes(image: Any, *, perimeter: bool) -> Facts:
    """SimpleITK's label statistics as facts; centroids are index coordinates for an image without geometry."""
    import SimpleITK as sitk

    shapes = sitk.LabelShapeStatisticsImageFilter()
    if not perimeter:
        shapes.ComputePerimeterOff()
    shapes.Execute(image)
    labels = list(shapes.GetLabels())
    boxes = np.array([shapes.GetBoundingBox(label) for label in labels])
    return Facts(
        np.array(labels),
        np.array([shapes.GetNumberOfPixels(label) for label in labels]),
        boxes[:, :3],
        boxes[:, :3] + boxes[:, 3:],
        np.array([shapes.GetCentroid(label) for label in labels]),
    )


def itk_label_map(array: NDArray) -> Callable[[], Facts]:
    """ITK's LabelImageToShapeLabelMapFilter, perimeter off."""
    import itk  # type: ignore[import-not-found, unused-ignore]

    image = itk.image_view_from_array(array.T)

    def call() -> Facts:
        shapes = itk.LabelImageToShapeLabelMapFilter.New(image)
        shapes.ComputePerimeterOff()
        shapes.Update()
        found = shapes.GetOutput()
        objects = [found.GetNthLabelObject(n) for n in range(found.GetNumberOfLabelObjects())]
        boxes = [one.GetBoundingBox() for one in objects]
        start = np.array([[box.GetIndex()[axis] for axis in range(3)] for box in boxes])
        size = np.array([[box.GetSize()[axis] for axis in range(3)] for box in boxes])
        return Facts(
            np.array([one.GetLabel() for one in objects]),
            np.array([one.GetNumberOfPixels() for one in objects]),
            start,
            start + size,
            np.array([[one.GetCentroid()[axis] for axis in range(3)] for one in objects]),
        )

    return call


def cc3d_statistics(array: NDArray) -> Callable[[], Facts]:
    """``cc3d.statistics``."""
    return lambda: cc3d_facts(array)


def cc3d_facts(array: NDArray) -> Facts:
    """cc3d's statistics as facts: it lists every number up to the largest label, and the background."""
    import cc3d

    found = cc3d.statistics(array)
    count = np.asarray(found["voxel_counts"])
    labels = np.flatnonzero(count)
    labels = labels[labels > 0]
    boxes = [found["bounding_boxes"][label] for label in labels]
    return Facts(
        labels,
        count[labels],
        np.array([[axis.start for axis in box] for box in boxes]),
        np.array([[axis.stop for axis in box] for box in boxes]),
        np.asarray(found["centroids"])[labels],
    )


def scipy_find_objects(array: NDArray) -> Callable[[], Facts]:
    """``find_objects``, then count and ``center_of_mass`` inside every box."""
    from scipy import ndimage

    def call() -> Facts:
        labels, counts, starts, stops, centroids = [], [], [], [], []
        boxes: list[Any] = ndimage.find_objects(array)
        for label, box in enumerate(boxes, start=1):
            if box is None:
                continue
            mask = array[box] == label
            start = np.array([axis.start for axis in box])
            labels.append(label)
            counts.append(np.count_nonzero(mask))
            starts.append(start)
            stops.append([axis.stop for axis in box])
            centroids.append(start + ndimage.center_of_mass(mask))
        return Facts(np.array(labels), np.array(counts), np.array(starts), np.array(stops), np.array(centroids))

    return call


def skimage_regionprops(array: NDArray) -> Callable[[], Facts]:
    """``regionprops_table`` of area, bbox and centroid."""
    return lambda: regionprops_facts(array)


def regionprops_facts(array: NDArray) -> Facts:
    """scikit-image's properties as facts."""
    from skimage.measure import regionprops_table

    found = regionprops_table(array, properties=("label", "area", "bbox", "centroid"))

    def columns(name: str, first: int = 0) -> NDArray:
        return np.stack([found[f"{name}-{first + axis}"] for axis in range(3)], axis=1)

    return Facts(found["label"], found["area"], columns("bbox"), columns("bbox", 3), columns("centroid"))


def numpy_loop(array: NDArray) -> Callable[[], Facts]:
    """One mask of the whole volume per label."""

    def call() -> Facts:
        labels = [label for label in np.unique(array).tolist() if label]
        where = [np.nonzero(array == label) for label in labels]
        return Facts(
            np.array(labels),
            np.array([len(index[0]) for index in where]),
            np.array([[axis.min() for axis in index] for index in where]),
            np.array([[axis.max() + 1 for axis in index] for index in where]),
            np.array([[axis.mean() for axis in index] for index in where]),
        )

    return call


def monai_boxes(array: NDArray) -> Callable[[], Facts]:
    """``generate_spatial_bounding_box`` per label: boxes alone."""
    import torch
    from monai.transforms.utils import generate_spatial_bounding_box

    tensor = torch.from_numpy(array)[None]
    labels = [label for label in np.unique(array).tolist() if label]

    def call() -> Facts:
        boxes = [
            generate_spatial_bounding_box(tensor, select_fn=lambda image, label=label: image == label)
            for label in labels
        ]
        start, stop = (np.array([box[end] for box in boxes]) for end in (0, 1))
        return Facts(np.array(labels), start=start, stop=stop)

    return call


_SMALL = frozenset({"Q", "S"})
_ITK_TYPES = frozenset({"uint8", "uint16"})
_ALL = "ours, all a record needs (oblique grid)"
_SHAPES = "SimpleITK LabelShape"
_THREADS = f"{THREADS} threads"

ARRAY = Table(
    name="array",
    title="counts, boxes and centroids of an array in memory",
    rows=(
        Row("read", "read the array once (limit)", read_once),
        Row("ours", f"ours, up to {_THREADS}", ours(threads=THREADS)),
        Row("ours-1", "ours, 1 thread", ours(threads=1)),
        Row("ours-band", f"ours, with volume band, up to {_THREADS}", ours(threads=THREADS, band=True)),
        Row("ours-all", f"{_ALL}, up to {_THREADS}", ours(threads=THREADS, everything=True)),
        Row("ours-all-1", f"{_ALL}, 1 thread", ours(threads=1, everything=True)),
        Row("ours-torch-1", "ours, torch path, 1 thread", ours(threads=1, compiled=False)),
        Row("ours-torch-2", f"ours, torch path, {_THREADS}", ours(threads=THREADS, compiled=False)),
        Row("simpleitk-off-2", f"{_SHAPES}, perimeter off, {_THREADS}", simpleitk(perimeter=False, threads=THREADS)),
        Row("simpleitk-off-1", f"{_SHAPES}, perimeter off, 1 thread", simpleitk(perimeter=False, threads=1)),
        Row("simpleitk-2", f"{_SHAPES} as constructed, {_THREADS}", simpleitk(perimeter=True, threads=THREADS)),
        Row("simpleitk-1", f"{_SHAPES} as constructed, 1 thread", simpleitk(perimeter=True, threads=1)),
        Row("itk", "ITK label map, perimeter off", itk_label_map, needs=("itk",), types=_ITK_TYPES),
        Row("cc3d", "cc3d.statistics", cc3d_statistics, needs=("cc3d",)),
        Row("scipy", "scipy find_objects + center_of_mass", scipy_find_objects),
        Row("regionprops", "skimage regionprops_table", skimage_regionprops),
        Row("numpy-loop", "numpy, a mask per label", numpy_loop, sizes=_SMALL, most_labels=120, repeats=2),
        Row("monai-loop", "MONAI, a box per label, boxes alone", monai_boxes, sizes=_SMALL, most_labels=120, repeats=1),
    ),
    references=("read", "ours"),
    ours="ours",
    oracle="ours",
)
