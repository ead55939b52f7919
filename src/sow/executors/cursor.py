"""Cursor: `cursor-agent -p`, the prompt on stdin, events as JSON lines. Written by its documentation, not yet run."""

from __future__ import annotations

from sow.executors.adapter import ASSIGNED, Adapter, Call, Capabilities, Request
from sow.executors.claude import shaped_events, tool_line
from sow.executors.json_lines import mapping
from sow.executors.story import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Cursor(Adapter):
    type = "cursor"
    capabilities = Capabilities(
        binary="cursor-agent",
        install="curl https://cursor.com/install -fsS | bash",
        session=ASSIGNED,
        read_only=True,
        needs_yolo=True,
        stop_group=True,
        obeys=(".cursor/cli.json", ".cursor/mcp.json", ".cursor/hooks.json"),
        variables=("CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"),
        known_flags=(
            "--print",
            "--output-format",
            "--resume",
            "--model",
            "--force",
            "--trust",
            "--workspace",
            "--mode",
        ),
    )

    def spawn_command(self, request: Request) -> Call:
        return self._call(request, [])

    def resume_command(self, request: Request) -> Call:
        return self._call(request, [f"--resume={request.session}"])

    def _call(self, request: Request, session: list[str]) -> Call:
        words = ["--print", *session, "--output-format", "stream-json", "--trust", "--workspace", request.cwd]
        words += ["--model", request.model] if request.model else []
        if request.role.reads_only:
            words += ["--mode", "ask"]
        elif request.yolo:  # without it changes are only proposed
            words += ["--force"]
        return Call([*words, *request.custom_args])

    def events(self, data: dict[str, Any]) -> list[Event]:
        if data.get("type") == "tool_call":
            return tool_events(data, str(data.get("session_id") or ""))
        return shaped_events(data)


def tool_events(data: dict[str, Any], session: str) -> list[Event]:
    """A tool call: its start is the call, its end says whether it was allowed."""
    name, call = next(iter(mapping(data.get("tool_call")).items()), ("tool", {}))
    if data.get("subtype") == "started":
        line = tool_line(str(name).removesuffix("ToolCall"), mapping(call).get("args"))
        return [Event("tool", line, session=session)]
    refused = "rejected" in mapping(mapping(call).get("result"))
    return [Event("denied", str(name), session=session)] if refused else []
