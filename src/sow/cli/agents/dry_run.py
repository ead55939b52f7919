"""Prints the command line that `sow agent spawn` or `sow agent resume` would run (`--dry-run`)."""

from __future__ import annotations

import shlex
from typing import Any

from sow.cli.output import emit
from sow.engine.turns.allowed_commands import NO_LIST
from sow.engine.turns.dry_run import Preview
from sow.executors import adapter as adapters
from sow.system.terminal import escape_control, escape_line, out

SESSIONS = {
    adapters.GIVEN: "takes a session id",
    adapters.ASSIGNED: "chooses its session id itself",
    adapters.FILE: "keeps its session in a file of sow",
    adapters.NONE: "keeps no session",
}


def show(preview: Preview, *, json: bool) -> int:
    """Prints the command line, its folder and the names of its environment variables."""
    if json:
        return emit(document(preview))
    kind = preview.turn.adapter.capabilities.session
    session = f"resumed: {preview.request.session}" if preview.kind == "resume" else f"new; the CLI {SESSIONS[kind]}"
    out(escape_control(shlex.join(preview.arguments)))
    out(f"in {escape_line(preview.request.cwd)}, with the prompt on stdin")
    out("environment: " + " ".join(preview.names))
    out(f"session: {escape_line(session)}")
    allowed = preview.turn.allowed_text(preview.request.cwd)
    out(f"may run: {escape_line(allowed or NO_LIST[preview.turn.executor.yolo])}")
    return 0


def document(preview: Preview) -> dict[str, Any]:
    """Returns the preview as JSON; a new session has a different id each time."""
    turn, record, capabilities = preview.turn, preview.record, preview.turn.adapter.capabilities
    return {
        "dry_run": True,
        "task": turn.folder.id,
        "agent": turn.agent.name,
        "executor": turn.executor.name,
        "type": turn.executor.type,
        "model": preview.request.model or None,
        "argv": preview.arguments,
        "cwd": preview.request.cwd,
        "environment": preview.names,
        "files": preview.files,
        "commands": list(preview.request.commands) if turn.has_command_rules else None,
        "prompt": {"place": "stdin", "file": record.file(len(record.session["turns"]) + 1, "prompt")},
        "session": {
            "turn": preview.kind,
            "id": record.session.get("session_id"),
            "id_from": capabilities.session,
            "resumes": capabilities.resumes,
            "folder": record.folder,
        },
    }
