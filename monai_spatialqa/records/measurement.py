"""The record of one measured case. All lengths in mm, volumes in mm3 and ml, positions in RAS mm."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from monai_spatialqa.records.base import Record, RecordPart

Vector = tuple[float, float, float]
IndexVector = tuple[int, int, int]
DistanceKind = Literal["box_center", "centroid", "surface"]


class Box(RecordPart):
    """Axis-aligned box of a structure."""

    index_start: IndexVector = Field(description="first voxel index along each axis of the RAS grid")
    index_stop: IndexVector = Field(description="one past the last voxel index (half-open), RAS grid")
    extent_mm: Vector = Field(
        description="length between outer voxel faces along the grid axes; world axes when the grid is sheared"
    )
    center_ras_mm: Vector | None = Field(description="centre of the box, RAS mm; null when orientation is unknown")
    world_min_ras_mm: Vector | None = Field(description="smallest R, A, S over all voxel faces of the structure, mm")
    world_max_ras_mm: Vector | None = Field(description="largest R, A, S over all voxel faces of the structure, mm")


class Components(RecordPart):
    """Connected components of a structure. All are counted; the largest are listed, largest first."""

    count: int
    connectivity: Literal[6, 18, 26] = Field(description="neighbours of a voxel: faces, edges too, corners too")
    voxel_counts: list[int] = Field(description="voxels of each listed component")
    volumes_ml: list[float] = Field(description="volume of each listed component")
    boxes: list[tuple[IndexVector, IndexVector]] = Field(
        description="half-open index box of each listed component: first index and one past the last, RAS grid"
    )


class AxialDiameter(RecordPart):
    """Longest diameter of a structure within one axial slice, and the longest one perpendicular to it there."""

    longest_mm: float = Field(description="between midpoints of outer voxel edges in the slice")
    perpendicular_mm: float = Field(description="longest chord of the outline's convex hull, perpendicular to it")
    slice_index: int = Field(description="index along the third axis of the RAS grid")
    longest_points_ras_mm: tuple[Vector, Vector]
    perpendicular_points_ras_mm: tuple[Vector, Vector]


class Structure(RecordPart):
    """What was measured of one structure. Null means not known or not there; see ``status``."""

    label: int | None = Field(description="voxel value of the structure; null for a union of others")
    union_of: list[str] | None = Field(default=None, description="the structures whose union this is")
    voxel_count: int | None
    volume_mm3: float | None = Field(description="voxel count x |det(affine)|")
    volume_ml: float | None = Field(description="volume_mm3 / 1000; 1 ml = 1 cm3")
    volume_band_ml: tuple[float, float] | None = Field(
        description="volume when every boundary voxel (6-neighbourhood) counts half: [inside, outside]"
    )
    box: Box | None
    centroid_ras_mm: Vector | None = Field(description="mean of the voxel centres, RAS mm")
    centroid_inside: bool | None = Field(description="whether the voxel that holds the centroid is of the structure")
    components: Components | None = Field(default=None, description="null until asked for")
    axial_diameter: AxialDiameter | None = Field(default=None, description="of tumours, when asked for")
    truncated_faces: list[str] = Field(
        description="faces of the field of view that the structure reaches: left, right, posterior, anterior, "
        "inferior, superior; first_0 ... last_2 (grid axes) when orientation is unknown"
    )
    status: list[str] = Field(description="ok, or any of the words of Status")


class Pair(RecordPart):
    """The distance between two structures."""

    a: str
    b: str
    kind: DistanceKind
    distance_mm: float | None = Field(description="null when either structure has no position")
    points_ras_mm: tuple[Vector, Vector] | None = Field(description="the two end points, RAS mm")
    overlap_voxels: int | None = Field(default=None, description="voxels that belong to both")
    contact_faces: int | None = Field(default=None, description="voxel faces that both share, when asked for")
    contact_mm2: float | None = Field(default=None, description="area of these faces")
    share_of_a_in_hull_of_b: float | None = Field(
        default=None,
        description="share of a's voxels inside the convex hull of b, 0 to 1, when asked for; a hull also holds what "
        "the structure wraps around",
    )
    share_of_b_in_hull_of_a: float | None = Field(default=None, description="the other way round")
    status: list[str]


class Overlap(RecordPart):
    """Two structures of one label file that share voxels. Each is measured whole."""

    a: str
    b: str
    voxels: int


class Geometry(RecordPart):
    """The grid that was measured."""

    shape: IndexVector = Field(description="voxels along the axes of the RAS grid")
    spacing_mm: Vector = Field(description="voxel edge lengths along the axes of the RAS grid")
    orientation: str | None = Field(description="axis codes of the file as stored, e.g. LPS; null when unknown")
    grid: Literal["native", "resampled"]
    sheared: bool
    affine_ras_mm: tuple[tuple[float, float, float, float], ...] | None = Field(
        description="first three rows of the matrix from RAS-grid index (voxel centre) to RAS mm"
    )
    notes: list[str] = Field(default_factory=list, description="what was converted or repaired while reading")


class Source(RecordPart):
    """Where the figures come from."""

    path: str | None = Field(description="label file, relative to the run's root, with forward slashes")
    sha256: str | None = Field(description="hash of the label file's bytes")
    image_path: str | None = None


class ErrorDetail(RecordPart):
    """Why a case could not be measured."""

    code: str
    problem: str
    case: str | None = None
    file: str | None = None
    key: str | None = None
    found: str | None = None
    expected: str | None = None
    next_step: str | None = None


class Measurement(Record):
    """Everything measured of one case, or the reason why nothing was.

    ``errors`` is empty for a measured case; an error record has no structures.
    """

    case_id: str
    label_map: str | None = Field(default=None, description="name of the label map the structure names come from")
    settings_sha256: str | None = Field(default=None, description="hash of the settings that shape this record")
    structures: dict[str, Structure] = Field(default_factory=dict)
    unknown_labels: list[int] = Field(
        default_factory=list,
        description="ids in the file outside the label map; measured as label_<id>, or by the name the file gives",
    )
    pairs: list[Pair] = Field(default_factory=list)
    overlaps: list[Overlap] = Field(
        default_factory=list, description="structures that share voxels, where a file can hold such; unions left out"
    )
    geometry: Geometry | None = None
    source: Source
    errors: list[ErrorDetail] = Field(default_factory=list)

    @property
    def record_id(self) -> str:
        """The id of the case."""
        return self.case_id
