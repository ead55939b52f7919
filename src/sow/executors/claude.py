"""Claude Code: `claude -p`, the prompt on stdin, events as JSON lines."""

from __future__ import annotations

from sow.executors.adapter import GIVEN, Adapter, Call, Capabilities, Ending, Outcome, Request, Role
from sow.executors.json_lines import listed, number, quoted, text_of, whole
from sow.executors.story import Event, Story
from sow.store.bounds import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SETTINGS = '{"disableAllHooks":true}'
# Ten retries would take three minutes. The second is for the words of a repository whose settings are left out.
ENVIRONMENT = {"CLAUDE_CODE_MAX_RETRIES": "4", "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1"}
READERS = ("Read", "Grep", "Glob", "Bash")
WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
ABOUT = ("command", "cmd", "file_path", "path", "pattern", "url", "query", "description")
# The words of a result when the CLI itself refused the call. What it says in other words is in `permission_denials`.
REFUSED = (
    "This command requires approval",
    "Claude requested permissions to ",
    "This Bash command contains multiple operations. The following part",
    "<tool_use_error>File is in a directory that is denied by your permission settings",
)
REFUSED_WITHIN = (
    " has been denied.",
    " was blocked. For security, Claude Code may only ",
    " needs approval. The path is outside the working directories",
)


class Claude(Adapter):
    type = "claude"
    opening: tuple[str, ...] | None = ()
    capabilities = Capabilities(
        binary="claude",
        install="npm install -g @anthropic-ai/claude-code",
        session=GIVEN,
        read_only=True,
        closes=True,
        reports_cost=True,
        reports_tokens=True,
        variables=(
            "ANTHROPIC_",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_DISABLE_",
            "CLAUDE_CODE_USE_",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "IS_SANDBOX",
            "AWS_",
            "CLOUD_ML_REGION",
        ),
        known_flags=(
            "-p",
            "--session-id",
            "--resume",
            "--output-format",
            "stream-json",
            "--verbose",
            "--settings",
            "--setting-sources",
            "--model",
            "--permission-mode",
            "acceptEdits",
            "--dangerously-skip-permissions",
            "--add-dir",
            "--tools",
            "--allowedTools",
            "--disallowedTools",
            "--agents",
        ),
    )
    not_found = ("No conversation found with session ID",)
    in_use = ("is already in use",)
    limits = ("usage limit reached", "hit your session limit", "hit your usage limit")

    def spawn_command(self, request: Request) -> Call:
        return self._call(request, ["--session-id", request.session])

    def resume_command(self, request: Request) -> Call:
        return self._call(request, ["--resume", request.session])

    def _call(self, request: Request, session: list[str]) -> Call:
        words = ["-p", *session, "--output-format", "stream-json", "--verbose", "--settings", SETTINGS]
        words += ["--model", request.model] if request.model else []
        words += [*surroundings(request), *permissions(request)]
        path, role = f"{request.folder}/agents.json", request.role
        if not role.words:
            return Call([*words, *request.custom_args], environment=ENVIRONMENT)
        return Call(
            [*words, "--agents", path, *request.custom_args],
            environment=ENVIRONMENT,
            files={path: f"{{{quoted(role.name)}: {subagent(role)}}}\n"},
        )

    def events(self, data: dict[str, Any]) -> list[Event]:
        kind = data.get("type")
        session = str(data.get("session_id") or "")
        if kind == "rate_limit_event":
            return limit_events(data, session)
        if kind == "system" and data.get("subtype") == "api_retry":
            return [
                Event(
                    "retry", str(data.get("error") or ""), session=session, status=whole(data.get("error_status")) or 0
                )
            ]
        return shaped_events(data)

    def failure(self, ending: Ending, story: Story, reason: str) -> Outcome:
        """A plan's limit may be said in words that end in the time at which it is over."""
        outcome = super().failure(ending, story, reason)
        _, _, seconds = f"{story.error}\n{ending.stderr}".partition("usage limit reached|")
        digits = seconds.strip().split()[0] if seconds.strip() else ""
        if outcome.kind == "limited" and digits.isdecimal():
            outcome.reset_at = int(digits)
        return outcome


def subagent(role: Role) -> str:
    """A role as Claude takes it; its own file in the repository is left out with the rest."""
    tools = f', "tools": {listed(role.tools)}' if role.tools else ""
    return f'{{"description": {quoted(role.description)}, "prompt": {quoted(role.words)}{tools}}}'


def surroundings(request: Request) -> list[str]:
    """A repository's settings could run commands, grant permissions and set variables, so they are left out.

    Its CLAUDE.md goes with them, but is read in a folder that is added; a judge does without.
    """
    if request.role.judges:
        return ["--setting-sources", "user"]
    return [] if request.trusted else ["--setting-sources", "user", "--add-dir", request.cwd]


