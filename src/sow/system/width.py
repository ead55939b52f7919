"""Measures the terminal columns of a text: wide letters and emoji take two, marks on a letter none."""

from __future__ import annotations

import unicodedata

INVISIBLE = ("Mn", "Me", "Cf")
EMOJI_STYLE = "\ufe0f"  # makes the character before it an emoji, and wide
COMMAND_MARKS = (" → ", " (more: ")  # what comes before a command
NARROWEST = 40  # below this, an indent would take too much room
JAMO = range(0x1160, 0x1200)  # Hangul vowels and finals that join the letter before


def columns(text: str) -> int:
    """Returns the columns of a text on one line; where terminals differ, the larger number."""
    return len(text) if text.isascii() else sum(_width_at(text, index) for index in range(len(text)))


def _width_at(text: str, index: int) -> int:
    letter = text[index]
    if letter < "\x7f":
        return 1
    if letter == EMOJI_STYLE:
        return 1 if index and _base_width(text[index - 1]) == 1 else 0
    return _base_width(letter)


def _base_width(letter: str) -> int:
    if unicodedata.category(letter) in INVISIBLE or ord(letter) in JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Returns as much of the text as fits, with an ellipsis if something is missing."""
    if width <= 0:
        return ""
    if columns(text) <= width:
        return text
    total = 0
    for index in range(len(text)):
        total += _width_at(text, index)
        if total > width - 1:
            return f"{text[:index]}…"
    return text


def pad(text: str, width: int) -> str:
    """Returns the text, cut or padded to exactly this many columns."""
    shown = cut(text, width)
    return shown + " " * (width - columns(shown))


def wrap(text: str, width: int, indent: int) -> list[str]:
    """Returns the lines of a text, broken at spaces; later lines are indented.

    A long word stays whole, and so does a command behind one of COMMAND_MARKS, so that a person can copy it.
    """
    if columns(text) <= width or width < NARROWEST:
        return [text]
    start = max(text.find(mark) for mark in COMMAND_MARKS)
    prose, command = (text, []) if start < 0 else (text[:start], [text[start + 1 :]])
    lines = []
    line, *words = [*prose.split(" "), *command]
    for word in words:
        if line.strip() and columns(line) + 1 + columns(word) > width:
            lines.append(line)
            line = " " * indent + word
        else:
            line = f"{line} {word}"
    return [*lines, line]
