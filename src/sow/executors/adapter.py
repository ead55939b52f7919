"""Defines the interface between sow and an agent CLI: requests, commands, capabilities and outcomes."""

from __future__ import annotations

import signal

from sow.executors.events import Event
from sow.executors.json_lines import parse
from sow.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.executors.events import TurnSummary

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
        data = parse(line)
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
