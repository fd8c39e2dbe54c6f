"""What the tests of this folder share: adapters that a test registers are gone after it."""

from __future__ import annotations

import pytest

from monai_spatialqa.models import registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
