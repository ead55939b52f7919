"""Stores the conversations of the simulated agent, so that a resumed turn has the earlier prompts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping


class Memory:
    """One conversation in a file of the user."""

    def __init__(self, session: str, environment: Mapping[str, str]) -> None:
        self.session = session
        base = environment.get("XDG_STATE_HOME") or os.path.join(environment.get("HOME", "/"), ".local", "state")
        self.folder = os.path.join(base, "sow-simulated")
        self.path = os.path.join(self.folder, f"{session}.json")

    def exists(self) -> bool:
        return os.path.isfile(self.path)

    def add(self, prompt: str) -> list[str]:
        """Adds a prompt; returns all of them, oldest first."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        history: list[str] = []
        if self.exists():
            with open(self.path, encoding="utf-8") as file:
                history = json.load(file)
        history.append(prompt)
        temporary = f"{self.path}.{os.getpid()}"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(history, file)
        os.replace(temporary, self.path)
        return history
