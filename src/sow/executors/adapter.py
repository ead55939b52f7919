"""Defines the interface between sow and an agent CLI: requests, commands, capabilities, events and outcomes."""

from __future__ import annotations

import signal

from sow.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def parse_json_line(line: str) -> dict[str, Any] | None:
    """Returns the JSON object on this line, or None."""
    import json  # here, because nothing is read before the agent runs

    stripped = line.strip()
    if not stripped.startswith("{"):
        return None
    try:
        data = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def as_integer(value: object) -> int | None:
    """Returns the value if it is an integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_number(value: object) -> float | None:
    """Returns the value as a float if it is a finite number, else None."""
    finite = (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) != float("inf")
    )
    return float(value) if finite else None  # type: ignore[arg-type]


def as_mapping(value: object) -> dict[str, Any]:
    """Returns the value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """Returns the text of a tool's result: a string, or a list of parts of which some have text."""
    if isinstance(value, str):
        return value
    parts = [part.get("text") for part in value if isinstance(part, dict)] if isinstance(value, list) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def json_string(text: str) -> str:
    """Returns a text as a JSON and TOML string; importing `json` would slow down every spawn."""
    return '"' + "".join(_escaped(character) for character in text) + '"'


def json_list(texts: Iterable[str]) -> str:
    """Returns a list of texts in JSON."""
    return f"[{', '.join(json_string(text) for text in texts)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\u{ord(character):04x}" if character < " " or "\x7f" <= character <= "\x9f" else character


def http_status(text: str) -> int:
    """Returns the HTTP status in a CLI's message about a failed request, or 0."""
    import re

    match = re.search(r'(?:status:?|API Error:|"code":|error code:|failed with)\s*(\d{3})\b', text, re.IGNORECASE)
    return int(match[1]) if match else 0


MOST_ID = 200
MOST_CALLS = 10_000  # tool calls that are remembered by their id
MOST_REFUSALS = 50  # distinct refused calls that are kept for one turn
MAX_TOOL_LENGTH = 200
NETWORK = "network"  # in place of the tool if the sandbox refused a connection
MAX_COMMAND_LENGTH = 4000
MAX_REASON_LENGTH = 500
MOST_LINES = 20  # of one tool's output in the readable transcript
MAX_CHARACTERS = 2000


class Event:
    """One event in a CLI's output.

    `kind`: session, text, raw, tool, output, refused, usage, tokens, retry, error, limit, result. `output` is the
    result of a tool call; `refused` is a tool call that the CLI did not let happen, and its text is the reason.
    sow itself adds `start` when a turn starts, and `note` for a remark on the turn.
    The numbers of `usage` events add up; those of any other kind are the whole turn's. It is no Record, because one is
    made for each line of output.
    """

    __slots__ = (
        "call", "command", "cost", "failed", "input_tokens", "kind", "output_tokens", "reset_at", "session",
        "status", "text", "tool", "turns",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        text: str = "",
        *,
        tool: str = "",
        command: str = "",
        call: str = "",
        session: str = "",
        failed: bool = False,
        status: int = 0,
        cost: float | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        turns: int | None = None,
        reset_at: int = 0,
    ) -> None:
        self.kind = kind
        self.text = text
        self.tool = tool  # for a tool, output or refused event: the tool's name, and what it was called with
        self.command = command
        self.call = call  # the CLI's id of the tool call
        self.session = session if is_session_id(session) else ""
        self.failed = failed
        self.status = status
        self.cost = cost
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.turns = turns
        self.reset_at = reset_at


def is_session_id(text: str) -> bool:
    """Returns whether a text of a CLI can be a session id: one word that no command line takes for an option."""
    plain = text.replace("-", "").replace("_", "").replace(".", "")
    return len(text) <= MOST_ID and plain.isascii() and plain.isalnum() and not text.startswith("-")


class RefusedCall(Record):
    """A tool call that a CLI refused, and how often."""

    tool: str
    command: str
    reason: str
    count: int = 0


