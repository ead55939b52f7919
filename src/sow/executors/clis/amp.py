"""Runs Amp: `amp -x`, prompt on stdin, events in Claude Code's format. It needs Amp's online service."""

from __future__ import annotations

from typing import Any

from sow.executors.adapter import (
    ASSIGNED,
    READ_ONLY_COMMANDS,
    READ_ONLY_GIT,
    UNSAFE_GIT_OPTIONS,
    UNSAFE_READ_OPTIONS,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    Request,
)
from sow.executors.clis.claude import claude_format_events
from sow.executors.write_rules import writable_paths
from sow.store.formats import json_text

SHELLS = (("Bash", "cmd"), ("shell_command", "command"), ("async_shell_command", "command"))
EDITS = ("edit_file", "create_file", "undo_edit")


class Amp(Adapter):
    type = "amp"
    capabilities = Capabilities(
        binary="amp",
        install="npm install -g @sourcegraph/amp",
        session=ASSIGNED,
        model=False,
        read_only=True,
        closes=True,
        reports_tokens=True,
        obeys=(".amp",),
        variables=("AMP_API_KEY", "AMP_URL"),
        required_flags=("--execute", "--stream-json", "--settings-file", "--no-archive-after-execute", "--no-ide"),
    )

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        arguments = ["threads", "continue", request.session] if resumes else []
        arguments += ["--execute", "--stream-json", "--no-ide", "--no-notifications"]
        arguments += [] if resumes else ["--no-archive-after-execute"]
        if request.yolo and not request.role.reads_only:
            return AgentCommand([*arguments, "--dangerously-allow-all", *request.custom_args])
        settings = f"{request.session_folder}/amp.json"
        arguments += ["--settings-file", settings]
        return AgentCommand(
            [*arguments, *request.custom_args], files={settings: json_text.dump(permission_settings(request))}
        )

    def events(self, data: dict[str, Any]) -> list[Event]:
        return claude_format_events({"result": data.get("error"), **data})


def permission_settings(request: Request) -> dict[str, Any]:
    """Returns the settings of a worker without yolo; the first rule that matches a call decides."""
    commands = [*request.commands, *READ_ONLY_COMMANDS]
    loopholes = [f"{command}*{option}*" for command in READ_ONLY_COMMANDS for option in UNSAFE_READ_OPTIONS]
    if request.role.reads_only:
        commands = [*(command for command in request.commands if command != "git"), *READ_ONLY_GIT]
        loopholes = [f"*{option}*" for option in UNSAFE_GIT_OPTIONS]
    patterns = [pattern for command in commands for pattern in (command, f"{command} *")]
    closed = [{"tool": tool, "matches": {field: loopholes}, "action": "reject"} for tool, field in SHELLS]
    allowed = [{"tool": tool, "matches": {field: patterns}, "action": "allow"} for tool, field in SHELLS]
    refused = [{"tool": tool, "action": "reject"} for tool, _ in SHELLS]
    return {"amp.permissions": [*closed, *allowed, *refused, *edit_rules(request)]}


def edit_rules(request: Request) -> list[dict[str, Any]]:
    """Returns rules for the paths it may change. A patch names its files only inside, so no rule can limit it."""
    if request.role.reads_only:
        return [{"tool": tool, "action": "reject"} for tool in (*EDITS, "apply_patch")]
    patterns = [
        (f"{path}*" if path.endswith("/") else path, writable) for path, writable in reversed(writable_paths(request))
    ]
    path_rules = [
        {"tool": tool, "matches": {"path": [pattern]}, "action": "allow" if writable else "reject"}
        for pattern, writable in patterns
        for tool in EDITS
    ]
    return [
        *path_rules,
        *({"tool": tool, "action": "reject"} for tool in EDITS),
        {"tool": "apply_patch", "action": "allow"},
    ]
