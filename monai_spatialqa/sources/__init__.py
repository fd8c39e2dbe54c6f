"""Public data sets as they are downloaded: their folders become MONAI Decathlon datalists of cases."""

from monai_spatialqa.sources.datalist import Datalist, DatalistSummary, build_datalist, make_datalist
from monai_spatialqa.sources.registry import source_names

__all__ = ["Datalist", "DatalistSummary", "build_datalist", "make_datalist", "source_names"]
