"""What somebody asked to see and what is not there."""

from __future__ import annotations

from sow.errors import SowError


class Missing(SowError):
    """There is no such task, run, turn or piece of evidence."""
