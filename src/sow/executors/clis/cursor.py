"""Runs Cursor: `cursor-agent -p`, prompt on stdin, events as JSON lines. Follows its documentation; not yet tested."""

from __future__ import annotations

from typing import Any

from sow.executors.adapter import ASSIGNED, Adapter, AgentCommand, Capabilities, Event, Request, as_mapping
from sow.executors.clis.claude import call_target, claude_format_events, tool_event

OUTPUTS = ("stdout", "stderr", "content", "message", "errorMessage")


class Cursor(Adapter):
    type = "cursor"
    capabilities = Capabilities(
        binary="cursor-agent",
        install="curl https://cursor.com/install -fsS | bash",
        session=ASSIGNED,
        read_only=True,
        needs_yolo=True,
        stops_group=True,
        obeys=(".cursor/cli.json", ".cursor/mcp.json", ".cursor/hooks.json"),
        variables=("CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"),
        required_flags=(
            "--print", "--output-format", "--resume", "--model", "--force", "--trust", "--workspace", "--mode",
        ),
    )  # fmt: skip

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = [f"--resume={request.session}"] if resumes else []
        arguments = ["--print", *session, "--output-format", "stream-json", "--trust", "--workspace", request.cwd]
        arguments += ["--model", request.model] if request.model else []
        if request.role.reads_only:
            arguments += ["--mode", "ask"]
        elif request.yolo:  # without it, changes are only proposed
            arguments += ["--force"]
        return AgentCommand([*arguments, *request.custom_args])

    def events(self, data: dict[str, Any]) -> list[Event]:
        if data.get("type") == "tool_call":
            return tool_events(data, str(data.get("session_id") or ""))
        return claude_format_events(data)


def tool_events(data: dict[str, Any], session: str) -> list[Event]:
    """Returns a tool call at its start, and its output or refusal at its end."""
    name, details = next(iter(as_mapping(data.get("tool_call")).items()), ("tool", {}))
    tool, call = str(name).removesuffix("ToolCall"), str(data.get("call_id") or "")
    values, result = as_mapping(details).get("args"), as_mapping(as_mapping(details).get("result"))
    if data.get("subtype") == "started":
        return [tool_event(tool, values, call=call, session=session)]
    if "rejected" in result:
        reason = str(as_mapping(result["rejected"]).get("reason") or "")
        return [Event("refused", reason, tool=tool, command=call_target(values), call=call, session=session)]
    failed = "success" not in result
    output = as_mapping(result.get("success")) or as_mapping(result.get("error")) or as_mapping(result.get("failure"))
    texts = [str(output[key]) for key in OUTPUTS if isinstance(output.get(key), str) and output[key].strip()]
    return [Event("output", "\n".join(texts), failed=failed, call=call, session=session)] if result else []
