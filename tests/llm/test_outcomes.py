"""How a call ends: one outcome for each kind of reply, the raw text kept."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, Field

from tests.llm.calls import ask, ask_one, request
from tests.servers.openai_server import Response, ScriptedServer, problem, reply


class Choice(BaseModel):
    answer: str = Field(pattern="^[A-D]$")


class Amount(BaseModel):
    value: float
    unit: str


ERROR_200 = Response({"error": {"message": "upstream is overloaded", "code": 400}})
NO_CHOICES = Response({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}})
PARTS = [{"type": "text", "text": "The answer "}, {"type": "text", "text": "is B."}]
SURROGATE = Response(
    b'{"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "B \\ud83d"}}]}'
)

PLAIN = [  # what the server sends, outcome, text, a part of the problem
    (reply("The answer is B."), "answered", "The answer is B.", None),
    (reply("B", stop=None), "answered", "B", None),
    (reply("B", usage=False), "answered", "B", None),
    (reply(PARTS), "answered", "The answer is B.", None),
    (reply("  \n"), "empty", "  \n", "said nothing"),
    (reply(None), "empty", None, "said nothing"),
    (reply(None, reasoning_content="Livers are large."), "empty", None, "but reasoning"),
    (reply(None, tool_calls=[{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
     "empty", None, "a call of a tool"),
    (reply("The liver is", stop="length"), "truncated", "The liver is", "max_tokens"),
    (reply(None, stop="length", reasoning_content="Livers"), "truncated", None, "all of it was reasoning"),
    (reply(None, refusal="I cannot help with that."), "refused", "I cannot help with that.", "refused"),
    (reply([{"type": "refusal", "refusal": "No."}]), "refused", "No.", "refused"),
    (reply("The", stop="content_filter"), "refused", "The", "filter"),
    (problem(400, "flagged", code="content_filter"), "refused", None, "filter rejected the prompt"),
    (problem(403, "Your input was flagged"), "refused", None, "filter rejected the prompt"),
    (problem(400, "this model's maximum context length is 4096"), "service", None, "larger context window"),
    (problem(400, "odd request"), "service", None, "odd request"),
    (reply("B", stop="error"), "service", None, "broke off"),
    (Response({"choices": [{"finish_reason": "stop"}]}), "service", None, "no message"),
    (reply({"a": 1}, stop="stop"), "answered", '{"a": 1}', None),
    (Response(b"<html>Welcome</html>"), "service", "<html>Welcome</html>", "not JSON"),
    (Response(b"[1, 2]"), "service", "[1, 2]", "no JSON object"),
    (Response({"choices": [{"message": {"content": 5}}]}), "service", None, "neither text nor a list"),
    (SURROGATE, "answered", "B \ufffd", None),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "outcome", "text", "told"), PLAIN)
def test_every_end_has_its_outcome(sent, outcome, text, told):
    with ScriptedServer([sent]) as server:
        answer = ask_one(server)
    assert answer.outcome == outcome
    assert len(server.chats) == 1  # none of these is worth another try
    if text is not None:
        assert answer.text == text
    if told is None:
        assert answer.problem is None
    else:
        assert told in answer.problem
    assert answer.prompt_sha256 == request().prompt_sha256


def test_br_155_cut_json_is_truncated_and_names_the_limit():
    cut = '{"answer": "The liv'
    with ScriptedServer([reply(cut, stop="length", completion_tokens=7)]) as server:
        answer = ask_one(server, request(schema=Choice, max_tokens=7))
    assert (answer.outcome, answer.text, answer.parsed, answer.stop_reason) == ("truncated", cut, None, "length")
    assert "limit of 7 tokens (max_tokens)" in answer.problem
    assert len(server.chats) == 1  # no repair of what was cut


def test_a_full_context_window_is_not_blamed_on_max_tokens():
    with ScriptedServer([reply("The liver", stop="length", completion_tokens=3)]) as server:
        answer = ask_one(server, request(max_tokens=50))
    assert answer.outcome == "truncated"
    assert "the context window is full" in answer.problem


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"answer": "B"}\n```',
        '```\n{"answer": "B",}\n```',
        '{"answer": "B",}',
        '{"answer": "B" ,\n}',
        'Here it is:\n```json\n{"answer": "B"}\n```\nDone.',
        '<think>Not C, {"answer": "C"}.</think>\n{"answer": "B"}',
        ' {"answer": "B"} \n',
    ],
)
def test_br_157_fences_and_trailing_commas(text):
    with ScriptedServer([reply(text)]) as server:
        answer = ask_one(server, request(schema=Choice))
    assert (answer.outcome, answer.parsed, answer.text) == ("answered", Choice(answer="B"), text)
    assert len(server.chats) == 1


def test_fences_of_a_cut_reply_are_not_repaired():
    with ScriptedServer([reply('```json\n{"answer": "B"}\n```', stop="length")]) as server:
        answer = ask_one(server, request(schema=Choice))
    assert (answer.outcome, answer.parsed) == ("truncated", None)


def test_br_159_whitespace_until_the_limit_is_truncated_after_bounded_tries():
    runaway = reply("{" + " " * 1000, stop="length")
    with ScriptedServer(lambda _: runaway) as server:
        (answer,), account = ask(server, request(schema=Choice), tries=5)
    assert (answer.outcome, answer.tries) == ("truncated", 2)
    assert "ends in 1000 blanks" in answer.problem
    assert (len(server.chats), account.retries) == (2, 1)
    with ScriptedServer([runaway, reply({"answer": "B"})]) as server:
        assert ask_one(server, request(schema=Choice)).outcome == "answered"
    with ScriptedServer(lambda _: runaway) as server:  # free text has no grammar to run away in
        assert ask_one(server).tries == 1


def test_br_163_odd_bodies_with_status_200():
    with ScriptedServer([ERROR_200, NO_CHOICES, reply(PARTS)]) as server:
        (error, nothing, parts), _ = ask(server, request("a"), request("b"), request("c"))
    assert (error.outcome, nothing.outcome) == ("service", "service")
    assert "upstream is overloaded" in error.problem
    assert json.loads(error.text)["error"]["code"] == 400  # raw body kept
    assert "no choices" in nothing.problem
    assert (parts.outcome, parts.text) == ("answered", "The answer is B.")


def test_an_error_object_that_is_worth_it_is_tried_again():
    busy = Response({"error": {"message": "overloaded", "code": 503}})
    with ScriptedServer([busy, reply("B")]) as server:
        answer = ask_one(server)
    assert (answer.outcome, answer.tries) == ("answered", 2)


def test_one_repair_turn_shows_the_model_what_is_wrong():
    with ScriptedServer([reply({"answer": "E"}), reply({"answer": "D"})]) as server:
        (answer,), account = ask(server, request(schema=Choice))
    assert (answer.outcome, answer.parsed, answer.tries) == ("answered", Choice(answer="D"), 2)
    assert answer.rejected == ('{"answer": "E"}',)
    first, second = server.chats
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[1] == {"role": "assistant", "content": '{"answer": "E"}'}
    assert "answer: String should match pattern" in second.texts[-1]
    assert account.repairs == 1
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (account.prompt_tokens, account.completion_tokens)


def test_the_second_misfit_is_a_typed_failure_with_both_texts():
    with ScriptedServer([reply("Rather B."), reply("Still B.")]) as server:
        answer = ask_one(server, request(schema=Choice))
    assert (answer.outcome, answer.parsed, answer.text) == ("malformed", None, "Still B.")
    assert answer.rejected == ("Rather B.",)
    assert "it is not JSON" in answer.problem
    assert len(server.chats) == 2


@pytest.mark.parametrize(
    ("second", "texts", "told"),
    [
        (reply("{", stop="length"), ["Rather B.", "{"], "ended as truncated"),
        (reply(None, refusal="No."), ["Rather B.", "No."], "ended as refused"),
        (reply(""), ["Rather B."], "ended as empty"),
        (problem(400, "odd"), ["Rather B."], "ended as service"),
    ],
)
def test_a_repair_turn_that_fails_leaves_every_text(second, texts, told):
    with ScriptedServer([reply("Rather B."), second]) as server:
        answer = ask_one(server, request(schema=Choice))
    assert (answer.outcome, [*answer.rejected, answer.text]) == ("malformed", texts)
    assert told in answer.problem


def test_a_second_misfit_that_repeats_the_first_is_kept_twice():
    with ScriptedServer([reply("B"), reply("B")]) as server:
        answer = ask_one(server, request(schema=Choice))
    assert (answer.rejected, answer.text) == (("B",), "B")


def test_another_name_of_the_server_is_kept_and_told_once(caplog):
    with ScriptedServer([reply("B", model="other-7b"), reply("C", model="other-7b"), reply("D")]) as server:
        replies, _ = ask(server, request("1"), request("2"), request("3"), concurrency=1)
    assert [one.model for one in replies] == ["other-7b", "other-7b", "scripted"]
    assert caplog.text.count("answers as other-7b") == 1


@pytest.mark.parametrize("written", ["1062.5e+26000000", "1062.0e-3000", "NaN", "Infinity", "9" * 400])
def test_numbers_beyond_the_finite_do_not_pass(written):
    with ScriptedServer(
        [reply(f'{{"value": {written}, "unit": "ml"}}'), reply({"value": 1.5, "unit": "ml"})]
    ) as server:
        answer = ask_one(server, request(schema=Amount))
    assert answer.parsed == Amount(value=1.5, unit="ml")
    assert len(answer.rejected) == 1


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "prompt"])
def test_structured_modes_put_the_schema_where_the_server_looks(mode):
    with ScriptedServer([reply({"answer": "B"})]) as server:
        answer = ask_one(server, request(schema=Choice), structured=mode)
    (asked,) = server.chats
    assert answer.parsed == Choice(answer="B")
    form = asked.body.get("response_format", {}).get("type")
    assert form == {"json_schema": "json_schema", "json_object": "json_object", "prompt": None}[mode]
    assert ("JSON Schema" in asked.text) == (mode != "json_schema")
    assert (asked.schema is not None) == (mode == "json_schema")


def test_settings_reach_the_server():
    with ScriptedServer([reply("B")]) as server:
        ask_one(
            server,
            seed=7,
            temperature=None,
            top_p=0.5,
            max_tokens=33,
            max_tokens_parameter="max_completion_tokens",
            extra_body={"cache_prompt": False},
        )
    body = server.chats[0].body
    assert {name: body.get(name) for name in ("model", "seed", "top_p", "max_completion_tokens", "cache_prompt")} == {
        "model": "scripted",
        "seed": 7,
        "top_p": 0.5,
        "max_completion_tokens": 33,
        "cache_prompt": False,
    }
    assert not {"temperature", "max_tokens"} & set(body)


def test_text_that_no_file_can_hold_is_sent_as_a_replacement_character():
    with ScriptedServer([reply("B")]) as server:
        assert ask_one(server, request("How large is \ud83d?")).outcome == "answered"
    assert server.chats[0].text == "How large is \ufffd?"
