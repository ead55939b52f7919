"""The base of a run's jobs, the queue in which they wait for each other, and the executors that they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from sow.domain.task import ANSWERER, Actor
from sow.executors.settings import adapter as find_adapter
from sow.store.user.saved_answers import SavedAnswers

if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.engine.runs.run_context import RunContext
    from sow.executors.adapter import Outcome
    from sow.store.runs.sessions import SessionRecord
    from sow.system.process.steps import Steps

ORIGIN = "standing"  # of an answer that the user saved, in the journal


@dataclass(frozen=True)
class JobEnd:
    """The end of a job: its status for the scheduler and, after a limit, the executor that it waits for."""

    status: str  # completed, failed, asking, abandoned, waiting or stopped
    reason: str = ""
    executor: str = ""
    did_nothing: bool = False  # the agent failed before it did anything: the machine may be at fault


def did_nothing(record: SessionRecord) -> bool:
    """Tells whether an agent used no tool in its last turn; only some CLIs report their tools."""
    reports_tools = find_adapter(record.session["type"]).capabilities.structured
    return reports_tools and record.session["turns"][-1].get("tools") == 0


class RunJob:
    """The job of one task or agent."""

    def __init__(self, context: RunContext, ident: str) -> None:
        self.context = context
        self.id = ident

    def run(self) -> Steps[JobEnd]:
        """Runs stage after stage until the job is done, waits for somebody, or cannot continue."""
        while not self.context.stopping:
            ended = yield from self.take_stage()
            if ended is not None:
                return ended
        return JobEnd("stopped")

    def take_stage(self) -> Steps[JobEnd | None]:
        """Reads the next stage from disk and does its work; returns the end of the job, if this was its last stage."""
        raise NotImplementedError

    def session_executor(self, record: SessionRecord | None) -> ExecutorConfig | None:
        """Returns the executor of a session, if it can take the session's next turn now."""
        executor = self.context.config.executors.get(record.session["executor"]) if record is not None else None
        if executor is None or self.context.pool.limited_until(executor.name):
            return None
        return executor if find_adapter(executor.type).capabilities.resumes else None

    def answer_from_saved(self, question: str, number: int | str, give: Callable[[str, Actor], object]) -> bool:
        """Gives the user's saved answer to a question and journals it; returns whether there is one."""
        saved = SavedAnswers(self.context.home, self.context.environment).find(question)
        if saved is None:
            return False
        give(f"{saved.answer}\n\n(The user's saved answer of {saved.since[:10]} to: {saved.question})", ANSWERER)
        self.context.journal("answered", task=self.id, number=number, origin=ORIGIN)
        return True


class JobQueue:
    """Lets one job at a time do something, such as merge or talk to the workflow architect."""

    def __init__(self) -> None:
        self.holder = ""
        self.waiting: set[str] = set()

    def hold(self, context: RunContext, job: str, order: Callable[[], Sequence[str]] = tuple) -> Steps[bool]:
        """Waits until it is this job's turn; False if the run is to end. Waiting jobs go first in the given order."""
        self.waiting.add(job)
        while self.holder or job != next((other for other in order() if other in self.waiting), job):
            yield
            if context.stopping:
                return False
        self.holder = job
        return True

    def release(self, job: str) -> None:
        """Leaves the queue, so that the next job can continue."""
        self.waiting.discard(job)
        if self.holder == job:
            self.holder = ""


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
        """Records that an executor has reached a limit: nothing starts there, or on that account, until it ends."""
        account = outcome.account if outcome.kind == "limited" else ""
        run, until, reason = self.context.folder.run, int(retry_time(outcome)), outcome.reason[:2000]
        kept = [
            pool for pool in run.get("pools", []) if (pool["executor"], pool.get("account", "")) != (executor, account)
        ]
        facts: dict[str, Any] = {"executor": executor, "until": until, "reason": reason}
        facts |= {"account": account} if account else {}
        run["pools"] = [*kept, facts]  # type: ignore[list-item]
        self.context.folder.save()
        self.context.journal("limit", **facts)

    def rests(self, executor: str) -> dict[str, int]:
        """Returns until when the accounts of an executor rest; "" is all of them."""
        pools = [pool for pool in self.context.folder.run.get("pools", ()) if pool["executor"] == executor]
        return {pool.get("account", ""): pool["until"] for pool in pools if pool["until"] > time.time()}

    def limited_until(self, executor: str) -> int:
        """Returns when an executor may be used again; 0 if it may be used now, on at least one account."""
        rests, accounts = self.rests(executor), self.context.turns.accounts(executor)
        return max(rests.get("", 0), min((rests.get(account, 0) for account in accounts), default=0))

    def free(self, executors: Sequence[ExecutorConfig]) -> list[ExecutorConfig]:
        """Returns the executors that have not reached a limit."""
        return [executor for executor in executors if not self.limited_until(executor.name)]

    def slots(self) -> dict[str, int]:
        """Returns how many jobs each executor may have at once, for those with a limit."""
        executors = self.context.config.executors
        limits = {name: executor.settings.get("max_concurrency") for name, executor in executors.items()}
        return {name: int(limit) for name, limit in limits.items() if limit}


def retry_time(outcome: Outcome) -> float:
    """Returns when an executor that is limited or overloaded is tried again."""
    wait = LIMITED_SECONDS if outcome.kind == "limited" else OVERLOADED_SECONDS
    return max(float(outcome.reset_at), time.time() + 1) if outcome.reset_at else time.time() + wait
