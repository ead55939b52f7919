"""Who is at work: a task or an agent whose turn is in progress, here or in another process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.store.home import Home


def is_at_work(home: Home, ident: str) -> bool:
    """Whether somebody works on a task, or plays an agent: another process, or a worker of this very run."""
    from sow.system import tree

    return ident in tree.NURSERY.tasks.values() or bool(home.holder(ident))