def permissions(request: Request) -> list[str]:
    """What a worker may do; a judge may look, and reading commands need no grant."""
    tools = list(request.role.tools)
    if request.role.judges:
        tools = [each for each in tools if each not in WRITERS] or list(READERS)
    if tools and request.role.words:
        tools.append("Task")  # it is asked for as a subagent
    words = ["--tools", ",".join(tools)] if tools else []
    if request.yolo and not request.role.judges:
        return ["--dangerously-skip-permissions", *words]
    commands = [each for each in request.commands if not (request.role.judges and each == "git")]
    shelves = (*request.shelves, *request.linked)
    rules = [*(f"Bash({each}:*)" for each in commands), *(f"Read(/{literal(each)}/**)" for each in shelves)]
    allowed = ["--allowedTools", *rules] if rules else []
    if request.role.judges:
        return [*allowed, *words]
    folders = [word for folder in request.folders for word in ("--add-dir", folder)]
    # Such a rule counts for every tool that writes, and for commands that are known to, such as cp.
    closed = [f"Edit(/{each})" for each in request.closed]
    denied = ["--disallowedTools", *closed] if closed else []
    return ["--permission-mode", "acceptEdits", *folders, *allowed, *denied, *words]


def shaped_events(data: dict[str, Any]) -> list[Event]:
    """What an object says in the shape that Claude Code gave its stream, and in which other CLIs speak too."""
    kind, session = data.get("type"), str(data.get("session_id") or "")
    if kind == "assistant":
        return content_events(data, session)
    if kind == "user":
        found = output_events(data, session)
        if found:
            return found
    if kind == "result":
        return result_events(data, session)
    return [Event("session", session=session)] if session else []


def content_events(data: dict[str, Any], session: str) -> list[Event]:
    """Texts and tool calls of one message of the assistant."""
    events = []
    for part in _parts(data):
        if part.get("type") == "text":
            events.append(Event("text", str(part.get("text") or ""), session=session))
        elif part.get("type") == "tool_use":
            call = str(part.get("id") or "")
            events.append(tool_event(part.get("name"), part.get("input"), call=call, session=session))
    return events


def output_events(data: dict[str, Any], session: str) -> list[Event]:
    """Results of tool calls; a result that begins with the CLI's own words of refusal is a refusal."""
    events = []
    for part in _parts(data):
        if part.get("type") != "tool_result":
            continue
        text, failed, call = (
            text_of(part.get("content")),
            bool(part.get("is_error")),
            str(part.get("tool_use_id") or ""),
        )
        kind = "refused" if failed and is_refusal(text) else "output"
        events.append(Event(kind, text, failed=failed, call=call, session=session))
    return events


def is_refusal(text: str) -> bool:
    """Whether a failed result is the CLI's own refusal; the result of a command that ran begins with its exit code."""
    first = text.partition("\n")[0]
    if first.startswith("Exit code"):
        return False
    return first.startswith(REFUSED) or any(words in first for words in REFUSED_WITHIN)


def _parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def tool_event(name: object, values: object, *, call: str = "", session: str = "") -> Event:
    """A tool call: on one line, and with what it is about in full."""
    command = about(values)
    return Event("tool", tool_line(name, values), tool=str(name), command=command, call=call, session=session)


def tool_line(name: object, values: object) -> str:
    """A tool call on one line: its name and what it is about."""
    command = about(values)
    return f"{name}: {command}"[:300] if command else str(name)


def about(values: object) -> str:
    """What a tool was called with: its command, its path or its pattern."""
    if not isinstance(values, dict):
        return ""
    return next((str(values[key]) for key in ABOUT if values.get(key)), "")


def result_events(data: dict[str, Any], session: str) -> list[Event]:
    """The final event; denied permissions are told apart, since the CLI calls that a success."""
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    cost, once = number(data.get("total_cost_usd")), data.get("model_usage_since_last_result")
    errors = data.get("errors")
    text = (
        data.get("result")
        if isinstance(data.get("result"), str)
        else "; ".join(map(str, errors))
        if isinstance(errors, list)
        else ""
    )
    denials = data.get("permission_denials")
    events = [_refused(each) for each in denials if isinstance(each, dict)] if isinstance(denials, list) else []
    if isinstance(once, dict):  # newer versions tell what this turn alone cost
        costs = [number(each.get("costUSD")) for each in once.values() if isinstance(each, dict)]
        cost = sum(each for each in costs if each is not None) if any(each is not None for each in costs) else cost
    events.append(
        Event(
            "result",
            str(text or ""),
            session=session,
            failed=bool(data.get("is_error")) or data.get("subtype") != "success",
            status=whole(data.get("api_error_status")) or 0,
            cost=cost,
            input_tokens=_sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
            output_tokens=whole(usage.get("output_tokens")),
            turns=whole(data.get("num_turns")),
        )
    )
    return events


def _refused(denial: dict[str, Any]) -> Event:
    """One entry of `permission_denials`; a refusal that was told when it happened has the same id."""
    call = str(denial.get("tool_use_id") or "")
    return Event("refused", tool=str(denial.get("tool_name") or ""), command=about(denial.get("tool_input")), call=call)


def limit_events(data: dict[str, Any], session: str) -> list[Event]:
    """The subscription's limit: only a rejection stops the turn."""
    info = data.get("rate_limit_info")
    if isinstance(info, dict) and info.get("status") == "rejected":
        return [
            Event(
                "limit",
                str(info.get("rateLimitType") or ""),
                session=session,
                reset_at=whole(info.get("resetsAt")) or 0,
            )
        ]
    return []


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    values = [whole(usage.get(name)) for name in names]
    return sum(each for each in values if each is not None) if any(each is not None for each in values) else None
