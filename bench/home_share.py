"""Runs `sow run`, and adds up what its process spends for the turns on other hosts: packing, sending and taking over.

What a run also does for a turn on its own machine is left out: worktrees, sessions, checks and merges.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Generator
from typing import Any

from sow.cli.main import main
from sow.cluster import remote_turns, transfer


class Share:
    """Seconds of the run's thread, of its child processes, and on the clock."""

    def __init__(self) -> None:
        self.turns = 0
        self.thread = self.children = self.clock = 0.0

    def step(self, act: Callable[[], Any]) -> Any:
        """Does a part of the work, and counts it."""
        children, thread, clock = _of_children(), time.thread_time(), time.perf_counter()
        try:
            return act()
        finally:
            self.thread += time.thread_time() - thread
            self.children += _of_children() - children
            self.clock += time.perf_counter() - clock

    def call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function whose calls are counted."""
        return lambda *arguments, **options: self.step(lambda: function(*arguments, **options))

    def steps(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Generator[Any, Any, Any]]:
        """Returns a function whose generators are counted, without the time between two steps."""

        def counted(*arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
            self.turns += 1
            steps = function(*arguments, **options)
            try:
                value = self.step(lambda: next(steps))
                while True:
                    signal = yield value
                    value = self.step(lambda: steps.send(signal))  # noqa: B023 (it is called at once)
            except StopIteration as end:
                return end.value

        return counted

    def waits(self, function: Callable[..., Generator[Any, Any, Any]]) -> Callable[..., Generator[Any, Any, Any]]:
        """Returns a function of whose generators the time between two steps is counted."""

        def counted(*arguments: Any, **options: Any) -> Generator[Any, Any, Any]:
            steps = function(*arguments, **options)
            try:
                value = next(steps)
                while True:
                    before = time.perf_counter()
                    signal = yield value
                    self.clock += time.perf_counter() - before
                    value = steps.send(signal)
            except StopIteration as end:
                return end.value

        return counted


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(path: str, arguments: list[str]) -> None:
    """Runs sow with the arguments, and writes seconds for each turn into a file."""
    share, turns, sending = Share(), remote_turns.RemoteTurns, transfer.Transfer
    turns._work_order = share.call(turns._work_order)  # type: ignore[method-assign]
    turns._take = share.steps(turns._take)  # type: ignore[method-assign]
    sending._git = share.waits(sending._git)  # type: ignore[method-assign]
    code = main(arguments)
    threads = time.process_time() - time.thread_time()  # of the client of the Temporal server
    with open(path, "w") as file:
        facts = {"code": code, "turns": share.turns, "process": share.thread + threads, "clock": share.clock}
        json.dump({**facts, "git": share.thread + threads + share.children}, file)


if __name__ == "__main__":
    measured(sys.argv[1], sys.argv[2:])
