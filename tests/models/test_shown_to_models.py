"""What arrives at a model's server: the sides, the window and the size, in the pixels and in the words."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from monai_spatialqa.models import Question
from monai_spatialqa.rendering import (
    CONVENTION,
    ViewGeometry,
    ViewSettings,
    describe_views,
    make_views,
    view_captions,
)
from tests.models.asking import adapter_for, answers
from tests.servers.openai_server import ScriptedServer, reply

AFFINE = np.diag([1.0, 2, 5, 1])


def arrived(volume: np.ndarray, **settings):
    """The request that the server got, and its images as arrays."""
    chosen = ViewSettings(**settings)
    geometry = ViewGeometry("CT", volume.shape, AFFINE)
    views = make_views(volume, geometry, chosen)
    question = Question(
        "item-1",
        f"{describe_views(views, chosen, geometry)}\n\nWhich is larger?",
        images=tuple(view.png for view in views),
        captions=view_captions(views, chosen),
    )
    with ScriptedServer(lambda _: reply()) as server:
        answers(adapter_for(server), [question])
    asked = server.chats[0]
    return asked, [np.asarray(Image.open(io.BytesIO(png))) for png in asked.images]


def test_br_015_the_patients_left_arrives_on_the_image_right_and_the_prompt_says_so():
    volume = np.full((40, 20, 9), -1000, dtype=np.int16)
    volume[5:15, 12:18] = 1000  # low R: the patient's left; high A: front
    asked, pictures = arrived(volume, slices=3)
    assert len(pictures) == 3
    for picture in pictures:
        rows, columns = np.nonzero(picture > 128)
        assert columns.min() > picture.shape[1] / 2
        assert rows.max() < picture.shape[0] / 2
    assert CONVENTION in asked.text


@pytest.mark.parametrize(
    ("window", "told", "greys"),
    [
        ("soft_tissue", "level 40 HU, width 400 HU; -160 HU and less is black, 240 HU and more is white", {0, 255}),
        ({"level": 0, "width": 2000}, "level 0 HU, width 2000 HU; -1000 HU and less is black", {0, 64, 255}),
    ],
)
def test_br_200_the_window_arrives_in_the_pixels_and_in_the_prompt(window, told, greys):
    volume = np.full((40, 20, 4), -1000, dtype=np.int16)
    volume[10:], volume[20:] = -500, 1000
    asked, pictures = arrived(volume, slices=1, ct_window=window, interpolation="nearest")
    assert told in asked.text
    assert set(np.unique(pictures[0]).tolist()) == greys


@pytest.mark.parametrize("told", [True, False])
def test_br_203_the_size_in_mm_arrives_or_the_settings_say_that_it_is_unknown(told):
    settings = {"slices": 2, "tell": {"scale": told}}
    asked, pictures = arrived(np.zeros((40, 20, 10), dtype=np.int16), **settings)
    assert [picture.shape for picture in pictures] == [(512, 512)] * 2, "40 mm x 40 mm, whatever the voxels"
    assert ("40.0 mm x 40.0 mm" in asked.text) == told
    assert ("5 mm apart" in asked.text) == told
    assert (" mm" in asked.text) == told
    assert ViewSettings(**settings).scale_known == told
