"""The loop: one task's turn, and what is built from turns."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sow.engine.runner import SupervisedRunner as DefaultCommandRunner

__all__ = ["DefaultCommandRunner"]


def __getattr__(name: str) -> object:
    """The runner that an executor has outside of tests, loaded when somebody asks for it."""
    if name != "DefaultCommandRunner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sow.engine.runner import SupervisedRunner

    return SupervisedRunner
