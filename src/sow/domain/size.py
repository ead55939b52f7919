"""Sizes as people write and read them: a budget of tokens such as 8k, and bytes in a few letters."""

from __future__ import annotations

from sow.errors import SowError

BYTES_PER_TOKEN = 4  # what English text and code come to, near enough for a budget


def is_tokens(value: str) -> bool:
    """12000, 8k"""
    digits = value.removesuffix("k")
    return digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) <= 7


def tokens(value: str, what: str) -> int:
    """A budget in tokens."""
    if not is_tokens(value):
        raise SowError(f"{what} {value!r:.40} is not a number of tokens", "write a number such as 8k or 12000")
    return int(value.removesuffix("k")) * (1000 if value.endswith("k") else 1)


def estimate(size: int) -> int:
    """How many tokens so many bytes come to, about."""
    return -(-size // BYTES_PER_TOKEN)


def shown(size: int) -> str:
    """Bytes for people."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
