"""Adapters to models that are asked about scans: questions in, replies out. The right answers are never here."""

from monai_spatialqa.models.adapter import Adapter
from monai_spatialqa.models.openai_adapter import OpenAIAdapter, OpenAIOptions
from monai_spatialqa.models.question import ModelReply, Question
from monai_spatialqa.models.registry import build_adapter, known_adapters, register_adapter

__all__ = [
    "Adapter",
    "ModelReply",
    "OpenAIAdapter",
    "OpenAIOptions",
    "Question",
    "build_adapter",
    "known_adapters",
    "register_adapter",
]
