"""The simulated agent: the steps of a scenario, and its placeholders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sow.executors.settings import ADAPTERS, adapter
from sow.simulated.scenario import nonce_in, steps

NONCE = "6f1c1f0e-9d7a-4a53-8d0e-2f6a4b1c0d3e"


def play(folder: Path, steps: list[dict[str, object]], prompt: str) -> str:
    """Returns the final text of one turn of api_agent."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump({"tasks": {"api_agent": [steps]}}))
    text = [sys.executable, "-m", "sow.simulated", "--session-id", NONCE, "--scenario", str(path)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "SOW_TASK": "api_agent"}
    result = subprocess.run(
        text, input=prompt, env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=True
    )
    return str(json.loads(result.stdout.splitlines()[-1])["result"])


def test_a_judge_returns_the_nonce(tmp_path: Path) -> None:
    """`{nonce}` is the nonce of the prompt, whatever follows it."""
    assert play(tmp_path, [{"say": '{"nonce": "{nonce}"}'}], f"with this review's nonce {NONCE}:\n") == (
        f'{{"nonce": "{NONCE}"}}'
    )


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (f"nonce {NONCE}", NONCE),
        (f"the nonce is secret, nonce {NONCE}, and more", NONCE),
        ("no such word", ""),
        ("nonce of some other kind of thing altogether", ""),
        ("nonce 123", ""),
    ],
)
def test_the_nonce_of_a_prompt(prompt: str, found: str) -> None:
    """The last text in the form of a nonce counts; a prompt without one has none."""
    assert nonce_in(prompt) == found


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Quality Control: [GREEN/RED/YELLOW]", "Quality Control: GREEN"),
        ("| Quality Control: RED\nVerification: [PASSED/FAILED]", "Verification: PASSED"),
    ],
)
def test_a_judge_without_a_scenario_gives_a_verdict(prompt: str, answer: str) -> None:
    """A simulated judge answers in the form that the end of its prompt asks for; a worker works (C13)."""
    (step,) = steps("", {}, turn=1, prompt=prompt, judging=True)
    assert step["say"].startswith(f"{answer}\n\nFeedback: ")
    assert {"status": "needs_review"} in steps("", {}, turn=1, prompt=prompt)


@pytest.mark.parametrize(("prompt", "word"), [("please design it", "drawn"), ("please build it", "built")])
def test_a_step_can_depend_on_the_prompt(tmp_path: Path, prompt: str, word: str) -> None:
    """`if: {told: …}` takes one branch if the prompt has the text, and the other if not."""
    step = {"if": {"told": "design", "then": [{"say": "drawn"}], "else": [{"say": "built"}]}}
    assert play(tmp_path, [step], prompt) == word


def test_which_clis_can_be_opened_for_a_person() -> None:
    """Adapters have the words that begin a person's session; a scripted or command agent has none."""
    openings = {name: adapter(name).interactive_args for name in ADAPTERS}
    assert openings["claude"] == openings["codex"] == ()
    assert openings["gemini"] == openings["qwen"] == ("--prompt-interactive",)
    assert openings["simulated"] is None and openings["command"] is None
