"""Runs Gemini CLI: prompt on stdin, events as JSON lines. Without yolo, a policy file limits the worker."""

from __future__ import annotations

from typing import Any

from sow.executors.adapter import (
    GIVEN,
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
    http_status,
    json_list,
    json_string,
)
from sow.executors.clis.claude import tool_event
from sow.executors.write_rules import pattern_regex
from sow.store.projects.task_folder import literal

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
    interactive_args: tuple[str, ...] | None = ("--prompt-interactive",)
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
        required_flags=(
            "--session-id", "--resume", "--model", "--yolo", "--approval-mode", "auto_edit", "--policy",
            "--include-directories", "--output-format", "stream-json",
        ),
        private_home=PrivateHome(
            ".gemini",
            variable="GEMINI_CLI_HOME",
            is_parent=True,
            files=(
                "oauth_creds.json", "google_accounts.json", "settings.json", "installation_id", "GEMINI.md", ".env",
                "trustedFolders.json", "commands",
            ),
            logins=("oauth_creds.json",),
        ),
        model_hosts=(
            "generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "aiplatform.googleapis.com",
            "oauth2.googleapis.com", "accounts.google.com",
        ),
        url_variables=("GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"),
        silent_hosts=("play.googleapis.com",),
    )  # fmt: skip
    not_found = ("Error resuming session:",)
    in_use = ("Error starting session:",)
    logged_out = ("Please set an Auth method in your",)

    def __init__(self) -> None:
        self.partial_message = ""  # the parts of the current message so far

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = ["--resume" if resumes else "--session-id", request.session]
        arguments = [*session, "--output-format", "stream-json"]
        arguments += ["--model", request.model] if request.model else []
        rules, path = policy(request), f"{request.session_folder}/policy.toml"
        arguments += [*approval_flags(request), *(["--policy", path] if rules else []), *request.custom_args]
        return AgentCommand(arguments, environment=ENVIRONMENT, files={path: rules} if rules else {})

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = data.get("type")
        if kind == "message" and data.get("role") == "assistant" and data.get("delta"):
            self.partial_message = f"{self.partial_message}{data.get('content') or ''}"[:MOST_TEXT]
            return []
        if kind == "init":
            self.partial_message = ""
            return [Event("session", session=str(data.get("session_id") or ""))]
        return [*self._flush(), *complete_events(kind, data)]

    def _flush(self) -> list[Event]:
        text, self.partial_message = self.partial_message, ""
        return [Event("text", text)] if text else []

    def read_error(self, line: str) -> list[Event]:
        """Only stderr says that it retries, and each retry waits longer."""
        if not (line.startswith("Attempt ") and " failed" in line and ". Retrying " in line):
            return []
        message = line.partition(". Retrying ")[0]
        quota = 429 if " failed: " in message else 503
        return [Event("retry", message, status=http_status(message) or quota)]


def approval_flags(request: Request) -> list[str]:
    """Returns the flags for what it may do without asking."""
    if request.role.judges:
        return ["--approval-mode", "default"]
    if request.yolo:
        return ["--yolo"]
    folders = (*request.writable_outside, *request.readable_outside)
    flags = [argument for folder in folders for argument in ("--include-directories", folder)]
    return ["--approval-mode", "auto_edit", *flags]


def policy(request: Request) -> str:
    """Returns rules for a role's tools and for calls that would need approval, since no person can give it."""
    rules = write_protection_rules(request)
    if request.role.tools:
        granted = [name for tool in request.role.tools for name in TOOLS.get(tool, (tool,))]
        allowed_tools = [name for name in granted if request.yolo or name != SHELL]
        rules += [_rule("deny", 1, 'toolName = "*"')]
        rules += [_rule("allow", 500, f"toolName = {json_list(allowed_tools)}")] if allowed_tools else []
        if SHELL not in granted:
            return "\n".join(rules)
    if request.role.judges:
        prefixes = [*request.granted_commands, *READ_ONLY_GIT]
        rules += [_rule("allow", 900, f'toolName = "{SHELL}"', f"commandPrefix = {json_list(prefixes)}")]
        rules += [_rule("deny", 950, f'toolName = "{SHELL}"', f'commandRegex = ".*({"|".join(UNSAFE_GIT_OPTIONS)})"')]
        rules += [_rule("deny", 950, WRITERS)]
    elif not request.yolo and request.commands:
        prefixes = [*request.commands, *READ_ONLY_COMMANDS]
        rules += [_rule("allow", 900, f'toolName = "{SHELL}"', f"commandPrefix = {json_list(prefixes)}")]
        unsafe = f'commandRegex = "({"|".join(READ_ONLY_COMMANDS)}).*({"|".join(UNSAFE_READ_OPTIONS)})"'
        rules += [_rule("deny", 950, f'toolName = "{SHELL}"', unsafe)]
    return "\n".join(rules)


def write_protection_rules(request: Request) -> list[str]:
    """Returns rules for write-protected paths; the model may leave out the working folder in a path."""
    if request.yolo or request.role.judges:
        return []
    folder_regex = pattern_regex(literal(f"{request.cwd}/"))
    rules = []
    for pattern in request.write_protected:
        path_regex = pattern_regex(pattern)
        if path_regex.startswith(folder_regex):
            path_regex = f"(?:{folder_regex}|\\./|){path_regex.removeprefix(folder_regex)}"
        end = "" if pattern.endswith("/**") else '"'
        rules.append(_rule("deny", 950, WRITERS, "argsPattern = " + json_string(f'"file_path":"{path_regex}{end}')))
    return rules


def _rule(decision: str, priority: int, *conditions: str) -> str:
    return "\n".join(["[[rule]]", *conditions, f'decision = "{decision}"', f"priority = {priority}", ""])


def output_event(data: dict[str, Any]) -> Event:
    """Returns the result of a tool call; a call that no rule allowed is a refusal."""
    error, call = as_mapping(data.get("error")), str(data.get("tool_id") or "")
    message = str(error.get("message") or "")
    if error.get("type") == "policy_violation":
        return Event("refused", message, call=call)
    return Event("output", str(data.get("output") or "") or message, failed=data.get("status") == "error", call=call)


def complete_events(kind: object, data: dict[str, Any]) -> list[Event]:
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
        stats, text = as_mapping(data.get("stats")), str(as_mapping(data.get("error")).get("message") or "")
        failed = data.get("status") != "success"
        sent, received = as_integer(stats.get("input_tokens")), as_integer(stats.get("output_tokens"))
        status = http_status(text) if failed else 0
        return [Event("result", text, failed=failed, status=status, input_tokens=sent, output_tokens=received)]
    return []
