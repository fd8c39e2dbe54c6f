"""One chat client for every model call: structured output, retries, limits, cache and cost; prompts as data."""

from monai_spatialqa.llm.account import Account
from monai_spatialqa.llm.client import ChatClient
from monai_spatialqa.llm.delimiting import data_rule, delimited
from monai_spatialqa.llm.estimate import Estimate, estimate
from monai_spatialqa.llm.failures import ModelServiceError
from monai_spatialqa.llm.messages import Image, Message, Request, Text
from monai_spatialqa.llm.prompt_files import Prompt, load_prompt, shipped_prompts
from monai_spatialqa.llm.reply import Reply
from monai_spatialqa.llm.settings import LLMSettings, Prices

__all__ = [
    "Account",
    "ChatClient",
    "Estimate",
    "Image",
    "LLMSettings",
    "Message",
    "ModelServiceError",
    "Prices",
    "Prompt",
    "Reply",
    "Request",
    "Text",
    "data_rule",
    "delimited",
    "estimate",
    "load_prompt",
    "shipped_prompts",
]
