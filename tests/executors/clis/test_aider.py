"""aider: its command lines, and how its plain text is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.quick_cases import all_of

from executors.sample_turn import FOLDER, JUDGE, NARROW, READER, SESSION, outcome, request, told, words
from sow.executors.clis.aider import Aider, usage

COMMON = ["--message-file", "/dev/stdin", "--chat-history-file", f"{FOLDER}/{SESSION}.md", "--restore-chat-history"]
COMMON += ["--input-history-file", f"{FOLDER}/input", "--yes-always", "--no-pretty", "--no-stream"]
COMMON += ["--no-fancy-input", "--no-gitignore", "--no-check-update", "--no-show-release-notes"]
COMMON += ["--no-show-model-warnings", "--no-detect-urls", "--disable-playwright", "--no-suggest-shell-commands"]
COMMON += ["--no-dirty-commits"]
QUIET = ["--no-auto-lint", "--no-auto-test", "--load", "/dev/null", "--no-notifications"]
LINES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [*COMMON, *QUIET]),
    ({"yolo": True}, COMMON),
    ({"yolo": True, "model": "m"}, [*COMMON, "--model", "m"]),
    ({"yolo": True, "custom_args": ("--architect",)}, [*COMMON, "--architect"]),
    ({"yolo": True, "role": JUDGE}, [*COMMON, *QUIET, "--chat-mode", "ask"]),
    ({"yolo": True, "role": READER}, [*COMMON, *QUIET, "--chat-mode", "ask"]),
    ({"yolo": True, "role": NARROW}, COMMON),
    ({"resume": True, "yolo": True}, COMMON),
]
TOKENS = "Tokens: 100 sent, 20 received. Cost: $0.00060 message, $0.00120 session."
LIMIT = "litellm.RateLimitError: RateLimitError: OpenAIException - stub 429"
BUSY = "litellm.ServiceUnavailableError: ServiceUnavailableError: OpenAIException - stub 503"
KEY = "litellm.AuthenticationError: AuthenticationError: OpenAIException - stub 401"


@all_of(("asked", "expected"), LINES)
def test_command_lines(asked: dict[str, Any], expected: list[str]) -> None:
    """The words of a turn are exactly these."""
    assert words(Aider(), **asked) == expected


@pytest.mark.parametrize(
    ("line", "cost", "sent", "received"),
    [
        (TOKENS, 0.0006, 100, 20),
        ("Tokens: 1.2k sent, 3.4k cache write, 1k cache hit, 20 received.", None, 5600, 20),
        ("Tokens: 12k sent, 1.5k received. Cost: $1.25 message, $3.00 session.", 1.25, 12000, 1500),
        ("Tokens: who knows", None, None, None),
        ("Tokens: ", None, None, None),
    ],
)
def test_tokens_and_cost_are_in_a_line(line: str, cost: float | None, sent: int | None, received: int | None) -> None:
    """aider rounds large numbers; missing values stay unknown."""
    event = usage(line)
    assert (event.cost, event.input_tokens, event.output_tokens) == (cost, sent, received)


def test_messages_add_up_without_the_banner() -> None:
    """Two answers cost the sum of both; an applied edit is a tool call; the rest is the text."""
    banner = ["Aider v0.86.2", "Model: m with whole edit format", "Git repo: .git with 7 files", "Repo-map: auto", ""]
    story = told(Aider(), *banner, "Here it is.", TOKENS, "Applied edit to made.txt", "Better.", TOKENS)
    assert (story.cost, story.input_tokens, story.output_tokens, story.tool_count) == (0.0012, 200, 40, 1)
    assert story.raw == "Here it is.\nBetter.\n"


@all_of(
    ("lines", "code", "stopped", "kind"),
    [
        (["Hello.", TOKENS], 0, "", "done"),
        ([LIMIT, LIMIT], 0, "", "limited"),
        ([BUSY], 0, "", "overloaded"),
        ([KEY], 0, "", "failed"),
        ([LIMIT, "Retrying in 0.2 seconds...", "Hello.", TOKENS], 0, "", "done"),
        ([LIMIT, LIMIT], -15, "retries", "limited"),
        (["Hello."], 1, "", "failed"),
        ([LIMIT], -15, "timeout", "timeout"),
        ([BUSY], -2, "interrupt", "interrupted"),
    ],
)
def test_ends_of_a_turn(lines: list[str], code: int, stopped: str, kind: str) -> None:
    """Its exit code is always 0: an error without a following answer decides."""
    assert outcome(Aider(), *lines, code=code, stopped=stopped).kind == kind


def test_a_session_is_its_history_file(tmp_path: Path) -> None:
    """A session without its file is lost, which is noticed before aider starts."""
    asked = request(session_folder=str(tmp_path))
    assert Aider().lost_session_reason(asked) == "its chat history file is gone"
    (tmp_path / f"{SESSION}.md").write_text("")
    assert Aider().lost_session_reason(asked) == ""
