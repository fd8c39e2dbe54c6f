"""Text found elsewhere, wrapped so that it stays data inside a prompt.

Two ways lead out of a wrapping. Text that closes it: the lines around it carry a code made from the text itself, which
the text therefore cannot contain. And the special tokens of chat templates, which some servers (llama.cpp) read in any
text as the end of a message: they are taken apart by a blank.
"""

from __future__ import annotations

import hashlib
import re

from monai_spatialqa.llm.prompt_files import load_prompt

_CODE_LENGTH = 12
_KIND = re.compile(r"[a-z][a-z0-9_ ]*")

# Chat templates of ChatML, Qwen, Llama, Phi, Gemma, Mistral, DeepSeek; image places of LLaVA, Qwen-VL and llama.cpp.
_SPECIAL = re.compile(
    r"<(?=[|\uff5c])"
    r"|<(?=/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|start_of_image|end_of_image|image_soft_token|image|img"
    r"|video|audio|think|tool_call|tool_response|tools|IMG_CONTEXT|__media__|__image__)>)"
    r"|\[(?=/?(?:INST|IMG|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<<(?=/?SYS>>)",
    re.IGNORECASE,
)


def delimited(text: str, kind: str = "text") -> str:
    """The text between two lines that it cannot imitate.

    Args:
        text: any text. Only special tokens of chat templates change in it: ``<|im_end|>`` becomes ``< |im_end|>``.
        kind: what it is, in lower-case words, e.g. ``"abstract"``.

    Returns:
        ``<<<begin abstract CODE>>>``, the text, ``<<<end abstract CODE>>>``; equal texts give equal codes.

    Raises:
        ValueError: ``kind`` is not lower-case words.

    Example:
        >>> print(delimited("The spleen was enlarged.", "abstract"))
        <<<begin abstract ac8a77ba8f5a>>>
        The spleen was enlarged.
        <<<end abstract ac8a77ba8f5a>>>
    """
    if not _KIND.fullmatch(kind):
        raise ValueError(f"kind must be lower-case words, not {kind!r}")
    harmless = _SPECIAL.sub(r"\g<0> ", text)
    code = _code(harmless)
    while code in harmless:
        code = _code(code)
    return f"<<<begin {kind} {code}>>>\n{harmless}\n<<<end {kind} {code}>>>"


def data_rule() -> str:
    """The sentences for a system prompt that say what the lines of :func:`delimited` mean."""
    return load_prompt("data_rule").text


def _code(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_CODE_LENGTH]
