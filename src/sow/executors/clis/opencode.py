"""Runs OpenCode: `opencode run`, prompt on stdin, events as JSON lines. A session belongs to its folder."""

from __future__ import annotations

import os
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
    PrivateHome,
    Request,
    as_integer,
    as_mapping,
    as_number,
)
from sow.executors.clis.claude import tool_event
from sow.executors.write_rules import writable_paths
from sow.store.formats import json_text

# Names of tools in an agent's `tools`, and OpenCode's permission for each.
TOOLS = {
    "Read": "read",
    "Write": "edit",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Bash": "bash",
    "Grep": "grep",
    "Glob": "glob",
    "LS": "list",
    "Task": "task",
    "WebFetch": "webfetch",
    "WebSearch": "websearch",
    "TodoWrite": "todowrite",
}
INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md")
DEFAULT_DENIALS = {
    "webfetch": "deny",
    "websearch": "deny",
    "question": "deny",
    "doom_loop": "deny",
    "read": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"},
}
DENIED = ("The user has specified a rule which prevents you", "The user rejected permission")
CONTINUE_REASONS = ("tool-calls",)


class OpenCode(Adapter):
    type = "opencode"
    capabilities = Capabilities(
        binary="opencode",
        install="npm install -g opencode-ai",
        session=ASSIGNED,
        read_only=True,
        closes=True,
        reports_cost=True,
        reports_tokens=True,
        variables=("OPENCODE_CONFIG_CONTENT", "OPENCODE_AUTH_CONTENT", "OPENCODE_API_KEY", "OPENCODE_DISABLE_"),
        help_arguments=("run", "--help"),
        required_flags=("--format", "--session", "--model", "--title", "--dir", "--auto"),
        private_home=PrivateHome(
            ".local/share/opencode", files=("auth.json",), beside=(".config/opencode",), logins=("auth.json",)
        ),
        model_hosts=("opencode.ai", "models.dev"),
    )
    not_found = ("Session not found",)

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = ["--session", request.session] if resumes else ["--title", f"sow {request.role.name}"]
        arguments = ["run", "--format", "json", *session, "--dir", request.cwd]  # a session hangs in another folder
        arguments += ["--model", request.model] if request.model else []
        arguments += ["--auto"] if request.yolo and not request.role.judges else []
        environment = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_PERMISSION": json_text.dump(permissions(request))}
        if request.trusted and not request.role.judges:
            return AgentCommand([*arguments, *request.custom_args], environment=environment)
        # A repository's opencode.json could widen permissions and run plug-ins, so OpenCode does not read it. Its
        # instruction files are read, except by a judge.
        config = f"{request.session_folder}/opencode.json"
        instructions = [] if request.role.judges else [f"{request.cwd}/{name}" for name in INSTRUCTIONS]
        environment |= {"OPENCODE_DISABLE_PROJECT_CONFIG": "1", "OPENCODE_CONFIG": config}
        files = {config: json_text.dump({"instructions": instructions})}
        return AgentCommand([*arguments, *request.custom_args], environment=environment, files=files)

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind, part, session = data.get("type"), as_mapping(data.get("part")), str(data.get("sessionID") or "")
        if kind == "text":
            return [Event("text", str(part.get("text") or ""), session=session)]
        if kind == "tool_use":
            return tool_events(part, session)
        if kind == "step_finish":
            return step_events(part, session)
        if kind == "error":
            return [error_event(as_mapping(data.get("error")), session)]
        return [Event("session", session=session)] if session else []


def permissions(request: Request) -> dict[str, Any]:
    """Returns the permissions of a worker; the rest is denied, because an unanswered question would end the turn."""
    rules: dict[str, Any] = {}
    if request.role.tools:
        granted = {TOOLS.get(tool, tool.lower()) for tool in request.role.tools}
        rules = dict.fromkeys((permission for permission in TOOLS.values() if permission not in granted), "deny")
    if request.yolo and not request.role.judges:
        return rules
    folders = {"*": "deny", **{f"{folder}/*": "allow" for folder in (*request.writable, *request.readable_outside)}}
    edit = "deny" if request.role.judges else edits(request)
    return {"edit": edit, "bash": command_rules(request), "external_directory": folders, **DEFAULT_DENIALS, **rules}


def edits(request: Request) -> dict[str, str]:
    """Returns rules for paths relative to the working folder; the last pattern that matches decides."""
    rules = {"*": "allow"}
    for target, writable in writable_paths(request)[1:]:
        path = os.path.relpath(target, request.cwd)
        rules[f"{path}/*" if target.endswith("/") else path] = "allow" if writable else "deny"
    return rules


def command_rules(request: Request) -> dict[str, str]:
    """Returns rules for commands; the last pattern that matches decides."""
    if not request.role.judges:
        unsafe = {f"{command}*{option}*": "deny" for command in READ_ONLY_COMMANDS for option in UNSAFE_READ_OPTIONS}
        commands = (*request.commands, *READ_ONLY_COMMANDS)
        return {"*": "deny", **{f"{command} *": "allow" for command in commands}, **unsafe}
    allowed = [*request.granted_commands, *READ_ONLY_GIT]
    loopholes = {f"git *{option}*": "deny" for option in UNSAFE_GIT_OPTIONS}
    return {"*": "deny", **{f"{command} *": "allow" for command in allowed}, **loopholes}


def tool_events(part: dict[str, Any], session: str) -> list[Event]:
    """Returns a tool call with its output or refusal; OpenCode reports a call only when it has ended."""
    state, call = as_mapping(part.get("state")), str(part.get("callID") or "")
    values = as_mapping(state.get("input"))
    call_event = tool_event(part.get("tool"), {"path": values.get("filePath"), **values}, call=call, session=session)
    failed, error = state.get("status") == "error", str(state.get("error") or "")
    if failed and error.startswith(DENIED):
        return [
            call_event,
            Event("refused", error, tool=call_event.tool, command=call_event.command, call=call, session=session),
        ]
    failed = failed or bool(as_mapping(state.get("metadata")).get("exit"))
    return [
        call_event,
        Event("output", error or str(state.get("output") or ""), failed=failed, call=call, session=session),
    ]


def step_events(part: dict[str, Any], session: str) -> list[Event]:
    """Returns the usage of one answer of the model, and the result if it was the last one."""
    tokens = as_mapping(part.get("tokens"))
    cache = as_mapping(tokens.get("cache"))
    sent = [as_integer(count) for count in (tokens.get("input"), cache.get("read"), cache.get("write"))]
    received = [as_integer(count) for count in (tokens.get("output"), tokens.get("reasoning"))]
    usage = Event(
        "usage",
        session=session,
        cost=as_number(part.get("cost")),
        input_tokens=sum(count or 0 for count in sent) if tokens else None,
        output_tokens=sum(count or 0 for count in received) if tokens else None,
    )
    reason = str(part.get("reason") or "")
    if reason == "stop":
        return [usage, Event("result", session=session)]
    if reason in CONTINUE_REASONS:
        return [usage]
    return [usage, Event("error", f"the model stopped: {reason}", session=session)]


def error_event(error: dict[str, Any], session: str) -> Event:
    data = as_mapping(error.get("data"))
    text = str(data.get("message") or error.get("name") or "")
    return Event("error", text, session=session, status=as_integer(data.get("statusCode")) or 0)
