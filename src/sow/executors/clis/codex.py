"""Runs Codex: `codex exec`, prompt on stdin, events as JSON lines. It chooses the session id and has a sandbox."""

from __future__ import annotations

import os
import signal
from typing import Any

from sow.executors.adapter import (
    ASSIGNED,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    PrivateHome,
    Request,
    as_integer,
    as_mapping,
    http_status,
    json_string,
    text_of,
)

# Without the first, it waits for a network forever. A repository's hooks never run. No person can approve anything.
SETTINGS = ("features.unbounded_connection_retries=false", "features.hooks=false", 'approval_policy="never"')
TOOL_ITEMS_AT_START = ("command_execution", "mcp_tool_call")
TOOL_ITEMS_AT_END = ("file_change", "web_search")


class Codex(Adapter):
    type = "codex"
    interactive_args: tuple[str, ...] | None = ()
    capabilities = Capabilities(
        binary="codex",
        install="npm install -g @openai/codex",
        session=ASSIGNED,
        read_only=True,
        reports_tokens=True,
        cumulative_tokens=True,
        stop_signal=signal.SIGINT,
        variables=("OPENAI_", "AZURE_OPENAI_", "CODEX_HOME", "CODEX_API_KEY"),
        help_arguments=("exec", "--help"),
        required_flags=(
            "--json", "--skip-git-repo-check", "--config", "--model", "--sandbox", "read-only", "workspace-write",
            "--add-dir", "--dangerously-bypass-approvals-and-sandbox", "resume",
        ),
        private_home=PrivateHome(
            ".codex",
            variable="CODEX_HOME",
            files=("auth.json", "config.toml", "AGENTS.md", "prompts", "rules", "skills"),
            logins=("auth.json",),
        ),
        model_hosts=("api.openai.com", "chatgpt.com", "auth.openai.com"),
        url_variables=("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
        silent_hosts=("api.github.com", "ab.chatgpt.com"),
    )  # fmt: skip
    not_found = ("no rollout found for thread id",)
    limits = ("You've hit your usage limit",)

    def first_prompt(self, request: Request, prompt: str) -> str:
        """Points to AGENTS.md, which Codex does not read in an untrusted repository."""
        path = f"{request.cwd}/AGENTS.md"
        if request.trusted or request.role.judges or not os.path.isfile(path):
            return prompt
        return f"{prompt}\n\nThis repository has instructions for agents in {path}: read them before you start.\n"

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        arguments = ["exec", "--json", "--skip-git-repo-check"]
        settings = [*SETTINGS, *untrusted_project_settings(request)]
        arguments += [argument for setting in settings for argument in ("--config", setting)]
        arguments += ["--model", request.model] if request.model else []
        arguments += [*permissions(request), *request.custom_args]
        return AgentCommand([*arguments, *(("resume", request.session) if resumes else ()), "-"])

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = str(data.get("type"))
        if kind == "thread.started":
            return [Event("session", session=str(data.get("thread_id") or ""))]
        if kind in ("item.started", "item.completed"):
            return item_events(kind, as_mapping(data.get("item")))
        if kind == "turn.completed":
            usage = as_mapping(data.get("usage"))
            sent, received = as_integer(usage.get("input_tokens")), as_integer(usage.get("output_tokens"))
            return [Event("result", input_tokens=sent, output_tokens=received)]
        if kind == "error":
            text = str(data.get("message") or "")
            retries = text.startswith("Reconnecting")
            return [Event("retry" if retries else "error", text, status=http_status(text))]
        if kind == "turn.failed":
            text = str(as_mapping(data.get("error")).get("message") or "")
            return [Event("result", text, failed=True, status=http_status(text))]
        return []


def untrusted_project_settings(request: Request) -> list[str]:
    """Marks the repository as untrusted unless the user trusts it; its `.codex` could name programs and variables."""
    if request.trusted and not request.role.judges:
        return []
    folders = [request.cwd, *(folder.removesuffix("/.git") for folder in request.writable if folder.endswith("/.git"))]
    levels = [f'{json_string(folder)}={{trust_level="untrusted"}}' for folder in dict.fromkeys(folders)]
    return [f"projects={{{','.join(levels)}}}"]


def permissions(request: Request) -> list[str]:
    """Returns the sandbox; Codex has no list of tools, so a role without tools that write gets a read-only one."""
    if request.in_sandbox:  # its own sandbox does not start in ours
        return ["--dangerously-bypass-approvals-and-sandbox"]
    if request.role.reads_only:
        return ["--sandbox", "read-only"]
    if request.yolo:
        return ["--dangerously-bypass-approvals-and-sandbox"]
    # `sow` itself runs in the sandbox.
    folders = [folder for folder in (request.sow_folder, *request.writable) if folder]
    return ["--sandbox", "workspace-write", *(argument for folder in folders for argument in ("--add-dir", folder))]


def item_events(kind: str, item: dict[str, Any]) -> list[Event]:
    """Converts a message, a tool call, its output, or its refusal. An `error` item is only a warning of the CLI."""
    item_type, call = str(item.get("type")), str(item.get("id") or "")
    if kind == "item.completed" and item_type == "agent_message":
        return [Event("text", str(item.get("text") or ""))]
    events = []
    command = about(item)
    if item_type in (TOOL_ITEMS_AT_START if kind == "item.started" else TOOL_ITEMS_AT_END):
        line = f"{item_type}: {command}"[:300] if command else item_type
        events.append(Event("tool", line, tool=item_type, command=command, call=call))
    if kind != "item.completed" or item_type not in (*TOOL_ITEMS_AT_START, *TOOL_ITEMS_AT_END):
        return events
    text = output_of(item)
    if item.get("status") == "declined":
        return [*events, Event("refused", text, tool=item_type, command=command, call=call)]
    failed = item.get("status") == "failed" or bool(item.get("exit_code"))
    return [*events, Event("output", text, failed=failed, call=call)] if text or failed else events


def about(item: dict[str, Any]) -> str:
    """Returns what a tool was called with."""
    changes = item.get("changes")
    paths = [str(as_mapping(change).get("path")) for change in changes] if isinstance(changes, list) else []
    return str(item.get("command") or item.get("tool") or item.get("query") or ", ".join(paths))


def output_of(item: dict[str, Any]) -> str:
    """Returns the output of a command, or the result or error of an MCP tool."""
    text = str(item.get("aggregated_output") or "") or text_of(as_mapping(item.get("result")).get("content"))
    return text or str(as_mapping(item.get("error")).get("message") or "")
