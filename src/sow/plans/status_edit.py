"""Defines the edit that writes a status into a plan file."""

from __future__ import annotations

Edit = tuple[int, int, str]  # from, to, the new text; \n stands for the line ending of the file


class StatusRefusal(Exception):
    """The reason why a status cannot be written."""


def status_word(status: str) -> str:
    """Returns a status as a plan file spells it."""
    return status.replace("_", "-")
