"""The report: one self-contained HTML file of evaluation runs, with its figures and cases. Reads records only."""

from monai_spatialqa.report.cards import Card, CardPicture, CardReply, select_cards
from monai_spatialqa.report.case_pictures import CasePictures
from monai_spatialqa.report.html import write_html
from monai_spatialqa.report.pictures import make_card_picture
from monai_spatialqa.report.settings import ReportSettings
from monai_spatialqa.report.stage import run_report
from monai_spatialqa.report.writing import ReportedRun, write_report

__all__ = [
    "Card",
    "CardPicture",
    "CardReply",
    "CasePictures",
    "ReportSettings",
    "ReportedRun",
    "make_card_picture",
    "run_report",
    "select_cards",
    "write_html",
    "write_report",
]
