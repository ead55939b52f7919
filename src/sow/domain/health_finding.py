"""Holds what `sow doctor` and `sow config validate` find: what is in order, and what to do about everything else."""

from __future__ import annotations

from typing import Any

from sow.errors import SowError

Finding = dict[str, Any]


def new_finding(state: str, text: str, hint: str = "") -> Finding:
    """Returns a finding; its state is ok, warning or problem."""
    return {"state": state, "what": text, "hint": hint}


def of_error(state: str, error: SowError) -> Finding:
    """Returns the finding for an error."""
    return new_finding(state, error.message, error.hint)
