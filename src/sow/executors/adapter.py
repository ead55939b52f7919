"""The contract between sow and an agent CLI: frozen descriptions in, a command out; lines in, events out."""

from __future__ import annotations

import signal

from sow.executors.json_lines import parse
from sow.executors.story import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sow.executors.story import Story

GIVEN = "given"  # we choose the session's id, and it is on disk before the CLI starts
ASSIGNED = "assigned"  # the CLI chooses it, and says so in its stream
FILE = "file"  # the session is a file of ours
NONE = "none"  # the CLI keeps no session
WRITERS = frozenset({"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit"})


class Capabilities:
    """What a CLI can do; what it cannot is said before it is started."""

    __slots__ = (
        "binary",
        "closes",
        "cumulative_cost",
        "cumulative_tokens",
        "help_words",
        "hides_git_identity",
        "install",
        "known_flags",
        "leaves",
        "model",
        "needs_yolo",
        "obeys",
        "read_only",
        "reports_cost",
        "reports_tokens",
        "resumes",
        "runs_commands",
        "session",
        "stop_group",
        "stop_signal",
        "structured",
        "variables",
        "version_words",
    )

    def __init__(
        self,
        *,
        binary: str,
        install: str,
        session: str,
        resumes: bool = True,
        structured: bool = True,
        model: bool = True,
        read_only: bool = False,
        reports_cost: bool = False,
        reports_tokens: bool = False,
        cumulative_cost: bool = False,
        cumulative_tokens: bool = False,
        needs_yolo: bool = False,
        closes: bool = False,
        obeys: tuple[str, ...] = (),
        runs_commands: bool = True,
        hides_git_identity: bool = False,
        leaves: tuple[str, ...] = (),
        stop_signal: int = signal.SIGTERM,
        stop_group: bool = False,
        variables: tuple[str, ...] = (),
        version_words: tuple[str, ...] = ("--version",),
        help_words: tuple[str, ...] = ("--help",),
        known_flags: tuple[str, ...] = (),
    ) -> None:
        self.binary = binary
        self.install = install
        self.session = session
        self.resumes = resumes
        self.structured = structured
        self.model = model
        self.read_only = read_only
        self.reports_cost = reports_cost
        self.reports_tokens = reports_tokens
        self.cumulative_cost = cumulative_cost
        self.cumulative_tokens = cumulative_tokens
        self.needs_yolo = needs_yolo
        self.closes = closes  # without yolo, its rules keep it out of what is not its own below the working folder
        self.obeys = obeys  # files of a repository that would give it commands, permissions or variables
        self.runs_commands = runs_commands  # one that cannot call sow gets its task in the prompt
        self.hides_git_identity = hides_git_identity  # its tools do not see who the user is to git
        self.leaves = leaves  # folders that it makes beside the code, which are put away after a turn
        self.stop_signal = stop_signal
        self.stop_group = stop_group
        self.variables = variables
        self.version_words = version_words
        self.help_words = help_words
        self.known_flags = known_flags  # the words of its help that our command lines depend on


class Role:
    """The agent that plays: its name, what it may use, and whether it only judges."""

    __slots__ = ("description", "judges", "name", "tools", "words")

    def __init__(
        self,
        *,
        name: str,
        tools: tuple[str, ...] = (),
        judges: bool = False,
        description: str = "",
        words: str = "",
    ) -> None:
        self.name = name
        self.tools = tools
        self.judges = judges
        self.description = description
        self.words = words  # of a role that the CLI is asked to play as its own subagent; else the prompt has them

    @property
    def reads_only(self) -> bool:
        """Whether it judges, or its tools name none that writes; for CLIs that have no list of tools."""
        return self.judges or (bool(self.tools) and not WRITERS & set(self.tools))


class Request:
    """One turn that is to be taken."""

    __slots__ = (
        "closed",
        "commands",
        "custom_args",
        "cwd",
        "extra",
        "folder",
        "folders",
        "linked",
        "model",
        "readable",
        "role",
        "session",
        "state",
        "trusted",
        "yolo",
    )

    def __init__(
        self,
        *,
        role: Role,
        session: str,
        cwd: str,
        folder: str,
        folders: tuple[str, ...] = (),
        readable: tuple[str, ...] = (),
        linked: tuple[str, ...] = (),
        closed: tuple[str, ...] = (),
        state: str = "",
        commands: tuple[str, ...] = (),
        yolo: bool = False,
        trusted: bool = False,
        model: str = "",
        custom_args: tuple[str, ...] = (),
        extra: Mapping[str, object] | None = None,
    ) -> None:
        self.role = role
        self.session = session
        self.cwd = cwd
        self.folder = folder  # the session's own folder, for files that an adapter needs
        self.folders = folders  # what the worker may write besides its working folder: its desk, the git folder
        self.readable = readable  # where references of the task are, of which all is closed to writing
        self.linked = linked  # the same of linked repositories outside, of which nothing is closed
        self.closed = closed  # patterns of what it may not write although it is in there: the state of everybody else
        self.state = state  # where `sow` writes that the worker calls; a sandbox around commands has to let it
        self.commands = commands  # what it may run without asking: sow itself, git, the task's tests
        self.yolo = yolo
        self.trusted = trusted  # whether the user lets the repository's own settings speak
        self.model = model
        self.custom_args = custom_args
        self.extra = dict(extra or {})

    @property
    def outside(self) -> list[str]:
        """The folders that are not below the working folder."""
        return [each for each in self.folders if not f"{each}/".startswith(f"{self.cwd}/")]

    @property
    def shelves(self) -> list[str]:
        """Readable folders that are not below the working folder, which are closed to writing."""
        return [each for each in self.readable if not f"{each}/".startswith(f"{self.cwd}/")]


