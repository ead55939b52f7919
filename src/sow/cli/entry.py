"""Defines the options that `sow log` and `sow agent log` share."""

from __future__ import annotations

from sow.cli.spec import Option

ENTRY = (
    Option("--file", "PATH", "A file that it is about", repeat=True),
    Option("--action", "WORD", "What was done, such as modified_file", default="note"),
    Option("--result", "WORD", "How it went, such as success", default="info"),
    Option("--task", "ID", "The task's log; without: SOW_TASK", completes="tasks"),
)
