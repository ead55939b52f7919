"""Runs GitHub Copilot CLI: prompt on stdin, events as JSON lines, token counts in a file at the end."""

from __future__ import annotations

import os
from typing import Any

from sow.executors.adapter import (
    GIVEN,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    Request,
    as_integer,
    as_mapping,
    parse_json_line,
    text_of,
)
from sow.executors.clis.claude import tool_event
from sow.store.projects.task_folder import literal

# Names of tools in an agent's `tools`, and Copilot's tools for each.
TOOLS = {
    "Read": ("view",),
    "Write": ("create",),
    "Edit": ("edit",),
    "MultiEdit": ("edit",),
    "Bash": ("bash", "read_bash", "write_bash", "stop_bash", "list_bash"),
    "Grep": ("grep",),
    "Glob": ("glob",),
    "Task": ("task",),
    "WebFetch": ("web_fetch",),
}


class Copilot(Adapter):
    type = "copilot"
    capabilities = Capabilities(
        binary="copilot",
        install="npm install -g @github/copilot",
        session=GIVEN,
        read_only=True,
        closes=True,
        reports_tokens=True,
        cumulative_tokens=True,
        stops_group=True,
        variables=(
            "COPILOT_PROVIDER_", "COPILOT_OFFLINE", "COPILOT_MODEL", "COPILOT_HOME", "COPILOT_AUTO_UPDATE",
            "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST",
        ),
        required_flags=(
            "--session-id", "--resume", "--output-format", "--usage-output-file", "--no-auto-update",
            "--no-ask-user", "--model", "-C", "--allow-all", "--allow-tool", "--deny-tool", "--available-tools",
            "--add-dir", "--disallow-temp-dir", "--no-custom-instructions",
        ),
    )  # fmt: skip
    not_found = ("No session, task, or name matched",)

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = [f"--resume={request.session}"] if resumes else ["--session-id", request.session]
        report = f"{request.session_folder}/usage.json"
        arguments = [*session, "-C", request.cwd, "--output-format", "json", "--usage-output-file", report]
        arguments += ["--no-auto-update", "--no-ask-user"]
        arguments += ["--model", request.model] if request.model else []
        return AgentCommand([*arguments, *permissions(request), *request.custom_args], report=report)

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind, fields = data.get("type"), as_mapping(data.get("data"))
        if kind == "assistant.message":
            text = str(fields.get("content") or "")
            return [Event("text", text)] if text else []
        if kind == "tool.execution_start":
            call = str(fields.get("toolCallId") or "")
            return [tool_event(fields.get("toolName"), fields.get("arguments"), call=call)]
        if kind == "tool.execution_complete":
            return [output_event(fields)]
        if kind in ("model.call_failure", "session.error"):
            return [failure_event(str(kind), fields)]
        if kind == "result":
            return [Event("result", session=str(data.get("sessionId") or ""), failed=data.get("exitCode") != 0)]
        return []

    def read_report(self, text: str) -> list[Event]:
        models = as_mapping((parse_json_line(text) or {}).get("modelMetrics"))
        usage = [as_mapping(as_mapping(model).get("usage")) for model in models.values()]
        if not usage:
            return []
        sent, received = (
            sum(as_integer(counts.get(key)) or 0 for counts in usage) for key in ("inputTokens", "outputTokens")
        )
        return [Event("tokens", input_tokens=sent, output_tokens=received)]


def permissions(request: Request) -> list[str]:
    """Returns the flags for what an agent may do; without --trust-folder the repository's settings grant nothing."""
    offered = [name for tool in request.role.tools for name in TOOLS.get(tool, (tool,))]
    arguments = [f"--available-tools={','.join(offered)}"] if offered else []
    if request.yolo and not request.role.judges:
        return ["--allow-all", *arguments]
    commands = request.granted_commands
    arguments += ["--disallow-temp-dir", *(f"--allow-tool=shell({command}:*)" for command in commands)]
    # A command's own folder has to be readable; --add-dir does not allow writing there.
    program_folders = [os.path.dirname(command) for command in commands if os.path.isabs(command)]
    arguments += [f"--add-dir={folder}" for folder in program_folders]
    if request.role.judges:  # it allows git commands that read, even with options that make them write a file
        return [*arguments, "--deny-tool=write", "--deny-tool=shell(git:*)", "--no-custom-instructions"]
    arguments += [f"--allow-tool=write({literal(folder)}/**)" for folder in (request.cwd, *request.writable)]
    arguments += [f"--deny-tool=write({pattern})" for pattern in request.write_protected]
    folders = (*request.writable, *request.readable_outside, *request.external_readable)
    return [*arguments, *(f"--add-dir={folder}" for folder in folders)]


def output_event(fields: dict[str, Any]) -> Event:
    """Returns the end of a tool call: its output, or the CLI's refusal."""
    error, call = as_mapping(fields.get("error")), str(fields.get("toolCallId") or "")
    message = str(error.get("message") or "")
    if error.get("code") == "denied":
        return Event("refused", message, call=call)
    content = as_mapping(fields.get("result")).get("content")
    return Event("output", text_of(content) or message, failed=fields.get("success") is False, call=call)


def failure_event(kind: str, fields: dict[str, Any]) -> Event:
    """Returns a failed request that is tried again, or the error that ended the turn."""
    message = str(fields.get("message") or fields.get("errorMessage") or "")
    text = str((parse_json_line(message) or {}).get("message") or message)
    status = as_integer(fields.get("statusCode")) or 0
    return Event("error" if kind == "session.error" else "retry", text, status=status)