class Call:
    """What the process door runs."""

    __slots__ = ("arguments", "environment", "files", "report")

    def __init__(
        self,
        arguments: list[str],
        *,
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        report: str = "",
    ) -> None:
        self.arguments = arguments
        self.environment = dict(environment or {})
        self.files = dict(files or {})  # path → text, written (0600) before the start
        self.report = report  # a file in which the CLI leaves its numbers when it ends


class Ending:
    """How the process ended: its exit code (negative for a signal), its last words on stderr, and why we stopped it."""

    __slots__ = ("code", "stderr", "stopped")

    def __init__(self, *, code: int, stderr: str = "", stopped: str = "") -> None:
        self.code = code
        self.stderr = stderr
        self.stopped = stopped  # "", "timeout", "silence", "linger", "size", "retries", "interrupt"


class Outcome:
    """What became of a turn. `kind`: done, failed, limited, overloaded, not_found, in_use, timeout, interrupted."""

    __slots__ = ("kind", "reason", "reset_at", "text")

    def __init__(self, kind: str, *, text: str = "", reason: str = "", reset_at: int = 0) -> None:
        self.kind = kind
        self.text = text
        self.reason = reason
        self.reset_at = reset_at


# What a judge may run of git: commands that look, without the options with which they write a file or run a program.
GIT_LOOKS = ("git status", "git diff", "git log", "git show")
GIT_LOOPHOLES = ("--output", "--ext-diff", "--textconv")
OVERLOADED = (500, 502, 503, 504, 529)
LIMITED = (429,)


class Adapter:
    """The defaults that most CLIs share; a CLI's file overrides what is its own."""

    type = ""
    capabilities: Capabilities
    not_found: tuple[str, ...] = ()  # what the CLI says when it does not know a session
    in_use: tuple[str, ...] = ()  # what it says when a session's id is taken
    limits: tuple[str, ...] = ()  # what it says when a plan's allowance is used up
    exits_without_result = False  # no final event in its stream: the exit code is all
    opening: tuple[str, ...] | None = None  # the words before a first prompt that open it for a person; None: it cannot

    def spawn_command(self, request: Request) -> Call:
        """The command line of a new session."""
        raise NotImplementedError

    def resume_command(self, request: Request) -> Call:
        """The command line that goes on with a session."""
        raise NotImplementedError

    def first_prompt(self, request: Request, prompt: str) -> str:
        """What a new session is told, with what the CLI does not find by itself."""
        return prompt

    def lost(self, request: Request) -> str:
        """Why a session cannot be gone on with, where that is seen without starting the CLI."""
        return ""

    def read(self, line: str) -> list[Event]:
        """What one line of output says: an object in JSON, as most CLIs print; any other line is kept as text."""
        data = parse(line)
        return [Event("raw", line)] if data is None else self.events(data)

    def events(self, data: dict[str, Any]) -> list[Event]:
        """What one object of the output says."""
        raise NotImplementedError

    def read_error(self, line: str) -> list[Event]:
        """What one line on stderr says while the CLI runs, such as that it tries again."""
        return []

    def log_path(self, request: Request, environment: Mapping[str, str]) -> str:
        """A file of the CLI's own in which it writes what its output does not tell; nothing where it has none."""
        return ""

    def read_log(self, line: str) -> list[Event]:
        """What one line says that came into that file while the CLI runs."""
        return []

    def read_report(self, text: str) -> list[Event]:
        """What the file says that the CLI left at its end."""
        return []

    def outcome(self, ending: Ending, story: Story) -> Outcome:
        """What the end means: the final event, its error flag and the exit code must agree on success."""
        if ending.stopped in ("timeout", "silence", "size"):
            return Outcome("timeout", reason=ending.stopped, text=story.last_text)
        if ending.stopped == "interrupt":
            return Outcome("interrupted", reason="interrupted", text=story.last_text)
        finished = story.finished or (self.exits_without_result and ending.code == 0)
        well = ending.code == 0 or ending.stopped == "linger"
        if finished and well and not story.failed and ending.stopped != "retries":
            return Outcome("done", text=story.final_text or story.last_text or story.raw.strip())
        said = f"{story.error}\n{ending.stderr}"
        if any(mark in said for mark in self.not_found):
            return Outcome("not_found", reason=first_line(said))
        if any(mark in said for mark in self.in_use):
            return Outcome("in_use", reason=first_line(said))
        return self.failure(ending, story, first_line(said))

    def failure(self, ending: Ending, story: Story, reason: str) -> Outcome:
        """A turn that did not end well, by its kind."""
        if story.limited_until is not None:
            return Outcome("limited", reason=reason, reset_at=story.limited_until)
        said = f"{story.error}\n{ending.stderr}"
        if story.error_status in LIMITED or any(mark in said for mark in self.limits):
            return Outcome("limited", reason=reason)
        if story.error_status in OVERLOADED:
            return Outcome("overloaded", reason=reason)
        return Outcome(
            "failed", reason=reason or f"it ended with exit code {ending.code} and no result", text=story.last_text
        )


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:500]
