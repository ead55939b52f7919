"""Cursor: `cursor-agent -p`, the prompt on stdin, events as JSON lines. Written by its documentation, not yet run."""

from __future__ import annotations

from sow.executors.adapter import ASSIGNED, Adapter, Call, Capabilities, Request
from sow.executors.claude import about, shaped_events, tool_event
from sow.executors.json_lines import mapping
from sow.executors.story import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OUTPUTS = ("stdout", "stderr", "content", "message", "errorMessage")


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
    """A tool call: its start is the call, its end has the output or says that it was rejected."""
    name, given = next(iter(mapping(data.get("tool_call")).items()), ("tool", {}))
    tool, call = str(name).removesuffix("ToolCall"), str(data.get("call_id") or "")
    values, result = mapping(given).get("args"), mapping(mapping(given).get("result"))
    if data.get("subtype") == "started":
        return [tool_event(tool, values, call=call, session=session)]
    if "rejected" in result:
        reason = str(mapping(result["rejected"]).get("reason") or "")
        return [Event("refused", reason, tool=tool, command=about(values), call=call, session=session)]
    failed = "success" not in result
    told = mapping(result.get("success")) or mapping(result.get("error")) or mapping(result.get("failure"))
    texts = [str(told[key]) for key in OUTPUTS if isinstance(told.get(key), str) and told[key].strip()]
    return [Event("output", "\n".join(texts), failed=failed, call=call, session=session)] if result else []