class TurnSummary:
    """The sum of a turn's events; its size is limited however long the output is."""

    MOST_RAW = 20_000

    def __init__(self) -> None:
        self.session = ""
        self.finished = False  # the CLI's own final event was seen
        self.failed = False
        self.final_text = ""
        self.last_text = ""
        self.raw = ""  # lines that are not in the CLI's format
        self.error = ""
        self.error_status = 0
        self.limited_until: int | None = None
        self.refusal_count = 0
        self.refusals: dict[tuple[str, str], RefusedCall] = {}  # by tool and command
        self.refused_calls: set[str] = set()
        self.open_calls: dict[str, tuple[str, str]] = {}  # tool and command of calls that have no output yet
        self.tool_count = 0
        self.retries = 0
        self.cost: float | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.turns: int | None = None

    def add(self, event: Event) -> bool:
        """Adds one event; returns False for a refusal that was counted before."""
        if event.kind == "refused" and not self._refuse(event):
            return False
        self.session = event.session or self.session
        self.turns = event.turns if event.turns is not None else self.turns
        self._count(event)
        if event.kind in ("text", "tool"):
            self.finished = False  # the CLI continues after an event that looked final
        if event.kind == "text":
            self.last_text = event.text
        elif event.kind == "raw":
            self.raw = f"{self.raw}{event.text}\n"[-self.MOST_RAW :]
        elif event.kind == "tool":
            self.tool_count += 1
            if event.call and len(self.open_calls) < MOST_CALLS:
                self.open_calls[event.call] = (event.tool, event.command)
        elif event.kind == "output":
            self.open_calls.pop(event.call, None)
        elif event.kind == "retry":
            self.retries += 1
            self.error, self.error_status = event.text or self.error, event.status or self.error_status
        elif event.kind == "limit":
            self.limited_until = event.reset_at
            self.error = self.error or event.text
        elif event.kind == "error":
            self.error, self.error_status = event.text or self.error, event.status or self.error_status
        elif event.kind == "result":
            self._finish(event)
        return True

    def _refuse(self, event: Event) -> bool:
        """Counts a refused call once, and fills in tool and command from its call."""
        if event.call and event.call in self.refused_calls:
            return False
        if event.call and len(self.refused_calls) < MOST_CALLS:
            self.refused_calls.add(event.call)
        tool, command = self.open_calls.pop(event.call, ("", ""))
        event.tool = (event.tool or tool or "tool")[:MAX_TOOL_LENGTH]
        event.command = (event.command or command)[:MAX_COMMAND_LENGTH]
        event.text = event.text.strip()[:MAX_REASON_LENGTH]
        key = (event.tool, event.command)
        if key in self.refusals or len(self.refusals) < MOST_REFUSALS:
            self.refusals.setdefault(key, RefusedCall(*key, event.text)).count += 1
        self.refusal_count += event.tool != NETWORK  # a connection is no call of a tool
        return True

    def _finish(self, event: Event) -> None:
        self.finished = True
        self.failed = event.failed
        self.final_text = event.text or self.last_text
        if event.failed:
            self.error, self.error_status = event.text or self.error, event.status or self.error_status

    def _count(self, event: Event) -> None:
        """Adds `usage` events; a `result` has the total. An answer of the model clears earlier errors."""
        if event.kind in ("usage", "text", "tool"):
            self.error, self.error_status = "", 0
        for name in ("cost", "input_tokens", "output_tokens"):
            value = getattr(event, name)
            if value is not None:
                total = getattr(self, name) if event.kind == "usage" else None
                setattr(self, name, value if total is None else total + value)


