"""Hands out the executors of a run: how many turns each has at once, and until when one has reached a limit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from sow.engine.runs.run_job import JobEnd

if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.engine.runs.run_context import RunContext
    from sow.executors.adapter import Outcome
    from sow.system.process.steps import Steps

Result = TypeVar("Result")

LIMITED = ("limited", "overloaded")  # ends of a turn after which another executor should take the next one
OVERLOADED_SECONDS = 60  # seconds until a busy server is tried again
LIMITED_SECONDS = 900  # seconds to wait for a limit without a known end


class ExecutorPool:
    """The executors of one run."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.running_turns: dict[str, int] = {}  # number of turns per executor

    def take(
        self, job: str, executors: Sequence[ExecutorConfig], *, role: str = "", skip: int = 0
    ) -> Steps[ExecutorConfig | JobEnd]:
        """Returns an executor for a job's next turn, or the end of the job if there is none now.

        It waits while the executor has as many turns as it may have. `skip` passes over executors that failed before.
        """
        reason = self.context.refuse_turn_reason()
        if reason:
            return JobEnd("waiting", reason=reason)
        free = self.free(executors)
        if not free:
            first = min((executor.name for executor in executors), key=self.limited_until)
            player = f"{first}, which plays {role}," if role else first
            return JobEnd("waiting", reason=f"{player} has reached its limit", executor=first)
        executor = free[skip % len(free)]
        limit, name = executor.settings.get("max_concurrency", 0), executor.name
        if limit and self.running_turns.get(name, 0) >= limit:
            self.context.progress(job, f"waits for {name}, which has {limit} at once")
        while limit and self.running_turns.get(name, 0) >= limit:
            if self.context.stopping:
                return JobEnd("stopped")
            yield
        return executor

    def count(self, executor: ExecutorConfig, turn: Steps[Result]) -> Steps[Result]:
        """Runs a turn and counts it among those of its executor."""
        self.running_turns[executor.name] = self.running_turns.get(executor.name, 0) + 1
        try:
            return (yield from turn)
        finally:
            self.running_turns[executor.name] -= 1

    def mark_limited(self, executor: str, outcome: Outcome) -> None:
        """Records that an executor has reached a limit: nothing starts there until it ends."""
        run, until, reason = self.context.folder.run, int(_retry_time(outcome)), outcome.reason[:2000]
        kept_pools = [pool for pool in run.get("pools", []) if pool["executor"] != executor]
        run["pools"] = [*kept_pools, {"executor": executor, "until": until, "reason": reason}]
        self.context.folder.save()
        self.context.journal("limit", executor=executor, until=until, reason=reason)

    def limited_until(self, executor: str) -> float:
        """Returns when an executor may be used again; 0 if it may be used now."""
        pools = self.context.folder.run.get("pools", ())
        ends = [pool["until"] for pool in pools if pool["executor"] == executor]
        return max((end for end in ends if end > time.time()), default=0)

    def free(self, executors: Sequence[ExecutorConfig]) -> list[ExecutorConfig]:
        """Returns the executors that have not reached a limit."""
        return [executor for executor in executors if not self.limited_until(executor.name)]

    def slots(self) -> dict[str, int]:
        """Returns how many jobs each executor may have at once, for those with a limit."""
        executors = self.context.config.executors
        limits = {name: executor.settings.get("max_concurrency") for name, executor in executors.items()}
        return {name: int(limit) for name, limit in limits.items() if limit}


def _retry_time(outcome: Outcome) -> float:
    """Returns when an executor that is limited or overloaded is tried again."""
    wait = LIMITED_SECONDS if outcome.kind == "limited" else OVERLOADED_SECONDS
    return max(float(outcome.reset_at), time.time() + 1) if outcome.reset_at else time.time() + wait
