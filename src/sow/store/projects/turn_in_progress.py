"""Tells whether a turn of a task or an agent is in progress, in this process or another one."""

from __future__ import annotations

from sow.store.files.checkout_home import Home


def is_running(home: Home, ident: str) -> bool:
    """Returns True if another process, or a worker of this run, works on the task or as the agent."""
    from sow.system.process import process_tree

    return ident in process_tree.CHILDREN.tasks.values() or bool(home.task_holder(ident))
