"""Formats counts, durations, money and sizes for people, and fits texts into the columns of a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sow.domain.inputs import is_tokens
from sow.errors import SowError


def counted(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 task`, `3 tasks`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def cut_to(limit: int, text: str) -> str:
    """Returns a text with at most so many characters; the last one of a cut text is `…`."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listed(names: Sequence[str], most: int) -> str:
    """Returns names as a list, and the number of those beyond `most`: `a, b and 3 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def format_minutes(minutes: float) -> str:
    """Returns minutes as `1h 15m` or `2d 3h`: two units at most, no seconds above a minute."""
    if minutes < 1:
        return f"{round(minutes * 60)}s" if minutes else "0m"
    days, minutes_of_day = divmod(round(minutes), 1440)
    hours, minutes_left = divmod(minutes_of_day, 60)
    parts = [f"{days}d"] * (days > 0) + [f"{hours}h"] * (hours > 0) + [f"{minutes_left}m"] * (minutes_left > 0)
    return " ".join(parts[:2])


def format_seconds(seconds: float) -> str:
    """Returns measured seconds as `4.2s`, `42s` or `2m 13s`, and above an hour as `format_minutes` does."""
    if seconds < 9.95:
        return f"{seconds:.1f}s" if seconds else "0s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole >= 3600:
        return format_minutes(whole / 60)
    minutes, seconds_left = divmod(whole, 60)
    return f"{minutes}m {seconds_left}s" if seconds_left else f"{minutes}m"


def stopwatch(seconds: float) -> str:
    """Returns elapsed whole seconds as `00:12`, `12:34` or `1:02:03`."""
    hours, seconds_of_hour = divmod(int(seconds), 3600)
    minutes, seconds_left = divmod(seconds_of_hour, 60)
    return f"{hours}:{minutes:02d}:{seconds_left:02d}" if hours else f"{minutes:02d}:{seconds_left:02d}"


LEAST = 0.0001


def dollars(amount: float) -> str:
    """Returns `$0.0042`, `$0.48` or `$1,200.50`. A small amount is never shown as zero."""
    if 0 < amount < LEAST:
        return f"less than ${LEAST}"
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:,.2f}"


BYTES_PER_TOKEN = 4  # an average for English text and code, good enough for a budget


def parse_tokens(value: str, label: str) -> int:
    """Returns a budget in tokens, or raises SowError."""
    if not is_tokens(value):
        raise SowError(f"{label} {value!r:.40} is not a number of tokens", "write a number such as 8k or 12000")
    return int(value.removesuffix("k")) * (1000 if value.endswith("k") else 1)


def estimate(size: int) -> int:
    """Returns the approximate number of tokens in so many bytes."""
    return -(-size // BYTES_PER_TOKEN)


def format_bytes(size: int) -> str:
    """Returns bytes for people."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


INVISIBLE = ("Mn", "Me", "Cf")
EMOJI_STYLE = "\ufe0f"  # makes the character before it an emoji, and wide
COMMAND_MARKS = (" → ", " (more: ")  # what comes before a command
NARROWEST = 40  # below this, an indent would take too much room
JAMO = range(0x1160, 0x1200)  # Hangul vowels and finals that join the letter before


def width_of(text: str) -> int:
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
    if width_of(text) <= width:
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
    return shown + " " * (width - width_of(shown))


def wrap(text: str, width: int, indent: int) -> list[str]:
    """Returns the lines of a text, broken at spaces; later lines are indented.

    A long word stays whole, and so does a command behind one of COMMAND_MARKS, so that a person can copy it.
    """
    if width_of(text) <= width or width < NARROWEST:
        return [text]
    start = max(text.find(mark) for mark in COMMAND_MARKS)
    prose, command = (text, []) if start < 0 else (text[:start], [text[start + 1 :]])
    lines = []
    line, *words = [*prose.split(" "), *command]
    for word in words:
        if line.strip() and width_of(line) + 1 + width_of(word) > width:
            lines.append(line)
            line = " " * indent + word
        else:
            line = f"{line} {word}"
    return [*lines, line]
