"""Redraws lines at the bottom of a terminal in place, while other lines scroll above them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TextIO

from sow.system.width import columns, cut, wrap

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"
WRAP_OFF, WRAP_ON = "\x1b[?7l", "\x1b[?7h"  # a character whose width we misjudge must not break the line
CLEAR_LINE, CLEAR_BELOW = "\x1b[K", "\x1b[J"
INDENT = 7  # of the rest of a wrapped line, below the text after the time


class StatusBlock:
    """The lines on the screen; the cursor stays at the beginning of the last one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.drawn: list[int] = []  # the columns of each line on the screen

    def size(self) -> tuple[int, int]:
        """Returns the present columns and rows of the terminal, which may have been resized."""
        try:
            terminal_size = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return terminal_size.columns or 80, terminal_size.lines or 24

    def draw(self, above: Sequence[str], lines: Sequence[tuple[str, str]]) -> None:
        """Prints lines above the block, and draws the block again.

        Each line of the block is given plain, which is measured, and painted, which is shown if it fits.
        """
        width, rows = self.size()
        shown = [_fit(plain, painted, width - 1) for plain, painted in lines[: max(rows - 1, 1)]]
        parts = ["" if self.drawn else HIDE, WRAP_OFF, self._back(width)]
        parts += [WRAP_ON, *(f"{line}{CLEAR_LINE}\n" for line in _wrap(above, width)), WRAP_OFF] if above else []
        parts.append("\n".join(f"{text}{CLEAR_LINE}" for _, text in shown))
        parts += [CLEAR_BELOW, "\r", WRAP_ON]
        self.drawn = [line_width for line_width, _ in shown]
        self._send("".join(parts))

    def close(self, above: Sequence[str] = ()) -> None:
        """Removes the block, prints these last lines, and shows the cursor again."""
        width = self.size()[0]
        erase = self._back(width) + CLEAR_BELOW + SHOW if self.drawn else ""
        self.drawn = []
        self._send(erase + "".join(f"{line}\n" for line in _wrap(above, width)))

    def _back(self, width: int) -> str:
        """Moves to the first line of the block; a narrower window wraps long lines into several."""
        up = sum(max(-(-line_width // width), 1) for line_width in self.drawn[:-1])
        return "\r" + (f"\x1b[{up}A" if up else "")

    def _send(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def _wrap(texts: Sequence[str], room: int) -> list[str]:
    return [line for text in texts for line in wrap(text, room - 1, INDENT)]


def _fit(plain: str, painted: str, room: int) -> tuple[int, str]:
    line_width = columns(plain)
    if line_width <= room:
        return line_width, painted
    short = cut(plain, room)
    return columns(short), short
