"""Runs acts in children that are killed at a crash point, and returns the results."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conftest import Repo
from support.worktree_repo import WorktreeRepo

from guarantees.fresh_process import ended, fork
from sow.system.clock import COUNTER, VARIABLE


class Ended:
    """The end of an act in a child."""

    def __init__(self, code: int, said: str) -> None:
        self.killed = code == -signal.SIGKILL
        messages = json.loads(said) if said else {}
        self.boundaries: int = messages.get("boundaries", 0)
        self.value: Any = messages.get("value")
        self.error: str = messages.get("error", "") if messages or self.killed else f"ended with {code}"


def again(root: str) -> WorktreeRepo:
    """Returns the same repository as the next process sees it."""
    return WorktreeRepo(Repo(Path(root), dict(os.environ)))


def in_child(act: Callable[[], Any], kill_at: int = 0) -> Ended:
    """Runs a function in a child that is killed at a boundary, or not."""
    reader, writer = os.pipe()

    def run() -> None:
        os.environ[VARIABLE] = str(kill_at)
        COUNTER.crossed = 0
        try:
            messages = {"value": act()}
        except BaseException:
            messages = {"error": traceback.format_exc()}
        os.write(writer, json.dumps({**messages, "boundaries": COUNTER.crossed}).encode())

    child = fork(run)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        output = pipe.read()
    return Ended(ended(child), output)
