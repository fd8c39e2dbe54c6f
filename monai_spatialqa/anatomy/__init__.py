"""What a label means: structure names, sides, groups and label maps. Knows neither torch nor MONAI."""

from monai_spatialqa.anatomy.derived import DerivedStructure
from monai_spatialqa.anatomy.label_map import LabelMap
from monai_spatialqa.anatomy.loading import load_label_map, shipped_label_maps
from monai_spatialqa.anatomy.organs import ORGANS, Organ, organs_of, tumours_of
from monai_spatialqa.anatomy.pairs import PairSpec, partner_rows, resolve_pairs
from monai_spatialqa.anatomy.structure import (
    TUMOUR_KINDS,
    Coding,
    Colour,
    Side,
    StructureInfo,
    TumourKind,
    fallback_name,
    opposite_name,
    side_of_name,
)

__all__ = [
    "ORGANS",
    "TUMOUR_KINDS",
    "Coding",
    "Colour",
    "DerivedStructure",
    "LabelMap",
    "Organ",
    "PairSpec",
    "Side",
    "StructureInfo",
    "TumourKind",
    "fallback_name",
    "load_label_map",
    "opposite_name",
    "organs_of",
    "partner_rows",
    "resolve_pairs",
    "shipped_label_maps",
    "side_of_name",
    "tumours_of",
]
