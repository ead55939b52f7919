"""Describes the agent CLI `scribe` to sow: its command line and its output."""

from __future__ import annotations

from typing import Any

from sow.executors import GIVEN, Adapter, AgentCommand, Capabilities, Event, Request


class Scribe(Adapter):
    """`scribe work`: the prompt on stdin, one JSON object per line on stdout."""

    type = "scribe"
    capabilities = Capabilities(
        binary="scribe",
        install="python3 -m pip install sow-scribe",
        session=GIVEN,
        variables=("SCRIBE_API_KEY",),
        required_flags=("--session", "--resume", "--model", "--allow-all", "--allow"),
    )
    not_found = ("no such session",)

    def spawn_command(self, request: Request) -> AgentCommand:
        return self._command(request, ["--session", request.session])

    def resume_command(self, request: Request) -> AgentCommand:
        return self._command(request, ["--resume", request.session])

    def _command(self, request: Request, session: list[str]) -> AgentCommand:
        arguments = ["work", *session]
        arguments += ["--model", request.model] if request.model else []
        arguments += ["--allow-all"] if request.yolo else [f"--allow={command}" for command in request.commands]
        return AgentCommand([*arguments, *request.custom_args])

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = {"done": "result", "tool": "tool"}.get(str(data.get("type")), "text")
        return [Event(kind, str(data.get("text") or ""))]
