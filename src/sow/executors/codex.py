"""Codex: `codex exec`, the prompt on stdin, events as JSON lines. It chooses its session's id and has a sandbox."""

from __future__ import annotations

import os
import signal

from sow.executors.adapter import ASSIGNED, Adapter, Call, Capabilities, Request
from sow.executors.json_lines import mapping, quoted, status_in, text_of, whole
from sow.executors.story import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Without the first it waits for a network for ever; hooks of a repository never speak for a worker; nobody answers.
SETTINGS = ("features.unbounded_connection_retries=false", "features.hooks=false", 'approval_policy="never"')
AT_START = ("command_execution", "mcp_tool_call")
AT_END = ("file_change", "web_search")


class Codex(Adapter):
    type = "codex"
    opening: tuple[str, ...] | None = ()
    capabilities = Capabilities(
        binary="codex",
        install="npm install -g @openai/codex",
        session=ASSIGNED,
        read_only=True,
        reports_tokens=True,
        cumulative_tokens=True,
        stop_signal=signal.SIGINT,
        variables=("OPENAI_", "AZURE_OPENAI_", "CODEX_HOME", "CODEX_API_KEY"),
        help_words=("exec", "--help"),
        known_flags=(
            "--json",
            "--skip-git-repo-check",
            "--config",
            "--model",
            "--sandbox",
            "read-only",
            "workspace-write",
            "--add-dir",
            "--dangerously-bypass-approvals-and-sandbox",
            "resume",
        ),
    )
    not_found = ("no rollout found for thread id",)
    limits = ("You've hit your usage limit",)

    def spawn_command(self, request: Request) -> Call:
        return Call([*self._options(request), "-"])

    def first_prompt(self, request: Request, prompt: str) -> str:
        """In a repository that is not trusted it reads no AGENTS.md, whose words a worker should know."""
        path = f"{request.cwd}/AGENTS.md"
        if request.trusted or request.role.judges or not os.path.isfile(path):
            return prompt
        return f"{prompt}\n\nThis repository has instructions for agents in {path}: read them before you start.\n"

    def resume_command(self, request: Request) -> Call:
        return Call([*self._options(request), "resume", request.session, "-"])

    def _options(self, request: Request) -> list[str]:
        words = ["exec", "--json", "--skip-git-repo-check"]
        settings = [*SETTINGS, *distrust(request)]
        words += [word for setting in settings for word in ("--config", setting)]
        words += ["--model", request.model] if request.model else []
        return [*words, *permissions(request), *request.custom_args]

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = str(data.get("type"))
        if kind == "thread.started":
            return [Event("session", session=str(data.get("thread_id") or ""))]
        if kind in ("item.started", "item.completed"):
            return item_events(kind, mapping(data.get("item")))
        if kind == "turn.completed":
            usage = mapping(data.get("usage"))
            sent, made = whole(usage.get("input_tokens")), whole(usage.get("output_tokens"))
            return [Event("result", input_tokens=sent, output_tokens=made)]
        if kind == "error":
            text = str(data.get("message") or "")
            retries = text.startswith("Reconnecting")
            return [Event("retry" if retries else "error", text, status=status_in(text))]
        if kind == "turn.failed":
            text = str(mapping(data.get("error")).get("message") or "")
            return [Event("result", text, failed=True, status=status_in(text))]
        return []


def distrust(request: Request) -> list[str]:
    """A repository's `.codex` could name programs and variables, so it is read only where the user trusts it."""
    if request.trusted and not request.role.judges:
        return []
    places = [request.cwd, *(each.removesuffix("/.git") for each in request.folders if each.endswith("/.git"))]
    levels = [f'{quoted(place)}={{trust_level="untrusted"}}' for place in dict.fromkeys(places)]
    return [f"projects={{{','.join(levels)}}}"]


def permissions(request: Request) -> list[str]:
    """The sandbox: it knows no list of tools, so a role that has none to write with gets one that is read-only."""
    if request.role.reads_only:
        return ["--sandbox", "read-only"]
    if request.yolo:
        return ["--dangerously-bypass-approvals-and-sandbox"]
    folders = [each for each in (request.state, *request.folders) if each]  # `sow` itself runs in the sandbox
    return ["--sandbox", "workspace-write", *(word for each in folders for word in ("--add-dir", each))]


def item_events(kind: str, item: dict[str, Any]) -> list[Event]:
    """A message, a tool call, its output, or its refusal. An `error` here is only a warning of the CLI."""
    what, call = str(item.get("type")), str(item.get("id") or "")
    if kind == "item.completed" and what == "agent_message":
        return [Event("text", str(item.get("text") or ""))]
    events = []
    command = about(item)
    if what in (AT_START if kind == "item.started" else AT_END):
        line = f"{what}: {command}"[:300] if command else what
        events.append(Event("tool", line, tool=what, command=command, call=call))
    if kind != "item.completed" or what not in (*AT_START, *AT_END):
        return events
    text = output_of(item)
    if item.get("status") == "declined":
        return [*events, Event("refused", text, tool=what, command=command, call=call)]
    failed = item.get("status") == "failed" or bool(item.get("exit_code"))
    return [*events, Event("output", text, failed=failed, call=call)] if text or failed else events


def about(item: dict[str, Any]) -> str:
    """What a tool was called with."""
    changes = item.get("changes")
    paths = [str(mapping(each).get("path")) for each in changes] if isinstance(changes, list) else []
    return str(item.get("command") or item.get("tool") or item.get("query") or ", ".join(paths))


def output_of(item: dict[str, Any]) -> str:
    """The output of a command, or the result or the error of a tool of an MCP server."""
    text = str(item.get("aggregated_output") or "") or text_of(mapping(item.get("result")).get("content"))
    return text or str(mapping(item.get("error")).get("message") or "")
