"""Connected components and contact faces of every structure of a label map in memory.

Ours start from the array, or from runs that a measurement has kept. The others get what they need outside the clock:
scikit-image and scipy the box of every structure, inside which they label. Counts and boxes of all components, or the
faces of all touching pairs, are read out inside the clock, and must be the same for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.data import tiny
from tests.benchmarks.facts import Facts
from tests.benchmarks.rows import Row, Table

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

SLAB = 64
"""The blobs of a label map do not touch: for contacts they are cut into slabs this thick, in turns of two ids."""

MOST_IDS = 120
"""The other half of a structure has its id plus this: both fit a byte."""


def measure(bench: Bench) -> None:
    """Both tables, at every size."""
    for size in bench.wanted.sizes:
        dataset = bench._file_dataset(size)
        for table in (COMPONENTS, CONTACT):
            if bench.wanted.table(table):
                warm_up = bench.store.folder / "tiny-parts.npy"
                np.save(warm_up, tiny(dataset))
                bench._table(table, dataset, dataset.title, bench.store.array(dataset), warm_up, dataset.nbytes)
                bench.store.forget(dataset)


def in_slabs(array: NDArray) -> NDArray:
    """Every structure cut into diagonal slabs, which are two structures in turns."""
    assert array.max() <= MOST_IDS
    x, y = np.ogrid[: array.shape[0], : array.shape[1]]
    result = array.copy(order="K")
    for z in range(array.shape[2]):
        plane = result[:, :, z]
        plane[(plane > 0) & ((x + y + z) // SLAB % 2 == 1)] += MOST_IDS
    return result


def found_runs(array: NDArray) -> Any:
    """The runs of an array."""
    import torch

    from monai_spatialqa.geometry.affine import RasGrid
    from monai_spatialqa.geometry.run_tensors import runs_of

    return runs_of(torch.from_numpy(array), RasGrid.of(array.shape, np.eye(4)))


def from_array(
    work: Callable[[Any], Any], change: Callable[[NDArray], NDArray]
) -> Callable[[NDArray], Callable[[], Any]]:
    """A row of ours that finds the runs, too."""

    def prepare(volume: NDArray) -> Callable[[], Any]:
        array = change(volume)
        return lambda: work(found_runs(array))

    return prepare


def from_kept(
    work: Callable[[Any], Any], change: Callable[[NDArray], NDArray]
) -> Callable[[NDArray], Callable[[], Any]]:
    """A row of ours to which the runs are given."""

    def prepare(volume: NDArray) -> Callable[[], Any]:
        found = found_runs(change(volume))
        return lambda: work(found)

    return prepare


def unchanged(array: NDArray) -> NDArray:
    """The array itself."""
    return array


def components_listed(parts: Iterable[tuple[NDArray, NDArray, NDArray]]) -> Facts:
    """Counts, starts and stops of all components in one order, whichever structure they belong to."""
    count, start, stop = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((*start.T, *stop.T, count))
    return Facts(np.arange(len(order)), count[order], start[order], stop[order])


def our_components(found: Any) -> Facts:
    """26-connected components of every structure."""
    from monai_spatialqa.geometry.components import components_of

    parts = [components_of(found.of(label), found.grid) for label in found.labels]
    return components_listed((one.voxel_count, one.start, one.stop) for one in parts)


def label_in_boxes(label_mask: Callable[[NDArray], NDArray]) -> Callable[[NDArray], Callable[[], Facts]]:
    """Label the mask of one structure after the other, inside its box."""

    def prepare(volume: NDArray) -> Callable[[], Facts]:
        from scipy import ndimage

        array = volume
        boxes = [(label, box) for label, box in enumerate(ndimage.find_objects(array), start=1) if box is not None]

        def one(label: int, box: Any) -> tuple[NDArray, NDArray, NDArray]:
            numbers = label_mask(array[box] == label)
            inner: list[Any] = ndimage.find_objects(numbers)
            origin = [axis.start for axis in box]
            start = np.array([[axis.start for axis in part] for part in inner]) + origin
            stop = np.array([[axis.stop for axis in part] for part in inner]) + origin
            return np.bincount(numbers.ravel(order="K"))[1:], start, stop

        return lambda: components_listed(one(label, box) for label, box in boxes)

    return prepare


def skimage_label(mask: NDArray) -> NDArray:
    """scikit-image, as MONAI does it."""
    from skimage.measure import label

    return label(mask, connectivity=3)


def scipy_label(mask: NDArray) -> NDArray:
    """scipy with the full neighbourhood."""
    from scipy import ndimage

    return ndimage.label(mask, np.ones((3, 3, 3)))[0]


def cc3d_components(volume: NDArray) -> Callable[[], Facts]:
    """cc3d on the whole label map at once."""
    import cc3d

    from tests.benchmarks.array_rows import cc3d_facts

    array = volume

    def call() -> Facts:
        facts = cc3d_facts(cc3d.connected_components(array, connectivity=26))
        return components_listed([(facts.count, facts.start, facts.stop)])  # type: ignore[list-item]

    return call


def face_key(one: NDArray, other: NDArray) -> NDArray:
    """One number for an unordered pair of ids."""
    return np.minimum(one, other) * 1000 + np.maximum(one, other)


def our_contacts(found: Any) -> Facts:
    """Faces of all touching pairs."""
    from monai_spatialqa.geometry.contact import contacts_of

    contacts = contacts_of(found)
    ids = np.array(found.labels)[contacts.pairs]
    return Facts(face_key(*ids.T), contacts.faces.sum(axis=1)).sorted()


def numpy_contacts(volume: NDArray) -> Callable[[], Facts]:
    """The array against itself, moved by one voxel along each axis."""
    array = in_slabs(volume)

    def call() -> Facts:
        keys = []
        for axis in range(3):
            low = array[tuple(slice(None, -1) if n == axis else slice(None) for n in range(3))]
            high = array[tuple(slice(1, None) if n == axis else slice(None) for n in range(3))]
            both = (low != high) & (low > 0) & (high > 0)
            keys.append(face_key(low[both].astype(np.int64), high[both].astype(np.int64)))
        return Facts(*np.unique(np.concatenate(keys), return_counts=True))

    return call


def cc3d_contacts(volume: NDArray) -> Callable[[], Facts]:
    """``cc3d.contacts`` over faces."""
    import cc3d

    array = in_slabs(volume)

    def call() -> Facts:
        found = cc3d.contacts(array, connectivity=6, surface_area=False)
        return Facts(face_key(*np.array(list(found), np.int64).T), np.array(list(found.values())))

    return call


def nothing(found: Any) -> int:
    """The runs alone."""
    return len(found.runs)


COMPONENTS = Table(
    name="components",
    title="26-connected components of every structure",
    rows=(
        Row("component-runs", "find the runs of the array", from_array(nothing, unchanged)),
        Row("components", "ours", from_array(our_components, unchanged)),
        Row("components-kept", "ours, runs kept", from_kept(our_components, unchanged)),
        Row("skimage-label", "skimage label, mask in its box", label_in_boxes(skimage_label)),
        Row("scipy-label", "scipy label, mask in its box", label_in_boxes(scipy_label)),
        Row("cc3d-label", "cc3d, all at once, with statistics", cc3d_components, needs=("cc3d",)),
    ),
    references=("component-runs", "components"),
    ours="components",
    oracle="components",
)

CONTACT = Table(
    name="contact",
    title="contact faces of all pairs (structures cut into slabs)",
    rows=(
        Row("contact-runs", "find the runs of the array", from_array(nothing, in_slabs)),
        Row("contact", "ours", from_array(our_contacts, in_slabs)),
        Row("contact-kept", "ours, runs kept", from_kept(our_contacts, in_slabs)),
        Row("numpy-contact", "numpy, the array moved by a voxel", numpy_contacts),
        Row("cc3d-contact", "cc3d.contacts", cc3d_contacts, needs=("cc3d",)),
    ),
    references=("contact-runs", "contact"),
    ours="contact",
    oracle="contact",
)

PARTS = (COMPONENTS, CONTACT)
