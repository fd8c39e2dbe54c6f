"""Make the gallery of questions: ``python docs/gallery.py`` writes docs/gallery.md and docs/images/gallery/*.png.

One item for every subtask, made by the package with seed 0, grouped by case cards that several items share. The CT is
the example that ships with the bundle. Its label map has no tumours, so the subtasks about lesions, and those that need
finer voxels than its 3 mm, come from a phantom; a sarcoma shows what is asked about a real tumour alone.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from drawing import Float, small_png
from numpy.typing import NDArray
from PIL import Image

import monai_spatialqa as sqa
from monai_spatialqa.anatomy import LabelMap, load_label_map
from monai_spatialqa.generation import GenerateSettings
from monai_spatialqa.generation.case import items_of_case
from monai_spatialqa.items.assemble import ItemContext
from monai_spatialqa.items.subtasks import SUBTASKS
from monai_spatialqa.items.wording import readable_name
from monai_spatialqa.readers.nifti_volume import read_volume
from monai_spatialqa.records import Measurement
from monai_spatialqa.records.item import LETTERS, Item, ItemCase, Reference
from monai_spatialqa.rendering import draw_case_card

DOCS = Path(__file__).resolve().parent
EXAMPLE = DOCS.parent / "bundles/spatialqa/example"
SCAN = EXAMPLE / "ct/example_ct.nii.gz"
LABEL = EXAMPLE / "seg/example_seg_fast_force_split.nii.gz"
PAGE, PICTURES = DOCS / "gallery.md", DOCS / "images/gallery"

WIDTH_PIXELS, COLOURS = 1000, 48
SATELLITE_MM = ((-34.0, 0.0, 0.0), 10.0)
"""A second piece of the phantom's liver tumour: its place from the first one, RAS, and its radius."""

INTRODUCTION = """\
# Gallery of questions

One question for every [subtask](generate.md#subtasks), as the package makes it with seed 0 and the default rules. The
key is bold. Items about the same structures share a picture: a case card whose slices go through the structure named
first. The dashed boxes are the bounding boxes that positions, distances and extents are measured on. Not every
structure of a question is outlined. `python docs/gallery.py` makes this page and its pictures again; a test compares
the page with what the package makes.
"""

EXAMPLE_HEADING = """\
## The example CT

The scan that [ships with the bundle](../bundles/spatialqa/example/README.md), measured with `detail: full`.
"""

PHANTOM_HEADING = """\
## A phantom: tumours, synthetic

Scans with organs, tumours and vessels in one label map cannot be shipped. The questions below are about a
[phantom](phantoms.md) with 1.5 x 1.5 x 2 mm voxels, into whose liver a second piece of tumour is drawn. Its shapes are
simple bodies, not anatomy. It has two vessels, so the question for the closest one has two options.
"""


SARCOMA_HEADING = """\
## A sarcoma, real

A T1-weighted MR and its gross tumour volume, from the TCIA collection Soft-tissue-Sarcoma, cropped by mirp, CC BY 3.0
([tests/data/README.md](../tests/data/README.md)). Its label map has the tumour only, which is what can be asked about.
"""
SARCOMA = DOCS.parent / "tests/data/sts_002"
SARCOMA_MAP = {"name": "sarcoma", "structures": {1: "sarcoma"}, "groups": {"tumours": ["sarcoma"]}}


@dataclass(frozen=True)
class Scene:
    """A measured scan with its voxels."""

    stem: str
    heading: str
    record: Measurement
    label_map: LabelMap
    image: NDArray[np.generic]
    label: NDArray[np.generic]
    affine: Float
    modality: Literal["CT", "MR"] = "CT"


@dataclass(frozen=True)
class Card:
    """One picture and the items under it."""

    scene: Scene
    structures: tuple[str, ...]
    pairs: tuple[tuple[Item, Reference], ...]

    @property
    def name(self) -> str:
        """Stem of the picture's file."""
        return "_".join((self.scene.stem, *self.structures))


def example_scene() -> Scene:
    """The shipped CT."""
    record = sqa.measure(
        LABEL,
        image=SCAN,
        case_id="example",
        label_map="totalsegmentator_v2",
        detail="full",
        distances={"among": ["abdominal_organs"]},
    )
    (image, _), (label, affine) = read_volume(SCAN), read_volume(LABEL)
    return Scene("ct", EXAMPLE_HEADING, record, load_label_map("totalsegmentator_v2"), image, label, affine)


def phantom_scene() -> Scene:
    """A phantom whose liver tumour has a second piece."""
    phantom = sqa.make_phantom(7, shape=(240, 180, 200), spacing_mm=(1.5, 1.5, 2.0))
    step, radius = SATELLITE_MM
    center = np.asarray(phantom.shapes["liver_tumor"].center_ras_mm) + step
    index = np.moveaxis(np.indices(phantom.label.shape, dtype=np.float32), 0, -1)
    away = index @ phantom.affine[:3, :3].T.astype(np.float32) + (phantom.affine[:3, 3] - center).astype(np.float32)
    liver, tumour = (phantom.shapes[name].label for name in ("liver", "liver_tumor"))
    piece = (phantom.label == liver) & ((away**2).sum(axis=-1) < radius**2)
    change = phantom.image[phantom.label == tumour].mean() - phantom.image[phantom.label == liver].mean()
    phantom.image[piece] += np.int16(round(float(change)))
    phantom.label[piece] = tumour
    with tempfile.TemporaryDirectory() as folder:
        _, path = phantom.save(folder, "phantom")
        record = sqa.measure(
            path,
            case_id="phantom",
            label_map=phantom.label_map,
            detail="full",
            distances="all",
            distance_kind="surface",
        )
    return Scene("phantom", PHANTOM_HEADING, record, phantom.label_map, phantom.image, phantom.label, phantom.affine)


