"""Defines the events of a turn and the summary that they add up to."""

from __future__ import annotations

from sow.record import Record

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
