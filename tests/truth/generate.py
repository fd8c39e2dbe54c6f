"""Make questions from every segmented scan below a directory, and hold each of them against its measurement.

    python -m tests.truth.generate DIRECTORY [--json out.json] [--show]

Every volume file is measured with ``detail: full``, as `compare` finds and reads them, and folders of masks, too. The
generate stage then runs twice on each case alone, and twice on all of them together. A row tells

- the items of each task, and what was left out or not made for which reason,
- keys that do not follow from evidence computed again, and findings of the linter,
- the seconds of the slower of the two runs, the measurement not included,
- whether the two runs wrote the same bytes.

Names come from ``LABEL_MAPS``. Other files have no names that are known: where their ids are few, each structure gets a
made-up one, so that shapes and grids are tried; files of many ids are images. Exit code 0 when every key holds, nothing
was found, every case took less than ``MOST_SECONDS`` and the bytes are the same.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, get_args

import nibabel as nib
import numpy as np

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.generation import GenerateSettings, run_generation
from monai_spatialqa.items.linter import lint_records
from monai_spatialqa.items.recompute import recompute
from monai_spatialqa.items.view import CaseView
from monai_spatialqa.records import Measurement, read_records
from monai_spatialqa.records.item import Item, Reference, TaskCode

SUFFIXES = (".nii", ".nii.gz", ".hdr", ".nrrd", ".mha")
MASKS = "*_masks"
"""How a folder with one mask per structure is called."""

MOST_SECONDS = 2.0
ALPHABET = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
).split()
"""Made-up names for structures that nobody named; a file of more ids is taken for an image."""

_TUMOUR = {"structures": {1: "tumour"}, "groups": {"tumours": ["tumour"]}}
_SPINE = {label: name for label, name in enumerate(("T12", "L1", "L2", "L3", "L4", "L5"), start=19)}
LABEL_MAPS: Mapping[str, Any] = {
    "ct_totalseg/spine/*_body.nii.gz": {1: "vertebrae_body", 2: "intervertebral_discs"},
    "ct_totalseg/spine/*_pp_refined.nii.gz": {label: f"vertebrae_{name}" for label, name in _SPINE.items()},
    "ct_totalseg/*": "totalsegmentator_v2",
    "odd_derived/shear_bright.nii.gz": None,
    "odd_derived/*_seg.nii.gz": "totalsegmentator_v2",
    "odd_derived/not_gzip.nii.gz": "totalsegmentator_v2",
    "sts_002/*_gtv.nii.gz": {"name": "sarcoma", **_TUMOUR, "structures": {1: "sarcoma"}}
    | {"groups": {"tumours": ["sarcoma"]}},
    "radiomics_reference/*_label.nrrd": {"name": "tumour", **_TUMOUR},
}
"""Label maps of files by their path; the first pattern that fits counts."""


@dataclass
class Row:
    """What came out for one case, or for all together."""

    case: str
    structures: int = 0
    items: int = 0
    tasks: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    wrong_keys: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    seconds: float = 0.0
    identical: bool = True
    refused: str = ""

    @property
    def sound(self) -> bool:
        """Whether everything that must hold holds."""
        return self.identical and not self.wrong_keys and not self.findings and self.seconds < MOST_SECONDS
