"""Marginals of an array in memory: threads share its planes, and what each of them finds is put together.

The compiled loops release the GIL, so the threads work side by side. They end with the call: nothing is left behind
that a process forked later could miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Event

from numpy.typing import NDArray

from monai_spatialqa.geometry.encoder import BLOCK_BYTES, MarginalEncoder
from monai_spatialqa.geometry.ids import refuse_too_many
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.totals import Totals, together

PART_BYTES = 16 << 20
"""Smallest part that is worth a thread: below, starting it and waiting for it costs what it saves."""

PART_PLANES = 32
"""Fewest planes of a part: it also scans a plane of each neighbour, and holds the runs of a few planes."""

VIEW_BYTES = 16 << 20
"""A block that needs no copy: large, because threads get in each other's way between two blocks."""


def marginals_of_array(
    array: NDArray,
    *,
    threads: int = 1,
    ignore: Sequence[int] = (),
    boundaries: bool = True,
    weights: Sequence[Sequence[int]] | None = None,
) -> Marginals:
    """Marginals of an integer or bool array, the same whatever the number of threads.

    Args:
        array: three axes, the contiguous one last and those of one voxel first; a slab is copied at a time where it is
            not contiguous.
        threads: most threads to use, the caller's included; a small array gets fewer, see :data:`PART_BYTES` and
            :data:`PART_PLANES`.
        ignore: values that are no structure besides 0.
        boundaries: also count interior and dilated voxels.
        weights: integer projection (3 world axes, 3 axes of ``array``, the last one first) whose extremes are wanted.

    Returns:
        Marginals in numpy arrays; the contiguous axis is their first.

    Raises:
        LabelValueError: see :func:`~monai_spatialqa.geometry.ids.refuse_bad_labels`.
    """
    planes = len(array)
    count = max(1, min(threads, array.nbytes // PART_BYTES, planes // PART_PLANES))
    parts = list(pairwise(planes * part // count for part in range(count + 1)))
    met: set[int] = set()  # values met by any thread: too many for one volume may be few enough for each part
    stopped = Event()

    def totals_of(part: tuple[int, int]) -> Totals | None:
        encoder = MarginalEncoder(
            array.shape[::-1], array.dtype, ignore=ignore, boundaries=boundaries, weights=weights, planes=part
        )
        first, stop = encoder.fed_planes
        known = 0
        try:
            for block in _blocks(array[first:stop]):
                if stopped.is_set():
                    return None
                encoder.feed(block)
                values = encoder.values
                if len(values) > known:
                    met.update(values[known:].tolist())
                    refuse_too_many(len(met))
                    known = len(values)
            return encoder.totals()
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(max(1, count - 1)) as pool:  # this thread takes a part, too
        try:
            others = [pool.submit(totals_of, part) for part in parts[1:]]
            found = [totals_of(parts[0]), *(other.result() for other in others)]
        finally:
            stopped.set()  # after an interrupt nobody waits for the rest
    return together([totals for totals in found if totals is not None], array.shape[::-1])


def _blocks(array: NDArray) -> Iterator[NDArray]:
    """The voxels of an array in C order, cut into blocks of one axis; copies of slabs where it is not contiguous."""
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        step = max(1, VIEW_BYTES // array.itemsize)
        for at in range(0, flat.size, step):
            yield flat[at : at + step]
    else:
        step = max(1, BLOCK_BYTES // max(1, array[0].nbytes))
        for at in range(0, len(array), step):
            yield array[at : at + step].reshape(-1)
