"""Marginals of a tensor, on the tensor's own device, in pure torch.

The same code runs on CPU and CUDA: runs are found by comparing each voxel with its predecessor along the contiguous
axis, and everything after that costs by the number of runs. All sums are int64, so the order of additions cannot
matter; there is no floating-point atomic. Extra memory is bounded by working on slabs of rows.

:func:`marginals_of` takes the compiled path for CPU tensors and this one elsewhere; both give the same integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from monai_spatialqa.errors import LabelValueError
from monai_spatialqa.geometry.ids import background_values, refuse_bad_labels, refuse_too_many
from monai_spatialqa.geometry.marginals import Marginals
from monai_spatialqa.geometry.threaded import marginals_of_array
from monai_spatialqa.geometry.values import FLOAT_TOLERANCE, fractional_labels, inexact_labels

SLAB_VOXELS = 1 << 22
"""Voxels of a slab: temporaries of the torch path are a small multiple of this many bytes."""

_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64, torch.bool: torch.uint8}
_MASK = {torch.uint16: 0xFFFF, torch.uint32: 0xFFFFFFFF}


def whole_numbers(values: Tensor) -> Tensor:
    """Labels stored as floats, rounded to integers (never truncated).

    Returns the input when it is of an integer type; int16 or int64 (as needed) otherwise.

    Raises:
        LabelValueError: NaN, infinity, values off a whole number by more than 1e-3, or too large to be exact
            in their float type.
    """
    if not values.is_floating_point():
        if values.is_complex():
            raise LabelValueError("complex values are no structure ids", found=values.dtype, expected="whole numbers")
        return values
    exact_below = int(2 / torch.finfo(values.dtype).eps)
    if values.numel():
        low, high = (float(end) for end in values.aminmax())
        limit = min(exact_below, 2**15)
        if -limit < low and high < limit:  # NaN compares false
            small = values.to(torch.int16)
            if bool((small == values).all()):  # nearly every float label map: exact as it stands
                return small
    rounded = values.round()
    bad = ~((values - rounded).abs() <= FLOAT_TOLERANCE)  # NaN and infinity compare false
    if bad.any():
        raise fractional_labels(values[bad].unique()[:5].tolist())
    largest = float(rounded.abs().max()) if values.numel() else 0.0
    if largest >= exact_below:
        raise inexact_labels(largest, exact_below)
    return rounded.to(torch.int16 if largest < 2**15 else torch.int64)


def marginals_of(
    label: Tensor,
    *,
    ignore: Iterable[int] = (),
    boundaries: bool = True,
    weights: Sequence[Sequence[int]] | None = None,
    compiled: bool | None = None,
) -> Marginals:
    """Marginals of a label map.

    The compiled path measures a large label map on ``torch.get_num_threads()`` threads. In the worker processes of a
    ``DataLoader``, for which PyTorch sets that to one, it starts none.

    Args:
        label: (X, Y, Z) integer, bool or near-integer float tensor, in any memory layout.
        ignore: values that are no structure besides 0.
        boundaries: also count interior and dilated voxels.
        weights: integer projection (3 world axes, 3 axes of ``label``) whose extremes are wanted.
        compiled: take the compiled path; default: on CPU tensors.

    Returns:
        Marginals in the axis order of ``label``, with int64 tensors on the device of ``label``.

    Raises:
        LabelValueError: see :func:`whole_numbers` and :func:`~monai_spatialqa.geometry.ids.refuse_bad_labels`.
    """
    if label.ndim != 3:
        raise LabelValueError("a label map has three axes", found=tuple(label.shape), expected="(X, Y, Z)")
    ids = whole_numbers(label.detach())
    axes = memory_order(ids)
    stored = ids.permute(axes[2], axes[1], axes[0])  # C order: the last axis is the contiguous one
    stored_weights = None if weights is None else [[int(row[axis]) for axis in axes] for row in weights]
    ignored = tuple(ignore)
    if compiled if compiled is not None else ids.device.type == "cpu":
        found = _compiled(stored, ignored, boundaries, stored_weights)
    else:
        found = TorchPass(stored, ignored, boundaries, stored_weights).result()
    return found.reoriented([axes.index(axis) for axis in range(3)], [False] * 3)


def memory_order(label: Tensor) -> list[int]:
    """The axes of a label map, the one with the smallest stride first.

    Then consecutive voxels are neighbours in memory, and nothing is copied. Axes of one voxel come last: their stride
    means nothing, and runs along them would be single voxels.
    """
    return sorted(range(3), key=lambda axis: (label.shape[axis] == 1, label.stride(axis), axis))


def _compiled(stored: Tensor, ignore: tuple[int, ...], boundaries: bool, weights: list[list[int]] | None) -> Marginals:
    """The compiled path over a tensor whose last axis is the contiguous one."""
    found = marginals_of_array(
        stored.cpu().numpy(),
        threads=torch.get_num_threads(),
        ignore=ignore,
        boundaries=boundaries,
        weights=weights,
    )

    def tensors(columns: Sequence) -> tuple[Tensor, ...]:
        return tuple(torch.from_numpy(column).to(stored.device) for column in columns)

    return Marginals(
        shape=found.shape,
        labels=found.labels,
        count=tensors([found.count])[0],
        index_sum=tensors(found.index_sum),  # type: ignore[arg-type]
        start=tensors(found.start),  # type: ignore[arg-type]
        stop=tensors(found.stop),  # type: ignore[arg-type]
        interior=None if found.interior is None else tensors([found.interior])[0],
        dilated=None if found.dilated is None else tensors([found.dilated])[0],
        low=None if found.low is None else tensors(found.low),  # type: ignore[arg-type]
        high=None if found.high is None else tensors(found.high),  # type: ignore[arg-type]
    )


class TorchPass:
    """One pass of the torch path over a volume whose last axis is the contiguous one."""

    def __init__(
        self, stored: Tensor, ignore: tuple[int, ...], boundaries: bool, weights: list[list[int]] | None
    ) -> None:
        self.kind = stored.dtype
        self.volume = stored.view(_SIGNED[stored.dtype]) if stored.dtype in _SIGNED else stored
        self.device = stored.device
        self.shape = tuple(stored.shape)
        limits = None if stored.dtype == torch.bool else torch.iinfo(stored.dtype)
        lowest, highest = (limits.min, limits.max) if limits else (0, 1)
        background = [self._as_stored(value) for value in background_values(ignore, lowest, highest)]
        self.background = torch.tensor(background, device=self.device, dtype=self.volume.dtype)
        self.boundaries = boundaries
        self.weights = weights
        self.run_total = 0
        rows = self.shape[0] * self.shape[1]
        step = max(1, SLAB_VOXELS // max(1, self.shape[2]))
        self.slabs = [(at, min(rows, at + step)) for at in range(0, rows, step)]

    def _as_stored(self, value: int) -> int:
        """A value in the signed type of the same width that the tensor is viewed as."""
        bits = torch.iinfo(self.volume.dtype).bits
        return (
            value - 2**bits if self.kind in _SIGNED and self.kind != torch.bool and value >= 2 ** (bits - 1) else value
        )

    def _rows(self, first: int, stop: int) -> Tensor:
        """Rows ``first .. stop`` of the volume as (rows, contiguous axis); a view wherever the layout allows one."""
        if self.volume.is_contiguous():
            return self.volume.view(-1, self.shape[2])[first:stop]
        plane, last = first // self.shape[1], (stop - 1) // self.shape[1] + 1
        return self.volume[plane:last].reshape(-1, self.shape[2])[first - plane * self.shape[1] :][: stop - first]

    def labels(self, values: Tensor) -> list[int]:
        """Structure ids of values in the signed type that the tensor is viewed as."""
        mask = _MASK.get(self.kind)
        if self.kind == torch.uint64:
            return [int(value) % 2**64 for value in values.tolist()]
        return [int(value) & mask if mask else int(value) for value in values.tolist()]

    def runs(self, first: int, stop: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Values, rows, starts and stops of the structures' runs in a slab, int64."""
        rows = self._rows(first, stop)
        begins = torch.ones_like(rows, dtype=torch.bool)
        torch.ne(rows[:, 1:], rows[:, :-1], out=begins[:, 1:])
        at = begins.view(-1).nonzero().view(-1)
        values = rows.reshape(-1)[at]
        after = torch.cat([at[1:], at.new_tensor([rows.numel()])])
        keep = ~torch.isin(values, self.background)
        at, after, values = at[keep], after[keep], values[keep]
        row = torch.div(at, self.shape[2], rounding_mode="floor")
        start = at - row * self.shape[2]
        return values.to(torch.int64), row + first, start, start + (after - at)

    def result(self) -> Marginals:
        """The marginals, contiguous axis first."""
        seen: list[Tensor] = []
        known = torch.empty(0, dtype=torch.int64, device=self.device)
        for slab in self.slabs:
            seen = [torch.unique(torch.cat([known, self.runs(*slab)[0]]))]
            known = seen[0]
            refuse_too_many(known.numel())
        size = known.numel()
        zeros = [torch.zeros((size, length), dtype=torch.int64, device=self.device) for length in self.shape]
        plane_histogram, row_histogram = zeros[0], zeros[1]
        steps = torch.zeros((size, self.shape[2] + 1), dtype=torch.int64, device=self.device)
        extreme = torch.iinfo(torch.int64)
        low = torch.full((3, size), extreme.max, dtype=torch.int64, device=self.device)
        high = torch.full((3, size), extreme.min, dtype=torch.int64, device=self.device)
        for slab in self.slabs:
            values, row, start, stop = self.runs(*slab)
            self.run_total += values.numel()
            slot = torch.searchsorted(known, values)
            plane = torch.div(row, self.shape[1], rounding_mode="floor")
            row_in_plane = row - plane * self.shape[1]
            length = stop - start
            plane_histogram.view(-1).index_add_(0, slot * self.shape[0] + plane, length)
            row_histogram.view(-1).index_add_(0, slot * self.shape[1] + row_in_plane, length)
            one = torch.ones_like(length)
            steps.view(-1).index_add_(0, slot * steps.shape[1] + start, one)
            steps.view(-1).index_add_(0, slot * steps.shape[1] + stop, -one)
            if self.weights is not None:
                for axis, weight in enumerate(self.weights):
                    offset = row_in_plane * weight[1] + plane * weight[2]
                    for end in (start, stop - 1):
                        place = offset + end * weight[0]
                        low[axis].scatter_reduce_(0, slot, place, "amin")
                        high[axis].scatter_reduce_(0, slot, place, "amax")
        histograms = (steps[:, :-1].cumsum(1), row_histogram, plane_histogram)  # contiguous axis first
        count = plane_histogram.sum(1)
        labels = self.labels(known)
        refuse_bad_labels(labels, int(count.sum()), self.run_total)
        interior, dilated = self._boundaries(known) if self.boundaries else (None, None)
        order = sorted(range(size), key=labels.__getitem__)
        pick = torch.tensor(order, dtype=torch.int64, device=self.device)
        positions = [torch.arange(h.shape[1], device=self.device) for h in histograms]
        firsts = [(h > 0).to(torch.uint8).argmax(1) for h in histograms]
        lasts = [h.shape[1] - (h.flip(1) > 0).to(torch.uint8).argmax(1) for h in histograms]
        return Marginals(
            shape=(self.shape[2], self.shape[1], self.shape[0]),
            labels=tuple(labels[slot] for slot in order),
            count=count[pick],
            index_sum=tuple((h * p).sum(1)[pick] for h, p in zip(histograms, positions, strict=True)),  # type: ignore[arg-type]
            start=tuple(column[pick] for column in firsts),  # type: ignore[arg-type]
            stop=tuple(column[pick] for column in lasts),  # type: ignore[arg-type]
            interior=None if interior is None else interior[pick],
            dilated=None if dilated is None else dilated[pick],
            low=None if self.weights is None else tuple(low[:, pick]),
            high=None if self.weights is None else tuple(high[:, pick]),
        )

    def _boundaries(self, known: Tensor) -> tuple[Tensor, Tensor]:
        """Interior and dilated voxels per slot of ``known``, plane slabs with a halo of one plane."""
        interior = torch.zeros(known.numel(), dtype=torch.int64, device=self.device)
        dilated = torch.zeros_like(interior)
        planes = self.shape[0]
        step = max(1, SLAB_VOXELS // max(1, self.shape[1] * self.shape[2]))
        for first in range(0, planes, step):
            stop = min(planes, first + step)
            block = self.volume[max(0, first - 1) : min(planes, stop + 1)]
            slots = self._slots(block, known)
            # A frame of -1 stands for "outside the grid" where there is no neighbouring plane, row or column.
            framed = torch.full([length + 2 for length in slots.shape], -1, dtype=torch.int32, device=self.device)
            framed[1:-1, 1:-1, 1:-1] = slots
            lower = 1 + (first - max(0, first - 1))
            core = (slice(lower, lower + stop - first), slice(1, -1), slice(1, -1))
            here = framed[core]
            around = [framed.roll(shift, axis)[core] for axis in range(3) for shift in (1, -1)]
            alike = torch.ones_like(here, dtype=torch.bool)
            for neighbour in around:
                alike &= neighbour == here
            inner = here[alike & (here >= 0)].to(torch.int64)
            interior += torch.bincount(inner, minlength=known.numel())
            own = here[here >= 0].to(torch.int64)
            dilated += torch.bincount(own, minlength=known.numel())
            # Each voxel counts once for every different structure among its neighbours that is not its own.
            edge = (~alike).nonzero(as_tuple=True)
            values = [neighbour[edge] for neighbour in around]
            for at, value in enumerate(values):
                new = (value >= 0) & (value != here[edge])
                for earlier in values[:at]:
                    new &= value != earlier
                dilated += torch.bincount(value[new].to(torch.int64), minlength=known.numel())
        return interior, dilated

    def _slots(self, block: Tensor, known: Tensor) -> Tensor:
        """Slot of every voxel of a block, int32; -1 for background."""
        values = block.to(torch.int64)
        if not known.numel():
            return torch.full_like(values, -1, dtype=torch.int32)
        slots = torch.searchsorted(known, values.contiguous()).clamp_(max=known.numel() - 1)
        return torch.where(known[slots] == values, slots, -1).to(torch.int32)
