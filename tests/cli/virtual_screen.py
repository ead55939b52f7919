"""A small terminal emulator: the text that a person sees after some bytes, and whether the cursor is visible."""

from __future__ import annotations

import re
import unicodedata

PIECES = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """Knows the few codes that sow uses; any other is an error."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.lines: list[list[str]] = [[]]
        self.top = 0  # the first line on the screen; those before it have scrolled away
        self.row = 0
        self.column = 0
        self.cursor = True
        self.wraps = True
        self.highest = 0

    def feed(self, text: str) -> Screen:
        for match in PIECES.finditer(text):
            if match[3] is None:
                self._control(match[1], match[2])
            else:
                self._letter(match[3])
        return self

    @property
    def shown(self) -> list[str]:
        """Returns every line of the scrollback and the screen, without trailing blanks."""
        lines = ["".join(line).rstrip() for line in self.lines]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def _control(self, number: str, letter: str) -> None:
        if letter == "A":
            self.row = max(self.row - int(number), self.top)
        elif letter == "K":
            del self.lines[self.row][self.column :]
        elif letter == "J":
            del self.lines[self.row][self.column :]
            del self.lines[self.row + 1 :]
        elif letter in "hl" and number == "?25":
            self.cursor = letter == "h"
        elif letter in "hl" and number == "?7":
            self.wraps = letter == "h"
        else:
            assert letter == "m", f"an unknown code: {number}{letter}"

    def _letter(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self._down()
        else:
            assert letter.isprintable() or unicodedata.category(letter) in ("Cf", "Mn"), f"a control byte: {letter!r}"
            self._put(letter)

    def _put(self, letter: str) -> None:
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if unicodedata.category(letter) in ("Cf", "Mn"):
            wide = 0
        if self.column + wide > self.columns:
            if not self.wraps:
                return
            self.column = 0
            self._down()
        line = self.lines[self.row]
        line += [" "] * (self.column - len(line))
        if wide:
            line[self.column : self.column + wide] = [letter, ""][:wide]
        self.column += wide

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])
        self.top = max(self.top, self.row - self.rows + 1)
