"""Defines the result of an operation that was refused and changed nothing."""

from __future__ import annotations


class Refused:
    """The reason why something was not done, and a hint."""

    __slots__ = ("hint", "reason")

    def __init__(self, reason: str, hint: str) -> None:
        self.reason = reason
        self.hint = hint
