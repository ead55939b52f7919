"""What a person sees of a turn while it lasts: the worker's own words and its tool calls, as they come."""

from __future__ import annotations

from sow.system.terminal import err, harmless, harmless_line, out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.executors.story import Event

MOST = 40_000
MOST_REFUSED = 50


class Screen:
    """Shows events, and remembers the end of what it showed; a quiet one shows nothing."""

    __slots__ = ("quiet", "refused", "shown")

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.refused: set[str] = set()
        self.shown = ""

    def show(self, event: Event) -> None:
        """One event, if it is for people."""
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
        """Each refused command once; the end of the turn tells how often."""
        from sow.domain import refusals

        call = refusals.called(event.tool, event.command)
        if call not in self.refused and len(self.refused) < MOST_REFUSED:
            self.refused.add(call)
            reason = f" ({harmless_line(event.text)})" if event.text else ""
            err(f"  ! refused: {harmless_line(call)}{reason}")

    def has_shown(self, text: str) -> bool:
        """Whether a text was just seen, however it was broken into lines."""
        return _letters(text) in self.shown


def _letters(text: str) -> str:
    return "".join(text.split())
