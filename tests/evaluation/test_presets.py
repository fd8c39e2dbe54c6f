"""Prompt presets: what is asked of each format, what is left out, and prompts of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from monai_spatialqa.errors import FileReadError, SettingsError
from monai_spatialqa.evaluation import load_preset, shipped_presets
from monai_spatialqa.evaluation.rotation import Unit, rotated
from monai_spatialqa.records.item import Item
from tests.evaluation.small_run import pairs_of

ITEMS = {item.format: item for item, _ in pairs_of("case_a")}


def asked(preset: str, item: Item, **more: object) -> str:
    given = {"images": "Three images.", "abstain": False} | more
    return load_preset(preset).text(item, item.options, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("preset", shipped_presets())
@pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))
def test_a_prompt_holds_the_question_its_options_and_its_unit(preset: str, item: Item) -> None:
    text = asked(preset, item)
    assert item.question in text
    assert "Three images." in text
    assert "{{" not in text
    assert "\n\n\n" not in text
    if item.format == "mca":
        assert all(f"{letter}. {option}" in text for letter, option in zip("ABCD", item.options, strict=False))
    if item.answer_unit is not None:
        assert item.answer_unit in text


@pytest.mark.parametrize("preset", shipped_presets())
@pytest.mark.parametrize("item", ITEMS.values(), ids=list(ITEMS))
def test_abstaining_is_told_only_where_it_is_allowed(preset: str, item: Item) -> None:
    assert "cannot be determined" in asked(preset, item, abstain=True)
    assert "cannot be determined" not in asked(preset, item)


def test_without_images_the_prompt_says_so() -> None:
    text = asked("plain", ITEMS["mca"], images=None)
    assert "The scan is not shown" in text
    assert "Three images." not in text


def test_text_of_a_question_is_never_read_for_places() -> None:
    item = ITEMS["mca"].model_copy(update={"question": "What does {{options}} mean, and $x or %y or @z?"})
    assert item.question in asked("plain", item)


def test_every_part_of_the_asking_has_a_hash_of_its_own() -> None:
    preset, item = load_preset("plain"), ITEMS["mca"]
    hashes = {
        preset.prompt_sha256(item, item.options, blind=False, abstain=False),
        preset.prompt_sha256(item, item.options, blind=True, abstain=False),
        preset.prompt_sha256(item, item.options, blind=False, abstain=True),
        preset.prompt_sha256(item, rotated(item.options, 1), blind=False, abstain=False),
        load_preset("reasoned").prompt_sha256(item, item.options, blind=False, abstain=False),
    }
    assert len(hashes) == 5


def test_a_preset_of_ones_own(tmp_path: Path) -> None:
    for form, places in (
        ("mca", "{{question}}|{{options}}"),
        ("yesno", "{{question}}"),
        ("numeric", "{{question}} {{unit}}"),
    ):
        (tmp_path / f"mine.{form}.txt").write_text(f"# version: 3\n{places}\n", encoding="utf-8")
    assert asked(str(tmp_path / "mine"), ITEMS["numeric"]) == f"{ITEMS['numeric'].question} ml"
    (tmp_path / "mine.numeric.txt").write_text("# version: 3\n{{question}}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"\{\{unit\}\}"):
        load_preset(str(tmp_path / "mine"))
    (tmp_path / "mine.yesno.txt").unlink()
    with pytest.raises((FileReadError, SettingsError), match=r"mine\.yesno\.txt"):
        load_preset(str(tmp_path / "mine"))


def test_an_unknown_preset_lists_those_there_are() -> None:
    with pytest.raises(SettingsError, match="json, plain, reasoned"):
        load_preset("plane")


def test_options_move_on_and_ids_tell_where() -> None:
    item = ITEMS["mca"]
    assert rotated(item.options, len(item.options)) == item.options
    assert sorted({Unit(item, place).options[0] for place in range(len(item.options))}) == sorted(item.options)
    assert Unit(item, 1, 2).answer_id == f"{item.item_id}~1.2"
    assert Unit(item, blind=True).answer_id == item.item_id
