"""Whatever comes back from a model, every item and every answer is counted exactly once."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from monai_spatialqa.evaluation.scoring import score_answers
from monai_spatialqa.evaluation.tables import build_result
from tests.evaluation.phantom_items import made, reply

KEYS = ("B", "C", "yes", "no", 100.0, 12.5)
FATES = ("right", "wrong", "unread", "abstained", "service", "truncated", "image_ignored", "missing")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(FATES)), min_size=1, max_size=20), st.integers(0, 3))
def test_every_item_is_counted_once(asked: list[tuple[str | float, str]], strangers: int) -> None:
    pairs = [made(f"q{at:02}", key) for at, (key, _) in enumerate(asked)]
    wrong = {"B": "A", "C": "A", "yes": "no", "no": "yes", 100.0: "900 ml", 12.5: "900 ml"}
    answers = [reply(made(f"nobody{at}", "B")[0], "B") for at in range(strangers)]
    for (item, reference), (key, fate) in zip(pairs, asked, strict=True):
        text = {"right": reference.answer_text, "wrong": wrong[key], "unread": "Hm."}.get(fate, "Cannot be determined.")
        if fate in ("right", "wrong", "unread", "abstained"):
            answers.append(reply(item, text))
        elif fate != "missing":
            answers.append(reply(item, text, outcome=fate))
    assume(answers)
    items, references = [item for item, _ in pairs], [reference for _, reference in pairs]
    result = build_result(score_answers(items, references, answers), answers, items, draws=10)
    fates = [fate for _, fate in asked]
    counts = result.counts
    assert counts.items == len(asked)
    assert counts.answers == len(answers) - strangers == len(asked) - fates.count("missing")
    assert counts.read == fates.count("right") + fates.count("wrong")
    assert (counts.abstained, counts.unread) == (fates.count("abstained"), fates.count("unread"))
    assert counts.failed == {
        name: fates.count(name) for name in ("image_ignored", "service", "truncated") if name in fates
    }
    assert len(counts.missing) == fates.count("missing")
    assert len(counts.unknown) == strangers
    figures = result.overall.figures
    choices = [fate for key, fate in asked if not isinstance(key, float)]
    numbers = [fate for key, fate in asked if isinstance(key, float)]
    for name, over in (("accuracy_all", choices), ("mra", numbers)):
        assert (name in figures) is bool(over)
        if over:
            assert abs(figures[name].value - over.count("right") / len(over)) < 1e-12
            assert figures[name].count == len(over)
    replied = [fate for fate in choices if fate in ("right", "wrong", "unread", "abstained")]
    if replied:
        assert abs(figures["accuracy_answered"].value - replied.count("right") / len(replied)) < 1e-12
        assert figures["accuracy_answered"].count == len(replied)
    assert abs(figures["validity"].value - counts.read / len(asked)) < 1e-12
