"""Amounts of money, in words."""

from __future__ import annotations

LEAST = 0.0001


def dollars(amount: float) -> str:
    """`$0.0042`, `$0.48`, `$1,200.50`; what is there is never shown as nothing."""
    if 0 < amount < LEAST:
        return f"less than ${LEAST}"
    return f"${amount:.4f}" if 0 < amount < 0.1 else f"${amount:,.2f}"
