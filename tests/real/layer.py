"""The installed layer as a real CLI reads it in a session that a person opens."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import Repo

from real import install
from real.stub import Stub

PATIENCE = 150


class Session:
    """The result of one headless call of Claude Code: its first event, and its final text."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        assert done.returncode == 0, done
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.opening: dict[str, Any] = next(event for event in events if event.get("subtype") == "init")
        self.answer = str(events[-1]["result"])


def claude(repo: Repo, stub: Stub, prompt: str, *arguments: str, cwd: Path | None = None) -> Session:
    """Takes one turn of Claude Code with a person's default settings."""
    repo.environment |= install.environment("claude", repo.environment["HOME"], stub.port)
    flags = ["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    return Session(run(repo, [install.binary("claude"), *flags, *arguments], prompt, cwd=cwd))


def run(repo: Repo, words: list[str], prompt: str = "", *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=cwd or repo.root,
        env=repo.environment,
        input=prompt,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def asked(stub: Stub) -> str:
    """Returns all texts of the last request to the model."""
    return "\n".join(text for _, _, text in stub.conversations()[-1])
