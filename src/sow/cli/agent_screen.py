"""Shows the text and the tool calls of a running turn on the terminal."""

from __future__ import annotations

from sow.system.terminal import err, harmless, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.story import Event

MOST = 40_000
MOST_REFUSED = 50


class Screen:
    """Prints events and remembers the last text that it printed; prints nothing if quiet."""

    __slots__ = ("quiet", "refused", "shown")

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.refused: set[str] = set()
        self.shown = ""

    def show(self, event: Event) -> None:
        """Prints an event if it is meant for people."""
        if self.quiet:
            return
        if event.kind in ("text", "raw") and event.text.strip():
            self.shown = f"{self.shown}{_letters(event.text)}"[-MOST:]
            out(harmless(event.text))
        elif event.kind == "tool":
            out(f"  · {harmless_line(event.text)}")
        elif event.kind == "refused":
            self._refused(event)
        elif event.kind in ("retry", "limit", "error") and (event.text or event.status):
            err(f"  ! {harmless_line(event.text)} {event.status or ''}".rstrip())

    def _refused(self, event: Event) -> None:
        """Prints each refused command once; the end of the turn shows the count."""
        from sow.domain import refusals

        call = refusals.called(event.tool, event.command)
        if call not in self.refused and len(self.refused) < MOST_REFUSED:
            self.refused.add(call)
            reason = f" ({harmless_line(event.text)})" if event.text else ""
            err(f"  ! refused: {harmless_line(call)}{reason}")

    def has_shown(self, text: str) -> bool:
        """Returns whether the text was just printed, ignoring white space."""
        return _letters(text) in self.shown


def _letters(text: str) -> str:
    return "".join(text.split())
