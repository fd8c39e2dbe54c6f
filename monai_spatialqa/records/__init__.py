"""What crosses a stage boundary: pydantic records, their JSON Schema, and the append-only journal."""

from monai_spatialqa.records.base import SCHEMA_VERSION, Record, RecordPart
from monai_spatialqa.records.case import Case
from monai_spatialqa.records.files import portable_path, sha256_of_file, write_bytes_atomic, write_text_atomic
from monai_spatialqa.records.journal import Journal, read_records
from monai_spatialqa.records.measurement import (
    AxialDiameter,
    Box,
    Components,
    DistanceKind,
    ErrorDetail,
    Geometry,
    Measurement,
    Overlap,
    Pair,
    Source,
    Structure,
)
from monai_spatialqa.records.status import Status

__all__ = [
    "SCHEMA_VERSION",
    "AxialDiameter",
    "Box",
    "Case",
    "Components",
    "DistanceKind",
    "ErrorDetail",
    "Geometry",
    "Journal",
    "Measurement",
    "Overlap",
    "Pair",
    "Record",
    "RecordPart",
    "Source",
    "Status",
    "Structure",
    "portable_path",
    "read_records",
    "sha256_of_file",
    "write_bytes_atomic",
    "write_text_atomic",
]
