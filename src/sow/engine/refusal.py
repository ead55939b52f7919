"""A refusal: something that was not done, because it would have cost somebody something."""

from __future__ import annotations


class Refused:
    """Why something was not done, and what to do about it; nothing was changed."""

    __slots__ = ("hint", "reason")

    def __init__(self, reason: str, hint: str) -> None:
        self.reason = reason
        self.hint = hint
