"""Formats amounts of money for people."""

from __future__ import annotations

LEAST = 0.0001


def dollars(amount: float) -> str:
    """Return `$0.0042`, `$0.48` or `$1,200.50`. A small amount is never shown as zero."""
    if 0 < amount < LEAST:
        return f"less than ${LEAST}"
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:,.2f}"
