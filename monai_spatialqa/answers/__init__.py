"""Reading replies: the letter of a choice, or a number with its unit. Nothing is guessed; what is unread says why."""

from monai_spatialqa.answers.choice import read_choice
from monai_spatialqa.answers.quantity import read_quantity
from monai_spatialqa.answers.result import PARSER_VERSION, REASONS, ChoiceReading, QuantityReading

__all__ = ["PARSER_VERSION", "REASONS", "ChoiceReading", "QuantityReading", "read_choice", "read_quantity"]
