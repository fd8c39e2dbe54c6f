"""The tools that evidence names: each computes one figure of a case from its record, so a key can be recomputed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.items.quantity import RATIO_UNIT, Quantity
from monai_spatialqa.items.view import CaseView, Purpose
from monai_spatialqa.records.item import Argument, Evidence

Tool = Callable[..., Quantity]


def volume(view: CaseView, structure: str) -> Quantity:
    """Volume of a structure, ml."""
    return view.volume(structure)


def volume_ratio(view: CaseView, first: str, second: str) -> Quantity:
    """Volume of the first structure over that of the second."""
    one, other = view.volume(first), view.volume(second)
    high = one.high / other.low if other.low > 0 else math.inf
    return Quantity(one.value / other.value, one.low / other.high, high, RATIO_UNIT)


def volume_share(view: CaseView, part: str, whole: list[str]) -> Quantity:
    """Volume of a part over that of several structures together (the part may be one of them), in percent."""
    one = view.volume(part)
    rest = [view.volume(name) for name in whole if name != part]
    own = part in whole
    total = sum(each.value for each in rest) + (one.value if own else 0.0)
    lows = sum(each.low for each in rest), sum(each.high for each in rest)
    low = 100 * one.low / (lows[1] + (one.low if own else 0.0))
    high = 100 * one.high / (lows[0] + (one.high if own else 0.0))
    return Quantity(100 * one.value / total, low, high, "%")


def total_volume(view: CaseView, structures: list[str]) -> Quantity:
    """Volume of several structures together, ml."""
    each = [view.volume(name) for name in structures]
    return Quantity(sum(q.value for q in each), sum(q.low for q in each), sum(q.high for q in each), "ml")


def extent(view: CaseView, structure: str, axis: int) -> Quantity:
    """Edge of the bounding box along R (0), A (1) or S (2), mm."""
    return view.extent(structure, axis)


def center_distance(view: CaseView, first: str, second: str) -> Quantity:
    """Distance between the centres of two bounding boxes, mm."""
    return view.distance(first, second)


def offset(view: CaseView, first: str, second: str, axis: int) -> Quantity:
    """From the first box centre to the second along R (0), A (1) or S (2), mm."""
    return view.offset(first, second, axis)


def surface_distance(view: CaseView, first: str, second: str) -> Quantity:
    """Smallest distance between voxel centres of two structures, mm."""
    return _measured(view.surface_distance(first, second), view, "surface distance")


def contact_area(view: CaseView, first: str, second: str) -> Quantity:
    """Area of the voxel faces that two structures share, mm2."""
    pair = view.pair(first, second, "surface")
    area = None if pair is None else pair.contact_mm2
    return _measured(None if area is None else Quantity(area, area, area, "mm2"), view, "contact")


def share_inside(view: CaseView, inner: str, outer: str) -> Quantity:
    """Share of a structure's voxels inside another's convex hull, percent."""
    pair = view.pair(inner, outer, "surface")
    share = None
    if pair is not None:
        share = pair.share_of_a_in_hull_of_b if pair.a == inner else pair.share_of_b_in_hull_of_a
    return _measured(None if share is None else Quantity(100 * share, 100 * share, 100 * share, "%"), view, "share")


def component_count(view: CaseView, structure: str) -> Quantity:
    """Number of connected components."""
    parts = view.structure(structure).components
    return _measured(None if parts is None else Quantity(parts.count, parts.count, parts.count), view, "components")


def largest_component(view: CaseView, structure: str) -> Quantity:
    """Volume of the largest connected component, ml."""
    parts = view.structure(structure).components
    found = None if parts is None else Quantity(parts.volumes_ml[0], parts.volumes_ml[0], parts.volumes_ml[0], "ml")
    return _measured(found, view, "components")


def axial_diameter(view: CaseView, structure: str) -> Quantity:
    """Longest axial diameter, mm."""
    return _measured(view.diameter(structure), view, "axial diameter")


TOOLS: Mapping[str, Tool] = {
    tool.__name__: tool
    for tool in (
        volume,
        volume_ratio,
        volume_share,
        total_volume,
        extent,
        center_distance,
        offset,
        surface_distance,
        contact_area,
        share_inside,
        component_count,
        largest_component,
        axial_diameter,
    )
}
"""Tools by name."""


def evidence(view: CaseView, tool: str, unit: str | None = None, **arguments: Argument) -> Evidence:
    """Compute a figure and keep how it was computed.

    Args:
        view: the case.
        tool: name of the tool.
        unit: unit that it is stated in; default: the tool's own.
        arguments: of the tool.
    """
    found = run_tool(view, tool, arguments)
    stated = found if unit is None else found.to(unit)
    return Evidence(
        tool=tool,
        arguments=arguments,
        value=stated.value,
        unit=stated.unit or None,
        low=stated.low,
        high=stated.high if math.isfinite(stated.high) else None,
        measurement_id=view.case_id,
    )


def run_tool(view: CaseView, tool: str, arguments: Mapping[str, Any]) -> Quantity:
    """The figure of a tool.

    Raises:
        SettingsError: an unknown tool, arguments that do not fit, or a figure that was not measured.
    """
    if tool not in TOOLS:
        raise SettingsError("no tool of this name", key="tool", found=tool, expected=", ".join(TOOLS))
    try:
        return TOOLS[tool](view, **arguments)
    except TypeError as error:
        raise SettingsError("the arguments do not fit the tool", key=tool, found=error) from None


def _measured(found: Quantity | None, view: CaseView, what: str) -> Quantity:
    if found is None:
        raise SettingsError(
            f"the {what} was not measured",
            case=view.case_id,
            key="detail",
            found="nothing in the record",
            expected="a record of detail: full, with the pair among its distances",
            next_step="measure again with --detail full",
        )
    return found


PURPOSES: Mapping[str, Purpose] = {
    "center_distance": "place",
    "offset": "place",
    "surface_distance": "place",
    "contact_area": "place",
    "share_inside": "place",
    "component_count": "count",
}
"""What a tool needs to know of its structures, where that is not their size."""
