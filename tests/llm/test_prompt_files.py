"""Prompts are files: versioned, hashed, and filled in without reading what is filled in."""

from __future__ import annotations

import hashlib

import pytest

from monai_spatialqa.errors import FileReadError, SpatialQAError
from monai_spatialqa.llm import load_prompt, shipped_prompts


@pytest.mark.parametrize("name", shipped_prompts())
def test_every_shipped_prompt_is_whole(name):
    prompt = load_prompt(name)
    assert prompt.name == name
    assert prompt.version.isdigit()
    assert prompt.text == prompt.text.strip() != ""
    assert "# version" not in prompt.text
    assert len(prompt.sha256) == 64


def test_values_are_data(tmp_path):
    path = tmp_path / "own.txt"
    content = (
        b"# version: 2b\r\n\r\nQuestion: {{question}}\r\nOptions: {{options}} of {{question}}; {not a place} %s $x\r\n"
    )
    path.write_bytes(content)
    prompt = load_prompt(path)
    assert (prompt.name, prompt.version, prompt.places) == ("own", "2b", ("question", "options"))
    assert prompt.sha256 == hashlib.sha256(content).hexdigest()
    shown = prompt.render(question="What is {{options}}? \\1 {0}", options="{{question}}")
    assert shown == (
        "Question: What is {{options}}? \\1 {0}\nOptions: {{question}} of What is {{options}}? \\1 {0}; "
        "{not a place} %s $x"
    )
    assert load_prompt(str(path)) == prompt


@pytest.mark.parametrize("values", [{}, {"question": "?"}, {"question": "?", "options": "!", "more": "."}])
def test_values_and_places_must_match(tmp_path, values):
    path = tmp_path / "own.txt"
    path.write_text("# version: 1\n{{question}} {{options}}", encoding="utf-8")
    with pytest.raises(SpatialQAError, match="has places for") as caught:
        load_prompt(path).render(**values)
    assert caught.value.expected == "options, question"


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"no version", "does not say its version"), (b"# version: 1\n\xff", "cannot be read"), (None, "cannot be read")],
)
def test_files_that_are_no_prompts(tmp_path, content, told):
    path = tmp_path / "own.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileReadError, match=told) as caught:
        load_prompt(path)
    assert caught.value.file == str(path)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(FileReadError) as caught:
        load_prompt("mistyped")
    assert "data_rule" in caught.value.expected