def transcript_line(event: Event) -> str:
    """Returns the event as a line of the readable transcript, or "" for an event that it leaves out."""
    if event.kind == "refused":
        call = f"{event.tool}: {event.command}" if event.command else event.tool
        return f"[refused] {_indented(call)}" + (f"\n  {_indented(event.text)}" if event.text else "")
    if event.kind == "output":
        mark = "failed" if event.failed else "output"
        return f"[{mark}] {_indented(excerpt(event.text) or '(nothing)')}"
    return f"[{event.kind}] {event.text}" if event.kind in READABLE and event.text else ""


READABLE = frozenset({"text", "tool", "error", "raw", "result"})


def _indented(text: str) -> str:
    """Indents all lines but the first, so that no line of output looks like an entry of the transcript."""
    return text.replace("\n", "\n  ")


def excerpt(text: str) -> str:
    """Returns the first and last lines of a long text."""
    lines = text.strip("\n").splitlines()
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} more lines …", *lines[-half:]]
    short = "\n".join(line.rstrip() for line in lines)
    if len(short) <= MAX_CHARACTERS:
        return short
    half = MAX_CHARACTERS // 2
    return f"{short[:half]}\n… {len(short) - 2 * half} more characters …\n{short[-half:]}"


GIVEN = "given"  # sow chooses the session id and saves it before the CLI starts
ASSIGNED = "assigned"  # the CLI chooses it and prints it in its output
FILE = "file"  # the session is a file that sow names
NONE = "none"  # the CLI keeps no session
WRITE_TOOLS = frozenset({"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit"})


class PrivateHome(Record):
    """The files that a CLI needs in a sandbox: copies of its settings and logins in a home of its own."""

    folder: str = ""  # its folder below the home, or the one that `variable` names
    variable: str = ""
    is_parent: bool = False  # the variable names the home, not the folder
    files: tuple[str, ...] = ()  # in the folder
    beside: tuple[str, ...] = ()  # in the home, or in the named folder too
    logins: tuple[str, ...] = ()  # files that are copied back if the CLI refreshed them


class Capabilities(Record):
    """The features of a CLI, known before it starts."""

    binary: str
    install: str
    session: str
    resumes: bool = True
    structured: bool = True
    model: bool = True
    read_only: bool = False
    reports_cost: bool = False
    reports_tokens: bool = False
    cumulative_cost: bool = False
    cumulative_tokens: bool = False
    needs_yolo: bool = False
    closes: bool = False  # without yolo, its rules keep it from writing protected files in the working folder
    obeys: tuple[str, ...] = ()  # files of a repository that can give it commands, permissions or variables
    runs_commands: bool = True  # if it cannot run sow, its prompt contains the task
    hides_git_identity: bool = False  # its tools do not see the user's git identity
    leaves: tuple[str, ...] = ()  # folders that it creates in the checkout; sow removes them after a turn
    stop_signal: int = signal.SIGTERM
    stops_group: bool = False
    variables: tuple[str, ...] = ()
    version_arguments: tuple[str, ...] = ("--version",)
    help_arguments: tuple[str, ...] = ("--help",)
    required_flags: tuple[str, ...] = ()  # words of its help text that our command lines depend on
    private_home: PrivateHome | None = None  # None: it does not run in the sandbox yet
    model_hosts: tuple[str, ...] = ()  # what it needs to ask its model and to refresh its login
    url_variables: tuple[str, ...] = ()  # variables with which the user names another server of the model
    silent_hosts: tuple[str, ...] = ()  # for its telemetry and updates; with network: model, refused and not told


class Role(Record):
    """The role an agent plays: its name, its tools, and whether it is a judge."""

    name: str
    tools: tuple[str, ...] = ()
    judges: bool = False
    description: str = ""
    subagent_prompt: str = ""  # the prompt of a role that runs as the CLI's own subagent; otherwise empty

    @property
    def reads_only(self) -> bool:
        """Returns whether it is a judge or none of its tools can write; for CLIs without a list of tools."""
        return self.judges or (bool(self.tools) and not WRITE_TOOLS & set(self.tools))


