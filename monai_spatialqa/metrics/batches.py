"""What evaluators hand over, as one number per answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from monai_spatialqa.errors import SpatialQAError

Batch: TypeAlias = torch.Tensor | NDArray[Any] | Sequence[Any]
"""One number per answer: a tensor or array (B,) or (B, 1), or a list of B numbers, or of tensors with one number."""

UNREAD = -1
"""In place of an option's number: a reply from which no letter could be read. It is wrong."""

NO_REPLY = -2
"""In place of an option's number: the model did not reply. Wrong over all answers, left out over the answered ones."""


def one_per_answer(batch: Batch, key: str) -> torch.Tensor:
    """A batch as a plain tensor (B,), its type and device kept.

    Args:
        batch: what came, from :func:`monai.data.decollate_batch` or before it.
        key: its name in errors.

    Raises:
        SpatialQAError: it is not one number per answer (``bad_batch``).
    """
    if isinstance(batch, torch.Tensor):
        tensor = batch.detach().as_subclass(torch.Tensor)
    elif isinstance(batch, np.ndarray):
        tensor = torch.as_tensor(batch)
    elif any(isinstance(one, torch.Tensor | np.ndarray) for one in batch):
        parts = [torch.as_tensor(one).detach().as_subclass(torch.Tensor) for one in batch]
        for place, part in enumerate(parts):
            if part.numel() != 1:
                raise _bad(f"{key}[{place}]", f"shape {tuple(part.shape)}")
        tensor = torch.cat([part.reshape(1) for part in parts])
    else:
        tensor = torch.as_tensor(np.asarray(list(batch)))
    if tensor.ndim == 2 and tensor.shape[1] == 1:
        tensor = tensor[:, 0]
    if tensor.ndim != 1:
        raise _bad(key, f"shape {tuple(tensor.shape)}")
    return tensor


def paired(y_pred: Batch, y: Batch | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Answers and truths, (B,) each.

    Raises:
        SpatialQAError: either is not one number per answer, or they are not equally many.
    """
    if y is None:
        raise _bad("y", "none")
    answers, truths = one_per_answer(y_pred, "y_pred"), one_per_answer(y, "y")
    if len(answers) != len(truths):
        raise _bad("y", f"{len(truths)} truths for {len(answers)} answers")
    return answers, truths


def _bad(key: str, found: str) -> SpatialQAError:
    return SpatialQAError(
        "this is not one number per answer",
        code="bad_batch",
        key=key,
        found=found,
        expected="shape (B,) or (B, 1), or a list of B numbers, equally many answers and truths",
        next_step="read the replies first, with monai_spatialqa.answers",
    )


def nothing_yet(metric: str) -> SpatialQAError:
    """The error of a metric that is aggregated before its first batch."""
    return SpatialQAError(
        "there is nothing to aggregate",
        code="no_answers",
        key=metric,
        found="0 answers",
        expected="1 or more",
        next_step="call the metric with a batch first, and aggregate before reset()",
    )