def sarcoma_scene() -> Scene:
    """The sarcoma on MR."""
    scan, label_path = SARCOMA / "mr_t1.nii.gz", SARCOMA / "mr_t1_gtv.nii.gz"
    label_map = load_label_map(SARCOMA_MAP)
    record = sqa.measure(label_path, image=scan, case_id="sarcoma", label_map=label_map, detail="full")
    (image, _), (label, affine) = read_volume(scan), read_volume(label_path)
    return Scene("sarcoma", SARCOMA_HEADING, record, label_map, image, label, affine, "MR")


def candidates(scene: Scene, subtasks: Sequence[str]) -> dict[str, list[tuple[Item, Reference]]]:
    """Subtask -> the items that a scene has for it, under the default rules, with quotas that do not bind."""
    found: dict[str, list[tuple[Item, Reference]]] = {name: [] for name in subtasks}
    for options in (4, 2):
        missing = [name for name in subtasks if not found[name]]
        if missing:
            settings = GenerateSettings(
                measurements="measurements.jsonl",
                subtasks=missing,
                options=options,
                items_per_case=10_000,
                items_per_subtask=100,
                items_per_structure=10_000,
            )
            context = ItemContext(ItemCase(case_id=scene.record.case_id), settings.seed)
            for item, reference in items_of_case(scene.record, scene.label_map, context, settings).pairs:
                found[item.subtask].append((item, reference))
        if scene.stem != "phantom":
            break
    return {name: pairs for name, pairs in found.items() if pairs}


def shown_in(item: Item, reference: Reference) -> tuple[str, ...]:
    """What the picture of an item outlines: the structure asked about and the key, or else the next one."""
    names = list(dict.fromkeys(item.structures))
    keys = [name for name in names[1:] if readable_name(name) == reference.answer_text]
    return tuple([names[0], *keys, *names[1:]][:2]) if len(names) > 1 else (names[0],)


def cards_of(scene: Scene, subtasks: Sequence[str]) -> list[Card]:
    """Few cards that hold an item of every subtask that the scene has: each time the one that serves most of them."""
    waiting = candidates(scene, subtasks)
    cards: list[Card] = []
    while waiting:
        serving: dict[tuple[str, ...], dict[str, tuple[Item, Reference]]] = {}
        wanted = [(name, pair, shown_in(*pair)) for name, pairs in waiting.items() for pair in pairs]
        looks = dict.fromkeys(look for _, _, look in wanted)
        for look in looks:
            for name, pair, needed in wanted:
                if set(needed) <= set(look):
                    serving.setdefault(look, {}).setdefault(name, pair)
        best = max(serving, key=lambda look: len(serving[look]))
        cards.append(Card(scene, best, tuple(serving[best].values())))
        waiting = {name: pairs for name, pairs in waiting.items() if name not in serving[best]}
    return cards


@cache
def gallery() -> tuple[Card, ...]:
    """All cards: the CT's subtasks first, the phantom's behind them, and what is asked about the sarcoma."""
    real = cards_of(example_scene(), [name for name in SUBTASKS if not name.startswith("lesion_")])
    done = {item.subtask for card in real for item, _ in card.pairs}
    drawn = cards_of(phantom_scene(), [name for name in SUBTASKS if name not in done])
    return (*real, *drawn, *cards_of(sarcoma_scene(), [name for name in SUBTASKS if name.startswith("lesion_")]))


def page_text() -> str:
    """The page, without its pictures."""
    parts = [INTRODUCTION]
    heading = ""
    for card in gallery():
        if card.scene.heading != heading:
            heading = card.scene.heading
            parts.append(heading)
        names = " and ".join(readable_name(name) for name in card.structures)
        parts.append(f"### {names[0].upper()}{names[1:]}\n")
        parts.append(f"![Case card: {names}](images/gallery/{card.name}.png)\n")
        parts.append("| subtask | question | options |\n|---|---|---|")
        parts += [
            f"| `{item.subtask}` | {item.question} | {_options(item, reference)} |" for item, reference in card.pairs
        ]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _options(item: Item, reference: Reference) -> str:
    if item.format == "numeric":
        return f"**{reference.answer_text}**"
    if item.format == "yesno":
        return "<br>".join(f"**{text}**" if text == reference.answer else text for text in item.options)
    rows = [(letter, f"{letter} {text}") for letter, text in zip(LETTERS, item.options, strict=False)]
    return "<br>".join(f"**{text}**" if letter == reference.answer else text for letter, text in rows)


def picture(card: Card) -> bytes:
    """The case card as a small PNG."""
    scene = card.scene
    main, *other = card.structures
    labels = [scene.label_map.by_name(name).label for name in card.structures]
    with tempfile.TemporaryDirectory() as folder:
        path = draw_case_card(
            scene.image,
            scene.label,
            scene.affine,
            structure_label=labels[0],
            structure_name=readable_name(main),
            other_label=labels[1] if other else None,
            other_name=readable_name(other[0]) if other else None,
            modality=scene.modality,
            title=f"{scene.record.case_id}: {' and '.join(readable_name(name) for name in card.structures)}",
            path=Path(folder, "card.png"),
        )
        drawn = Image.open(io.BytesIO(path.read_bytes())).convert("RGB")
    size = (WIDTH_PIXELS, round(drawn.height * WIDTH_PIXELS / drawn.width))
    return small_png(drawn.resize(size, Image.Resampling.LANCZOS), COLOURS)


def main() -> None:
    """Write the page and its pictures; pictures of cards that are gone are removed."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in PICTURES.glob("*.png"):
        path.unlink()
    for card in gallery():
        (PICTURES / f"{card.name}.png").write_bytes(picture(card))
    PAGE.write_text(page_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
