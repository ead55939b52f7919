"""What a CLI said: events, one by one, and the story that they amount to."""

from __future__ import annotations

MOST_ID = 200


class Event:
    """One thing that a CLI said. `kind`: session, text, raw, tool, usage, tokens, retry, error, limit, denied, result.

    The numbers of `usage` events add up; those of any other kind are the whole turn's.
    """

    __slots__ = (
        "cost",
        "failed",
        "input_tokens",
        "kind",
        "output_tokens",
        "reset_at",
        "session",
        "status",
        "text",
        "turns",
    )

    def __init__(
        self,
        kind: str,
        text: str = "",
        *,
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
        self.session = session if is_session_id(session) else ""
        self.failed = failed
        self.status = status
        self.cost = cost
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.turns = turns
        self.reset_at = reset_at


def is_session_id(text: str) -> bool:
    """Whether a text that a CLI gave can be a session's id: one word, which no command line takes for an option."""
    plain = text.replace("-", "").replace("_", "").replace(".", "")
    return len(text) <= MOST_ID and plain.isascii() and plain.isalnum() and not text.startswith("-")


class Story:
    """What the events of one turn amount to; it stays small however long the stream is."""

    __slots__ = (
        "cost",
        "denied",
        "error",
        "error_status",
        "failed",
        "final_text",
        "finished",
        "input_tokens",
        "last_text",
        "limited_until",
        "output_tokens",
        "raw",
        "retries",
        "session",
        "tools",
        "turns",
    )
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
        self.denied = 0
        self.tools = 0
        self.retries = 0
        self.cost: float | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.turns: int | None = None

    def add(self, event: Event) -> None:
        """Take one event in."""
        self.session = event.session or self.session
        self.turns = event.turns if event.turns is not None else self.turns
        self._count(event)
        if event.kind in ("text", "tool"):
            self.finished = False  # it goes on after what looked like its end
        if event.kind == "text":
            self.last_text = event.text
        elif event.kind == "raw":
            self.raw = f"{self.raw}{event.text}\n"[-self.MOST_RAW :]
        elif event.kind == "tool":
            self.tools += 1
        elif event.kind == "denied":
            self.denied += 1
        elif event.kind == "retry":
            self.retries += 1
            self.error, self.error_status = event.text or self.error, event.status or self.error_status
        elif event.kind == "limit":
            self.limited_until = event.reset_at
        elif event.kind == "error":
            self.error, self.error_status = event.text or self.error, event.status or self.error_status
        elif event.kind == "result":
            self._finish(event)

    def _finish(self, event: Event) -> None:
        self.finished = True
        self.failed = event.failed
        self.final_text = event.text or self.last_text
        if event.failed:
            self.error, self.error_status = event.text or self.error, event.status or self.error_status

    def _count(self, event: Event) -> None:
        """`usage` events add up, a `result` tells the sum itself; a model that answered got over its errors."""
        if event.kind in ("usage", "text", "tool"):
            self.error, self.error_status = "", 0
        for name in ("cost", "input_tokens", "output_tokens"):
            value = getattr(event, name)
            if value is not None:
                before = getattr(self, name) if event.kind == "usage" else None
                setattr(self, name, value if before is None else before + value)
