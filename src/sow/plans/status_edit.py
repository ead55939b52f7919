"""What the writers of a status share: the word as a plan file has it, and the change of one place of a text."""

from __future__ import annotations

Edit = tuple[int, int, str]  # from, to, the new text; \n stands for the line ending of the file


class Refusal(Exception):
    """Why a status cannot be written at this place."""


def word(status: str) -> str:
    """A status as it stands in a plan file."""
    return status.replace("_", "-")
