"""Runs Claude Code: `claude -p`, prompt on stdin, events as JSON lines."""

from __future__ import annotations

from sow.executors.adapter import (
    GIVEN,
    Adapter,
    AgentCommand,
    Capabilities,
    Event,
    Outcome,
    PrivateHome,
    ProcessEnd,
    Request,
    Role,
    TurnSummary,
    as_integer,
    as_number,
    json_list,
    json_string,
    text_of,
)
from sow.store.projects.task_folder import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SETTINGS = '{"disableAllHooks":true}'
# Ten retries would take three minutes. The second loads a repository's CLAUDE.md without its settings.
ENVIRONMENT = {"CLAUDE_CODE_MAX_RETRIES": "4", "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
JUDGE_TOOLS = ("Read", "Grep", "Glob", "Bash")
WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
TARGET_KEYS = ("command", "cmd", "file_path", "path", "pattern", "url", "query", "description")
# Results that start with these texts are refusals of the CLI. Other refusals are in `permission_denials`.
REFUSAL_STARTS = (
    "This command requires approval",
    "Claude requested permissions to ",
    "This Bash command contains multiple operations. The following part",
    "<tool_use_error>File is in a directory that is denied by your permission settings",
)
REFUSAL_PHRASES = (
    " has been denied.",
    " was blocked. For security, Claude Code may only ",
    " needs approval. The path is outside the working directories",
)


class Claude(Adapter):
    type = "claude"
    interactive_args: tuple[str, ...] | None = ()
    capabilities = Capabilities(
        binary="claude",
        install="npm install -g @anthropic-ai/claude-code",
        session=GIVEN,
        read_only=True,
        closes=True,
        reports_cost=True,
        reports_tokens=True,
        variables=(
            "ANTHROPIC_", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_DISABLE_", "CLAUDE_CODE_USE_",
            "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "IS_SANDBOX", "AWS_", "CLOUD_ML_REGION",
        ),
        required_flags=(
            "-p", "--session-id", "--resume", "--output-format", "stream-json", "--verbose", "--settings",
            "--setting-sources", "--model", "--permission-mode", "acceptEdits", "--dangerously-skip-permissions",
            "--add-dir", "--tools", "--allowedTools", "--disallowedTools", "--agents",
        ),
        private_home=PrivateHome(
            ".claude",
            variable="CLAUDE_CONFIG_DIR",
            files=(".credentials.json", "settings.json", "CLAUDE.md", "agents", "commands", "skills", "output-styles"),
            beside=(".claude.json",),
            logins=(".credentials.json",),
        ),
        model_hosts=("api.anthropic.com", "claude.ai", "platform.claude.com", "console.anthropic.com"),
        url_variables=("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
        silent_hosts=(
            "statsig.anthropic.com", "*.sentry.io", "*.datadoghq.com", "downloads.claude.ai", "storage.googleapis.com",
            "raw.githubusercontent.com",
        ),
    )  # fmt: skip
    not_found = ("No conversation found with session ID",)
    in_use = ("is already in use",)
    logged_out = ("Please run /login",)
    limits = ("usage limit reached", "hit your session limit", "hit your usage limit")

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        session = ["--resume" if resumes else "--session-id", request.session]
        arguments = ["-p", *session, "--output-format", "stream-json", "--verbose", "--settings", SETTINGS]
        arguments += ["--model", request.model] if request.model else []
        arguments += [*settings_flags(request), *permission_flags(request)]
        path, role = f"{request.session_folder}/agents.json", request.role
        # As root, Claude Code skips permissions only in a sandbox.
        environment = {**ENVIRONMENT, "IS_SANDBOX": "1"} if request.in_sandbox else ENVIRONMENT
        if not role.subagent_prompt:
            return AgentCommand([*arguments, *request.custom_args], environment=environment)
        return AgentCommand(
            [*arguments, "--agents", path, *request.custom_args],
            environment=environment,
            files={path: f"{{{json_string(role.name)}: {subagent(role)}}}\n"},
        )

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = data.get("type")
        session = str(data.get("session_id") or "")
        if kind == "rate_limit_event":
            return limit_events(data, session)
        if kind == "system" and data.get("subtype") == "api_retry":
            status = as_integer(data.get("error_status")) or 0
            return [Event("retry", str(data.get("error") or ""), session=session, status=status)]
        return claude_format_events(data)

    def failure(self, ending: ProcessEnd, summary: TurnSummary, reason: str) -> Outcome:
        """Reads the reset time from messages that end with it."""
        outcome = super().failure(ending, summary, reason)
        _, _, seconds = f"{summary.error}\n{ending.stderr}".partition("usage limit reached|")
        digits = seconds.strip().split()[0] if seconds.strip() else ""
        if outcome.kind == "limited" and digits.isdecimal():
            outcome.reset_at = int(digits)
        return outcome


def subagent(role: Role) -> str:
    """Returns a role as the definition of a subagent; the repository's own file for it is not read."""
    tools = f', "tools": {json_list(role.tools)}' if role.tools else ""
    return f'{{"description": {json_string(role.description)}, "prompt": {json_string(role.subagent_prompt)}{tools}}}'


def settings_flags(request: Request) -> list[str]:
    """Leaves out a repository's settings, which could run commands; a worker still gets its CLAUDE.md by --add-dir."""
    if request.role.judges:
        return ["--setting-sources", "user"]
    return [] if request.trusted else ["--setting-sources", "user", "--add-dir", request.cwd]


def permission_flags(request: Request) -> list[str]:
    """Returns the flags for what an agent may do; a judge needs no grant for commands that only read."""
    tools = list(request.role.tools)
    if request.role.judges:
        tools = [tool for tool in tools if tool not in WRITERS] or list(JUDGE_TOOLS)
    if tools and request.role.subagent_prompt:
        tools.append("Task")  # the prompt asks for it as a subagent
    tool_flags = ["--tools", ",".join(tools)] if tools else []
    if request.yolo and not request.role.judges:
        return ["--dangerously-skip-permissions", *tool_flags]
    commands = request.granted_commands
    folders = (*request.readable_outside, *request.external_readable)
    rules = [*(f"Bash({command}:*)" for command in commands), *(f"Read(/{literal(path)}/**)" for path in folders)]
    allowed = ["--allowedTools", *rules] if rules else []
    if request.role.judges:
        return [*allowed, *tool_flags]
    writable = [argument for folder in request.writable for argument in ("--add-dir", folder)]
    # Such a rule applies to every tool that writes, and to commands that are known to write, such as cp.
    protected = [f"Edit(/{pattern})" for pattern in request.write_protected]
    denied = ["--disallowedTools", *protected] if protected else []
    return ["--permission-mode", "acceptEdits", *writable, *allowed, *denied, *tool_flags]


def claude_format_events(data: dict[str, Any]) -> list[Event]:
    """Converts an object in Claude Code's format, which other CLIs use too."""
    kind, session = data.get("type"), str(data.get("session_id") or "")
    if kind == "assistant":
        return content_events(data, session)
    if kind == "user":
        outputs = output_events(data, session)
        if outputs:
            return outputs
    if kind == "result":
        return result_events(data, session)
    return [Event("session", session=session)] if session else []


def content_events(data: dict[str, Any], session: str) -> list[Event]:
    """Returns the texts and tool calls of one message of the assistant."""
    events = []
    for part in _parts(data):
        if part.get("type") == "text":
            events.append(Event("text", str(part.get("text") or ""), session=session))
        elif part.get("type") == "tool_use":
            call = str(part.get("id") or "")
            events.append(tool_event(part.get("name"), part.get("input"), call=call, session=session))
    return events


def output_events(data: dict[str, Any], session: str) -> list[Event]:
    """Returns the results of tool calls; a result that starts with a refusal of the CLI is a refusal."""
    events = []
    for part in _parts(data):
        if part.get("type") != "tool_result":
            continue
        text, call = text_of(part.get("content")), str(part.get("tool_use_id") or "")
        failed = bool(part.get("is_error"))
        kind = "refused" if failed and is_refusal(text) else "output"
        events.append(Event(kind, text, failed=failed, call=call, session=session))
    return events


def is_refusal(text: str) -> bool:
    """Returns whether a failed result is the CLI's refusal; the result of a command starts with its exit code."""
    first = text.partition("\n")[0]
    if first.startswith("Exit code"):
        return False
    return first.startswith(REFUSAL_STARTS) or any(phrase in first for phrase in REFUSAL_PHRASES)


def _parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def tool_event(name: object, values: object, *, call: str = "", session: str = "") -> Event:
    """Returns a tool call on one line, and its command in full."""
    command = call_target(values)
    return Event("tool", tool_line(name, values), tool=str(name), command=command, call=call, session=session)


def tool_line(name: object, values: object) -> str:
    """Returns a tool call on one line: its name and its command or path."""
    command = call_target(values)
    return f"{name}: {command}"[:300] if command else str(name)


def call_target(values: object) -> str:
    """Returns what a tool was called with: its command, its path or its pattern."""
    if not isinstance(values, dict):
        return ""
    return next((str(values[key]) for key in TARGET_KEYS if values.get(key)), "")


def result_events(data: dict[str, Any], session: str) -> list[Event]:
    """Returns the final event, after one event per denied permission; the CLI counts denials as success."""
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    cost, turn_usage = as_number(data.get("total_cost_usd")), data.get("model_usage_since_last_result")
    errors = data.get("errors")
    joined_errors = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    text = data["result"] if isinstance(data.get("result"), str) else joined_errors
    denials = data.get("permission_denials")
    events = [_refused(denial) for denial in denials if isinstance(denial, dict)] if isinstance(denials, list) else []
    if isinstance(turn_usage, dict):  # newer versions report what this turn alone cost
        costs = [as_number(model.get("costUSD")) for model in turn_usage.values() if isinstance(model, dict)]
        known_costs = [amount for amount in costs if amount is not None]
        cost = sum(known_costs) if known_costs else cost
    events.append(
        Event(
            "result",
            str(text or ""),
            session=session,
            failed=bool(data.get("is_error")) or data.get("subtype") != "success",
            status=as_integer(data.get("api_error_status")) or 0,
            cost=cost,
            input_tokens=_sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
            output_tokens=as_integer(usage.get("output_tokens")),
            turns=as_integer(data.get("num_turns")),
        )
    )
    return events


def _refused(denial: dict[str, Any]) -> Event:
    """Converts an entry of `permission_denials`; if the refusal was reported before, it has the same id."""
    call = str(denial.get("tool_use_id") or "")
    return Event(
        "refused", tool=str(denial.get("tool_name") or ""), command=call_target(denial.get("tool_input")), call=call
    )


def limit_events(data: dict[str, Any], session: str) -> list[Event]:
    """Returns the limit of the subscription; only a rejection stops the turn."""
    info = data.get("rate_limit_info")
    if isinstance(info, dict) and info.get("status") == "rejected":
        reset_at = as_integer(info.get("resetsAt")) or 0
        name = str(info.get("rateLimitType") or "usage").replace("_", " ")  # such as five_hour or seven_day_opus
        return [Event("limit", f"the {name} limit is reached", session=session, reset_at=reset_at)]
    return []


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    values = [as_integer(usage.get(name)) for name in names]
    return sum(value for value in values if value is not None) if any(value is not None for value in values) else None