class Request(Record):
    """One turn to run."""

    role: Role
    session: str
    cwd: str
    session_folder: str  # the session's own folder, for files that an adapter needs
    writable: tuple[str, ...] = ()  # folders it may write besides the working folder: its task folder, the git folder
    readable: tuple[str, ...] = ()  # folders with references of the task; everything in them is write-protected
    external_readable: tuple[str, ...] = ()  # the same in linked repositories outside; no pattern protects them
    write_protected: tuple[str, ...] = ()  # patterns of files in writable folders that it may not write
    sow_folder: str = ""  # where sow writes when the worker calls it; a sandbox must allow it
    commands: tuple[str, ...] = ()  # what it may run without asking: sow, git, tests; besides, what only reads
    yolo: bool = False
    in_sandbox: bool = False  # sow's own sandbox holds it: its own one is off, and a worker needs no rules
    trusted: bool = False  # whether the user allows the repository's own settings
    model: str = ""
    custom_args: tuple[str, ...] = ()
    extra: Mapping[str, object] = {}

    @property
    def granted_commands(self) -> list[str]:
        """The commands that it may run with any arguments; some of git write, so a judge gets none of git."""
        return [command for command in self.commands if not (self.role.judges and command == "git")]

    @property
    def writable_outside(self) -> list[str]:
        """The writable folders that are not below the working folder."""
        return [folder for folder in self.writable if not f"{folder}/".startswith(f"{self.cwd}/")]

    @property
    def readable_outside(self) -> list[str]:
        """The readable, write-protected folders that are not below the working folder."""
        return [folder for folder in self.readable if not f"{folder}/".startswith(f"{self.cwd}/")]


class AgentCommand(Record):
    """A command to run, with the environment and files it needs."""

    arguments: list[str]
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}  # path → text, written (0600) before the start
    report: str = ""  # a file in which the CLI writes its token counts when it ends


class ProcessEnd(Record):
    """The end of a process: exit code (negative for a signal), last lines of stderr, and why sow stopped it."""

    code: int
    stderr: str = ""
    stop_reason: str = ""  # "", "timeout", "silence", "linger", "size", "retries", "interrupt"


class Outcome(Record):
    """The result of a turn. `kind`: done, failed, limited, overloaded, not_found, in_use, timeout, interrupted."""

    kind: str
    text: str = ""
    reason: str = ""
    reset_at: int = 0
    account: str = ""  # of another host, which the turn used


# Git commands that a judge may run: they only read, without the options that write a file or run a program.
READ_ONLY_GIT = ("git status", "git diff", "git log", "git show")
UNSAFE_GIT_OPTIONS = ("--output", "--ext-diff", "--textconv")
# Commands that only read, for CLIs that do not know them by themselves, without their options that write or run.
READ_ONLY_COMMANDS = (
    "ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "diff", "stat", "file", "du", "pwd", "cd", "which",
)  # fmt: skip
UNSAFE_READ_OPTIONS = (" >", " -exec", " -ok", " -delete", " -fprint", " -fls", " --pre")
OVERLOAD_STATUSES = (500, 502, 503, 504, 529)
LIMIT_STATUSES = (429,)


