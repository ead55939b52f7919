"""Formats counts, durations, money and sizes for people, and reads numbers of tokens."""

from __future__ import annotations

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
