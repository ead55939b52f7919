"""Takes the turns of a run on this machine; `cluster` has a class with the same methods for other hosts."""

from __future__ import annotations

import os

from sow.agents.registry import Agent
from sow.config import ExecutorConfig
from sow.domain.documents.state import Task
from sow.engine.turns import task_turn
from sow.engine.turns.task_turn import FinishedTurn
from sow.errors import Waiting
from sow.store.projects.task_updates import RUNNER
from sow.store.runs.sessions import SessionRecord
from sow.system.process.steps import Steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sow.domain.documents.state import Check
    from sow.engine.checks.check_list import CheckListResult
    from sow.engine.runs.judge import Answer, JudgeQuestion
    from sow.engine.runs.run_context import RunContext
    from sow.engine.runs.task_job import TaskJob
    from sow.executors.adapter import Outcome
    from sow.store.files.checkout_home import Home


class LocalTurns:
    """Takes each turn in a process of this machine."""

    is_remote = False
    sends_commands = False  # whether workers send their commands to this process even without a sandbox

    def capacity(self) -> int:
        """Returns how many turns all hosts take at once; 0 is no limit of theirs."""
        return 0

    def begin(self, home: Home, project_id: str, command: str) -> Steps[None]:
        """Raises if another checkout runs the project on other hosts; `command` would take it over."""
        yield from ()

    def end(self) -> Steps[None]:
        """Lets other checkouts run the project."""
        yield from ()

    def keep_late(self, home: Home) -> Steps[list[str]]:
        """Keeps the work of turns on other hosts that counted as lost and ended later; returns remarks."""
        yield from ()
        return []

    def require(self, executor: ExecutorConfig) -> None:
        """Raises if no machine of the run offers an executor; the programs of this machine are checked elsewhere."""

    def offers(self, executor: ExecutorConfig) -> bool:
        """Tells whether another host offers an executor."""
        return False

    def executors_of(self, context: RunContext, role: str) -> list[ExecutorConfig]:
        """Returns the executor of a role, then its fallbacks that can take turns."""
        return context.executors_of(role)

    def spawn(
        self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, *, fresh: bool, text: str
    ) -> Steps[FinishedTurn]:
        """Starts a new session on a task."""
        context = job.context
        settings, cwd = context.turn_settings(job.on_worker_event), context.folder_of(job.id)
        return task_turn.spawn(settings, job.id, role, [executor], actor=RUNNER, fresh=fresh, cwd=cwd, text=text)

    def resume(self, job: TaskJob, task: Task, role: Agent, executor: ExecutorConfig, text: str) -> Steps[FinishedTurn]:
        """Continues the task's session."""
        settings = job.context.turn_settings(job.on_worker_event)
        return task_turn.resume(settings, job.id, role, executor, text, actor=RUNNER, recorded=True)

    def follow(
        self, job: TaskJob, role: Agent, executor: ExecutorConfig, text: str, owner: SessionRecord
    ) -> Steps[FinishedTurn]:
        """Begins a task in the session of another one."""
        settings = job.context.turn_settings(job.on_worker_event)
        return task_turn.follow(settings, job.id, role, executor, text, owner, actor=RUNNER)

    def judge(
        self, context: RunContext, question: JudgeQuestion[Answer], executor: ExecutorConfig, nonce: str
    ) -> Steps[tuple[Answer | None, Outcome]] | None:
        """Asks a judge on another host; None if it has to be asked on this one."""
        return None

    def check(
        self, job: TaskJob, checks: Sequence[Check], commit: str, tree: str, iteration: int
    ) -> Steps[CheckListResult | None]:
        """Runs a check list on another host; returns None if it has to run on this one."""
        yield from ()
        return None

    def can_resume(self, job: TaskJob, record: SessionRecord) -> bool:
        """Tells whether a session is on this machine, in the folder that this run has for the task."""
        folder = os.path.realpath(job.context.folder_of(job.id))
        return "host" not in record.session and os.path.realpath(record.session["cwd"]) == folder

    def attach(self, job: TaskJob, role: Agent, executor: ExecutorConfig, record: SessionRecord) -> Steps[FinishedTurn]:
        """Continues with a turn that an earlier call of the run started on another host."""
        raise Waiting(
            f"the last turn on task {job.id} is on {record.session.get('host') or 'another host'}",
            "repeat the call with the same --on or --cluster",
        )
