"""sow agent: what a worker calls, and what is done with workers."""

from __future__ import annotations

from sow.cli.log import ENTRY, agent_log
from sow.cli.spec import Argument, Command

COMMANDS = (
    Command(
        "agent log",
        agent_log,
        "Append an entry to the log of the worker's own task",
        arguments=(Argument("log_text", "What was done (TEXT, @FILE or -)"),),
        options=ENTRY,
        details="The task is --task, SOW_TASK, or the only one in progress.",
    ),
)
