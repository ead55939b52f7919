"""Runs Gemini CLI: prompt on stdin, events as JSON lines. Without yolo, a policy file limits the worker."""

from __future__ import annotations

from sow.executors.adapter import GIT_LOOKS, GIT_LOOPHOLES, GIVEN, Adapter, Call, Capabilities, Request
from sow.executors.claude import tool_event
from sow.executors.json_lines import listed, mapping, quoted, status_in, whole
from sow.executors.reach import expression
from sow.executors.story import Event
from sow.store.bounds import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# It runs without a person only in a trusted folder. If it relaunches itself, that process ignores SIGINT and SIGTERM.
ENVIRONMENT = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true"}
SHELL = "run_shell_command"
WRITERS = 'toolName = ["write_file", "replace"]'
# Names of tools in an agent's `tools`, and Gemini's tools for each.
TOOLS = {
    "Read": ("read_file", "read_many_files"),
    "Write": ("write_file",),
    "Edit": ("replace",),
    "MultiEdit": ("replace",),
    "Bash": (SHELL,),
    "Grep": ("grep_search",),
    "Glob": ("glob",),
    "LS": ("list_directory",),
    "Task": ("invoke_agent",),
    "WebFetch": ("web_fetch",),
    "WebSearch": ("google_web_search",),
}
MOST_TEXT = 1 << 20


class Gemini(Adapter):
    type = "gemini"
    opening: tuple[str, ...] | None = ("--prompt-interactive",)
    capabilities = Capabilities(
        binary="gemini",
        install="npm install -g @google/gemini-cli",
        session=GIVEN,
        read_only=True,
        closes=True,
        reports_tokens=True,
        obeys=(".gemini", ".env"),
        hides_git_identity=True,
        variables=("GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_HOME", "GOOGLE_"),
        known_flags=(
            "--session-id",
            "--resume",
            "--model",
            "--yolo",
            "--approval-mode",
            "auto_edit",
            "--policy",
            "--include-directories",
            "--output-format",
            "stream-json",
        ),
    )
    not_found = ("Error resuming session:",)
    in_use = ("Error starting session:",)

    def __init__(self) -> None:
        self.said = ""  # the parts of the current message so far

    def spawn_command(self, request: Request) -> Call:
        return self._call(request, ["--session-id", request.session])

    def resume_command(self, request: Request) -> Call:
        return self._call(request, ["--resume", request.session])

    def _call(self, request: Request, session: list[str]) -> Call:
        arguments = [*session, "--output-format", "stream-json"]
        arguments += ["--model", request.model] if request.model else []
        rules, path = policy(request), f"{request.folder}/policy.toml"
        arguments += [*mode(request), *(["--policy", path] if rules else []), *request.custom_args]
        return Call(arguments, environment=ENVIRONMENT, files={path: rules} if rules else {})

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = data.get("type")
        if kind == "message" and data.get("role") == "assistant" and data.get("delta"):
            self.said = f"{self.said}{data.get('content') or ''}"[:MOST_TEXT]
            return []
        if kind == "init":
            self.said = ""
            return [Event("session", session=str(data.get("session_id") or ""))]
        return [*self._flush(), *whole_events(kind, data)]

    def _flush(self) -> list[Event]:
        text, self.said = self.said, ""
        return [Event("text", text)] if text else []

    def read_error(self, line: str) -> list[Event]:
        """Only stderr says that it tries again, and each try waits longer."""
        if not (line.startswith("Attempt ") and " failed" in line and ". Retrying " in line):
            return []
        message = line.partition(". Retrying ")[0]
        quota = 429 if " failed: " in message else 503
        return [Event("retry", message, status=status_in(message) or quota)]


def mode(request: Request) -> list[str]:
    """Returns the flags for what it may do without asking."""
    if request.role.judges:
        return ["--approval-mode", "default"]
    if request.yolo:
        return ["--yolo"]
    folders = [
        argument for folder in (*request.outside, *request.shelves) for argument in ("--include-directories", folder)
    ]
    return ["--approval-mode", "auto_edit", *folders]


def policy(request: Request) -> str:
    """Returns rules for a role's tools and for calls that would need approval, since no person can give it."""
    rules = closed(request)
    if request.role.tools:
        granted = [name for tool in request.role.tools for name in TOOLS.get(tool, (tool,))]
        allowed_tools = [name for name in granted if request.yolo or name != SHELL]
        rules += [_rule("deny", 1, 'toolName = "*"')]
        rules += [_rule("allow", 500, f"toolName = {listed(allowed_tools)}")] if allowed_tools else []
        if SHELL not in granted:
            return "\n".join(rules)
    if request.role.judges:
        prefixes = [*(command for command in request.commands if command != "git"), *GIT_LOOKS]
        rules += [_rule("allow", 900, f'toolName = "{SHELL}"', f"commandPrefix = {listed(prefixes)}")]
        rules += [_rule("deny", 950, f'toolName = "{SHELL}"', f'commandRegex = ".*({"|".join(GIT_LOOPHOLES)})"')]
        rules += [_rule("deny", 950, WRITERS)]
    elif not request.yolo and request.commands:
        prefixes_rule = f"commandPrefix = {listed(request.commands)}"
        rules += [_rule("allow", 900, f'toolName = "{SHELL}"', prefixes_rule)]
    return "\n".join(rules)


def closed(request: Request) -> list[str]:
    """Returns rules for write-protected paths; the model may leave out the working folder in a path."""
    if request.yolo or request.role.judges:
        return []
    folder_regex = expression(literal(f"{request.cwd}/"))
    rules = []
    for pattern in request.closed:
        path_regex = expression(pattern)
        if path_regex.startswith(folder_regex):
            path_regex = f"(?:{folder_regex}|\\./|){path_regex.removeprefix(folder_regex)}"
        end = "" if pattern.endswith("/**") else '"'
        rules.append(_rule("deny", 950, WRITERS, "argsPattern = " + quoted(f'"file_path":"{path_regex}{end}')))
    return rules


def _rule(decision: str, priority: int, *conditions: str) -> str:
    return "\n".join(["[[rule]]", *conditions, f'decision = "{decision}"', f"priority = {priority}", ""])


def output_event(data: dict[str, Any]) -> Event:
    """Returns the result of a tool call; a call that no rule allowed is a refusal."""
    error, call = mapping(data.get("error")), str(data.get("tool_id") or "")
    message = str(error.get("message") or "")
    if error.get("type") == "policy_violation":
        return Event("refused", message, call=call)
    return Event("output", str(data.get("output") or "") or message, failed=data.get("status") == "error", call=call)


def whole_events(kind: object, data: dict[str, Any]) -> list[Event]:
    """Converts a line that is not part of a streamed message."""
    if kind == "message" and data.get("role") == "assistant":
        return [Event("text", str(data.get("content") or ""))]
    if kind == "tool_use":
        return [tool_event(data.get("tool_name"), data.get("parameters"), call=str(data.get("tool_id") or ""))]
    if kind == "tool_result":
        return [output_event(data)]
    if kind == "error":
        return [Event("error", str(data.get("message") or ""))]
    if kind == "result":
        stats, text = mapping(data.get("stats")), str(mapping(data.get("error")).get("message") or "")
        failed = data.get("status") != "success"
        sent, received = whole(stats.get("input_tokens")), whole(stats.get("output_tokens"))
        status = status_in(text) if failed else 0
        return [Event("result", text, failed=failed, status=status, input_tokens=sent, output_tokens=received)]
    return []
