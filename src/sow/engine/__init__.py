"""Runs turns of agents, and plans and workflows made of them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.turns.runner import SupervisedRunner as DefaultCommandRunner

__all__ = ["DefaultCommandRunner"]


def __getattr__(name: str) -> object:
    """Load the runner that executors use outside of tests when it is first requested."""
    if name != "DefaultCommandRunner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sow.engine.turns.runner import SupervisedRunner

    return SupervisedRunner
