"""A sample request and a reader of canned streams, for the tests of one adapter."""

from __future__ import annotations

import json
from typing import Any

from sow.executors.adapter import Adapter, Outcome, ProcessEnd, Request, Role, TurnSummary

SESSION = "4a1c0ffe-0000-4000-8000-00000000beef"
FOLDER = "/repo/.sow/local/sessions/010/1"
TASKS = "/repo/.sow/project/phases/implementation/tasks"
TASK_FOLDER = f"{TASKS}/010"
CLOSED = ("/repo/.sow/config.yaml", "/repo/.sow/local/**", f"{TASKS}/0[023456789]*/**", "/repo/.git/sow/**")
JUDGE = Role(name="reviewer", judges=True)
READER = Role(name="researcher", tools=("Read", "Grep"))
NARROW = Role(name="implementer", tools=("Read", "Edit"))


def request(**changes: Any) -> Request:
    """Returns one turn of an implementer, with a test's changes."""
    usual: dict[str, Any] = {
        "role": Role(name="implementer"),
        "session": SESSION,
        "cwd": "/repo",
        "session_folder": FOLDER,
        "writable": (TASK_FOLDER, "/repo/.git"),
        "write_protected": CLOSED,
        "sow_folder": "/repo/.sow",
        "commands": ("/bin/sow", "git"),
    }
    return Request(**{**usual, **changes})


def words(adapter: Adapter, *, resume: bool = False, **changes: Any) -> list[str]:
    """Returns the command line of a turn, without the program."""
    asked = request(**changes)
    call = adapter.resume_command(asked) if resume else adapter.spawn_command(asked)
    return call.arguments


def told(adapter: Adapter, *lines: str | dict[str, Any]) -> TurnSummary:
    """Returns the result of reading a stream."""
    story = TurnSummary()
    for line in lines:
        for event in adapter.read(line if isinstance(line, str) else json.dumps(line)):
            story.add(event)
    return story


def outcome(
    adapter: Adapter, *lines: str | dict[str, Any], code: int = 0, stderr: str = "", stopped: str = ""
) -> Outcome:
    """Returns the outcome of a stream and the end of its process."""
    return adapter.outcome(ProcessEnd(code=code, stderr=stderr, stop_reason=stopped), told(adapter, *lines))
