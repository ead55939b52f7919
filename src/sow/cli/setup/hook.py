"""Handles the hooks that agent CLIs call at session start and before an edit (`sow hook`)."""

from __future__ import annotations

from typing import Any

from sow.cli.command import Argument, Command
from sow.cli.context import Context
from sow.errors import SowError, SystemFailure
from sow.reports.next_steps import HintContext
from sow.store.files.checkout_home import Home
from sow.system.terminal import escape_control, escape_line, out, read_input

EVENTS = ("session-start", "before-edit", "settings")


def hook(context: Context, *, event: str) -> int:
    if event == "settings":
        return _settings()
    return _session_start(context) if event == "session-start" else _before_edit(read_input())


def _settings() -> int:
    """Prints the hooks and rules for users who keep their own settings file."""
    import json

    from sow.agents.layer import settings

    out(json.dumps(settings(), indent=2))
    return 0


def _session_start(context: Context) -> int:
    """Prints the state of the project for a new agent session; prints nothing without a project."""
    import os

    from sow.store.projects import project as projects

    try:
        home = context.checkout()
        if not os.path.lexists(home.sow) or not projects.exists(home):
            return 0
        out(escape_control(_summary(home, context.hints())))
    except SowError as error:
        out(escape_control(f"sow: {error.message}\n{error.hint}"))
    return 0


def _summary(home: Home, hint_context: HintContext) -> str:
    from sow.cli.project.status import document

    status: dict[str, Any] = document(home, hint_context)
    counts = ", ".join(f"{count} {name}" for name, count in status["counts"].items()) or "none"
    lines = [
        f"This branch has a sow project: {escape_line(status['project']['name'])} ({status['project']['branch']}).",
        f"Tasks: {counts}. {len(status['inbox'])} waiting for the user (sow inbox).",
        f"Next: {escape_line(status['next']['text'])}: {status['next']['command']}",
        "Change its state only with `sow` commands. If you are asked to continue it, run: sow continue --print",
    ]
    return "\n".join(lines)


def _before_edit(text: str) -> int:
    """Refuses edits of state files; exit code 2 makes the agent CLI block the edit."""
    import json

    try:
        path = json.loads(text)["tool_input"].get("file_path", "")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SystemFailure("the input is not a hook event of an agent CLI", "run it as a hook only") from None
    if isinstance(path, str) and _is_state(path):
        raise SowError(
            f"{path} is a state file that only sow writes",
            "use a command: sow task set, sow note, sow log or sow answer",
        )
    return 0


def _is_state(path: str) -> bool:
    """Returns whether a path names a state file."""
    folder, _, name = f"/{path}".rpartition("/")
    inside = f"{folder}/"
    if "/.sow/local/" in inside:
        return True
    if "/.sow/project/" in inside:
        return name in ("state.yaml", "session_current.json", "log.md")
    return "/orchestration/" in inside and (
        name in ("state.yaml", "shared_status.json") or (name == "log.md" and "/orchestration/agents/" in inside)
    )


COMMANDS = (
    Command(
        "hook",
        hook,
        "Handle an event of an agent CLI; called by its hooks",
        Argument("event", "The event", choices=EVENTS),
        details="session-start prints the state of the project.\n"
        "before-edit reads the planned edit from standard input, and refuses state files with exit code 2.\n"
        "settings prints the hooks and permission rules for your own .claude/settings.json.",
    ),
)
