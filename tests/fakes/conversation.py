"""Shared code of the fakes: directives in a prompt, their commands, and remembered chats."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path


def directives(prompt: str) -> list[tuple[str, str]]:
    """Returns the directives of a prompt, once each, as (verb, rest)."""
    result = dict.fromkeys(re.findall(r"\[\[(\w+):(.*?)\]\]", prompt, re.DOTALL))
    return list(result)


def run(command: str, cwd: str) -> str:
    """Returns the output of a command of the agent's shell tool."""
    result = subprocess.run(["/bin/sh", "-c", command], cwd=cwd, capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


class Chat:
    """The prompts of one conversation, on disk below the user's home."""

    def __init__(self, kind: str, name: str) -> None:
        self.name = name
        self.path = Path(os.environ["HOME"], f".{kind}-chats", f"{name}.json")
        self.prompts: list[str] = json.loads(self.path.read_text()) if self.path.exists() else []

    @property
    def known(self) -> bool:
        return bool(self.prompts)

    def add(self, prompt: str) -> str:
        """Adds a prompt; returns what the agent remembers of earlier ones."""
        remembered = " ".join(verb + ":" + rest for prompt in self.prompts for verb, rest in directives(prompt))
        self.prompts.append(prompt)
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(self.prompts))
        return remembered
