"""Shows the text and the tool calls of a running turn on the terminal."""

from __future__ import annotations

from sow.system import clock
from sow.system.terminal import err, escape_control, escape_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.adapter import Event

MOST = 40_000
MOST_REFUSED = 50


class TurnOutput:
    """Prints events and remembers the last text that it printed; prints nothing if quiet."""

    __slots__ = ("notes", "quiet", "recent_text", "refused")

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.notes: list[str] = []  # remarks that are printed already
        self.refused: set[str] = set()
        self.recent_text = ""

    def show(self, event: Event) -> None:
        """Prints an event if it is meant for people."""
        if self.quiet:
            return
        if event.kind in ("text", "raw") and event.text.strip():
            self.recent_text = f"{self.recent_text}{_without_spaces(event.text)}"[-MOST:]
            out(escape_control(event.text))
        elif event.kind == "start":
            err(escape_line(event.text))
        elif event.kind == "note":
            self.notes.append(event.text)
            err(f"note: {escape_line(event.text)}")
        elif event.kind == "tool":
            out(f"  · {escape_line(event.text)}")
        elif event.kind == "refused":
            self._refused(event)
        elif event.kind in ("retry", "limit", "error") and (event.text or event.status):
            status = f" (HTTP {event.status})" if event.status else ""
            until = f" (until {clock.local(event.reset_at)})" if event.reset_at else ""
            err(f"  ! {escape_line(event.text)}{status}{until}")

    def _refused(self, event: Event) -> None:
        """Prints each refused command once; the end of the turn shows the count."""
        from sow.domain.checks import refusals

        call = refusals.call_text(event.tool, event.command)
        if call not in self.refused and len(self.refused) < MOST_REFUSED:
            self.refused.add(call)
            reason = f" ({escape_line(event.text)})" if event.text else ""
            err(f"  ! refused: {escape_line(call)}{reason}")

    def has_shown(self, text: str) -> bool:
        """Returns whether the text was just printed, ignoring white space."""
        return _without_spaces(text) in self.recent_text


def _without_spaces(text: str) -> str:
    return "".join(text.split())
