"""Tells whether a turn of a task or an agent is in progress, in this process or another one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def is_at_work(home: Home, ident: str) -> bool:
    """Returns True if another process, or a worker of this run, works on the task or as the agent."""
    from sow.system import tree

    return ident in tree.NURSERY.tasks.values() or bool(home.holder(ident))
