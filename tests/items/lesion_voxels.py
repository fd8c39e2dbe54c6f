"""Right answers of questions about lesions straight from the voxels, by other means than the package's."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, cKDTree

from monai_spatialqa.items.wording import readable_name


class Voxels:
    """Figures of structures straight from the label map, by other means than the package's."""

    def __init__(self, label, affine, names):
        self.spacing = np.abs(np.diag(affine)[:3])
        self.masks = {name: label == value for value, name in names.items()}

    def volume(self, name):
        return self.masks[name].sum() * self.spacing.prod() / 1000

    def points(self, name):
        return np.argwhere(self.masks[name]) * self.spacing

    def surface(self, first, second):
        return cKDTree(self.points(first)).query(self.points(second))[0].min()

    def center(self, name):
        points = self.points(name)
        return (points.min(axis=0) + points.max(axis=0)) / 2

    def contact(self, first, second):
        """Area of shared faces of structures without common voxels: steps from 1 to 3 or back."""
        code = self.masks[first].astype(int) + 3 * self.masks[second]
        areas = self.spacing.prod() / self.spacing
        return sum(areas[axis] * (abs(np.diff(code, axis=axis)) == 2).sum() for axis in range(3))

    def share_outside(self, inner, outer):
        steps = np.stack(np.meshgrid(*[(-1, 1)] * 3), axis=-1).reshape(-1, 3)
        corners = (np.argwhere(self.masks[outer])[:, None] + steps).reshape(-1, 3)
        hull = ConvexHull(corners)
        heights = np.argwhere(self.masks[inner]) @ hull.equations[:, :3].T + hull.equations[:, 3]
        return 1 - (heights.max(axis=1) <= 1e-9).mean()

    def diameter(self, name):
        """Longest distance between midpoints of outer pixel edges in a slice, by trying all."""
        mask, longest = np.pad(self.masks[name], 1), 0.0
        for at in range(mask.shape[2]):
            middles = [
                np.argwhere(np.diff(mask[:, :, at].astype(int), axis=axis)) + np.eye(2)[axis] / 2 for axis in range(2)
            ]
            points = np.concatenate(middles) * self.spacing[:2]
            if len(points):
                longest = max(longest, np.linalg.norm(points[:, None] - points, axis=-1).max())
        return longest

    def pieces(self, name):
        labels, count = ndimage.label(self.masks[name], np.ones((3, 3, 3)))
        return sorted((labels == at).sum() * self.spacing.prod() / 1000 for at in range(1, count + 1))


WAYS = (
    ((1, "patient's right"), (-1, "patient's left")),
    ((1, "anterior to"), (-1, "posterior to")),
    ((1, "superior to"), (-1, "inferior to")),
)


def answer_of(name, item, voxels):
    """The right answer of an item, from the voxels alone."""
    first, *others = item.structures
    if name in ("lesion_share_interval", "lesion_share_percent"):
        return 100 * voxels.volume(first) / sum(map(voxels.volume, item.structures))
    if name == "lesion_larger":
        return "yes" if voxels.volume(first) > voxels.volume(others[0]) else "no"
    if name == "lesion_touches_vessel":
        return "yes" if voxels.contact(first, others[0]) > 0 else "no"
    if name == "lesion_outside_organ":
        return "yes" if voxels.share_outside(first, others[0]) >= 0.25 else "no"
    if name == "lesion_place":
        offset = voxels.center(first) - voxels.center(others[0])
        asked = [(axis, sign) for axis, words in enumerate(WAYS) for sign, word in words if word in item.question]
        [(axis, sign)] = asked
        return "yes" if sign * offset[axis] > 0 else "no"
    if name == "lesion_closest_structure":
        nearest = min(others, key=lambda other: voxels.surface(first, other))
        return readable_name(nearest)
    if name == "lesion_piece_count":
        return f"{len(voxels.pieces(first))} pieces"
    return {
        "lesion_vessel_distance": lambda: voxels.surface(first, others[0]),
        "lesion_axial_diameter": lambda: voxels.diameter(first),
        "lesion_largest_piece": lambda: voxels.pieces(first)[-1],
    }[name]()
