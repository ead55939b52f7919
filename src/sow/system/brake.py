"""The brake of a running child: Ctrl-C and its kin ask it to end, and a second time leave it no more of its grace."""

from __future__ import annotations

import signal

from sow.system.process import INTERRUPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from sow.system.process import Child

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Brake:
    """Holds the signals from before the child starts until all of its family is gone, so that none is left behind."""

    __slots__ = ("before", "child", "pulled")

    def __init__(self) -> None:
        self.before: dict[signal.Signals, Any] = {}
        self.child: Child | None = None
        self.pulled = False

    def __enter__(self) -> Brake:
        # What the caller has us ignore stays ignored: SIGHUP under nohup, SIGINT in the background of a shell.
        held = [each for each in SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        self.before = {each: signal.signal(each, self._pull) for each in held}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def hold(self, child: Child) -> None:
        """The child that is stopped; at once, if that was asked for before it had started."""
        self.child = child
        if self.pulled:
            child.stop(INTERRUPT)

    def _pull(self, number: int, frame: FrameType | None) -> None:
        self.pulled = True
        if self.child is not None:
            self.child.stop(INTERRUPT)
