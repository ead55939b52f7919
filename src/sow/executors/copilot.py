"""GitHub Copilot CLI: the prompt on stdin, events as JSON lines, tokens in a file that it leaves at its end."""

from __future__ import annotations

import os

from sow.executors.adapter import GIVEN, Adapter, Call, Capabilities, Request
from sow.executors.claude import tool_event
from sow.executors.json_lines import mapping, parse, text_of, whole
from sow.executors.story import Event
from sow.store.bounds import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# An agent's `tools`, in the words that agents' files use, and Copilot's tools for each.
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
        stop_group=True,
        variables=(
            "COPILOT_PROVIDER_",
            "COPILOT_OFFLINE",
            "COPILOT_MODEL",
            "COPILOT_HOME",
            "COPILOT_AUTO_UPDATE",
            "COPILOT_GITHUB_TOKEN",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "GH_HOST",
        ),
        known_flags=(
            "--session-id",
            "--resume",
            "--output-format",
            "--usage-output-file",
            "--no-auto-update",
            "--no-ask-user",
            "--model",
            "-C",
            "--allow-all",
            "--allow-tool",
            "--deny-tool",
            "--available-tools",
            "--add-dir",
            "--disallow-temp-dir",
            "--no-custom-instructions",
        ),
    )
    not_found = ("No session, task, or name matched",)

    def spawn_command(self, request: Request) -> Call:
        return self._call(request, ["--session-id", request.session])

    def resume_command(self, request: Request) -> Call:
        return self._call(request, [f"--resume={request.session}"])

    def _call(self, request: Request, session: list[str]) -> Call:
        report = f"{request.folder}/usage.json"
        words = [*session, "-C", request.cwd, "--output-format", "json", "--usage-output-file", report]
        words += ["--no-auto-update", "--no-ask-user"]
        words += ["--model", request.model] if request.model else []
        return Call([*words, *permissions(request), *request.custom_args], report=report)

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind, facts = data.get("type"), mapping(data.get("data"))
        if kind == "assistant.message":
            text = str(facts.get("content") or "")
            return [Event("text", text)] if text else []
        if kind == "tool.execution_start":
            call = str(facts.get("toolCallId") or "")
            return [tool_event(facts.get("toolName"), facts.get("arguments"), call=call)]
        if kind == "tool.execution_complete":
            return [output_event(facts)]
        if kind in ("model.call_failure", "session.error"):
            return [failure_event(str(kind), facts)]
        if kind == "result":
            failed = data.get("exitCode") != 0
            return [Event("result", session=str(data.get("sessionId") or ""), failed=failed)]
        return []

    def read_report(self, text: str) -> list[Event]:
        models = mapping((parse(text) or {}).get("modelMetrics"))
        usage = [mapping(mapping(each).get("usage")) for each in models.values()]
        if not usage:
            return []
        sent, made = (sum(whole(each.get(key)) or 0 for each in usage) for key in ("inputTokens", "outputTokens"))
        return [Event("tokens", input_tokens=sent, output_tokens=made)]


def permissions(request: Request) -> list[str]:
    """What a worker may do without being asked; without --trust-folder the repository's own settings grant nothing."""
    offered = [name for each in request.role.tools for name in TOOLS.get(each, (each,))]
    words = [f"--available-tools={','.join(offered)}"] if offered else []
    if request.yolo and not request.role.judges:
        return ["--allow-all", *words]
    commands = [each for each in request.commands if not (request.role.judges and each == "git")]
    words += ["--disallow-temp-dir", *(f"--allow-tool=shell({each}:*)" for each in commands)]
    # A command's own path has to be within reach, which is no leave to write there.
    homes = [os.path.dirname(each) for each in commands if os.path.isabs(each)]
    words += [f"--add-dir={each}" for each in homes]
    if request.role.judges:  # it lets reading git commands pass, with options that make them write a file
        return [*words, "--deny-tool=write", "--deny-tool=shell(git:*)", "--no-custom-instructions"]
    words += [f"--allow-tool=write({literal(each)}/**)" for each in (request.cwd, *request.folders)]
    words += [f"--deny-tool=write({each})" for each in request.closed]
    return [*words, *(f"--add-dir={each}" for each in (*request.folders, *request.shelves, *request.linked))]


def output_event(facts: dict[str, Any]) -> Event:
    """The end of a tool call: its output, or the CLI's own word that it was denied."""
    error, call = mapping(facts.get("error")), str(facts.get("toolCallId") or "")
    said = str(error.get("message") or "")
    if error.get("code") == "denied":
        return Event("refused", said, call=call)
    content = mapping(facts.get("result")).get("content")
    return Event("output", text_of(content) or said, failed=facts.get("success") is False, call=call)


def failure_event(kind: str, facts: dict[str, Any]) -> Event:
    """A request that failed and is tried again, or the error that ended the turn."""
    said = str(facts.get("message") or facts.get("errorMessage") or "")
    text = str((parse(said) or {}).get("message") or said)
    status = whole(facts.get("statusCode")) or 0
    return Event("error" if kind == "session.error" else "retry", text, status=status)
