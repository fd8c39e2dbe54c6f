"""The data sets by name. A new one is a file of its own and a line here."""

from __future__ import annotations

import difflib

from monai_spatialqa.errors import SettingsError
from monai_spatialqa.sources import amos, brats, kits, msd, totalsegmentator
from monai_spatialqa.sources.data_set import DataSet

_DATA_SETS = {
    data.name: data
    for data in (
        amos.AMOS22,
        brats.BRATS2021,
        brats.BRATS2023,
        kits.KITS23,
        *msd.TASKS,
        totalsegmentator.MR,
        totalsegmentator.CT,
    )
}


def source_names() -> list[str]:
    """Names of the data sets whose layout is known; each is also the name of the label map of its labels."""
    return sorted(_DATA_SETS)


def data_set(name: str) -> DataSet:
    """What is known of a data set.

    Raises:
        SettingsError: for an unknown name; lists those that are known.
    """
    if name not in _DATA_SETS:
        close = difflib.get_close_matches(name, _DATA_SETS, n=1)
        raise SettingsError(
            "no public data set of this name is known",
            code="unknown_source",
            key="source",
            found=name,
            expected=f"one of: {', '.join(source_names())}",
            next_step=f"did you mean {close[0]}?" if close else "for other data, write a datalist, or give labels",
        )
    return _DATA_SETS[name]
