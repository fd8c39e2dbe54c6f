"""Pictures of cases: what they show is what was measured, and what cannot be drawn is said."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import monai_spatialqa as sqa
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import Evidence, Item, ItemCase, Provenance, Reference
from monai_spatialqa.rendering.panels import OTHER_COLOUR, SEGMENT_COLOUR, STRUCTURE_COLOUR
from monai_spatialqa.report import CasePictures, make_card_picture, pictures
from monai_spatialqa.report.pictures import what_is_shown


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Measurement]:
    """A folder with the scan and label map of a phantom, and its measurement."""
    folder = tmp_path_factory.mktemp("phantom")
    phantom = sqa.make_phantom(3, shape=(60, 45, 50), spacing_mm=(6.0, 6.0, 8.0))
    image, label = phantom.save(folder, "phantom")
    measured = sqa.measure(
        label, image=image, case_id="phantom", label_map=phantom.label_map, distances="all", distance_kind="surface"
    )
    source = measured.source.model_copy(update={"path": label.name, "image_path": image.name})
    return folder, measured.model_copy(update={"source": source})


def asked(*structures: str, answer: str = "x", **evidence: Any) -> tuple[Item, Reference]:
    item = Item(
        item_id="one",
        task="VOLEST",
        subtask="volume_estimate",
        format="numeric",
        question="?",
        answer_unit="ml",
        structures=list(structures),
        case=ItemCase(case_id="phantom", modality="CT"),
        provenance=Provenance(seed=0),
    )
    figure = evidence or {"tool": "volume", "arguments": {"structure": structures[0]}, "value": 1.0, "unit": "ml"}
    told = [Evidence(measurement_id="phantom", **figure)]
    return item, Reference(
        item_id="one", answer="1", answer_text=answer, answer_value=1.0, answer_unit="ml", evidence=told
    )


def has_colour(slices: Sequence[bytes], colour: str) -> bool:
    """Whether a colour covers an area of the slices: compression blurs single pixels."""
    wanted = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)])
    pixels = np.hstack([np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in slices]).astype(int)
    return int((np.abs(pixels - wanted).max(axis=2) < 60).sum()) > 100


def test_a_picture_has_both_outlines_and_the_measured_line(case: tuple[Path, Measurement]) -> None:
    folder, measurement = case
    arguments = {"first": "liver", "second": "kidney_left"}
    item, reference = asked("liver", "kidney_left", tool="center_distance", arguments=arguments, value=91.7, unit="mm")
    picture = CasePictures([measurement], folder)(item, reference)
    assert len(picture.slices) == 3, picture.words
    assert picture.media_type == "image/jpeg"
    assert {Image.open(io.BytesIO(each)).size for each in picture.slices} == {picture.size}
    assert picture.size[0] == 420
    assert max(map(len, picture.slices)) <= 36_000
    assert all(has_colour(picture.slices, colour) for colour in (STRUCTURE_COLOUR, OTHER_COLOUR, SEGMENT_COLOUR))
    assert picture.words == (
        "Axial, coronal and sagittal slice through the liver with its outline and bounding box, and those of the left "
        "kidney. Distance of box centres 91.7 mm."
    )
    assert picture.legend == (
        ("segment", "distance of box centres 91.7 mm"),
        ("structure", "liver"),
        ("other", "left kidney"),
        ("box", "bounding box, projected"),
    )
    assert "patient right (R) on image left" in picture.note
    assert "CT window level" in picture.note


def test_a_volume_has_an_outline_and_no_line(case: tuple[Path, Measurement]) -> None:
    folder, measurement = case
    item, reference = asked("spleen", tool="volume", arguments={"structure": "spleen"}, value=12.3, unit="ml")
    picture = CasePictures([measurement], folder)(item, reference)
    assert picture.slices
    assert has_colour(picture.slices, STRUCTURE_COLOUR)
    assert not has_colour(picture.slices, OTHER_COLOUR)
    assert not has_colour(picture.slices, SEGMENT_COLOUR)


def test_what_is_drawn_says_figure_modality_and_window(
    case: tuple[Path, Measurement], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, measurement = case
    told: dict[str, Any] = {}
    real = pictures.draw_case_card

    def spy(*arguments: Any, **options: Any) -> Path:
        told.update(options)
        return real(*arguments, **options)

    monkeypatch.setattr(pictures, "draw_case_card", spy)
    item, reference = asked("liver", tool="extent", arguments={"structure": "liver", "axis": 2}, value=120.0, unit="mm")
    CasePictures([measurement], folder, modality="MR")(item, reference)
    assert told["segment_text"] == "extent superior-inferior 120 mm"
    assert told["modality"] == "CT"  # the item's own goes first
    ends = np.array(told["segment_ras_mm"])
    box = measurement.structures["liver"].box
    assert box is not None
    assert np.linalg.norm(ends[1] - ends[0]) == pytest.approx(box.extent_mm[2])
    unknown = item.model_copy(update={"case": ItemCase(case_id="phantom")})
    CasePictures([measurement], folder)(unknown, reference)
    assert told["modality"] is None


def test_the_voxels_of_a_case_are_read_once(case: tuple[Path, Measurement], monkeypatch: pytest.MonkeyPatch) -> None:
    from monai_spatialqa.report import case_pictures

    folder, measurement = case
    read = []
    real = case_pictures.CardVoxels.read

    def counting(label: Path, *arguments: Any, **options: Any) -> Any:
        read.append(label)
        return real(label, *arguments, **options)

    monkeypatch.setattr(case_pictures.CardVoxels, "read", counting)
    monkeypatch.setattr(case_pictures, "make_card_picture", lambda *arguments, **options: options["voxels"])
    draw = CasePictures([measurement], folder)
    assert draw(*asked("liver")) is draw(*asked("spleen"))  # type: ignore[comparison-overlap]
    assert read == [folder / str(measurement.source.path)]


def test_the_structure_of_the_key_is_shown_first(case: tuple[Path, Measurement]) -> None:
    _, measurement = case
    item, reference = asked("liver", "spleen", answer="spleen")
    volumes = [
        Evidence(tool="volume", arguments={"structure": name}, value=1.0, unit="ml", measurement_id="phantom")
        for name in ("liver", "spleen")
    ]
    shown = what_is_shown(measurement, item, reference.model_copy(update={"evidence": volumes}))
    assert shown is not None
    assert (shown.structure, shown.figure) == ("spleen", "volume 1.00 ml")


def test_more_structures_than_are_outlined_are_named(case: tuple[Path, Measurement]) -> None:
    _, measurement = case
    names = ["liver", "spleen", "kidney_left"]
    pair = asked(*names, tool="total_volume", arguments={"structures": names}, value=5.0, unit="ml")
    shown = what_is_shown(measurement, *pair)
    assert shown is not None
    assert shown.figure == "total volume of liver, spleen, left kidney: 5.00 ml"


def test_a_surface_distance_is_drawn_between_its_points(case: tuple[Path, Measurement]) -> None:
    _, measurement = case
    pair = next(each for each in measurement.pairs if each.kind == "surface" and (each.distance_mm or 0) > 0)
    arguments = {"first": pair.b, "second": pair.a}
    found = asked(pair.b, pair.a, tool="surface_distance", arguments=arguments, value=pair.distance_mm, unit="mm")
    shown = what_is_shown(measurement, *found)
    assert shown is not None
    assert shown.segment_ras_mm == pair.points_ras_mm


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "gone.nii.gz"}, "the file gone.nii.gz is not there"),
        ({"path": None}, "the measurement names no file"),
    ],
)
def test_a_missing_label_map_is_said(case: tuple[Path, Measurement], change: dict[str, str | None], words: str) -> None:
    folder, measurement = case
    other = measurement.model_copy(update={"source": measurement.source.model_copy(update=change)})
    picture = CasePictures([other], folder)(*asked("liver"))
    assert (picture.slices, picture.words) == ((), f"no picture: {words}")


def test_an_unreadable_file_and_an_unknown_case_are_said(case: tuple[Path, Measurement], tmp_path: Path) -> None:
    _, measurement = case
    assert measurement.source.path is not None
    (tmp_path / measurement.source.path).write_bytes(b"no scan")
    picture = CasePictures([measurement], tmp_path)(*asked("liver"))
    assert not picture.slices
    assert picture.words.startswith("no picture: ")
    assert CasePictures([])(*asked("liver")).words == "no picture: there is no measurement of case phantom"


def test_without_the_image_the_label_map_is_drawn(case: tuple[Path, Measurement]) -> None:
    folder, measurement = case
    source = measurement.source.model_copy(update={"image_path": "gone.nii.gz"})
    picture = CasePictures([measurement.model_copy(update={"source": source})], folder)(*asked("liver"))
    assert picture.slices
    assert "the label map only: there is no image on its grid" in picture.words


def test_a_structure_without_a_place_has_no_picture(case: tuple[Path, Measurement]) -> None:
    folder, measurement = case
    picture = make_card_picture(measurement, None, folder, *asked("pineal_gland"))
    assert picture.words == "no picture: what it is about has no place in the measured scan"
