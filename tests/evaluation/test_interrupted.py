"""A run that is killed or stopped at any moment goes on where it was: nothing is lost, nothing is asked twice."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from monai_spatialqa.evaluation import run_evaluation
from tests.evaluation.small_run import right_reply, small_settings, write_small_run
from tests.evaluation.test_asking import answers, content
from tests.servers.openai_server import Asked, Response, ScriptedServer, reply

ROOT = Path(__file__).parents[2]
CHECKS_TOKENS = 16


class Stops:
    """Answers, and at its n-th question sends a signal to the process that asks."""

    def __init__(self, at: int, sent: signal.Signals) -> None:
        self.at, self.sent = at, sent
        self.process: subprocess.Popen[bytes] | None = None
        self.count = 0
        self.lock = threading.Lock()

    def __call__(self, asked: Asked) -> Response:
        if "Question case_" in asked.text and asked.body["max_tokens"] > CHECKS_TOKENS:
            with self.lock:
                self.count += 1
                if self.count == self.at and self.process is not None:
                    os.kill(self.process.pid, self.sent)
        return reply(right_reply(asked.text))


def run_until_stopped(server: ScriptedServer, script: Stops, folder: Path) -> int:
    """The exit status of a run in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.evaluation.killed_run", server.base_url],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        script.process = process
        return process.wait(timeout=120)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "sent"), [(2, signal.SIGKILL), (13, signal.SIGKILL), (13, signal.SIGINT)], ids=["early", "later", "ctrl-c"]
)
def test_a_stopped_run_goes_on_and_ends_in_the_same_bytes(
    at: int, sent: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_small_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    with ScriptedServer(Stops(0, sent)) as server:
        run_evaluation(small_settings(server.base_url, circular=True, blind=False, output_dir="whole"))
    script = Stops(at, sent)
    with ScriptedServer(script) as server:
        assert run_until_stopped(server, script, tmp_path) != 0
        kept = answers()
        asked = len(server.chats)
        assert len(kept) < 30
        assert all(answer.outcome == "answered" for answer in kept.values())
        run_evaluation(small_settings(server.base_url, circular=True, blind=False))
        again = [re.sub(r"^.*Question ", "", chat.text, flags=re.DOTALL) for chat in server.chats[asked:]]
    assert {name: answers()[name] for name in kept} == kept
    for answer in kept.values():
        shown = "\n".join(f"{letter}. {text}" for letter, text in zip("ABCD", answer.options, strict=False))
        name = f"{answer.item_id}:"
        assert not [text for text in again if text.startswith(name) and shown in text and answer.options], name
    assert content("evaluation") == content("whole")
