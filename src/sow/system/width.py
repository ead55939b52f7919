"""How many columns of a terminal a text takes: wide letters and emoji take two, marks on a letter none."""

from __future__ import annotations

import unicodedata

INVISIBLE = ("Mn", "Me", "Cf")
EMOJI_STYLE = "\ufe0f"  # makes the sign before it an emoji, and wide
JAMO = range(0x1160, 0x1200)  # vowels and finals of Hangul that join the letter before


def columns(text: str) -> int:
    """The columns of a text on one line; where terminals differ, the larger number."""
    return len(text) if text.isascii() else sum(_step(text, index) for index in range(len(text)))


def _step(text: str, index: int) -> int:
    letter = text[index]
    if letter < "\x7f":
        return 1
    if letter == EMOJI_STYLE:
        return 1 if index and _alone(text[index - 1]) == 1 else 0
    return _alone(letter)


def _alone(letter: str) -> int:
    if unicodedata.category(letter) in INVISIBLE or ord(letter) in JAMO:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def cut(text: str, room: int) -> str:
    """As much of the text as there is room for, with a sign where something is missing."""
    if room <= 0:
        return ""
    if columns(text) <= room:
        return text
    used = 0
    for index in range(len(text)):
        used += _step(text, index)
        if used > room - 1:
            return f"{text[:index]}…"
    return text


def pad(text: str, room: int) -> str:
    """The text, cut or filled up to exactly so many columns."""
    shown = cut(text, room)
    return shown + " " * (room - columns(shown))
