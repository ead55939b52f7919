"""Defines the result of an operation that was refused, so that nobody loses anything."""

from __future__ import annotations


class Refused:
    """The reason why something was not done, and a hint. Nothing was changed."""

    __slots__ = ("hint", "reason")

    def __init__(self, reason: str, hint: str) -> None:
        self.reason = reason
        self.hint = hint
