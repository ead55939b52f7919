"""Lines at the bottom of a terminal that are drawn again in their place, while other lines scroll away above them."""

from __future__ import annotations

import os

from sow.system.width import columns, cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"  # a letter whose width we misjudge must not break the line
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"


class Block:
    """What is drawn now; the cursor rests at the beginning of its last line."""

    __slots__ = ("drawn", "stream")

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.drawn: list[int] = []  # the columns of each line on the screen

    def size(self) -> tuple[int, int]:
        """Columns and rows of the terminal as they are now: it may have been resized."""
        try:
            found = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return found.columns or 80, found.lines or 24

    def draw(self, above: Sequence[str], lines: Sequence[tuple[str, str]]) -> None:
        """Let lines scroll away above, and draw the block anew.

        Each line of the block comes plain, which is measured, and painted, which is shown if it fits.
        """
        width, rows = self.size()
        shown = [_fit(plain, painted, width - 1) for plain, painted in lines[: max(rows - 1, 1)]]
        parts = ["" if self.drawn else HIDE, WRAP_OFF, self._back(width)]
        parts += [WRAP_ON, *(f"{line}{CLEAR_LINE}\n" for line in above), WRAP_OFF] if above else []
        parts.append("\n".join(f"{text}{CLEAR_LINE}" for _, text in shown))
        parts += [CLEAR_BELOW, "\r", WRAP_ON]
        self.drawn = [used for used, _ in shown]
        self._send("".join(parts))

    def close(self, above: Sequence[str] = ()) -> None:
        """Take the block away, leave these last lines, and give the cursor back."""
        back = self._back(self.size()[0]) + CLEAR_BELOW + SHOW if self.drawn else ""
        self.drawn = []
        self._send(back + "".join(f"{line}\n" for line in above))

    def _back(self, width: int) -> str:
        """To the first line of the block: in a narrower window a terminal has broken long lines into several."""
        up = sum(max(-(-used // width), 1) for used in self.drawn[:-1])
        return "\r" + (f"\x1b[{up}A" if up else "")

    def _send(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _fit(plain: str, painted: str, room: int) -> tuple[int, str]:
    used = columns(plain)
    if used <= room:
        return used, painted
    short = cut(plain, room)
    return columns(short), short
