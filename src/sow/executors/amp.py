"""Runs Amp: `amp -x`, prompt on stdin, events in Claude Code's format. It needs Amp's online service."""

from __future__ import annotations

from sow.executors.adapter import ASSIGNED, GIT_LOOKS, GIT_LOOPHOLES, Adapter, Call, Capabilities, Request
from sow.executors.claude import shaped_events
from sow.executors.reach import places
from sow.executors.story import Event
from sow.store import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        known_flags=("--execute", "--stream-json", "--settings-file", "--no-archive-after-execute", "--no-ide"),
    )

    def spawn_command(self, request: Request) -> Call:
        return self._call(request, ["--no-archive-after-execute"])

    def resume_command(self, request: Request) -> Call:
        return self._call(request, [], ["threads", "continue", request.session])

    def _call(self, request: Request, options: list[str], subcommand: list[str] | None = None) -> Call:
        arguments = [*(subcommand or []), "--execute", "--stream-json", "--no-ide", "--no-notifications", *options]
        if request.yolo and not request.role.reads_only:
            return Call([*arguments, "--dangerously-allow-all", *request.custom_args])
        settings = f"{request.folder}/amp.json"
        arguments += ["--settings-file", settings]
        return Call([*arguments, *request.custom_args], files={settings: json_text.dump(rules(request))})

    def events(self, data: dict[str, Any]) -> list[Event]:
        return shaped_events({"result": data.get("error"), **data})


def rules(request: Request) -> dict[str, Any]:
    """Returns the settings of a worker without yolo; the first rule that matches a call decides."""
    commands, loopholes = list(request.commands), []
    if request.role.reads_only:
        commands = [*(command for command in commands if command != "git"), *GIT_LOOKS]
        loopholes = [f"*{option}*" for option in GIT_LOOPHOLES]
    patterns = [pattern for command in commands for pattern in (command, f"{command} *")]
    closed = [{"tool": tool, "matches": {field: loopholes}, "action": "reject"} for tool, field in SHELLS if loopholes]
    allowed = [{"tool": tool, "matches": {field: patterns}, "action": "allow"} for tool, field in SHELLS]
    refused = [{"tool": tool, "action": "reject"} for tool, _ in SHELLS]
    return {"amp.permissions": [*closed, *allowed, *refused, *edits(request)]}


def edits(request: Request) -> list[dict[str, Any]]:
    """Returns rules for the paths it may change. A patch names its files only inside, so no rule can limit it."""
    if request.role.reads_only:
        return [{"tool": tool, "action": "reject"} for tool in (*EDITS, "apply_patch")]
    patterns = [(f"{path}*" if path.endswith("/") else path, writable) for path, writable in reversed(places(request))]
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
