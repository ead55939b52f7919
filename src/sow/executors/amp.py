"""Amp: `amp -x`, the prompt on stdin, events as Claude Code prints them; its service has to be there."""

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

    def _call(self, request: Request, more: list[str], thread: list[str] | None = None) -> Call:
        words = [*(thread or []), "--execute", "--stream-json", "--no-ide", "--no-notifications", *more]
        if request.yolo and not request.role.reads_only:
            return Call([*words, "--dangerously-allow-all", *request.custom_args])
        settings = f"{request.folder}/amp.json"
        words += ["--settings-file", settings]
        return Call([*words, *request.custom_args], files={settings: json_text.dump(rules(request))})

    def events(self, data: dict[str, Any]) -> list[Event]:
        return shaped_events({"result": data.get("error"), **data})


def rules(request: Request) -> dict[str, Any]:
    """The settings of a worker that may not do everything: the first rule that fits a call decides."""
    words, holes = list(request.commands), []
    if request.role.reads_only:
        words = [*(each for each in words if each != "git"), *GIT_LOOKS]
        holes = [f"*{each}*" for each in GIT_LOOPHOLES]
    fitting = [word for each in words for word in (each, f"{each} *")]
    closed = [{"tool": tool, "matches": {field: holes}, "action": "reject"} for tool, field in SHELLS if holes]
    allowed = [{"tool": tool, "matches": {field: fitting}, "action": "allow"} for tool, field in SHELLS]
    refused = [{"tool": tool, "action": "reject"} for tool, _ in SHELLS]
    return {"amp.permissions": [*closed, *allowed, *refused, *edits(request)]}


def edits(request: Request) -> list[dict[str, Any]]:
    """Where files may be changed; a patch names its files only inside, so it cannot be held to folders."""
    if request.role.reads_only:
        return [{"tool": tool, "action": "reject"} for tool in (*EDITS, "apply_patch")]
    reach = [(f"{each}*" if each.endswith("/") else each, may) for each, may in reversed(places(request))]
    narrow = [
        {"tool": tool, "matches": {"path": [pattern]}, "action": "allow" if may else "reject"}
        for pattern, may in reach
        for tool in EDITS
    ]
    return [
        *narrow,
        *({"tool": tool, "action": "reject"} for tool in EDITS),
        {"tool": "apply_patch", "action": "allow"},
    ]
