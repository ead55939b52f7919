"""The job of one task or agent in a run: its stages, its end, and the queue for what one job does at a time.

A job goes from stage to stage, each read from disk. It is a generator that never ends in the middle of a write. If it
is killed, the next run reads the stage again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sow.domain.task import PERSON, Actor
from sow.executors.settings import adapter as find_adapter
from sow.store.user.saved_answers import SavedAnswers

if TYPE_CHECKING:
    from sow.config import ExecutorConfig
    from sow.engine.runs.run_context import RunContext
    from sow.store.runs.sessions import SessionRecord
    from sow.system.process.steps import Steps

ORIGIN = "standing"  # of an answer that the user saved, in the journal
ANSWERER = Actor(kind=PERSON, name="standing-answer")


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