class Adapter:
    """The defaults that most CLIs share; a subclass overrides what differs."""

    type = ""
    capabilities: Capabilities
    not_found: tuple[str, ...] = ()  # messages of the CLI for an unknown session
    in_use: tuple[str, ...] = ()  # messages for a session id that is in use
    limits: tuple[str, ...] = ()  # messages for a used-up plan
    logged_out: tuple[str, ...] = ()  # messages for a user who has not logged in
    exits_without_result = False  # its output has no final event; only the exit code counts
    interactive_args: tuple[str, ...] | None = None  # before the prompt of an interactive start; None: it has none

    @property
    def login_advice(self) -> str:
        """Returns the command or step that logs the user in."""
        return f"start `{self.capabilities.binary}` once and log in"

    def spawn_command(self, request: Request) -> AgentCommand:
        """Returns the command line of a new session."""
        return self.command(request, resumes=False)

    def resume_command(self, request: Request) -> AgentCommand:
        """Returns the command line that resumes a session."""
        return self.command(request, resumes=True)

    def command(self, request: Request, *, resumes: bool) -> AgentCommand:
        """Returns the command line of a turn; a CLI can override this, or the two methods above."""
        raise NotImplementedError

    def first_prompt(self, request: Request, prompt: str) -> str:
        """Returns the first prompt of a session, with instructions that the CLI does not read itself."""
        return prompt

    def needed_files(self, request: Request) -> list[str]:
        """Returns files outside of the working folder that it reads, which the sandbox must show."""
        return []

    def lost_session_reason(self, request: Request) -> str:
        """Returns why a session cannot be resumed, or "" if only starting the CLI would show it."""
        return ""

    def read(self, line: str) -> list[Event]:
        """Parses one line of output; a line that is not a JSON object becomes a raw event."""
        data = parse_json_line(line)
        return [Event("raw", line)] if data is None else self.events(data)

    def events(self, data: dict[str, Any]) -> list[Event]:
        """Converts one JSON object of the output to events."""
        raise NotImplementedError

    def read_error(self, line: str) -> list[Event]:
        """Parses one line of stderr while the CLI runs, such as a message about a retry."""
        return []

    def log_path(self, request: Request, environment: Mapping[str, str]) -> str:
        """Returns the path of the CLI's own log if it reports more than the output, else ""."""
        return ""

    def read_log(self, line: str) -> list[Event]:
        """Parses one line that the CLI added to that log."""
        return []

    def read_report(self, text: str) -> list[Event]:
        """Parses the report file that the CLI wrote at its end."""
        return []

    def outcome(self, ending: ProcessEnd, summary: TurnSummary) -> Outcome:
        """Returns the result of a turn; it is done only if final event, error flag and exit code agree."""
        if ending.stop_reason in ("timeout", "silence", "size"):
            return Outcome("timeout", reason=ending.stop_reason, text=summary.last_text)
        if ending.stop_reason == "interrupt":
            return Outcome("interrupted", reason="interrupted", text=summary.last_text)
        finished = summary.finished or (self.exits_without_result and ending.code == 0)
        exit_ok = ending.code == 0 or ending.stop_reason == "linger"
        if finished and exit_ok and not summary.failed and ending.stop_reason != "retries":
            return Outcome("done", text=summary.final_text or summary.last_text or summary.raw.strip())
        text = f"{summary.error}\n{ending.stderr}"
        if any(mark in text for mark in self.not_found):
            return Outcome("not_found", reason=first_line(text))
        if any(mark in text for mark in self.in_use):
            return Outcome("in_use", reason=first_line(text))
        return self.failure(ending, summary, first_line(text))

    def failure(self, ending: ProcessEnd, summary: TurnSummary, reason: str) -> Outcome:
        """Returns the result of a turn that failed, by its kind."""
        if summary.limited_until is not None:
            return Outcome("limited", reason=reason, reset_at=summary.limited_until)
        text = f"{summary.error}\n{ending.stderr}"
        if summary.error_status in LIMIT_STATUSES or any(mark in text for mark in self.limits):
            return Outcome("limited", reason=reason)
        if summary.error_status in OVERLOAD_STATUSES:
            return Outcome("overloaded", reason=reason)
        if any(mark in text for mark in self.logged_out):
            reason = f"{reason}; {self.login_advice}"
        from sow.system.process.exit_code import ending_text  # here, because most turns end well

        return Outcome(
            "failed", reason=reason or f"it {ending_text(ending.code)} and gave no result", text=summary.last_text
        )


def first_line(text: str) -> str:
    """Returns the first line that is not blank, cut to 500 characters; of a Python traceback the last, the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    return lines[-1 if lines[0].startswith("Traceback (most recent call last)") else 0][:500]
