"""Defines the error for a task, run, turn or piece of evidence that does not exist."""

from __future__ import annotations

from sow.errors import SowError


class Missing(SowError):
    """The requested task, run, turn or piece of evidence does not exist."""
