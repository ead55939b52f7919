"""Parses and formats sizes: a budget of tokens such as 8k, and bytes for people."""

from __future__ import annotations

from sow.errors import SowError

BYTES_PER_TOKEN = 4  # an average for English text and code, good enough for a budget


def is_tokens(value: str) -> bool:
    """Return whether a text is a number of tokens, such as 12000 or 8k."""
    digits = value.removesuffix("k")
    return digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) <= 7


def tokens(value: str, label: str) -> int:
    """Return a budget in tokens, or raise SowError."""
    if not is_tokens(value):
        raise SowError(f"{label} {value!r:.40} is not a number of tokens", "write a number such as 8k or 12000")
    return int(value.removesuffix("k")) * (1000 if value.endswith("k") else 1)


def estimate(size: int) -> int:
    """Return the approximate number of tokens in so many bytes."""
    return -(-size // BYTES_PER_TOKEN)


def shown(size: int) -> str:
    """Return bytes for people."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
